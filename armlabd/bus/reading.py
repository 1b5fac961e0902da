"""What servos answered, one by one or all at once, and when they were asked."""

from __future__ import annotations

from typing import NamedTuple

from armlabd.bus.errors import NoAnswer
from armlabd.bus.registers import Feedback, Register, decode_value


class Reading(NamedTuple):
    """What one servo answered: its bytes, its error bits, and when it was asked (monotonic)."""

    data: bytes
    error_bits: int
    at_s: float
    register: Register | None = None

    @property
    def value(self) -> int:
        """The raw signed integer of a register's reading. Raises ValueError for any other."""
        if self.register is None:
            raise ValueError("This reading is not one register's.")
        return decode_value(self.register, self.data)

    def age_s(self, now_s: float) -> float:
        """How old the reading is at `now_s`."""
        return now_s - self.at_s


class Readings(dict[int, Reading]):
    """Readings by servo id; who is absent is named in `no_answer`."""

    no_answer: NoAnswer | None = None


class BlockReading(NamedTuple):
    """The feedback block of one servo, its error bits, and when it was asked."""

    feedback: Feedback
    error_bits: int
    at_s: float


class BlockRead(NamedTuple):
    """The feedback of the servos that answered; `no_answer` names the others."""

    servos: dict[int, BlockReading]
    no_answer: NoAnswer | None
