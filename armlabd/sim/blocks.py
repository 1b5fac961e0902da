"""What lies on the virtual table: coloured blocks and a shallow bin, and how they keep apart.

Metres and degrees in the base frame. A block is an upright square prism; its `z` is the height of
its lower face above the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from armlabd.table import BLOCK_HEIGHT_M, PLACES

BGR = tuple[int, int, int]

# The textbook's colours; a block's colour is the first word of its label.
COLOURS: dict[str, BGR] = {"red": (0, 0, 255), "green": (0, 200, 0), "blue": (255, 0, 0)}
_TABLE_M = 0.6  # a block's centre lies within this of the base, each way


class WorldError(ValueError):
    """A block that cannot be in this world; the text says what is allowed."""


@dataclass(slots=True)
class Block:
    """One block. `z` is its lower face's height; `held` means between closed jaws."""

    label: str
    x: float
    y: float
    z: float = 0.0
    yaw_deg: float = 0.0
    size_m: float = 0.03
    height_m: float = BLOCK_HEIGHT_M
    held: bool = False
    fall_mps: float = 0.0  # downward speed while it falls

    def __post_init__(self) -> None:
        check_label(self.label)
        for name, low, high in (
            ("x", -_TABLE_M, _TABLE_M), ("y", -_TABLE_M, _TABLE_M), ("z", 0.0, 1.0),
            ("yaw_deg", -360.0, 360.0), ("size_m", 0.005, 0.1), ("height_m", 0.005, 0.1),
        ):  # fmt: skip
            check_number(name, getattr(self, name), low, high)

    @property
    def colour(self) -> BGR:
        """The colour of its top, blue-green-red."""
        return COLOURS[self.label.split()[0]]

    def reach_m(self, direction_deg: float) -> float:
        """Half its extent along a direction of the table plane."""
        turn = math.radians(self.yaw_deg - direction_deg)
        return self.size_m / 2 * (abs(math.cos(turn)) + abs(math.sin(turn)))


@dataclass(frozen=True, slots=True)
class Bin:
    """An open square tray, its sides along the base's x and y."""

    x: float = PLACES["bin"][0]
    y: float = PLACES["bin"][1]
    inner_m: float = 0.10
    wall_m: float = 0.003
    height_m: float = 0.02

    def contains(self, x: float, y: float) -> bool:
        """True for a point over the inner square, edges inside."""
        half = self.inner_m / 2
        return abs(x - self.x) <= half and abs(y - self.y) <= half


class Solid(NamedTuple):
    """A block as it stands in space, for drawing: centre, half edges along its own unit axes."""

    label: str
    colour: BGR
    centre: tuple[float, float, float]
    axes: tuple[tuple[float, float, float], ...]
    half_m: tuple[float, float, float]


def check_label(label: object) -> None:
    """Raise WorldError unless the label begins with a known colour."""
    known = ", ".join(COLOURS)
    words = label.split() if isinstance(label, str) else []
    if not words or words[0] not in COLOURS:
        raise WorldError(
            f"A block's label must begin with one of the colours {known}, not {label!r}."
        )


def check_number(name: str, value: object, low: float, high: float) -> None:
    """Raise WorldError unless the value is a finite number within the range, ends inside."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not low <= value <= high:  # type: ignore[operator]
        raise WorldError(f"{name} must be a number from {low} to {high}, not {value!r}.")


def default_blocks() -> list[Block]:
    """The three blocks of the textbook's table, the blue one moved out of the bin's way."""
    return [
        Block("red block", 0.22, 0.09),
        Block("green block", 0.20, 0.00),
        Block("blue block", 0.15, 0.12),
    ]


def wrapped(degrees: float, period: float) -> float:
    """An angle folded into -period/2 (outside) to period/2 (inside)."""
    folded = math.fmod(degrees, period)
    if folded > period / 2:
        return folded - period
    return folded + period if folded <= -period / 2 else folded


# --- keeping apart


def _separation(a: Block, b: Block) -> tuple[float, float, float] | None:
    """The least move (dx, dy, depth) that takes `b` out of `a`, or None when they are apart."""
    dx, dy = b.x - a.x, b.y - a.y
    if dx * dx + dy * dy >= (a.size_m + b.size_m) ** 2 / 2:
        return None
    best: tuple[float, float, float] | None = None
    for direction in (a.yaw_deg, a.yaw_deg + 90, b.yaw_deg, b.yaw_deg + 90):
        ux, uy = math.cos(math.radians(direction)), math.sin(math.radians(direction))
        along = dx * ux + dy * uy
        depth = a.reach_m(direction) + b.reach_m(direction) - abs(along)
        if depth <= 1e-9:
            return None
        if best is None or depth < best[2]:
            sign = -1.0 if along < 0 else 1.0
            best = (sign * ux * depth, sign * uy * depth, depth)
    return best


def _apart(a: Block, b: Block) -> None:
    """Push two overlapping blocks apart; a held one stays where the hand has it."""
    if a.z >= b.z + b.height_m or b.z >= a.z + a.height_m:
        return
    move = _separation(a, b)
    if move is None:
        return
    share = 0.0 if a.held else 1.0 if b.held else 0.5
    a.x, a.y = a.x - share * move[0], a.y - share * move[1]
    b.x, b.y = b.x + (1 - share) * move[0], b.y + (1 - share) * move[1]


def _beside_walls(block: Block, bin_: Bin) -> None:
    """Keep a block that lies on the table wholly inside or wholly outside the bin."""
    ext = block.reach_m(0.0)
    dx, dy = block.x - bin_.x, block.y - bin_.y
    if bin_.contains(block.x, block.y):
        room = max(0.0, bin_.inner_m / 2 - ext)
        block.x = bin_.x + min(max(dx, -room), room)
        block.y = bin_.y + min(max(dy, -room), room)
        return
    limit = bin_.inner_m / 2 + bin_.wall_m + ext
    if abs(dx) >= limit or abs(dy) >= limit:
        return
    if abs(dx) > abs(dy):
        block.x = bin_.x + math.copysign(limit, dx)
    else:
        block.y = bin_.y + math.copysign(limit, dy)


def settle(blocks: Sequence[Block], bin_: Bin | None) -> None:
    """Push overlapping blocks apart and out of the bin's walls; a few rounds are enough."""
    for _ in range(6):
        for index, a in enumerate(blocks):
            for b in blocks[index + 1 :]:
                if not (a.held and b.held):
                    _apart(a, b)
        if bin_ is not None:
            for block in _lying(blocks, bin_):
                _beside_walls(block, bin_)


def _lying(blocks: Iterable[Block], bin_: Bin) -> list[Block]:
    return [block for block in blocks if not block.held and block.z < bin_.height_m]
