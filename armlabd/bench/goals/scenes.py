"""The scenes of goals: blocks at given places, or drawn anew for each goal from its seed."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from armlabd.sim.blocks import WorldError, check_label, check_number
from armlabd.table import PLACES

X_M: Final = (0.15, 0.25)
Y_M: Final = (-0.13, 0.13)
BIN: Final = PLACES["bin"]
FROM_BIN_M: Final = 0.105
APART_M: Final = 0.07
IN_ORDER_M: Final = 0.03  # between neighbours of an ordered scene, along the order
MOST_M: Final = 0.6  # from the base, each way: the virtual table
TRIES: Final = 20_000
MOST_DRAWN: Final = 6
ORDERS: Final = ("left_to_right", "near_to_far")


class Laid(NamedTuple):
    """A block as it is laid on the table: metres, degrees."""

    label: str
    x: float
    y: float
    yaw_deg: float = 0.0


class Scene(NamedTuple):
    """Blocks laid at given places, or labels to draw places for, some of them in an order."""

    laid: tuple[Laid, ...] = ()
    draw: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    along: str = ""

    def blocks(self, seed: int) -> tuple[Laid, ...]:
        """The blocks of one goal; the same seed, the same places."""
        return self.laid or _drawn(self, random.Random(seed))


def scene_of(row: Mapping[str, Any]) -> Scene:
    """The scene of a decoded line. Raises ValueError with the field first."""
    kinds = [name for name in ("blocks", "draw") if name in row]
    if len(kinds) != 1:
        raise ValueError('scene: it needs either "blocks" or "draw"')
    if kinds == ["blocks"]:
        rows = row["blocks"]
        if not isinstance(rows, list):
            raise ValueError("blocks: a list of [label, x, y, yaw_deg]")
        return _apart(Scene(tuple(_laid(one) for one in rows)))
    draw = labels(row["draw"], "draw")
    if len(draw) > MOST_DRAWN:
        raise ValueError(f"draw: at most {MOST_DRAWN} labels; more have no room")
    along = next((name for name in ORDERS if name in row), "")
    order = labels(row[along], along) if along else ()
    if set(order) - set(draw):
        raise ValueError(f"{along}: {sorted(set(order) - set(draw))} are not among the drawn")
    scene = _apart(Scene((), draw, order, along))
    scene.blocks(0)
    return scene


def labels(value: Any, field: str) -> tuple[str, ...]:
    """A list of labels that a world takes. Raises ValueError with the field first."""
    if not isinstance(value, list) or not value:
        raise ValueError(f"{field}: a list of labels such as 'red block'")
    for label in value:
        _checked(field, label)
    return tuple(value)


def _laid(row: Any) -> Laid:
    if not isinstance(row, list) or len(row) not in (3, 4):
        raise ValueError(f"blocks: a block is [label, x, y, yaw_deg], not {row!r:.60}")
    _checked("blocks", row[0])
    try:
        for name, value in zip(("x", "y", "yaw_deg"), row[1:], strict=False):
            most = 360.0 if name == "yaw_deg" else MOST_M
            check_number(name, value, -most, most)
    except WorldError as error:
        raise ValueError(f"blocks: {error}") from None
    return Laid(*row)


def _checked(field: str, label: Any) -> None:
    try:
        check_label(label)
    except WorldError as error:
        raise ValueError(f"{field}: {error}") from None


def _apart(scene: Scene) -> Scene:
    """The scene, if no label is in it twice. Raises ValueError."""
    names = [block.label for block in scene.laid] + list(scene.draw)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"blocks: {twice} twice; each block needs its own label")
    return scene


def _drawn(scene: Scene, dice: random.Random) -> tuple[Laid, ...]:
    for _ in range(TRIES):
        points = [(dice.uniform(*X_M), dice.uniform(*Y_M)) for _ in scene.draw]
        placed = dict(zip(scene.draw, points, strict=True))
        if _has_room(points) and _in_order(scene, placed):
            return tuple(
                Laid(label, round(x, 4), round(y, 4), round(dice.uniform(-44.0, 44.0), 1))
                for label, (x, y) in placed.items()
            )
    raise ValueError("draw: there is no room on the table for so many blocks in that order")


def _has_room(points: Sequence[tuple[float, float]]) -> bool:
    if any(math.dist(point, BIN) < FROM_BIN_M for point in points):
        return False
    return all(
        math.dist(a, b) >= APART_M for index, a in enumerate(points) for b in points[index + 1 :]
    )


def _in_order(scene: Scene, placed: Mapping[str, tuple[float, float]]) -> bool:
    """Left to right is by falling y, near to far by distance from the arm's turning axis."""
    keys = [
        -placed[label][1] if scene.along == "left_to_right" else math.hypot(*placed[label])
        for label in scene.order
    ]
    return all(b - a >= IN_ORDER_M for a, b in itertools.pairwise(keys))
