"""The core's own smooth moves from pose to pose: at rest at every corner, gentle in between."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import pairwise
from math import cbrt, ceil, sqrt

from armlabd.arm.joints import Pose
from armlabd.arm.limits import Limits
from armlabd.arm.profile import JERK_DPS3, JERK_PPS3

# The smoothest curve between two points at rest (fifth order): its highest speed, acceleration
# and jerk as multiples of distance over time, time squared and time cubed.
TOP_SPEED = 1.875
TOP_ACCELERATION = 5.7735
TOP_JERK = 60.0
SLICE = 100  # points per slice, about 0.4 ms


def leg_points(start: Pose, goal: Pose, count: int) -> Generator[Pose, None, None]:
    """The `count` points after `start`, the last being `goal` itself."""
    delta = [b - a for a, b in zip(start, goal, strict=True)]
    for number in range(1, count):
        t = number / count
        share = t * t * t * (10.0 - 15.0 * t + 6.0 * t * t)
        yield Pose(*(a + share * d for a, d in zip(start, delta, strict=True)))
    yield goal


def leg_count(start: Pose, goal: Pose, speed_dps: float, limits: Limits, dt_s: float) -> int:
    """How many points of `dt_s` a leg needs within the speed and the acceleration limits."""
    turn = max(abs(b - a) for a, b in zip(start[:5], goal[:5], strict=True))
    grip = abs(goal[5] - start[5])
    rate = speed_dps / limits.speed_dps  # the gripper is slowed in proportion
    time_s = max(
        TOP_SPEED * turn / speed_dps,
        TOP_SPEED * grip / (limits.grip_speed_pps * rate),
        sqrt(TOP_ACCELERATION * turn / limits.acceleration_dps2),
        sqrt(TOP_ACCELERATION * grip / limits.grip_acceleration_pps2),
        cbrt(TOP_JERK * turn / JERK_DPS3),
        cbrt(TOP_JERK * grip / JERK_PPS3),
    )
    return max(1, ceil(time_s / dt_s))


def build_legs(
    corners: Sequence[Pose], speed_dps: float, limits: Limits, dt_s: float
) -> Generator[None, None, tuple[Pose, ...]]:
    """The set-points through all corners, built in slices; the first is the first corner."""
    points = [corners[0]]
    for start, goal in pairwise(corners):
        count = leg_count(start, goal, speed_dps, limits, dt_s)
        for number, point in enumerate(leg_points(start, goal, count)):
            points.append(point)
            if number % SLICE == SLICE - 1:
                yield
    return tuple(points)
