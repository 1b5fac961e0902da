"""Blocks by colour and outline: hue blobs -> claims with centre, yaw and box.

A block is seen from above with its top face displaced and some of its darker sides in view. Which
of a blob's pixels are top is found by brightness; how well that explains the blob decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import cv2
import numpy as np

from armlabd.perceive.claims import Box, Claim
from armlabd.perceive.height import Lens
from armlabd.perceive.markers import Homography
from armlabd.perceive.outline import Fit, Patch, fit_body, fit_top
from armlabd.perceive.picture import Mask, Picture
from armlabd.table import CAMERA, MIN_SATURATION, MIN_VALUE, ObjectKind

MIN_AREA_PX = 100  # smaller blobs are noise; a block has about 1,100
MAX_BLOBS = 20  # of one colour; more is a coloured table, not blocks
GOOD_OVERLAP = 0.90  # a reading this good needs no other
# Below these an outline is no block's. Measured over drawn scenes (three sizes, blurred, dim,
# JPEG): blocks have 0.83 and 0.19 at the least, discs 0.65 to 0.85 and at most 0.04.
LEAST_OVERLAP = 0.82
LEAST_SQUARENESS = 0.12
_RIM_PX = 6  # seen around a blob, so that a model wider than the blob is scored fairly
_MIN_STEP = 12  # brightness between top and sides, 3 sigma of the textbook's noise
_KERNEL = np.ones((3, 3), np.uint8)


def find_blocks(
    image: Picture,
    homography: Homography,
    kinds: Sequence[ObjectKind],
    lens: Lens,
    block_height_m: float,
) -> list[Claim]:
    """Every blob of every kind's colour as a claim, largest first; doubtful ones with faults."""
    hsv = cv2.cvtColor(image, cv2.COLOR_BGR2HSV).astype(np.uint8, copy=False)
    scale = image.shape[1] / CAMERA.width_px
    return [
        claim
        for kind in kinds
        for blob, corner in _blobs(colour_mask(hsv, kind), scale)
        for claim in _claims(blob, corner, hsv, homography, kind, lens, block_height_m)
    ]


def colour_mask(hsv: Picture, kind: ObjectKind) -> Picture:
    """255 where the picture has this kind's colour, opened with 3 x 3 against single pixels."""
    mask = np.zeros(hsv.shape[:2], np.uint8)
    for low, high in kind.hue:
        floor = np.array([low, MIN_SATURATION, MIN_VALUE], np.uint8)
        mask |= cv2.inRange(hsv, floor, np.array([high, 255, 255], np.uint8)).astype(np.uint8)
    return np.asarray(cv2.morphologyEx(mask, cv2.MORPH_OPEN, _KERNEL), np.uint8)


def least_area_px(image: Picture) -> int:
    """MIN_AREA_PX in a picture of this size."""
    scale = float(image.shape[1] / CAMERA.width_px)
    return round(MIN_AREA_PX * scale * scale)


def _blobs(mask: Picture, scale: float) -> Iterator[tuple[Mask, tuple[int, int]]]:
    """Connected parts of at least MIN_AREA_PX, largest first, each with a rim: (part, corner).

    `scale` is the picture's width over that for which the sizes in pixels are meant.
    """
    rim_px, least_px = round(_RIM_PX * scale), least_area_px(mask)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask)
    areas = stats[:, cv2.CC_STAT_AREA]
    large = [i for i in range(1, count) if areas[i] >= least_px]
    for index in sorted(large, key=lambda i: -int(areas[i]))[:MAX_BLOBS]:
        left, top, width, height = (int(v) for v in stats[index, :4])
        x1, y1 = max(0, left - rim_px), max(0, top - rim_px)
        part = labels[y1 : top + height + rim_px, x1 : left + width + rim_px] == index
        yield part, (x1, y1)


def _claims(
    blob: Mask,
    corner: tuple[int, int],
    hsv: Picture,
    homography: Homography,
    kind: ObjectKind,
    lens: Lens,
    height_m: float,
) -> list[Claim]:
    (left, top), (rows, columns) = corner, blob.shape
    v, u = np.mgrid[top : top + rows, left : left + columns].astype(np.float64)
    pixels = np.column_stack([u.ravel(), v.ravel()])
    table = homography.to_table(pixels).reshape(rows, columns, 2)
    patch = Patch(blob, table, least_area_px(hsv))
    value = hsv[top : top + rows, left : left + columns, 2]
    return [
        _claim(kind.label, fit, _box(part, corner))
        for part, fit in _read(patch, value, lens, kind.size_m, height_m)
    ]


def _claim(label: str, fit: Fit, box: Box) -> Claim:
    good = fit.overlap >= LEAST_OVERLAP and fit.squareness >= LEAST_SQUARENESS
    fault = (
        "Its outline is not the size of a block, not square or partly hidden: "
        f"{fit.overlap:.0%} of it fits (at least {LEAST_OVERLAP:.0%} is needed), squareness "
        f"{fit.squareness:.2f} (at least {LEAST_SQUARENESS:.2f})."
    )
    faults = () if good else (fault,)
    return Claim(label, box, "colour", (fit.x, fit.y), fit.yaw_deg, faults)


def _box(part: Mask, corner: tuple[int, int]) -> Box:
    rows, columns = np.flatnonzero(part.any(axis=1)), np.flatnonzero(part.any(axis=0))
    return (
        float(corner[0] + columns[0]),
        float(corner[1] + rows[0]),
        float(corner[0] + columns[-1] + 1),
        float(corner[1] + rows[-1] + 1),
    )


Reading = list[tuple[Mask, Fit]]


def _read(patch: Patch, value: Picture, lens: Lens, size_m: float, height_m: float) -> Reading:
    """The best explanation of one blob: the pixels of each block in it, and its fit."""
    best: Reading = [(patch.mask, fit_top(patch, lens, size_m, height_m))]
    if height_m <= 0:
        return best
    for level in _levels(value[patch.mask], patch.least_px):
        best = max(best, _tops_above(level, patch, value, lens, size_m, height_m), key=_score)
    if _score(best) < GOOD_OVERLAP:
        body: Reading = [(patch.mask, fit_body(patch, lens, size_m, height_m))]
        best = max(best, body, key=_score)
    return [(patch.mask, best[0][1])] if len(best) == 1 else best


def _tops_above(
    level: float, patch: Patch, value: Picture, lens: Lens, size_m: float, height_m: float
) -> Reading:
    bright = (patch.mask & (value > level)).astype(np.uint8)
    opened = np.asarray(cv2.morphologyEx(bright, cv2.MORPH_OPEN, _KERNEL), np.uint8)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(opened, connectivity=4)
    parts = (labels == i for i in range(1, count) if stats[i, cv2.CC_STAT_AREA] >= patch.least_px)
    return [(part, fit_top(patch.with_mask(part), lens, size_m, height_m)) for part in parts]


def _score(reading: Reading) -> float:
    """Overlap of the fits, weighted by their pixels; 0 for none."""
    pixels = sum(fit.pixels for _, fit in reading)
    return sum(fit.overlap * fit.pixels for _, fit in reading) / pixels if pixels else 0.0


def _levels(values: Picture, least_px: int) -> Iterator[float]:
    """Brightness levels that may part the top from the sides: Otsu's, then his of what is above."""
    for _ in range(2):
        level, _ = cv2.threshold(values.reshape(-1, 1), 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
        above, below = values[values > level], values[values <= level]
        if len(above) < least_px or not len(below):
            return
        if above.mean() - below.mean() < _MIN_STEP:
            return
        yield float(level)
        values = above
