"""The trim: what is added to the goals so that the arm, hanging below them, stands on them.

It is measured, not foreseen: once the arm is steady after its last set-point, lift, elbow and wrist
are told to go higher by what they hang lower. Only what the weight of the links explains is
trimmed; a joint that something holds up is not pushed against it. The trim is chosen once and
stays, also during the next motion, until the arm comes to rest elsewhere: it follows no reading, so
it cannot hunt. Every goal that it changes is looked at by the guard like any other.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from armlabd.arm.joints import ZERO, Pose
from armlabd.arm.limits import Limits
from armlabd.arm.sag import Sag
from armlabd.motion.fence import violation
from armlabd.motion.guard import OUTSIDE_SPEED_DPS
from armlabd.motion.legs import leg_count, leg_points

MOST_DEG = 2.0  # of any joint; a joint that hangs lower than this is worn or carries too much
FROM_DEG = 0.09  # less is not worth a move: one step of the servo
MORE_DEG = 0.3  # friction and rounding, beside what the weight explains
# Of what an empty hand's weight explains. Less: something holds the joint up (where the servo still
# hangs, with less than the arm's own weight). More: a payload or a worn servo carry too much.
LIGHTER, HEAVIER = 0.5, 2.0
TRIMMED = range(1, 4)  # lift, elbow, wrist: the joints that carry weight
TRIM_DPS = OUTSIDE_SPEED_DPS * 0.95
SLICE = 24  # poses looked at per slice: one look each, where the guard takes two
NONE: Sag = (0.0, 0.0, 0.0, 0.0, 0.0)


def shifted(pose: Pose, deg: Sequence[float]) -> Pose:
    """`pose` with the arm joints moved by `deg`."""
    if not any(deg):  # mostly there is nothing to add
        return pose
    (pan, lift, elbow, wrist, roll, grip), (d1, d2, d3, d4, d5) = pose, deg
    return Pose(pan + d1, lift + d2, elbow + d3, wrist + d4, roll + d5, grip)


def wanted(goal: Pose, trim: Sag, pose: Pose, sag: Sag) -> Sag | None:
    """The trim with which the arm would stand on `goal`; None when it should stay as it is.

    `pose` is where the arm came to rest with `trim`, `sag` what the weight of an empty arm explains
    there. A joint that is off by something else, or would need more than `MOST_DEG`, keeps its own.
    """
    new = list(trim)
    for joint in TRIMMED:
        error = pose[joint] - goal[joint]
        hangs = error - trim[joint]
        ends = LIGHTER * sag[joint], HEAVIER * sag[joint]
        explained = min(ends) - MORE_DEG <= hangs <= max(ends) + MORE_DEG
        if explained and abs(hangs) <= MOST_DEG:
            new[joint] = -hangs
    if max(abs(a - b) for a, b in zip(new, trim, strict=True)) < FROM_DEG:
        return None
    return (new[0], new[1], new[2], new[3], new[4])


def fits(points: Sequence[Pose], deg: Sag, limits: Limits) -> Generator[None, None, bool]:
    """Whether the guard's limits on position are kept by all of `points` with the trim added."""
    for number, point in enumerate(points):
        if violation(shifted(point, deg), limits):
            return False
        if number % SLICE == SLICE - 1:
            yield
    return True


class Trim:
    """`deg` is added to every goal now; `moving` while it is on its way to another."""

    def __init__(self) -> None:
        self.deg: Sag = NONE
        self._before: Sag = NONE
        self._way: Iterator[Pose] | None = None

    @property
    def any(self) -> bool:
        """True when goals are changed at all."""
        return any(self.deg)

    @property
    def moving(self) -> bool:
        """True while each cycle brings another trim."""
        return self._way is not None

    def go(self, to: Sag, limits: Limits, dt_s: float) -> None:
        """Go gently to another trim, one `next` per cycle."""
        start, goal = shifted(ZERO, self.deg), shifted(ZERO, to)
        count = leg_count(start, goal, min(TRIM_DPS, limits.speed_dps), limits, dt_s)
        self._way = leg_points(start, goal, count)

    def next(self) -> bool:
        """One cycle on; True when the trim is another than before."""
        if self._way is None:
            return False
        step = next(self._way, None)
        if step is None:
            self._way = None
            return False
        self._before, self.deg = self.deg, step.arm
        return True

    def refused(self) -> None:
        """The goal with this cycle's trim was not sent: the trim before it stays."""
        self.deg, self._way = self._before, None

    def stay(self) -> None:
        """The motion is over: what is added now stays."""
        self._way = None

    def clear(self) -> None:
        """Nothing is added any more: the goals are where the servos are, or unknown."""
        self.deg, self._way = NONE, None
