"""How the hand comes to a point: the direction of the jaws and the height to travel at.

All pure geometry within the joint limits; the checker simulates the whole path afterwards.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from armlabd.arm.kinematics import GeometryFault, best_yaw, reach_down
from armlabd.arm.limits import Limits
from armlabd.plan.context import PlanContext
from armlabd.plan.skills import (
    HELD_PERCENT,
    LIFTED_Z_M,
    NARROW_PERCENT,
    OPEN_PERCENT,
    TRAVEL_Z_M,
    Grip,
    Spot,
)
from armlabd.table import Point

STEP_Z_M = 0.005
MARGIN_DEG = 0.5  # kept from every end of travel, so that the line between two aims stays inside
# Where the opened jaw stands, from a block's middle: measured at the tip, with half its thickness.
MOVING_JAW_M = {OPEN_PERCENT: 0.055, NARROW_PERCENT: 0.038}
FIXED_JAW_M = 0.030  # the other one, with its width
JAW_ROOM_M = 0.037  # half a block's diagonal, and a jaw with some doubt about both
YAWS_DEG = tuple(range(-90, 91, 15))


@functools.lru_cache(maxsize=8)
def inner(limits: Limits) -> Limits:
    """The limits with a little less travel, for aims."""
    travel = tuple((low + MARGIN_DEG, high - MARGIN_DEG) for low, high in limits.travel_deg)
    return replace(limits, travel_deg=travel)


def aim_grip(
    name: str,
    at: Point,
    z: float,
    block_yaw_deg: float,
    context: PlanContext,
    others: Iterable[Point] = (),
) -> Grip | None:
    """How to grip a block, or None where the hand cannot come straight down on it.

    The jaws open square to a face: a side whose jaws stand free of the `others` is taken before
    one that does not, and of these the one that turns the wrist least. Where none is free, the
    jaws open less.
    """
    sides = best_yaw(*at, z, block_yaw_deg=block_yaw_deg, limits=inner(context.limits))
    yaws = [round(yaw, 1) for yaw in sides if abs(yaw) <= 90.0]
    for yaw, opened in _freest(at, yaws, tuple(others)):
        above = _travel_z(at, z, yaw, context, (opened, HELD_PERCENT))
        if above is not None:
            return Grip(name, *at, z, yaw, above, opened)
    return None


def aim_spot(
    name: str, at: Point, z: float, context: PlanContext, others: Iterable[Point] = ()
) -> Spot | None:
    """How to put something down at a point, or None where the hand cannot.

    The jaws open on release, so a direction free of the `others` is taken first.
    """
    for yaw, opened in _freest(at, _by_roll(at, z, context), tuple(others)):
        above = _travel_z(at, z, yaw, context, (HELD_PERCENT, opened))
        if above is not None:
            return Spot(name, *at, z, yaw, above, opened)
    return None


def _freest(at: Point, yaws: Sequence[float], others: Sequence[Point]) -> list[tuple[float, float]]:
    """Yaw and opening in percent, those first whose jaws stand free; then wide, then least roll."""
    ways = [(yaw, opened) for opened in MOVING_JAW_M for yaw in yaws]
    return sorted(ways, key=lambda way: _crowded(at, way[0], way[1], others))  # stable


def _by_roll(at: Point, z: float, context: PlanContext) -> list[float]:
    found = []
    for yaw in map(float, YAWS_DEG):
        roll = _roll(at, z, yaw, HELD_PERCENT, context)
        if roll is not None:
            found.append((abs(roll), yaw))
    return [yaw for _, yaw in sorted(found)]


def _travel_z(
    at: Point, low_z: float, yaw: float, context: PlanContext, grips: Sequence[float]
) -> float | None:
    """The highest travel height over a point that hand and joints reach, jaws open and holding."""
    low, high = context.z_m
    if any(_roll(at, low_z, yaw, grip, context) is None for grip in grips):
        return None
    z = min(TRAVEL_Z_M, high)
    while z >= max(LIFTED_Z_M, low):
        if all(_roll(at, z, yaw, grip, context) is not None for grip in grips):
            return z
        z = round(z - STEP_Z_M, 6)  # exact: at z 0.05 the hand may no longer tilt
    return None


def _roll(at: Point, z: float, yaw: float, grip: float, context: PlanContext) -> float | None:
    try:
        pose = reach_down(
            *at,
            z,
            yaw_deg=yaw,
            grip_percent=grip,
            max_tilt_deg=context.max_tilt_deg,
            limits=inner(context.limits),
        )
    except GeometryFault:
        return None
    return pose.roll


def _crowded(at: Point, yaw_deg: float, opened: float, others: Sequence[Point]) -> int:
    """How many other blocks stand where the opened jaws come down."""
    c, s = math.cos(math.radians(yaw_deg)), math.sin(math.radians(yaw_deg))
    jaws = [(at[0] + out * c, at[1] + out * s) for out in (MOVING_JAW_M[opened], -FIXED_JAW_M)]
    return sum(math.dist(jaw, other) < JAW_ROOM_M for jaw in jaws for other in others)
