"""Where a pose is outside its limits: travel, floor, reach and boxes, for every part of the arm.

Each pose is looked at twice: as commanded, and as it will really be. A servo has to be a little
behind its goal before it pushes, so lift and elbow hang lower than they were told (`SAG_DEG`).
Upper arm, forearm, hand and both jaws are pieces with a thickness (`arm/body.py`); a piece is cut
with a box exactly, so that nothing slips through between two points.

Most poses are far from everything. A few comparisons prove that for the floor and for each box, and
only what they leave in doubt is looked at exactly: that alone decides what is outside, and by how
much. They also say how far away everything is, and until some point of the arm can have come that
far, the poses that follow need no look at all.
"""

from __future__ import annotations

from math import cos, hypot, radians, sin, sqrt
from typing import NamedTuple

from armlabd.arm import geometry as g
from armlabd.arm.body import (
    GROUPS,
    LINES,
    LINKS_ASIDE_M,
    MIDDLE_M,
    UPPER,
    Piece,
    Sides,
    cut_depth_m,
    placed,
)
from armlabd.arm.geometry import Plane, Vector, plane_of
from armlabd.arm.joints import JOINT_NAMES, ZERO, Pose
from armlabd.arm.limits import Box, Limits

EDGE = 1e-6  # relative, for rounding of figures computed to stand on a limit
KEEP = 1e-9  # a depth may stay; below this it is rounding
SHOULDER = (g.PAN_AXIS_X_M, 0.0, g.SHOULDER_Z_M)  # where `Limits.reach_m` is measured from
TIPS = ("fixed_tip", "moving_tip")  # may come nearer to the table than the rest
FLOORED = (
    ("floor:tool", "tool"),
    ("floor:wrist", "wrist"),
    ("floor:elbow", "elbow"),
    ("floor:hand", "roll_origin"),
    ("floor:jaw hinge", "hinge"),
    ("floor:fixed jaw", "fixed_tip"),
    ("floor:moving jaw", "moving_tip"),
)

# Servos as position actuators at P 32 hang 0.6 degrees low in lift and elbow, the tool 1 to 5 mm
# (measured on a physics model of the arm). 0.9 degrees each are 5 mm at 0.28 m, where it is most.
SAG_DEG = 0.9
SAG_RAD = radians(SAG_DEG)
_SHIFT_M = 0.012  # sagging moves no point by more: 0.9 degrees at 0.42 m and at 0.30 m
# Shoulder to elbow, half the width and the radius; no box farther from the pan axis is ever met.
UPPER_REACH_M = g.SHOULDER_OUT_M + g.UPPER_M + LINKS_ASIDE_M + 0.03
FAR_M = 9.0  # farther than anything need be
_DIAGONAL = 1.4143  # a margin on two sides, seen from between them
_ASIDE_M = MIDDLE_M + LINKS_ASIDE_M  # no part but the moving jaw's tip is farther beside the plane

# How far no point of the arm is from the axis of each joint, and for the pan half as much again as
# a link is wide on both sides: with it the room that width takes of a box changes too.
_TIP_M = 0.12  # from the origin of the roll axis to the farther tip
_LEVERS_M = (
    g.SHOULDER_OUT_M + g.UPPER_M + g.FORE_M + g.HAND_M + _TIP_M + 1.5 * LINKS_ASIDE_M,
    g.UPPER_M + g.FORE_M + g.HAND_M + _TIP_M,
    g.FORE_M + g.HAND_M + _TIP_M,
    g.HAND_M + _TIP_M,
    0.11,
)
# The way of that point for each degree, and of the moving jaw's tip for each percent.
_WAYS_M = (*(radians(lever) for lever in _LEVERS_M), g.JAW_LENGTH_M * g.JAW_RAD_PER_PERCENT)


class Depth(NamedTuple):
    """One violation: `depth` is how far beyond the limit, in `unit` (deg, m or percent)."""

    name: str  # such as "travel:elbow_flex", "floor:tool", "box:the base:forearm"
    depth: float
    value: float
    allowed: float
    unit: str


def violation(pose: Pose, limits: Limits, sag_deg: float = SAG_DEG) -> tuple[Depth, ...]:
    """Every limit on position that `pose` breaks, with depths; empty when inside.

    `sag_deg` 0 is for a pose that was measured: it has sagged already. At most `SAG_DEG`.
    """
    global _known
    if _known.limits is not limits:
        _known = _Fence(limits)
    return _known.look(pose, sag_deg)


def way_m(a: Pose, b: Pose) -> float:
    """How far no point of the arm has gone between two poses, nor its reach into a box."""
    pan, lift, elbow, wrist, roll, grip = _WAYS_M
    return (
        pan * abs(a[0] - b[0])
        + lift * abs(a[1] - b[1])
        + elbow * abs(a[2] - b[2])
        + wrist * abs(a[3] - b[3])
        + roll * abs(a[4] - b[4])
        + grip * abs(a[5] - b[5])
    )


# Where a group of pieces is in the plane of the arm, their radius left out: from and to how far
# out, how low and high, how far beside the plane at most. Metres.
_Span = tuple[float, float, float, float, float]


class _Room(NamedTuple):
    """Where a group of pieces may be near a box: heights, and the margin around its sides, m."""

    group: int
    low: float
    high: float
    margin: float
    width: float  # how much a diagonal pan adds to the margin


class _Near(NamedTuple):
    """A box seen from the pan axis: its middle and half its sides, and the room of each group."""

    box: Box
    x: float
    y: float
    half_x: float
    half_y: float
    rooms: tuple[_Room, ...]
    pieces: tuple[tuple[_Edge, ...], ...]  # of each group


class _Edge(NamedTuple):
    """A piece against a box that was made larger by its radius; its width is still to come."""

    part: str
    start: int
    end: int
    sides: Sides
    aside: float


class _Touch(NamedTuple):
    """A piece that may be in a box, which was made larger by all its thickness."""

    name: str
    start: int
    end: int
    sides: Sides


class _Fence:
    """What a look needs to know of the limits, worked out once."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        ranges = (*limits.travel_deg, limits.grip_percent)
        self._ranges = [
            (low, high, f"travel:{name}", "percent" if name == "gripper" else "deg")
            for (low, high), name in zip(ranges, JOINT_NAMES, strict=True)
        ]
        self._floor, self._tip_floor = limits.floor_m - KEEP, limits.tip_floor_m - KEEP
        self._boxes = [_seen(box, box is limits.base_box) for box in limits.boxes()]
        self._free = ZERO  # the last pose that was free for sure
        self._apart_m = 0.0  # and how far it was from everything at least

    def look(self, pose: Pose, sag_deg: float) -> tuple[Depth, ...]:
        """`violation` within these limits."""
        if way_m(self._free, pose) < self._apart_m:
            return ()
        plane = plane_of(pose)
        found = self._beyond_travel(pose)
        sunk: Plane | None = None
        above_m = self._above_floor_m(plane)
        if above_m < 0.0:
            sunk = plane_of(pose, sag_deg)
            self._below_floor(found, plane, sunk)
        within_m = self._beyond_reach(found, plane)
        turn = radians(pose.pan)
        cos_pan, sin_pan = cos(turn), sin(turn)
        doubts, apart_m = self._may_touch_boxes(plane, cos_pan, sin_pan)
        if not doubts:
            self._free, self._apart_m = pose, min(above_m, within_m, apart_m, self._to_end_m(pose))
        else:
            before = placed(plane, cos_pan, sin_pan)
            touched = _may_touch_pieces(doubts, before, abs(cos_pan), abs(sin_pan))
            if touched:
                after = placed(sunk or plane_of(pose, sag_deg), cos_pan, sin_pan)
                _in_boxes(found, touched, before, after)
        return tuple(found)

    def _beyond_travel(self, pose: Pose) -> list[Depth]:
        found = []
        for value, (low, high, name, unit) in zip(pose, self._ranges, strict=True):
            if not low - EDGE <= value <= high + EDGE:
                end = low if value < low else high
                found.append(Depth(name, abs(value - end), value, end, unit))
        return found

    def _to_end_m(self, pose: Pose) -> float:
        """The way to the nearest end of a joint's travel; negative beyond it."""
        return min(
            way * min(value - low, high - value)
            for way, value, (low, high, _, _) in zip(_WAYS_M, pose, self._ranges, strict=True)
        )

    def _beyond_reach(self, found: list[Depth], plane: Plane) -> float:
        """How far the tool is within reach; negative beyond it."""
        out, left, z = plane.tool  # the pan turns around where the reach is measured from
        rise, reach_m = z - SHOULDER[2], self.limits.reach_m
        square = out * out + left * left + rise * rise
        far = sqrt(square)
        if square > reach_m * reach_m * (1.0 + EDGE):
            found.append(Depth("reach:tool", far - reach_m, far, reach_m, "m"))
        return reach_m - far

    # --- floor

    def _above_floor_m(self, plane: Plane) -> float:
        """Not negative when nothing is below its floor, as commanded or sagged, for sure."""
        _, elbow, wrist, roll, _, _, tool, fixed, hinge, moving, _ = plane
        tips = min(fixed[2], moving[2]) - self._tip_floor
        others = min(tool[2], elbow[2], wrist[2], roll[2], hinge[2]) - self._floor
        return min(tips, others) - _SHIFT_M

    def _below_floor(self, found: list[Depth], plane: Plane, sunk: Plane) -> None:
        for name, point in FLOORED:
            lowest = self._tip_floor if point in TIPS else self._floor
            z = min(getattr(plane, point)[2], getattr(sunk, point)[2])
            if z < lowest:
                found.append(Depth(name, lowest - z, z, lowest, "m"))

    # --- boxes

    def _may_touch_boxes(
        self, plane: Plane, cos_pan: float, sin_pan: float
    ) -> tuple[list[tuple[_Near, int]], float]:
        """Which box and which group of pieces are not apart for sure, seen in the plane.

        And how far apart all others are at least: in whichever direction that is most.
        """
        spans = _spans(plane)
        c, s = abs(cos_pan), abs(sin_pan)
        doubts, least_m = [], FAR_M
        for near in self._boxes:
            _, x, y, half_x, half_y, rooms, _ = near
            middle, half = x * cos_pan - y * sin_pan, half_x * c + half_y * s
            beside = abs(x * sin_pan + y * cos_pan) - half_x * s - half_y * c
            for group, low, high, margin, width in rooms:
                span = spans[group]
                grow = half + margin + 2.0 * width * c * s
                apart_m = max(
                    span[2] - high, low - span[3], span[0] - middle - grow,
                    middle - grow - span[1], beside - span[4] - margin,
                )  # fmt: skip
                if apart_m <= 0.0:
                    doubts.append((near, group))
                elif apart_m < least_m:
                    least_m = apart_m
        return doubts, least_m


def _may_touch_pieces(
    doubts: list[tuple[_Near, int]], ends: list[Vector], cos_pan: float, sin_pan: float
) -> list[_Touch]:
    """Which pieces may be in a box once they have sagged, and the box made larger for each."""
    found = []
    for near, group in doubts:
        for part, start, end, (x0, x1, y0, y1, z0, z1), aside in near.pieces[group]:
            if aside:
                x0, x1 = x0 - aside * sin_pan, x1 + aside * sin_pan
                y0, y1 = y0 - aside * cos_pan, y1 + aside * cos_pan
            (ax, ay, az), (bx, by, bz) = ends[start], ends[end]
            if (
                ax < (x0 - _SHIFT_M) > bx or ax > (x1 + _SHIFT_M) < bx
                or ay < (y0 - _SHIFT_M) > by or ay > (y1 + _SHIFT_M) < by
                or az < (z0 - _SHIFT_M) > bz or az > (z1 + _SHIFT_M) < bz
            ):  # fmt: skip
                continue
            name = f"box:{near.box.name}:{part}"
            found.append(_Touch(name, start, end, (x0, x1, y0, y1, z0, z1)))
    return found


def _in_boxes(
    found: list[Depth], touched: list[_Touch], before: list[Vector], after: list[Vector]
) -> None:
    worst: dict[str, float] = {}
    for name, start, end, sides in touched:
        for ends in (before, after):
            depth = cut_depth_m(ends[start], ends[end], sides)
            if depth is not None:
                worst[name] = max(worst.get(name, 0.0), depth)
    for name, depth in worst.items():
        found.append(Depth(name, depth, depth, 0.0, "m"))


def _spans(plane: Plane) -> tuple[_Span, _Span, _Span]:
    """Where the pieces of each of `body.GROUPS` are."""
    corner, elbow, wrist, roll, block, root, _, fixed, hinge, moving, _ = plane
    elbow_out, _, elbow_z = elbow
    wrist_out, _, wrist_z = wrist
    shoulder_out, shoulder_z = g.SHOULDER_OUT_M, g.SHOULDER_Z_M
    return (
        (
            min(shoulder_out, corner[0], elbow_out),
            max(shoulder_out, corner[0], elbow_out),
            min(shoulder_z, corner[2], elbow_z),
            max(shoulder_z, corner[2], elbow_z),
            _ASIDE_M,
        ),
        (
            min(elbow_out, wrist_out),
            max(elbow_out, wrist_out),
            min(elbow_z, wrist_z),
            max(elbow_z, wrist_z),
            _ASIDE_M,
        ),
        (
            min(wrist_out, roll[0], block[0], root[0], fixed[0], hinge[0], moving[0]),
            max(wrist_out, roll[0], block[0], root[0], fixed[0], hinge[0], moving[0]),
            min(wrist_z, roll[2], block[2], root[2], fixed[2], hinge[2], moving[2]),
            max(wrist_z, roll[2], block[2], root[2], fixed[2], hinge[2], moving[2]),
            max(_ASIDE_M, abs(moving[1])),
        ),
    )


def _seen(box: Box, own: bool) -> _Near:
    """What each group of pieces must keep out of."""
    groups = LINES if own else GROUPS
    edges = tuple(tuple(_edge(box, piece) for piece in pieces) for pieces in groups)
    rooms = []
    for group, pieces in enumerate(groups):
        if not pieces or (pieces is UPPER and _nearest_m(box) > UPPER_REACH_M):
            continue
        radius = max(piece.radius_m for piece in pieces)
        width = max(piece.aside_m for piece in pieces)
        low, high = box.z[0] - radius - _SHIFT_M, box.z[1] + radius + _SHIFT_M
        rooms.append(_Room(group, low, high, _DIAGONAL * radius + _SHIFT_M, width))
    (x0, x1), (y0, y1) = box.x, box.y
    x, y = (x0 + x1) / 2.0 - g.PAN_AXIS_X_M, (y0 + y1) / 2.0
    return _Near(box, x, y, (x1 - x0) / 2.0, (y1 - y0) / 2.0, tuple(rooms), edges)


def _edge(box: Box, piece: Piece) -> _Edge:
    sides = _grown(box, piece.radius_m)
    return _Edge(piece.part, piece.start, piece.end, sides, piece.aside_m)


def _grown(box: Box, by_m: float) -> Sides:
    (x0, x1), (y0, y1), (z0, z1) = box.x, box.y, box.z
    return (x0 - by_m, x1 + by_m, y0 - by_m, y1 + by_m, z0 - by_m, z1 + by_m)


def _nearest_m(box: Box) -> float:
    """How near to the pan axis the box comes."""
    x = max(box.x[0] - g.PAN_AXIS_X_M, g.PAN_AXIS_X_M - box.x[1], 0.0)
    return hypot(x, max(box.y[0], -box.y[1], 0.0))


_known = _Fence(Limits())
