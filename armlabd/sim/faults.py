"""What can be made to go wrong on the virtual bus, and the dice that decide when.

All of it happens to answers on their way to the master, save `frozen`, which also deafens the
servos. Rates are probabilities per answer, 0 to 1. The dice have a seed, so a run can be repeated.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass(slots=True)
class BusFaults:
    """The faults in force."""

    seed: int = 0
    muted: set[int] = field(default_factory=set)
    drop_rate: float = 0.0
    corrupt_rate: float = 0.0
    noise_rate: float = 0.0  # a stray byte in front of an answer
    late_s: float = 0.0
    late_once: bool = False
    frozen: bool = False
    dice: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)

    def clear(self) -> None:
        """Back to a healthy bus."""
        self.muted.clear()
        self.drop_rate = self.corrupt_rate = self.noise_rate = self.late_s = 0.0
        self.late_once = self.frozen = False

    def loses(self, id: int) -> bool:
        """True when this servo's answer never reaches the wire."""
        return id in self.muted or (self.drop_rate > 0 and self.dice.random() < self.drop_rate)

    def spoil(self, frame: bytes) -> bytes:
        """The frame with what noise does to it."""
        if self.corrupt_rate > 0 and self.dice.random() < self.corrupt_rate:
            place = self.dice.randrange(2, len(frame))
            bad = frame[place] ^ (1 << self.dice.randrange(8))
            frame = frame[:place] + bytes((bad,)) + frame[place + 1 :]
        if self.noise_rate > 0 and self.dice.random() < self.noise_rate:
            frame = bytes((self.dice.randrange(256),)) + frame
        return frame

    def delay_s(self) -> float:
        """How much later than due this request's answers start."""
        delay = self.late_s
        if self.late_once:
            self.late_s, self.late_once = 0.0, False
        return delay
