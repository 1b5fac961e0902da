"""Free places on the table: somewhere away from the blocks, beside one, or a corner of a bin."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from armlabd.plan.aim import aim_spot
from armlabd.plan.context import PlanContext
from armlabd.plan.skills import Spot
from armlabd.plan.words import BIN_NAMES
from armlabd.table import Point

TABLE_RELEASE_M = 0.03
BIN_RELEASE_M = 0.05  # over the walls, from where a block falls in 9 of 9
MARGIN_M = 0.02  # from the edge of the area
GRID_M = 0.02
APART_M = 0.045  # nearer than this two 30 mm blocks may touch
ROOM_M = 0.06  # for jaws between two blocks
PLACE_ROOM_M = 0.08  # a free spot is not in a named place
WALL_ROOM_M = 0.085  # from a bin's middle across: walls 53 mm out, half a block's diagonal, play
BIN_INNER_M = 0.032  # nearer to a bin's middle, in x and in y, a block stands inside
BIN_OUTER_M = 0.078  # farther in x or in y it stands outside: 53 mm, and 21 for a turned block
ENOUGH_M = 0.10  # more room than this is no better
IN_BIN_M = 0.06  # seen this near a bin's middle, a block lies in it
BIN_CORNERS = ((0.0, 0.0), (0.027, 0.027), (0.027, -0.027), (-0.027, 0.027), (-0.027, -0.027))


def is_bin(name: str) -> bool:
    """True for a named place with walls, by the last word of its name."""
    words = name.lower().split()
    return bool(words) and words[-1] in BIN_NAMES


def room(at: Point, blocks: Sequence[Point]) -> float:
    """Distance to the nearest block, m; infinite with none."""
    return min((math.dist(at, block) for block in blocks), default=math.inf)


def spot_at(
    name: str, at: Point, blocks: Sequence[Point], context: PlanContext, z: float = TABLE_RELEASE_M
) -> Spot | None:
    """The spot on the plain table at a point, let go at `z`; None out of reach."""
    return aim_spot(name, at, z, context, blocks)


def spot_in_bin(name: str, at: Point, blocks: Sequence[Point], context: PlanContext) -> Spot | None:
    """The emptiest of five points in a bin that the hand can reach."""
    inside = [block for block in blocks if math.dist(block, at) < IN_BIN_M]
    corners = [(round(at[0] + dx, 4), round(at[1] + dy, 4)) for dx, dy in BIN_CORNERS]
    allowed = [corner for corner in corners if context.area.contains(*corner)]
    for corner in sorted(allowed, key=lambda c: -min(room(c, inside), ENOUGH_M)):
        spot = aim_spot(name, corner, min(BIN_RELEASE_M, context.z_m[1]), context)
        if spot is not None:
            return spot
    return None


def free_spot(blocks: Sequence[Point], context: PlanContext, name: str) -> Spot | None:
    """The spot farthest from other blocks, or None on a full table; nearest the middle first."""
    middle = (0.20, 0.0)
    ranked = sorted(
        (p for p in _grid(context) if _is_free(p, blocks, context)),
        key=lambda p: (-min(room(p, blocks), ENOUGH_M), math.dist(p, middle)),
    )
    return _first(ranked, blocks, context, name)


def spot_beside(
    anchor: Point, blocks: Sequence[Point], context: PlanContext, name: str
) -> Spot | None:
    """The nearest spot beside a block or place that leaves room for the jaws."""
    ranked = sorted(
        (p for p in _grid(context) if _is_free(p, (*blocks, anchor), context)),
        key=lambda p: math.dist(p, anchor),
    )
    return _first(ranked, blocks, context, name)


def _first(
    ranked: Sequence[Point], blocks: Sequence[Point], context: PlanContext, name: str
) -> Spot | None:
    spots = (spot_at(name, point, blocks, context) for point in ranked)
    return next((spot for spot in spots if spot is not None), None)


def _is_free(at: Point, blocks: Sequence[Point], context: PlanContext) -> bool:
    places = tuple(context.places.values())
    if room(at, blocks) < ROOM_M or room(at, places) < PLACE_ROOM_M:
        return False
    bins = (middle for name, middle in context.places.items() if is_bin(name))
    return all(_across(at, middle) >= WALL_ROOM_M for middle in bins)


def _across(at: Point, middle: Point) -> float:
    """How far out of a square's middle a point lies, m: bins have straight walls."""
    return max(abs(at[0] - middle[0]), abs(at[1] - middle[1]))


def bin_wall(at: Point, places: Mapping[str, Point]) -> str | None:
    """The bin on whose walls a block at this point would stand; None where it does not."""
    for name, middle in places.items():
        if is_bin(name) and BIN_INNER_M < _across(at, middle) < BIN_OUTER_M:
            return name
    return None


def _grid(context: PlanContext) -> Iterator[Point]:
    area = context.area
    columns = int((area.x_max - area.x_min - 2 * MARGIN_M) / GRID_M + 1e-9)
    rows = int((area.y_max - area.y_min - 2 * MARGIN_M) / GRID_M + 1e-9)
    for i in range(columns + 1):
        for j in range(rows + 1):
            x, y = area.x_min + MARGIN_M + i * GRID_M, area.y_min + MARGIN_M + j * GRID_M
            yield round(x, 4), round(y, 4)
