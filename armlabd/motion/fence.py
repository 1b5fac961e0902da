"""Where a pose is outside its limits: travel, floor, reach and boxes, for every part of the arm.

Each pose is looked at twice: as commanded, and as it will really be. A servo has to be a little
behind its goal before it pushes, so lift and elbow hang lower than they were told (`SAG_DEG`).
Forearm, hand and both jaws are pieces with a thickness; a piece is cut with a box exactly, so that
nothing slips through between two points. The upper arm stands over the base and moves no farther
than its elbow.

Most poses are far from everything. `_Fence.is_clear` proves that with a few comparisons, and only
where it cannot the exact look is taken: it alone decides what is outside, and by how much.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, hypot, radians, sin
from typing import NamedTuple

from armlabd.arm import geometry as g
from armlabd.arm.geometry import Reach, forward
from armlabd.arm.joints import JOINT_NAMES, Pose
from armlabd.arm.limits import Box, Limits

EDGE = 1e-6  # relative, for rounding of figures computed to stand on a limit
KEEP = 1e-9  # a depth may stay; below this it is rounding
SHOULDER = (0.0388353, 0.0, 0.1166)  # where `Limits.reach_m` is measured from

# Servos as position actuators at P 32 hang 0.6 degrees low in lift and elbow, the tool 1 to 5 mm
# (measured on a physics model of the arm). 0.9 degrees each are 5 mm at 0.28 m, where it is most.
SAG_DEG = 0.9
SAG_RAD = radians(SAG_DEG)
_BEND_M = 0.0005  # the straight-line estimate of the sag is better than this

# Half the thickness of each piece, m. The box of the base is drawn around lines and has it inside.
RADII_M = {
    "forearm": 0.015,
    "hand": 0.015,
    "fixed jaw": 0.006,
    "moving jaw": 0.006,
}
_SAMPLES = 8  # parts of a cut in which the deepest place is looked for
_SIDE_M = 0.03  # no point but the moving jaw's tip is farther beside the plane of the arm
_SHIFT_M = 0.01  # sagging moves no point inwards or sideways by more than this


class Depth(NamedTuple):
    """One violation: `depth` is how far beyond the limit, in `unit` (deg, m or percent)."""

    name: str  # such as "travel:elbow_flex", "floor:tool", "box:the base:forearm"
    depth: float
    value: float
    allowed: float
    unit: str


def violation(pose: Pose, limits: Limits, sag_deg: float = SAG_DEG) -> tuple[Depth, ...]:
    """Every limit on position that `pose` breaks, with depths; empty when inside.

    `sag_deg` 0 is for a pose that was measured: it has sagged already.
    """
    global _known
    if _known.limits is not limits:
        _known = _Fence(limits)
    if _known.is_clear(pose, radians(sag_deg)):
        return ()
    return exact_violation(pose, limits, sag_deg)


def exact_violation(pose: Pose, limits: Limits, sag_deg: float = SAG_DEG) -> tuple[Depth, ...]:
    """`violation` without the short cut."""
    found: list[Depth] = []
    for index in range(5):
        low, high = limits.travel_deg[index]
        value = pose[index]
        if not low - EDGE <= value <= high + EDGE:
            found.append(_beyond(f"travel:{JOINT_NAMES[index]}", value, low, high, "deg"))
    low, high = limits.grip_percent
    if not low - EDGE <= pose[5] <= high + EDGE:
        found.append(_beyond("travel:gripper", pose[5], low, high, "percent"))
    reaches = [forward(pose)]
    if sag_deg:
        sagged = pose._replace(lift=pose.lift + sag_deg, elbow=pose.elbow + sag_deg)
        reaches.append(forward(sagged))
    _below_floor(found, reaches, limits)
    _beyond_reach(found, reaches[0], limits)
    _in_boxes(found, reaches, limits)
    return tuple(found)


def _beyond(name: str, value: float, low: float, high: float, unit: str) -> Depth:
    end = low if value < low else high
    return Depth(name, abs(value - end), value, end, unit)


def _below_floor(found: list[Depth], reaches: Sequence[Reach], limits: Limits) -> None:
    floor, tip_floor = limits.floor_m - KEEP, limits.tip_floor_m - KEEP
    for name, part, lowest in (
        ("floor:tool", "tool", floor),
        ("floor:wrist", "wrist", floor),
        ("floor:elbow", "elbow", floor),
        ("floor:hand", "roll_origin", floor),
        ("floor:jaw hinge", "hinge", floor),
        ("floor:fixed jaw", "fixed_tip", tip_floor),
        ("floor:moving jaw", "moving_tip", tip_floor),
    ):
        z = min(getattr(reach, part)[2] for reach in reaches)
        if z < lowest:
            found.append(Depth(name, lowest - z, z, lowest, "m"))


def _beyond_reach(found: list[Depth], reach: Reach, limits: Limits) -> None:
    x, y, z = reach.tool
    square = (x - SHOULDER[0]) ** 2 + y * y + (z - SHOULDER[2]) ** 2
    if square > limits.reach_m**2 * (1.0 + EDGE):
        far = square**0.5
        found.append(Depth("reach:tool", far - limits.reach_m, far, limits.reach_m, "m"))


def _in_boxes(found: list[Depth], reaches: Sequence[Reach], limits: Limits) -> None:
    for box in limits.boxes():
        own = box is limits.base_box
        worst: dict[str, float] = {}
        for reach in reaches:
            for part, a, b in _pieces(reach):
                depth = cut_depth_m(a, b, box, 0.0 if own else RADII_M[part])
                if depth is not None:
                    worst[part] = max(worst.get(part, 0.0), depth)
        for part, depth in worst.items():
            found.append(Depth(f"box:{box.name}:{part}", depth, depth, 0.0, "m"))


Vector = tuple[float, float, float]


def _pieces(reach: Reach) -> tuple[tuple[str, Vector, Vector], ...]:
    """The arm as straight pieces."""
    return (
        ("forearm", reach.elbow, reach.wrist),
        ("hand", reach.wrist, reach.roll_origin),
        ("hand", reach.roll_origin, reach.hinge),
        ("fixed jaw", reach.roll_origin, reach.fixed_tip),
        ("fixed jaw", reach.tool, reach.fixed_tip),
        ("moving jaw", reach.hinge, reach.moving_tip),
    )


def cut_depth_m(a: Vector, b: Vector, box: Box, radius_m: float = 0.0) -> float | None:
    """How deep the straight piece from `a` to `b` is in `box`, its faces included; None outside.

    The box is made larger by `radius_m` on every side.
    """
    (x0, x1), (y0, y1), (z0, z1), r = box.x, box.y, box.z, radius_m
    if (  # most pieces are on one side of the box
        max(a[0], b[0]) < x0 - r
        or min(a[0], b[0]) > x1 + r
        or max(a[1], b[1]) < y0 - r
        or min(a[1], b[1]) > y1 + r
        or max(a[2], b[2]) < z0 - r
        or min(a[2], b[2]) > z1 + r
    ):
        return None
    first, last = 0.0, 1.0
    for start, end, (low, high) in zip(a, b, (box.x, box.y, box.z), strict=True):
        low, high = low - radius_m, high + radius_m
        way = end - start
        if abs(way) < KEEP:
            continue  # level with these two faces, and not outside them
        one, other = (low - start) / way, (high - start) / way
        first, last = max(first, min(one, other)), min(last, max(one, other))
    if first > last:
        return None
    step = (last - first) / _SAMPLES
    depth = 0.0
    for number in range(_SAMPLES + 1):
        t = first + number * step
        point = [p + t * (q - p) for p, q in zip(a, b, strict=True)]
        depth = max(depth, box.depth_m(point) + radius_m)
    return depth


class _Fence:
    """What `is_clear` needs to know of the limits, worked out once."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._floor = limits.floor_m + _BEND_M
        self._tip_floor = limits.tip_floor_m + _BEND_M
        self._reach_square = limits.reach_m**2 - _SIDE_M**2
        self._ranges = (*limits.travel_deg, limits.grip_percent)
        thick = max(RADII_M.values())
        self._boxes = [
            _sides(box, _SHIFT_M + (0.0 if box is limits.base_box else thick))
            for box in limits.boxes()
        ]

    def is_clear(self, pose: Pose, sag_rad: float) -> bool:
        """True when `exact_violation` is sure to find nothing; False when that is not sure."""
        for value, (low, high) in zip(pose, self._ranges, strict=True):
            if not low <= value <= high:
                return False
        _, lift, elbow, wrist, roll, grip = pose
        turn = radians(lift)
        c, s = cos(turn), sin(turn)
        elbow_out = g.SHOULDER_OUT_M + g.UPPER_OUT_M * c + g.UPPER_UP_M * s
        elbow_z = g.SHOULDER_Z_M + g.UPPER_UP_M * c - g.UPPER_OUT_M * s
        turn += radians(elbow)
        c, s = cos(turn), sin(turn)
        wrist_out = elbow_out + g.FORE_OUT_M * c + g.FORE_UP_M * s
        wrist_z = elbow_z + g.FORE_UP_M * c - g.FORE_OUT_M * s
        turn += radians(wrist)
        c, s = cos(turn), sin(turn)
        roll_out, roll_z = wrist_out + g.HAND_M * c, wrist_z - g.HAND_M * s
        roll_turn = radians(roll) - g.ROLL_ZERO_RAD
        across, beside = c * cos(roll_turn), c * sin(roll_turn)
        out_across, out_beside = s * cos(roll_turn), s * sin(roll_turn)
        face_z = roll_z + g.FACE_ACROSS_M * across - g.HAND_SIDE_M * beside
        face_out = roll_out + g.FACE_ACROSS_M * out_across - g.HAND_SIDE_M * out_beside
        tool_z, tool_out = face_z - g.TOOL_ALONG_M * s, face_out + g.TOOL_ALONG_M * c
        tip_z, tip_out = face_z - g.FIXED_TIP_ALONG_M * s, face_out + g.FIXED_TIP_ALONG_M * c
        hinge_z = roll_z + g.HINGE_ACROSS_M * across - g.HINGE_SIDE_M * beside
        hinge_z -= g.HINGE_ALONG_M * s
        hinge_out = roll_out + g.HINGE_ACROSS_M * out_across - g.HINGE_SIDE_M * out_beside
        hinge_out += g.HINGE_ALONG_M * c
        turn = g.JAW_CLOSED_RAD + g.JAW_RAD_PER_PERCENT * grip
        jaw_across = g.HINGE_ACROSS_M + g.JAW_LENGTH_M * sin(turn)
        jaw_along = g.HINGE_ALONG_M + g.JAW_LENGTH_M * cos(turn)
        jaw_z = roll_z + jaw_across * across - g.HAND_SIDE_M * beside - jaw_along * s
        jaw_out = roll_out + jaw_across * out_across - g.HAND_SIDE_M * out_beside + jaw_along * c
        farthest = max(elbow_out, wrist_out, roll_out, tool_out, tip_out, hinge_out, jaw_out)
        # What hangs farthest out sinks most: one figure for all is enough to be on the safe side.
        drop = sag_rad * (max(0.0, farthest - g.SHOULDER_OUT_M) + max(0.0, farthest - elbow_out))
        lowest_tip = min(tip_z, jaw_z) - drop
        lowest = min(tool_z, elbow_z, wrist_z, roll_z, hinge_z) - drop
        if lowest < self._floor or lowest_tip < self._tip_floor:
            return False
        rise = tool_z - g.SHOULDER_Z_M
        if tool_out * tool_out + rise * rise > self._reach_square:
            return False
        jaw_left = g.ROLL_SIDE_M + jaw_across * sin(roll_turn) + g.HAND_SIDE_M * cos(roll_turn)
        hand = (
            min(wrist_out, roll_out, tool_out, tip_out, hinge_out, jaw_out),
            max(wrist_out, roll_out, tool_out, tip_out, hinge_out, jaw_out),
            min(lowest, lowest_tip, wrist_z - drop),
            max(_SIDE_M, abs(jaw_left)),
        )
        fore_low = min(elbow_z, wrist_z) - drop
        fore = (min(elbow_out, wrist_out), max(elbow_out, wrist_out), fore_low, _SIDE_M)
        cos_pan, sin_pan = cos(radians(pose[0])), sin(radians(pose[0]))
        for sides in self._boxes:
            if not (
                _apart(hand, sides, cos_pan, sin_pan) and _apart(fore, sides, cos_pan, sin_pan)
            ):
                return False
        return True


def _apart(
    group: tuple[float, float, float, float],
    sides: tuple[float, ...],
    cos_pan: float,
    sin_pan: float,
) -> bool:
    """True when one upright plane or the top of the box is between it and a part of the arm.

    The part: from and to how far out from the pan axis, how low, and how far aside at most.
    """
    near, far, low, aside = group
    x0, x1, y0, y1, top, reach = sides
    if low > top or near > reach:
        return True
    a, b = g.PAN_AXIS_X_M + near * cos_pan, g.PAN_AXIS_X_M + far * cos_pan
    wide = aside * abs(sin_pan)
    if min(a, b) - wide > x1 or max(a, b) + wide < x0:
        return True
    a, b = -near * sin_pan, -far * sin_pan
    wide = aside * abs(cos_pan)
    return min(a, b) - wide > y1 or max(a, b) + wide < y0


def _sides(box: Box, margin_m: float) -> tuple[float, ...]:
    """The box made larger: its upright sides, its top, and how far it reaches out."""
    return (
        box.x[0] - margin_m,
        box.x[1] + margin_m,
        box.y[0] - margin_m,
        box.y[1] + margin_m,
        box.z[1] + margin_m,
        _farthest_m(box) + margin_m,
    )


def _farthest_m(box: Box) -> float:
    """How far from the pan axis the box reaches."""
    return max(hypot(x - g.PAN_AXIS_X_M, y) for x in box.x for y in box.y)


_known = _Fence(Limits())
