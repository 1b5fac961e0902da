"""What can be made to go wrong on the virtual bus, and the dice that decide when.

Most of it happens to answers on their way to the master. `frozen` also deafens the servos, `cut`
those behind a broken cable. Rates are probabilities per answer, 0 to 1. The dice have a seed, so a
run can be repeated.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Final

from armlabd.bus.frames import checksum

STRANGE_ID: Final = 77  # nobody has it
RATES: Final = (
    "drop_rate",
    "corrupt_rate",
    "noise_rate",
    "extra_ff_rate",
    "truncate_rate",
    "strange_rate",
)


@dataclass(slots=True)
class BusFaults:
    """The faults in force."""

    seed: int = 0
    muted: set[int] = field(default_factory=set)
    cut: set[int] = field(default_factory=set)  # behind a broken cable: deaf, mute, without power
    doubles: set[int] = field(default_factory=set)  # a second servo answers to this id
    drop_rate: float = 0.0
    corrupt_rate: float = 0.0
    noise_rate: float = 0.0  # a stray byte in front of an answer
    extra_ff_rate: float = 0.0  # a spare FF in front of an answer
    truncate_rate: float = 0.0  # the end of an answer is missing
    strange_rate: float = 0.0  # an answer that carries another id
    late_s: float = 0.0
    late_once: bool = False
    frozen: bool = False
    echo: bool = False  # the adapter sends every request back
    dice: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)

    def clear(self) -> None:
        """Back to a healthy bus."""
        for listed in (self.muted, self.cut, self.doubles):
            listed.clear()
        for name in RATES:
            setattr(self, name, 0.0)
        self.late_s = 0.0
        self.late_once = self.frozen = self.echo = False

    def loses(self, id: int) -> bool:
        """True when this servo's answer never reaches the wire."""
        return id in self.muted or self._happens(self.drop_rate)

    def spoil(self, frame: bytes) -> bytes:
        """The frame with what noise and a second servo do to it."""
        if frame[2] in self.doubles:
            frame = _mixed(frame)
        if self._happens(self.strange_rate):
            body = bytes((STRANGE_ID, *frame[3:-1]))
            frame = frame[:2] + body + bytes((checksum(body),))
        if self._happens(self.corrupt_rate):
            place = self.dice.randrange(2, len(frame))
            bad = frame[place] ^ (1 << self.dice.randrange(8))
            frame = frame[:place] + bytes((bad,)) + frame[place + 1 :]
        if self._happens(self.truncate_rate):
            frame = frame[: self.dice.randrange(1, len(frame))]
        if self._happens(self.noise_rate):
            frame = bytes((self.dice.randrange(256),)) + frame
        return b"\xff" + frame if self._happens(self.extra_ff_rate) else frame

    def _happens(self, rate: float) -> bool:
        return rate > 0 and self.dice.random() < rate

    def delay_s(self) -> float:
        """How much later than due this request's answers start."""
        delay = self.late_s
        if self.late_once:
            self.late_s, self.late_once = 0.0, False
        return delay


def _mixed(frame: bytes) -> bytes:
    """Two servos answer at once: on the idle-high line a 0 wins, bit by bit.

    The other one has the same settings and stands elsewhere, so their pings look like one.
    """
    other = bytes((*frame[2:5], *((byte * 5 + 11) & 0xFF for byte in frame[5:-1])))
    twin = frame[:2] + other + bytes((checksum(other),))
    return bytes(a & b for a, b in zip(frame, twin, strict=True))
