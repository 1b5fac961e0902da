"""A person for calibration tests: turns the virtual arm's limp joints and presses Enter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from armlabd.arm.joints import JOINT_NAMES
from armlabd.bus.errors import PortLost
from armlabd.bus.master import Master
from armlabd.clock import VirtualClock
from armlabd.motion.calibrate import Task
from armlabd.motion.calibrate_bus import CalibrateError, CalibrationBus
from armlabd.sim.arm import VirtualArm
from armlabd.sim.inprocess import InProcessCable
from armlabd.sim.world import World

POSE = [0.0, 0.0, 0.0, 0.0, 0.0]
ENDS_DEG = ((-130.0, 130.0), (-115.0, 115.0), (-115.0, 115.0), (-110.0, 110.0), (-175.0, 175.0))
STRIDE_DEG = 8.0
Act = Iterator[str | None]
Answer = Callable[["Scripted", Task], Act]


@dataclass
class Scripted:
    """Does what it is told to by the last sentence; `answer` chooses how."""

    arm: VirtualArm
    answer: Answer
    said: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    asked: list[Task] = field(default_factory=list)
    _act: Act | None = None

    def say(self, text: str) -> None:
        self.said.append(text)

    def ask(self, text: str, task: Task) -> None:
        self.said.append(text)
        self.asked.append(task)
        self._act = self.answer(self, task)

    def show(self, text: str) -> None:
        self.shown.append(text)

    def entered(self) -> str | None:
        assert self._act is not None, self.said
        try:
            return next(self._act)
        except StopIteration:
            raise CalibrateError("The input has ended.") from None

    def put(self, joint: int, angle: float) -> None:
        """Turn one joint (5 = the jaws, percent) and hold it; the others stay."""
        angles = self.arm.shown_deg()[:5]
        jaw: float = (self.arm.shown_deg()[5] + 10.0) / 1.1
        if joint == 5:
            jaw = angle
        else:
            angles[joint] = angle
        self.arm.put(angles, jaw, held=True)

    def turn(self, joint: int, *ends: float, stride: float = STRIDE_DEG) -> Act:
        """Turn a joint from where it is to each end, a stride per reading."""
        now = (self.arm.shown_deg()[5] + 10.0) / 1.1 if joint == 5 else self.arm.shown_deg()[joint]
        for end in ends:
            while abs(end - now) > 1e-9:
                now += max(-stride, min(stride, end - now))
                self.put(joint, now)
                yield None


def willing(person: Scripted, task: Task) -> Act:
    """Does everything right."""
    if task.kind == "pose":
        person.arm.put(POSE, 0.0, held=True)
        yield None
    elif task.kind == "sweep":
        joint = JOINT_NAMES.index(task.name)
        ends = (110.0, -10.0) if joint == 5 else (*ENDS_DEG[joint], 0.0)
        yield from person.turn(joint, *ends)
    yield ""


@dataclass
class Bench:
    """A virtual arm, its bus and a clock."""

    arm: VirtualArm
    clock: VirtualClock
    cable: InProcessCable

    @classmethod
    def made(cls, **given: object) -> Bench:
        clock = VirtualClock(100.0)
        arm = VirtualArm(World(blocks=()), now_s=100.0, **given)  # type: ignore[arg-type]
        return cls(arm, clock, InProcessCable(arm, clock, PortLost))

    def bus(self) -> CalibrationBus:
        """A fresh connection."""
        return CalibrationBus(Master(self.cable.open(), self.clock), self.clock)

    def factory(self, offset: int = 85) -> Bench:
        """As a kit arrives: no calibration in any servo."""
        for servo in self.arm.servos:
            servo.write(55, b"\x00")
            servo.write(31, offset.to_bytes(2, "little"))
            servo.write(9, (0).to_bytes(2, "little"))
            servo.write(11, (4095).to_bytes(2, "little"))
            servo.write(55, b"\x01")
        return self
