"""The commands of the control socket: what a test, the daemon's camera or a person may ask.

A request is a dict with `cmd`; an answer is a dict with `ok`, and `error` in plain words when not.
A person may also type a line of words: `mute id=3`, `place label="red block" x=0.2 y=0.05`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from armlabd.sim.arm import VirtualArm
from armlabd.sim.blocks import Block
from armlabd.sim.fault_commands import FAULTS, Plug
from armlabd.sim.hand import SLOPES
from armlabd.sim.words import Answer, CommandError, Request, flag, number, parse_line, text
from armlabd.sim.world import World

__all__ = ["COMMANDS", "FAULTS", "Answer", "CommandError", "Commands", "blocks_from", "parse_line"]


class Commands:
    """Carries requests out on one arm. `leave` is called by `quit`."""

    def __init__(self, arm: VirtualArm, plug: Plug, leave: Callable[[], None]) -> None:
        self.arm = arm
        self.plug = plug
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
        """Put the arm, limp, in a pose: joints_deg=[five] [gripper_percent] [held=false]."""
        joints = request.get("joints_deg")
        if not isinstance(joints, list) or len(joints) != 5:
            raise CommandError("`joints_deg` is a list of five angles in degrees.")
        angles = [number({"joints_deg": angle}, "joints_deg", -180, 180) for angle in joints]
        grip = None
        if "gripper_percent" in request:
            grip = number(request, "gripper_percent", 0, 100)
        self.arm.put(angles, grip, held=flag(request, "held", False))

    def touch(self, request: Request) -> None:
        """Put the limp arm's true fingertip on a point and hold it: x y [z] [slope] [roll_deg]."""
        point = (
            number(request, "x", -0.6, 0.6),
            number(request, "y", -0.6, 0.6),
            number(request, "z", 0.0, 0.5, 0.0),
        )
        slope = request.get("slope", "steep")
        if slope not in SLOPES:
            raise CommandError(f"`slope` is {' or '.join(SLOPES)}; got {slope!r}.")
        self.arm.touch(point, slope, number(request, "roll_deg", -120, 120, 0.0))

    def let_go(self, request: Request) -> None:
        """Take the hand off the limp arm: it sinks."""
        self.arm.let_go()

    def power_cycle(self, request: Request) -> None:
        """Take the servos' power away and give it back."""
        self.arm.power_cycle()

    def quit(self, request: Request) -> None:
        """End the virtual arm."""
        self._leave()

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
    "touch": Commands.touch,
    "let_go": Commands.let_go,
    "power_cycle": Commands.power_cycle,
    "quit": Commands.quit,
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
