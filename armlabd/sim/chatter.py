"""Bytes on the line that no servo sent: garbage, and another program's words.

They come at fixed intervals for a while. What they meet on the wire is destroyed with them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

GARBAGE_EVERY_S: Final = 0.001  # never quiet for as long as a USB frame pair
AT_EVERY_S: Final = 0.0073  # drifts through the cycles of whoever drives the arm
BYTE_S: Final = 10e-6


class Burst(NamedTuple):
    """Bytes that are on the wire from `start_s` on."""

    start_s: float
    data: bytes

    @property
    def end_s(self) -> float:
        """When the last byte is through."""
        return self.start_s + len(self.data) * BYTE_S


@dataclass(slots=True)
class Talker:
    """Says something every `every_s` until `until_s`; 0 means until it is sent away."""

    make: Callable[[], bytes]
    every_s: float
    next_s: float
    until_s: float


class Chatter:
    """All talkers on one wire."""

    def __init__(self, seed: int = 0) -> None:
        self._dice = random.Random(seed)
        self._talkers: list[Talker] = []

    def garbage(self, now_s: float, seconds: float) -> None:
        """One to four random bytes every millisecond."""
        self._begin(self._random, GARBAGE_EVERY_S, now_s, seconds)

    def words(self, text: bytes, now_s: float, seconds: float) -> None:
        """Another program writes `text` again and again."""
        self._begin(lambda: text, AT_EVERY_S, now_s, seconds)

    def clear(self) -> None:
        """Quiet again."""
        self._talkers.clear()

    @property
    def quiet(self) -> bool:
        """True when nobody talks."""
        return not self._talkers

    def next_s(self) -> float | None:
        """When the next bytes have come; None when none will."""
        return min((talker.next_s for talker in self._talkers), default=None)

    def due(self, now_s: float) -> list[Burst]:
        """What was said up to `now_s`, oldest first."""
        bursts: list[Burst] = []
        for talker in self._talkers:
            while talker.next_s <= min(now_s, talker.until_s):
                bursts.append(Burst(talker.next_s, talker.make()))
                talker.next_s += talker.every_s
        self._talkers = [t for t in self._talkers if t.next_s <= t.until_s]
        return sorted(bursts)

    def _begin(
        self, make: Callable[[], bytes], every_s: float, now_s: float, seconds: float
    ) -> None:
        self._talkers.append(Talker(make, every_s, now_s, now_s + seconds))

    def _random(self) -> bytes:
        return self._dice.randbytes(self._dice.randint(1, 4))
