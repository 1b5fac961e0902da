"""Playing a program one set-point per cycle, and coming to rest on its own path.

Braking slows the way along the program, never leaves it: the arm comes to rest on points that the
guard has seen. Each cycle advances as little as the acceleration limits allow. Jerk has no limit
here, as it has in a planned move: that would cost 50 ms and, at full speed, a third of the way.
"""

from __future__ import annotations

from collections.abc import Sequence

from armlabd.arm.joints import Pose

HALVINGS = 8  # of the advance looked for in each braking cycle: exact to a 256th


class Stream:
    """`points` with the first already taken by the arm; `bends` limits the change of step.

    `pace` is the share of the program's speed at which it is played, above 0 to 1.
    """

    def __init__(self, points: Sequence[Pose], bends: tuple[float, ...], pace: float = 1.0) -> None:
        self._points = points
        self._bends = bends
        self._place = 0.0
        self._advance = pace
        self._now = self._before = points[0]
        self.braking = False

    @property
    def place(self) -> int:
        """The set-point reached."""
        return int(self._place)

    @property
    def finished(self) -> bool:
        """True when nothing more is to be sent: at the end, or at rest on the way."""
        return self._place >= len(self._points) - 1 or (self.braking and self._advance <= 0.0)

    @property
    def now(self) -> Pose:
        """The last goal given out."""
        return self._now

    def brake(self) -> None:
        """Come to rest from here on."""
        self.braking = True
        if self._place == 0.0:
            self._advance = 0.0  # nothing has moved yet

    def next(self) -> Pose:
        """The goal of this cycle."""
        if self.braking:
            self._advance = self._least_advance()
        self._place = min(self._place + self._advance, len(self._points) - 1.0)
        self._before, self._now = self._now, self.at(self._place)
        return self._now

    def at(self, place: float) -> Pose:
        """The path between set-points."""
        low = int(place)
        share = place - low
        if share == 0.0:
            return self._points[low]
        a, b = self._points[low], self._points[low + 1]
        return Pose(*(x + share * (y - x) for x, y in zip(a, b, strict=True)))

    def _least_advance(self) -> float:
        """The smallest advance that no joint feels as more than its acceleration limit."""
        end = len(self._points) - 1.0
        if self._gentle(self._now):
            return 0.0
        low, high = 0.0, self._advance
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            if self._gentle(self.at(min(self._place + middle, end))):
                high = middle
            else:
                low = middle
        return high

    def _gentle(self, goal: Pose) -> bool:
        return all(
            abs(goal[k] - 2.0 * self._now[k] + self._before[k]) <= self._bends[k] for k in range(6)
        )
