"""From the pixels of a block to its centre and yaw, given its true size and height.

Two readings of the same pixels are tried, since light decides which is right. `fit_top`: the
pixels are the top face alone, a square of known edge. `fit_body`: they are top and sides together,
the hull of the foot and the top as the lens sees them. Each is scored by the overlap of the model
with the pixels, so a wrong reading is seen to be wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from armlabd.perceive.height import Lens
from armlabd.perceive.picture import Floats, Mask

_COARSE_DEG = np.arange(-45.0, 45.0, 5.0)
_FINE_DEG = (2.0, 0.7)


@dataclass(frozen=True, slots=True)
class Fit:
    """A square on the table: centre in metres, yaw in (-45, 45].

    `overlap` 0..1 of the model with the pixels; `squareness` of the pixels alone: 0.43 a square,
    0.19 and more a block seen from the side, 0 a disc.
    """

    x: float
    y: float
    yaw_deg: float
    overlap: float
    squareness: float
    pixels: int


@dataclass(frozen=True, slots=True, eq=False)
class Patch:
    """A part of the picture: which pixels belong, and where each seems to lie on the table."""

    mask: Mask  # rows x columns
    table: Floats  # rows x columns x 2, metres
    least_px: int  # of a part of it that is more than noise

    def with_mask(self, mask: Mask) -> Patch:
        """The same part of the picture with other pixels chosen."""
        return Patch(mask, self.table, self.least_px)


def fit_top(patch: Patch, lens: Lens, size_m: float, height_m: float) -> Fit:
    """Read the pixels as the top face at `height_m`."""
    everywhere = lens.true_at(patch.table.reshape(-1, 2), height_m)
    chosen = everywhere[patch.mask.ravel()]
    centre = chosen.mean(axis=0)
    yaw_deg = square_yaw_deg(chosen - centre)
    inside = _inside_square(everywhere - centre, yaw_deg, size_m)
    return _fit(centre, yaw_deg, inside, patch)


def fit_body(patch: Patch, lens: Lens, size_m: float, height_m: float) -> Fit:
    """Read the pixels as the whole block, foot on the table, top at `height_m`."""
    best = _best_body(patch, lens, size_m, height_m, _COARSE_DEG)
    for step_deg in _FINE_DEG:
        turns: Floats = best.yaw_deg + step_deg * np.arange(-2.0, 3.0)
        best = _best_body(patch, lens, size_m, height_m, turns)
    return best


def square_yaw_deg(offsets: Floats) -> float:
    """Yaw in (-45, 45] of a filled square from (n, 2) offsets to its centre."""
    moment = corner_moment(offsets)
    return wrap_deg(math.degrees(math.atan2(-moment.imag, -moment.real)) / 4)


def corner_moment(offsets: Floats) -> complex:
    """Sum of z^4 over that of |z|^4: it points at a square's corners, and vanishes for a disc.

    All pixels vote, so it is steadier than the edges of an outline.
    """
    z = offsets[:, 0] + 1j * offsets[:, 1]
    scale = float(np.sum(np.abs(z) ** 4))
    return complex(np.sum(z**4)) / scale if scale > 0 else 0j


def wrap_deg(angle_deg: float) -> float:
    """The same square's yaw in (-45, 45]."""
    return 45.0 - (45.0 - angle_deg) % 90.0


def square(centre: Floats, yaw_deg: float, size_m: float) -> Floats:
    """(4, 2) corners, counter-clockwise in the base frame."""
    turn = math.radians(yaw_deg)
    rotation = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]], np.float64) * (size_m / 2)
    return np.asarray(centre + corners @ rotation.T, np.float64)


def body_hull(centre: Floats, yaw_deg: float, size_m: float, height_m: float, lens: Lens) -> Floats:
    """The block's silhouette on the table as the lens sees it, counter-clockwise."""
    foot = square(centre, yaw_deg, size_m)
    return _convex_hull(np.concatenate([foot, lens.seen_at(foot, height_m)]))


def _best_body(patch: Patch, lens: Lens, size_m: float, height_m: float, turns_deg: Floats) -> Fit:
    fits = (_body_at(patch, lens, size_m, height_m, float(turn)) for turn in turns_deg)
    return max(fits, key=lambda fit: fit.overlap)


def _body_at(patch: Patch, lens: Lens, size_m: float, height_m: float, yaw_deg: float) -> Fit:
    goal = patch.table[patch.mask].mean(axis=0)
    centre = lens.true_at(goal[None], height_m / 2)[0]
    for _ in range(2):  # the silhouette's centroid moves with the centre almost one to one
        hull = body_hull(centre, yaw_deg, size_m, height_m, lens)
        centre = centre + (goal - _centroid(hull))
    hull = body_hull(centre, yaw_deg, size_m, height_m, lens)
    inside = _inside_polygon(patch.table.reshape(-1, 2), hull)
    return _fit(centre, yaw_deg, inside, patch)


def _fit(centre: Floats, yaw_deg: float, inside: Mask, patch: Patch) -> Fit:
    chosen = patch.mask.ravel()
    union = int(np.count_nonzero(inside | chosen))
    both = int(np.count_nonzero(inside & chosen))
    overlap = both / union if union else 0.0
    points = patch.table[patch.mask]
    return Fit(
        x=float(centre[0]),
        y=float(centre[1]),
        yaw_deg=wrap_deg(yaw_deg),
        overlap=overlap,
        squareness=abs(corner_moment(points - points.mean(axis=0))),
        pixels=int(chosen.sum()),
    )


def _inside_square(offsets: Floats, yaw_deg: float, size_m: float) -> Mask:
    turn = math.radians(yaw_deg)
    along = np.abs(offsets @ np.array([math.cos(turn), math.sin(turn)]))
    across = np.abs(offsets @ np.array([-math.sin(turn), math.cos(turn)]))
    return np.asarray(np.maximum(along, across) <= size_m / 2, np.bool_)


def _inside_polygon(points: Floats, hull: Floats) -> Mask:
    inside = np.ones(len(points), np.bool_)
    for start, end in zip(hull, np.roll(hull, -1, axis=0), strict=True):
        edge = end - start
        inside &= edge[0] * (points[:, 1] - start[1]) >= edge[1] * (points[:, 0] - start[0])
    return inside


def _centroid(polygon: Floats) -> Floats:
    following = np.roll(polygon, -1, axis=0)
    cross = polygon[:, 0] * following[:, 1] - polygon[:, 1] * following[:, 0]
    weighted = ((polygon + following) * cross[:, None]).sum(axis=0)
    return np.asarray(weighted / (3 * cross.sum()), np.float64)


def _convex_hull(points: Floats) -> Floats:
    """Andrew's monotone chain: lower edge, then upper edge, counter-clockwise."""
    ordered = sorted(map(tuple, points.tolist()))
    return np.array(_chain(ordered) + _chain(ordered[::-1]), np.float64)


def _chain(ordered: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
    chain: list[tuple[float, ...]] = []
    for point in ordered:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
            chain.pop()
        chain.append(point)
    return chain[:-1]


def _turn(a: tuple[float, ...], b: tuple[float, ...], c: tuple[float, ...]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
