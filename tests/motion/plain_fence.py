"""The fence without any short cut, to compare it with: every figure of every part, each time."""

from __future__ import annotations

from math import cos, dist, radians, sin

from armlabd.arm.body import GROUPS, LINES, cut_depth_m, placed
from armlabd.arm.geometry import plane_of
from armlabd.arm.joints import JOINT_NAMES, Pose
from armlabd.arm.kinematics import forward
from armlabd.arm.limits import Limits
from armlabd.motion.fence import EDGE, FLOORED, KEEP, SHOULDER, TIPS

Found = dict[str, float]


def sagged(pose: Pose, by_deg: float) -> Pose:
    return pose._replace(lift=pose.lift + by_deg, elbow=pose.elbow + by_deg)


def plain_violation(pose: Pose, limits: Limits, sag_deg: float) -> Found:
    """Every limit that `pose` breaks by its name, and by how much."""
    both = (pose, sagged(pose, sag_deg))
    return {
        **_travel(pose, limits),
        **_floor(both, limits),
        **_reach(pose, limits),
        **_boxes(both, limits),
    }


def _travel(pose: Pose, limits: Limits) -> Found:
    found = {}
    ranges = (*limits.travel_deg, limits.grip_percent)
    for name, value, (low, high) in zip(JOINT_NAMES, pose, ranges, strict=True):
        beyond = max(low - value, value - high)
        if beyond > EDGE:
            found[f"travel:{name}"] = beyond
    return found


def _floor(both: tuple[Pose, ...], limits: Limits) -> Found:
    found = {}
    for name, point in FLOORED:
        floor = limits.tip_floor_m if point in TIPS else limits.floor_m
        below = floor - KEEP - min(getattr(forward(pose), point)[2] for pose in both)
        if below > 0.0:
            found[name] = below
    return found


def _reach(pose: Pose, limits: Limits) -> Found:
    far = dist(forward(pose).tool, SHOULDER)
    if far**2 > limits.reach_m**2 * (1.0 + EDGE):
        return {"reach:tool": far - limits.reach_m}
    return {}


def _boxes(both: tuple[Pose, ...], limits: Limits) -> Found:
    found: Found = {}
    turn = radians(both[0].pan)
    for box in limits.boxes():
        groups = LINES if box is limits.base_box else GROUPS
        for pose in both:
            ends = placed(plane_of(pose), cos(turn), sin(turn))
            for piece in (piece for group in groups for piece in group):
                r, aside = piece.radius_m, piece.aside_m
                x, y = r + aside * abs(sin(turn)), r + aside * abs(cos(turn))
                sides = (
                    box.x[0] - x, box.x[1] + x, box.y[0] - y, box.y[1] + y,
                    box.z[0] - r, box.z[1] + r,
                )  # fmt: skip
                depth = cut_depth_m(ends[piece.start], ends[piece.end], sides)
                name = f"box:{box.name}:{piece.part}"
                if depth is not None:
                    found[name] = max(found.get(name, 0.0), depth)
    return found
