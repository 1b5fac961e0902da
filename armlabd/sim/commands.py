"""The commands of the control socket: what a test, the daemon's camera or a person may ask.

A request is a dict with `cmd`; an answer is a dict with `ok`, and `error` in plain words when not.
A person may also type a line of words: `mute id=3`, `place label="red block" x=0.2 y=0.05`.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from armlabd.sim.arm import VirtualArm
from armlabd.sim.blocks import Block
from armlabd.sim.protection import OVERLOAD_BIT
from armlabd.sim.servo import VirtualServo
from armlabd.sim.world import World

Request = Mapping[str, Any]
Answer = dict[str, Any]


class CommandError(ValueError):
    """A request that cannot be carried out; the text says what is allowed."""


class Plug(Protocol):
    """The cable: `pty_server.PtyServer` or an in-process transport."""

    def plug(self) -> None:
        """Connect."""

    def unplug(self) -> None:
        """Disconnect."""


def parse_line(line: str) -> dict[str, Any]:
    """A request from one line: a JSON object, or words. Raises CommandError."""
    text = line.strip()
    if text.startswith("{"):
        try:
            request = json.loads(text)
        except ValueError as error:
            raise CommandError(f"This is no JSON: {error}.") from error
        if not isinstance(request, dict):
            raise CommandError("A request is a JSON object.")
        return request
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise CommandError(f"This line cannot be read: {error}.") from error
    return _from_words(words)


def _from_words(words: list[str]) -> dict[str, Any]:
    if not words:
        raise CommandError("Type a command, for example: help")
    request: dict[str, Any] = {"cmd": words[0]}
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if not equals:
            raise CommandError(f"Write name=value instead of {word!r}, for example: mute id=3")
        try:
            request[name] = json.loads(value)
        except ValueError:
            request[name] = value
    return request


def number(
    request: Request, name: str, low: float, high: float, default: float | None = None
) -> float:
    """A finite number of the request within low..high, ends inside. Raises CommandError."""
    value = request.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise CommandError(f"`{name}` must be a number from {low:g} to {high:g}; got {value!r}.")
    if not low <= value <= high:
        raise CommandError(f"`{name}` must lie within {low:g} to {high:g}; got {value!r}.")
    return value


def flag(request: Request, name: str, default: bool) -> bool:
    """A boolean of the request. Raises CommandError."""
    value = request.get(name, default)
    if not isinstance(value, bool):
        raise CommandError(f"`{name}` is true or false; got {value!r}.")
    return value


def text(request: Request, name: str) -> str:
    """A text of the request. Raises CommandError."""
    value = request.get(name)
    if not isinstance(value, str) or not value:
        raise CommandError(f"`{name}` must be a text, for example red block; got {value!r}.")
    return value


class Commands:
    """Carries requests out on one arm. `leave` is called by `quit`."""

    def __init__(self, arm: VirtualArm, plug: Plug, leave: Callable[[], None]) -> None:
        self.arm = arm
        self._plug = plug
        self._leave = leave

    def handle(self, request: Request) -> Answer:
        """The answer to one request; never raises for a wrong one."""
        name = request.get("cmd")
        try:
            if name == "fault":
                name = FAULT_NAMES.get(str(request.get("kind")), request.get("kind"))
                return self._run(str(name), FAULTS, "fault kind", request)
            return self._run(str(name), COMMANDS | FAULTS, "command", request)
        except ValueError as error:
            return {"ok": False, "error": str(error)}

    def _run(self, name: str, table: Mapping[str, Command], what: str, request: Request) -> Answer:
        command = table.get(name)
        if command is None:
            raise CommandError(f"There is no {what} {name!r}; there are: {', '.join(table)}.")
        return {"ok": True, **(command(self, request) or {})}

    # --- looking

    def help(self, request: Request) -> Answer:
        """What there is to ask."""
        known = {n: (c.__doc__ or "").split("\n")[0] for n, c in (COMMANDS | FAULTS).items()}
        return {"commands": known}

    def state(self, request: Request) -> Answer:
        """Angles, torque, goals, blocks, bin: the truth."""
        return self.arm.state()

    def frames(self, request: Request) -> Answer:
        """Stamps of torque-off, torque-on and goal frames [since=SEQ] [kind=torque_off]."""
        since = int(number(request, "since", 0, 2**53, 0))
        kind = request.get("kind")
        return {"frames": self.arm.bus.stamps.since(since, kind)}

    # --- the table and the arm

    def place(self, request: Request) -> None:
        """Put a block on the table: label x y [yaw_deg]."""
        x, y = number(request, "x", -0.6, 0.6), number(request, "y", -0.6, 0.6)
        yaw = number(request, "yaw_deg", -360, 360, 0.0)
        self._world().place(text(request, "label"), x, y, yaw)
        self.arm.disturb()

    def remove(self, request: Request) -> None:
        """Take a block away: label."""
        self._world().remove(text(request, "label"))
        self.arm.disturb()

    def reset(self, request: Request) -> None:
        """A fresh table: the default blocks, or [blocks=LIST of label x y yaw_deg]."""
        listed = request.get("blocks")
        self.arm.world = World(None if listed is None else blocks_from(listed))
        self.arm.disturb()

    def limp(self, request: Request) -> None:
        """Put the arm, limp, in a pose: joints_deg=[five] [gripper_percent]."""
        joints = request.get("joints_deg")
        if not isinstance(joints, list) or len(joints) != 5:
            raise CommandError("`joints_deg` is a list of five angles in degrees.")
        angles = [number({"joints_deg": angle}, "joints_deg", -180, 180) for angle in joints]
        grip = None
        if "gripper_percent" in request:
            grip = number(request, "gripper_percent", 0, 100)
        self.arm.put(angles, grip)

    def power_cycle(self, request: Request) -> None:
        """Take the servos' power away and give it back."""
        self.arm.power_cycle()

    def quit(self, request: Request) -> None:
        """End the virtual arm."""
        self._leave()

    # --- faults

    def mute(self, request: Request) -> None:
        """A servo that hears but no longer answers: id [on=true]."""
        servo_id = int(number(request, "id", 0, 253))
        muted = self.arm.bus.faults.muted
        muted.add(servo_id) if flag(request, "on", True) else muted.discard(servo_id)

    def drop(self, request: Request) -> None:
        """Answers that get lost: rate 0..1."""
        self.arm.bus.faults.drop_rate = number(request, "rate", 0, 1)

    def corrupt(self, request: Request) -> None:
        """Answers with a flipped bit: rate 0..1."""
        self.arm.bus.faults.corrupt_rate = number(request, "rate", 0, 1)

    def noise(self, request: Request) -> None:
        """A stray byte before an answer: [rate=1]."""
        self.arm.bus.faults.noise_rate = number(request, "rate", 0, 1, 1.0)

    def late(self, request: Request) -> None:
        """Answers held up on their way: seconds [once=true]."""
        faults = self.arm.bus.faults
        once = flag(request, "once", True)
        faults.late_s, faults.late_once = number(request, "seconds", 0, 60), once

    def overload(self, request: Request) -> None:
        """A servo that trips its overload protection now: id."""
        self._servo(request).trip(OVERLOAD_BIT)

    def jam(self, request: Request) -> None:
        """A joint that an obstacle holds where it is: id [on=true]."""
        self.arm.jam(self._servo(request).id, flag(request, "on", True))

    def voltage(self, request: Request) -> None:
        """Another supply voltage: decivolts 0..250 (120 is healthy)."""
        self.arm.set_supply(int(number(request, "decivolts", 0, 250)))

    def freeze(self, request: Request) -> None:
        """The bus hears and says nothing, the port stays: [on=true]."""
        self.arm.bus.faults.frozen = flag(request, "on", True)
        self.arm.bus.silence()

    def unplug(self, request: Request) -> None:
        """Pull the USB plug; the servos keep their power."""
        self._plug.unplug()
        self.arm.bus.silence()

    def replug(self, request: Request) -> None:
        """Put the USB plug back: a new port behind the same name."""
        self._plug.plug()

    def healthy(self, request: Request) -> None:
        """End all faults of bus, joints and supply (a latched overload ends with torque off)."""
        self.arm.bus.faults.clear()
        self.arm.jammed.clear()
        self.arm.set_supply(120)

    def _servo(self, request: Request) -> VirtualServo:
        wanted = int(number(request, "id", 0, 253))
        for servo in self.arm.servos:
            if servo.id == wanted:
                return servo
        ids = ", ".join(str(servo.id) for servo in self.arm.servos)
        raise CommandError(f"There is no servo {wanted}; there are: {ids}.")

    def _world(self) -> World:
        world = self.arm.world
        if not isinstance(world, World):
            raise CommandError("This arm has no table.")
        return world


Command = Callable[[Commands, Request], Answer | None]

COMMANDS: Final[dict[str, Command]] = {
    "help": Commands.help,
    "state": Commands.state,
    "frames": Commands.frames,
    "place": Commands.place,
    "remove": Commands.remove,
    "reset": Commands.reset,
    "limp": Commands.limp,
    "power_cycle": Commands.power_cycle,
    "quit": Commands.quit,
}
FAULTS: Final[dict[str, Command]] = {
    "mute": Commands.mute,
    "drop": Commands.drop,
    "corrupt": Commands.corrupt,
    "noise": Commands.noise,
    "late": Commands.late,
    "overload": Commands.overload,
    "jam": Commands.jam,
    "voltage": Commands.voltage,
    "freeze": Commands.freeze,
    "unplug": Commands.unplug,
    "replug": Commands.replug,
    "healthy": Commands.healthy,
}
FAULT_NAMES: Final = {"drop_rate": "drop", "none": "healthy", "clear": "healthy"}


def blocks_from(listed: object) -> list[Block]:
    """Blocks from [{"label", "x", "y", "yaw_deg"?}]. Raises CommandError or WorldError."""
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise CommandError('`blocks` is a list like [{"label": "red block", "x": 0.2, "y": 0.0}].')
    return [
        Block(
            text(item, "label"),
            number(item, "x", -0.6, 0.6),
            number(item, "y", -0.6, 0.6),
            yaw_deg=number(item, "yaw_deg", -360, 360, 0.0),
        )
        for item in listed
    ]
