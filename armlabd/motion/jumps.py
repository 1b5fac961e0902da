"""Positions that cannot be true, because no joint moves that fast.

A single such reading is not believed: the last good one stays, and ages. When the readings stay
where the joint cannot be, its encoder has slipped or lies, which is a fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import sub

from armlabd.motion.thresholds import FASTEST_JOINT, JUMP_SLACK, JUMPS_IN_A_ROW

TURN = 4096
FORGET_S = 0.5  # after a longer gap a joint can be anywhere
ONE_PLACE = 100  # steps: two readings a cycle apart, of a limp arm
MOVING_STEPS_PER_S = 1200.0  # how far a driven arm gets while a jump is being looked at


class Jumps:
    """The last believed counts. `fault` names the servo (its place 0 to 5) that keeps lying."""

    def __init__(self) -> None:
        self.count = 0
        self.in_a_row = 0
        self.place = 0
        self.steps = 0
        self._last: tuple[int, ...] = ()
        self._strange: tuple[int, ...] = ()  # the last reading that was not believed
        self._at_s = 0.0
        self._first_s = 0.0
        self._allowed = 0.0

    @property
    def fault(self) -> int | None:
        """The joint that has jumped for good, or None."""
        return self.place if self.in_a_row >= JUMPS_IN_A_ROW.value else None

    def forget(self) -> None:
        """Believe whatever comes next."""
        self._last, self.in_a_row, self._strange = (), 0, ()

    def believes(self, counts: tuple[int, ...], at_s: float, limp: bool = False) -> bool:
        """Whether the joints can be there; counts those that cannot.

        A limp arm that shows the same place twice has been put there by a hand.
        """
        if not self.in_a_row and counts and self._last and _near(counts, self._last):
            self._last, self._at_s = counts, at_s  # as nearly always
            return True
        if counts != self._last and self._last and at_s - self._at_s <= FORGET_S:
            far, place = _farthest(counts, self._last)
            if abs(far) > self._reach(at_s):
                if not self.in_a_row:
                    self._first_s, self._allowed = at_s, self._reach(at_s)
                self.count += 1
                self.in_a_row += 1
                self.place, self.steps = place, far
                twice = (
                    bool(self._strange) and abs(_farthest(counts, self._strange)[0]) <= ONE_PLACE
                )
                self._strange = counts
                if not (limp and twice):
                    return False
        self._last, self._at_s, self.in_a_row, self._strange = counts, at_s, 0, ()
        return True

    def _reach(self, at_s: float) -> float:
        """How many steps a joint can have gone since the last believed reading."""
        if self.in_a_row:
            return self._allowed + MOVING_STEPS_PER_S * (at_s - self._first_s)
        return JUMP_SLACK.value + FASTEST_JOINT.value * (at_s - self._at_s)


def _near(counts: Sequence[int], last: Sequence[int]) -> bool:
    """True when no joint has gone farther than is allowed however short the time was."""
    far: int = max(map(abs, map(sub, counts, last)))
    return far <= JUMP_SLACK.value


def _farthest(counts: Sequence[int], last: Sequence[int]) -> tuple[int, int]:
    """The largest change, the short way round the turn, and whose it is."""
    ways = [(a - b + TURN // 2) % TURN - TURN // 2 for a, b in zip(counts, last, strict=True)]
    place = max(range(len(ways)), key=lambda k: abs(ways[k]))
    return ways[place], place
