"""What one arm can do: the limits and poses of rest, fitted to its calibration.

The drawing's arm turns as far as the ceilings say. An arm put together by hand has its middle a few
degrees off, and so reaches one end sooner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from armlabd.arm.calibration import Calibration
from armlabd.arm.limits import Limits, intersect_travel

Joints5 = tuple[float, float, float, float, float]
EDGE_DEG = 0.5  # a pose of rest keeps this far from the arm's own end


def own_limits(wanted: Limits, calibration: Calibration) -> Limits:
    """`wanted` for one arm: its own travel, and floors that fit how its base stands.

    Floors are only ever raised: a base that stands low has the table above its own zero. Raises
    LimitError when a joint would have no travel left.
    """
    rise_m = max(0.0, -calibration.placement.z)
    limits = intersect_travel(wanted, calibration.travel_deg())
    return replace(limits, floor_m=limits.floor_m + rise_m, tip_floor_m=limits.tip_floor_m + rise_m)


def own_pose(pose: Sequence[float], wanted: Limits, own: Limits) -> Joints5:
    """A pose of rest from the settings (degrees), fitted to the travel of one arm.

    What the shoulder cannot do the elbow takes back, so that the forearm keeps its slope and the
    hand its height; other joints stop just before their own end. A pose outside `wanted` stays as
    it is, to be refused. Only for poses the settings name: what somebody asks for is never moved.
    """
    pan, lift, elbow, wrist, roll = (float(angle) for angle in pose)
    given = (pan, lift, elbow, wrist, roll)
    ranges = zip(given, wanted.travel_deg, strict=True)
    if not all(low <= angle <= high for angle, (low, high) in ranges):
        return given
    reached = _within(lift, wanted.travel_deg[1], own.travel_deg[1])
    fitted = (pan, reached, elbow + lift - reached, wrist, roll)
    pairs = zip(fitted, wanted.travel_deg, own.travel_deg, strict=True)
    pan, lift, elbow, wrist, roll = (_within(*pair) for pair in pairs)
    return (pan, lift, elbow, wrist, roll)


def _within(angle: float, wanted: tuple[float, float], own: tuple[float, float]) -> float:
    """`angle` if this arm reaches it, else a little before its own end."""
    low = own[0] + (EDGE_DEG if own[0] > wanted[0] else 0.0)
    high = own[1] - (EDGE_DEG if own[1] < wanted[1] else 0.0)
    return min(max(angle, low), high)
