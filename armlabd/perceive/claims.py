"""Is this believable? Every detector's claim, a colour's or a model's, is judged here alike.

A claim is a label and a box [x1, y1, x2, y2] in absolute pixels, origin top left, v down. A
detector that measured more than a box (place and yaw) hands that along.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from armlabd.perceive.height import TABLE_LENS, Lens
from armlabd.perceive.markers import Homography
from armlabd.table import CAMERA, REACH, Area, Point

Box = tuple[float, float, float, float]

SIDE_MIN_PX = 10.0  # a block's box at 640 x 480; figures of the textbook, chapter 16
SIDE_MAX_PX = 80.0
USUAL_SIZE_M = 0.03  # the block these two are for


@dataclass(frozen=True, slots=True)
class Claim:
    """What a detector says it saw. `faults` are its own doubts, sentences; any makes it rejected.

    `point` is metres in the base frame, `yaw_deg` in (-45, 45]; None where only a box is known.
    """

    label: str
    box: Box
    source: str
    point: Point | None = None
    yaw_deg: float | None = None
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimRules:
    """What a claim is judged by. `labels` None = any label is known."""

    area: Area = REACH
    width_px: int = CAMERA.width_px
    height_px: int = CAMERA.height_px
    lens: Lens = TABLE_LENS
    block_height_m: float = 0.0
    side_min_px: float = SIDE_MIN_PX
    side_max_px: float = SIDE_MAX_PX
    labels: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim, its point in metres if the box allows one, and every reason against it."""

    claim: Claim
    point: Point | None
    reasons: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """True when nothing speaks against the claim."""
        return not self.reasons


def check_claim(claim: Claim, homography: Homography, rules: ClaimRules) -> Judged:
    """Judge one claim; all reasons are given. A bad box has no point, a bad place keeps it."""
    reasons = [*_label_reasons(claim.label, rules), *_box_reasons(claim.box, rules)]
    point = None if _box_reasons(claim.box, rules) else _point(claim, homography, rules)
    if point is not None and not rules.area.contains(*point):
        area = rules.area
        reasons.append(
            f"({point[0]:z.3f}, {point[1]:z.3f}) is outside the area: x {area.x_min:.2f} to "
            f"{area.x_max:.2f} m, y {area.y_min:.2f} to {area.y_max:.2f} m."
        )
    return Judged(claim, point, (*reasons, *claim.faults))


def _label_reasons(label: str, rules: ClaimRules) -> list[str]:
    if rules.labels is None or label in rules.labels:
        return []
    return [f"{label!r} is not a known object: {', '.join(sorted(rules.labels))}."]


def _box_reasons(box: Box, rules: ClaimRules) -> list[str]:
    if not is_box(box):
        return ["The box is not inside the picture: its corners are not four numbers."]
    x1, y1, x2, y2 = box
    shown = "[" + ", ".join(f"{side:g}" for side in box) + "]"
    reasons = []
    if not (0 <= x1 < x2 <= rules.width_px and 0 <= y1 < y2 <= rules.height_px):
        reasons.append(
            f"The box {shown} is not inside the picture of {rules.width_px} x "
            f"{rules.height_px} pixels."
        )
    if not all(rules.side_min_px <= side <= rules.side_max_px for side in (x2 - x1, y2 - y1)):
        reasons.append(
            f"The box {shown} is not the size of a block: sides of "
            f"{rules.side_min_px:g} to {rules.side_max_px:g} pixels."
        )
    return reasons


def is_box(box: object) -> bool:
    """True for a sequence of four finite numbers; booleans are not numbers."""
    return isinstance(box, (tuple, list)) and len(box) == 4 and all(is_number(v) for v in box)


def is_number(value: object) -> bool:
    """True for a finite int or float that fits a float; booleans and text are not numbers."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _point(claim: Claim, homography: Homography, rules: ClaimRules) -> Point:
    if claim.point is not None:
        return claim.point
    x1, y1, x2, y2 = claim.box
    centre = homography.to_table(np.array([[(x1 + x2) / 2, (y1 + y2) / 2]]))
    # A box holds the block's foot and its top, so its middle is seen at about half the height.
    x, y = rules.lens.true_at(centre, rules.block_height_m / 2)[0]
    return float(x), float(y)
