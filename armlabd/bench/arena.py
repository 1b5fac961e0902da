"""A core and a virtual arm in one process and in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from armlabd.arm.joints import HOME, Pose
from armlabd.arm.path import Program, joint_move, pack
from armlabd.bus.errors import PortError, PortKind, PortLost
from armlabd.bus.frames import BROADCAST_ID, FrameScanner, Instruction
from armlabd.clock import VirtualClock
from armlabd.motion.core import Core
from armlabd.motion.disk import DirectDisk, Disk
from armlabd.motion.settings import CoreSettings
from armlabd.sim.arm import VirtualArm
from armlabd.sim.calibration import calibration_json
from armlabd.sim.inprocess import InProcessCable, InProcessTransport
from armlabd.sim.world import World

START = HOME._replace(grip=50.0)
Frames = list[tuple[float, int, int, bytes]]


class Tap(InProcessTransport):
    """The transport, with every frame written noted: (time, id, instruction, parameters)."""

    def __init__(self, cable: InProcessCable, frames: Frames) -> None:
        super().__init__(cable.arm, cable.clock, cable=cable)
        self.frames = frames
        self._scanner = FrameScanner(requests=True)

    def write(self, data: bytes) -> None:
        """Put it on the wire, and note every whole frame."""
        super().write(data)
        for frame in self._scanner.feed(data):
            row = (self.clock.monotonic(), frame.id, frame.error, frame.params)
            self.frames.append(row)


class Arena:
    """`run` lets virtual time pass; requests go in as from a daemon that renews its lease."""

    def __init__(
        self,
        folder: Path,
        *,
        cleared: bool = True,
        disk: Disk | None = None,
        world: Any = None,
        start: Pose | None = START,
        line: Any = None,
        boot: str = "boot-1",
        arm: VirtualArm | None = None,
        **settings: Any,
    ) -> None:
        self.clock = VirtualClock(100.0 if arm is None else arm.now_s)
        self.folder = folder
        self.arm = arm or VirtualArm(world or World(blocks=()), now_s=self.clock.monotonic())
        if start is not None and arm is None:
            self.arm.put(start[:5], start.grip)
        self.frames: Frames = []
        self.cable = InProcessCable(self.arm, self.clock, PortLost)
        self.port_there = True
        self.leased = True
        self.notes: list[str] = []
        if cleared and not (folder / "stop.json").exists():
            (folder / "stop.json").write_text('{"stopped": false}')
        given = {"calibration": calibration_json(), "simulated": True, **settings}
        self.settings = CoreSettings(str(folder), "virtual", **given)
        self.core = Core(
            self.settings,
            self.clock,
            self.open,
            disk or DirectDisk(),
            line=line,
            boot=boot,
            say=self.notes.append,
        )
        self.answers: dict[int, dict[str, Any]] = {}
        self.awaited = 0  # requests of a session that waits for the core
        self._ids = 0

    def open(self) -> Tap:
        """A fresh port, tapped. Raises PortError while it is out."""
        if not self.port_there:
            raise PortError(PortKind.MISSING, "There is no such port.")
        return Tap(self.cable, self.frames)

    def unplug(self) -> None:
        """Pull the plug; the port is gone with it."""
        self.port_there = False
        self.cable.unplug()

    def replug(self) -> None:
        """Put it back."""
        self.cable.plug()
        self.port_there = True

    # --- time

    def step(self) -> None:
        """To the end of the next tick, all work in between done."""
        core = self.core
        while core.has_work and self.clock.monotonic() < core.cycles.due_s:
            core.work()
        self.clock.advance_to(core.cycles.due_s)
        if self.leased:
            core.handle({"do": "lease"}, lambda _: None, self)
        core.tick()

    def run(self, seconds: float) -> None:
        """Let so much virtual time pass."""
        until_s = self.clock.monotonic() + seconds
        while self.clock.monotonic() < until_s - 1e-9 and not self.core.finished:
            self.step()

    def until(self, condition: Callable[[], bool], seconds: float = 30.0) -> None:
        """Step until the condition holds. Raises TimeoutError after so much virtual time."""
        until_s = self.clock.monotonic() + seconds
        while not condition():
            if self.clock.monotonic() >= until_s:
                raise TimeoutError("it did not come to pass")
            self.step()

    def ready(self) -> Arena:
        """Step until servos have been found and read."""
        self.until(lambda: self.core.link.ready and self.core.measured.pose is not None, 5.0)
        return self

    # --- requests

    def ask(self, do: str, **body: Any) -> int:
        """Send a request; its answer turns up in `answers`."""
        self._ids += 1
        number = self._ids
        self.core.handle(
            {"do": do, **body}, lambda answer: self.answers.__setitem__(number, answer), self
        )
        return number

    def answer(self, number: int, seconds: float = 60.0) -> dict[str, Any]:
        """The answer to a request, once it is there. Raises TimeoutError."""
        self.until(lambda: number in self.answers, seconds)
        return self.answers[number]

    def now(self, do: str, **body: Any) -> dict[str, Any]:
        """An answer that must come at once."""
        return self.answers[self.ask(do, **body)]

    def move(self, program: Program, **body: Any) -> int:
        """Ask for a program; its number."""
        return self.ask("move", program=pack(program), **body)

    def program(self, goal: Pose, speed_dps: float = 60.0) -> Program:
        """From where the arm is wanted now to a pose, in one joint move."""
        start = self.core.conductor.goal or self.pose
        return joint_move(start, goal, speed_dps, self.core.link.limits)

    def go(self, goal: Pose, speed_dps: float = 60.0, **body: Any) -> dict[str, Any]:
        """Move there and wait for the answer. Raises TimeoutError."""
        return self.answer(self.move(self.program(goal, speed_dps), **body))

    # --- looking

    @property
    def pose(self) -> Pose:
        """As the core measured it last."""
        assert self.core.measured.pose is not None
        return self.core.measured.pose

    @property
    def torque(self) -> list[bool]:
        """Of the six servos, as they truly are."""
        return [servo.torque_on for servo in self.arm.servos]

    def goals(self, since: int = 0) -> list[tuple[float, dict[int, int]]]:
        """Every goal frame written: when, and raw goal by servo id."""
        found = []
        for at_s, _, instruction, params in self.frames[since:]:
            if instruction == Instruction.SYNC_WRITE and params[:2] == b"\x2a\x02":
                body = params[2:]
                rows = range(0, len(body), 3)
                goals = {body[k]: int.from_bytes(body[k + 1 : k + 3], "little") for k in rows}
                found.append((at_s, goals))
        return found

    def torque_offs(self, since: int = 0) -> list[int]:
        """Places in `frames` of broadcast torque-off."""
        return [
            k
            for k, (_, id, instruction, params) in enumerate(self.frames)
            if k >= since
            and id == BROADCAST_ID
            and instruction == Instruction.WRITE
            and params == b"\x28\x00"
        ]
