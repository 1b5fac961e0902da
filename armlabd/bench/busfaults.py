"""What the bus reads while and after it is ill: each fault of the virtual bus, in virtual time.

Before each read every servo is put somewhere it has not been before, so that each value tells which
read it belongs to: an older one is stale, any other one is wrong. Physics stands still.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from armlabd.arm.joints import SERVO_IDS
from armlabd.bus.counters import Counters
from armlabd.bus.errors import PortLost
from armlabd.clock import VirtualClock
from armlabd.motion.servos import BLOCK, PLACES, Servos, Sight
from armlabd.sim.arm import EmptyWorld, VirtualArm
from armlabd.sim.commands import Commands
from armlabd.sim.inprocess import InProcessCable

PERIOD_S: Final = 0.01
WARM_UP: Final = 20
DURING: Final = 100  # one second of the fault
PATIENCE: Final = 300  # reads until a healed bus has to answer whole again
REMEMBERED: Final = 1000  # older values of a servo that are recognised as stale
MARGIN: Final = 50  # steps that the servos are kept away from their ends

# The command that brings the fault, and whatever the table should call it.
FAULTS: Final[Mapping[str, dict[str, Any]]] = {
    "one answer 4 ms late": {"cmd": "late", "seconds": 0.004},
    "one answer 120 ms late": {"cmd": "late", "seconds": 0.12},
    "every answer 4 ms late": {"cmd": "late", "seconds": 0.004, "once": False},
    "every answer 120 ms late": {"cmd": "late", "seconds": 0.12, "once": False},
    "1 % of answers lost": {"cmd": "drop", "rate": 0.01},
    "30 % of answers lost": {"cmd": "drop", "rate": 0.3},
    "10 % with a flipped bit": {"cmd": "corrupt", "rate": 0.1},
    "10 % behind a noise byte": {"cmd": "noise", "rate": 0.1},
    "10 % behind an extra FF": {"cmd": "extra_ff", "rate": 0.1},
    "10 % cut short": {"cmd": "truncate", "rate": 0.1},
    "10 % with another id": {"cmd": "strange", "rate": 0.1},
    "servo 3 mute": {"cmd": "mute", "id": 3},
    "an id twice on the bus": {"cmd": "duplicate", "id": 3},
    "cable out behind servo 3": {"cmd": "break", "after": 3},
    "bus silent": {"cmd": "freeze"},
    "adapter echoes": {"cmd": "echo"},
    "garbage on the line": {"cmd": "garbage", "seconds": DURING * PERIOD_S},
    "AT commands on the line": {"cmd": "at", "seconds": DURING * PERIOD_S},
    "servo 2 overloaded": {"cmd": "overload", "id": 2},
    "supply breaks down": {"cmd": "brownout"},
    "plug pulled and put back": {"cmd": "unplug"},
}


@dataclass
class Survived:
    """One fault: values read of values asked for, while it lasted and after it."""

    name: str
    got: int = 0
    asked: int = 0
    whole_after: int | None = None  # reads until all six answered again; None = never
    healthy: int = 0  # whole reads in a row after that
    stale: int = 0
    wrong: int = 0
    causes: dict[str, int] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """Everything but the stale values."""
        share = f"{self.got} of {self.asked} values while it lasted"
        after = "never whole again" if self.whole_after is None else f"whole {self._after()}"
        causes = ", ".join(f"{count} {cause}" for cause, count in self.causes.items()) or "no miss"
        return f"{share} ({causes}), {after}, then {self.healthy} healthy reads"

    def _after(self) -> str:
        assert self.whole_after is not None
        return f"after {self.whole_after * PERIOD_S:.2f} s" if self.whole_after else "at once"


class _Rig:
    """An arm whose truth is known, and the core's own way of reading it."""

    def __init__(self) -> None:
        self.clock = VirtualClock(10.0)
        self.arm = VirtualArm(EmptyWorld(), now_s=10.0, sag=False)
        self.cable = InProcessCable(self.arm, self.clock, PortLost)
        self.desk = Commands(self.arm, self.cable, lambda: None)
        self.counters = Counters()
        self.servos = self._open()
        self._number = 0
        self._alone = False  # after a full reading only the positions are asked for, as at rest
        self._truth: dict[int, int] = {}
        self._older: dict[int, list[int]] = {id: [] for id in SERVO_IDS}

    def _open(self) -> Servos:
        return Servos(self.cable.open(), self.clock, 1_000_000, self.counters)

    def reopen(self) -> None:
        """As the core does after a lost port. Raises PortLost while the plug is out."""
        self.servos.close()
        self.servos = self._open()

    def command(self, request: Mapping[str, Any]) -> None:
        """Bring a fault, or end them."""
        answer = self.desk.handle(request)
        if not answer["ok"]:
            raise ValueError(f"The virtual bus refuses {dict(request)}: {answer['error']}")

    def read(self, found: Survived) -> int:
        """One read of all six, judged; how many values came."""
        self.clock.sleep(PERIOD_S)
        self._move()
        try:
            self.servos.begin_look(PLACES if self._alone else BLOCK)
            values = _positions(self.servos)
        except PortLost:
            self._alone = False
            return 0
        self._alone = len(values) == len(SERVO_IDS) and not self._alone
        for id, value in values.items():
            if value != self._truth[id]:
                found.stale += value in self._older[id]
                found.wrong += value not in self._older[id]
        return len(values)

    def _move(self) -> None:
        """Put every servo where it was not before; each servo steps differently."""
        self._number += 1
        for id, servo in zip(SERVO_IDS, self.arm.servos, strict=True):
            if id in self._truth:
                self._older[id] = [*self._older[id][1 - REMEMBERED :], self._truth[id]]
            low, high = _range(servo.memory)
            place = low + (self._number * 7 + id * 300) % (high - low)
            servo.motor.place(place + servo.homing_offset)
            self._truth[id] = servo.present_position()


def _range(memory: bytearray) -> tuple[int, int]:
    """Where a servo can be put: between its limits, registers 9 and 11."""
    low, high = (int.from_bytes(memory[at : at + 2], "little") for at in (9, 11))
    return low + MARGIN, high - MARGIN


def _positions(servos: Servos) -> dict[int, int]:
    """Raw positions of those who answered, as the core's cycle reads them."""
    seen = servos.look()
    if isinstance(seen, Sight):
        return dict(zip(SERVO_IDS, seen.counts, strict=True))
    return {id: told.position for id, (told, _) in seen.items() if told is not None}


def survive(name: str, reads: int) -> Survived:
    """One second of a fault, its end, and `reads` reads of a bus that is well again."""
    found, rig = Survived(name), _Rig()
    for _ in range(WARM_UP):
        rig.read(found)
    rig.command(FAULTS[name])
    for _ in range(DURING):
        found.got += rig.read(found)
        found.asked += len(SERVO_IDS)
    found.causes = _causes(rig.counters)
    _heal(rig)
    for number in range(PATIENCE):
        if rig.read(found) == len(SERVO_IDS):
            found.whole_after = number
            break
    else:
        return found
    for _ in range(reads):
        found.healthy += rig.read(found) == len(SERVO_IDS)
    return found


def _heal(rig: _Rig) -> None:
    rig.command({"cmd": "healthy"})
    if not rig.cable.plugged:
        rig.command({"cmd": "replug"})
        rig.reopen()


def _causes(counters: Counters) -> dict[str, int]:
    causes: Counter[str] = Counter()
    for (_, cause), count in counters.misses.items():
        causes[str(cause)] += count
    return dict(causes)
