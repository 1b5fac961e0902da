"""The arm as straight pieces with a thickness, and how deep such a piece is in an upright box.

The figures are measured on the published meshes of the SO-101: in the plane every point of a link
is nearer to its piece than `radius_m`, and aside of the plane nearer than `aside_m`. The links are
wide because each carries a motor beside its joint. They stand in the middle of their width here,
not on the frames of their joints, which lie at its edge.
"""

from __future__ import annotations

from typing import NamedTuple

from armlabd.arm import geometry as g
from armlabd.arm.geometry import Plane, Vector

MIDDLE_M = g.LINK_SIDE_M + 0.0203  # how far left the middle of the links is
LINKS_ASIDE_M = 0.034  # half their width
# A jaw is thinner at its tip: its piece ends before that and reaches over it by 3 mm.
FIXED_PART, MOVING_ROOT_PART, MOVING_PART = 0.8, 0.35, 0.85

SHOULDER: Vector = (g.SHOULDER_OUT_M, MIDDLE_M, g.SHOULDER_Z_M)


class Piece(NamedTuple):
    """A straight piece between two of the points that `ends_of` gives."""

    part: str
    start: int
    end: int
    radius_m: float
    aside_m: float = 0.0


UPPER = (
    Piece("upper arm", 0, 1, 0.0205, LINKS_ASIDE_M),
    Piece("upper arm", 1, 2, 0.0205, LINKS_ASIDE_M),
)
FORE = (Piece("forearm", 2, 3, 0.0195, LINKS_ASIDE_M),)
HAND = (
    Piece("hand", 3, 4, 0.02, LINKS_ASIDE_M),
    Piece("hand", 4, 5, 0.039),
    Piece("fixed jaw", 6, 7, 0.014),
    Piece("moving jaw", 8, 9, 0.0235),
    Piece("moving jaw", 9, 10, 0.015),
)
GROUPS = (UPPER, FORE, HAND)
# Against the arm's own base, whose box is drawn around lines; the upper arm stands on it.
LINES = (
    (),
    (Piece("forearm", 2, 3, 0.0),),
    (
        Piece("hand", 3, 4, 0.0),
        Piece("hand", 4, 5, 0.0),
        Piece("fixed jaw", 4, 11, 0.0),
        Piece("moving jaw", 8, 12, 0.0),
    ),
)


def ends_of(plane: Plane) -> tuple[Vector, ...]:
    """The points that pieces hang between, (out, left, z): shoulder to tips."""
    corner, elbow, wrist, roll_origin, block, root, _, fixed_tip, hinge, moving_tip, _ = plane
    return (
        SHOULDER,
        (corner[0], MIDDLE_M, corner[2]),
        (elbow[0], MIDDLE_M, elbow[2]),
        (wrist[0], MIDDLE_M, wrist[2]),
        roll_origin,
        block,
        root,
        _between(root, fixed_tip, FIXED_PART),
        hinge,
        _between(hinge, moving_tip, MOVING_ROOT_PART),
        _between(hinge, moving_tip, MOVING_PART),
        fixed_tip,
        moving_tip,
    )


def _between(a: Vector, b: Vector, part: float) -> Vector:
    return (
        a[0] + part * (b[0] - a[0]),
        a[1] + part * (b[1] - a[1]),
        a[2] + part * (b[2] - a[2]),
    )


def placed(plane: Plane, cos_pan: float, sin_pan: float) -> list[Vector]:
    """`ends_of` in the base frame."""
    return [
        (
            g.PAN_AXIS_X_M + out * cos_pan + left * sin_pan,
            left * cos_pan - out * sin_pan,
            z,
        )
        for out, left, z in ends_of(plane)
    ]


Sides = tuple[float, float, float, float, float, float]  # x low, x high, y low, ..., z high

LEVEL_M = 1e-9  # a way this short is level with a face
_SAMPLES = 8  # parts of a cut in which the deepest place is looked for


def cut_depth_m(a: Vector, b: Vector, sides: Sides) -> float | None:
    """How deep the line from `a` to `b` is in the box of these sides, faces included; None outside.

    The depth of a point is how far the nearest face is.
    """
    first, last = 0.0, 1.0
    for axis in (0, 1, 2):
        start, low, high = a[axis], sides[2 * axis], sides[2 * axis + 1]
        way = b[axis] - start
        if -LEVEL_M < way < LEVEL_M:
            if not low <= max(start, b[axis]) or not min(start, b[axis]) <= high:
                return None
            continue
        one, other = (low - start) / way, (high - start) / way
        if one > other:
            one, other = other, one
        if one > first:
            first = one
        if other < last:
            last = other
        if first > last:
            return None
    return _deepest_m(a, b, sides, first, last)


def _deepest_m(a: Vector, b: Vector, sides: Sides, first: float, last: float) -> float:
    (ax, ay, az), (bx, by, bz) = a, b
    x0, x1, y0, y1, z0, z1 = sides
    step = (last - first) / _SAMPLES
    depth = 0.0
    for number in range(_SAMPLES + 1):
        t = first + number * step
        x, y, z = ax + t * (bx - ax), ay + t * (by - ay), az + t * (bz - az)
        depth = max(depth, min(x - x0, x1 - x, y - y0, y1 - y, z - z0, z1 - z))
    return depth
