"""What a model's four numbers mean, by the name of its box format, undone to the frame's pixels.

A model is shown a part of the frame, perhaps padded to a square or made to another size. Its
numbers refer to that picture: in its pixels, or as parts of its sides (0..1 or 0..1000). Numbers
are put back exactly; one that lies outside only by the rounding of the format is on the edge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import cv2
import numpy as np

from armlabd.perceive.claims import Box
from armlabd.perceive.picture import Picture

NAMES_ONLY = "none"
MOST_SIDE_PX = 1024  # a larger picture costs a board seconds and shows a block no better
RESIZE_STEP_PX = 28  # Qwen's family counts in a picture whose sides are multiples of its patch
OUTSIDE = "The box is outside the picture that the model was shown."


@dataclass(frozen=True, slots=True)
class BoxFormat:
    """How a model writes a box, always x1, y1, x2, y2.

    `most` is what the far edge is called, None in pixels; `step` the finest difference it writes.
    """

    name: str
    most: float | None = None
    step: float = 1.0
    side_step_px: int = 1
    padded: bool = False


def _formats() -> Mapping[str, BoxFormat]:
    found = {}
    for name, most, step in (("pixels", None, 1.0), ("unit", 1.0, 0.01), ("thousand", 1000.0, 1.0)):
        found[name] = BoxFormat(name, most, step)
        resized, padded = f"{name}-resized", f"{name}-padded"
        found[resized] = BoxFormat(resized, most, step, side_step_px=RESIZE_STEP_PX)
        found[padded] = BoxFormat(padded, most, step, padded=True)
    return MappingProxyType(found)


FORMATS = _formats()  # every format that has boxes; NAMES_ONLY is the one without


@dataclass(frozen=True, slots=True)
class Rect:
    """A part of the frame in whole pixels; right and bottom are the first ones outside."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.right - self.left, self.bottom - self.top


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """The picture that a model gets, which part of the frame it shows, and its own form.

    `scale` is (across, down): pixels of `image` for one pixel of the frame.
    """

    image: Picture
    part: Rect
    form: BoxFormat
    scale: tuple[float, float]

    def far_edge(self) -> float:
        """The largest number that a box may hold."""
        height, width = self.image.shape[:2]
        return self.form.most or float(max(width, height))

    def undo(self, box: Box) -> tuple[Box, tuple[str, ...]]:
        """The box in the frame's pixels, and what speaks against it: OUTSIDE or nothing."""
        height, width = self.image.shape[:2]
        across = self._undone((box[0], box[2]), width, self.scale[0], self.part.size[0])
        down = self._undone((box[1], box[3]), height, self.scale[1], self.part.size[1])
        left, top = self.part.left, self.part.top
        placed = (across[0] + left, down[0] + top, across[1] + left, down[1] + top)
        inside = all(0 <= v <= self.part.size[0] for v in across) and all(
            0 <= v <= self.part.size[1] for v in down
        )
        return placed, () if inside else (OUTSIDE,)

    def _undone(
        self, ends: tuple[float, float], side_px: int, scale: float, shown_px: int
    ) -> tuple[float, float]:
        """Both ends along one side: format -> pixels of the image -> pixels of the part."""
        unit_px = 1.0 if self.form.most is None else side_px / self.form.most
        slack = self.form.step * unit_px / scale / 2 + 1e-6
        first, last = (_on_edge(end * unit_px / scale, shown_px, slack) for end in ends)
        return first, last


def show(frame: Picture, part: Rect, form: BoxFormat) -> Shown:
    """The part of the frame as the form wants it: padded at right and bottom, then resized."""
    image = frame[part.top : part.bottom, part.left : part.right]
    if form.padded:
        side = max(image.shape[:2])
        square = np.zeros((side, side, 3), np.uint8)
        square[: image.shape[0], : image.shape[1]] = image
        image = square
    height, width = image.shape[:2]
    shrink = min(1.0, MOST_SIDE_PX / max(width, height))
    size = (_side(width * shrink, form), _side(height * shrink, form))
    scale = (size[0] / width, size[1] / height)
    if size != (width, height):
        image = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
    return Shown(np.ascontiguousarray(image), part, form, scale)


def _side(length: float, form: BoxFormat) -> int:
    step = form.side_step_px
    return max(step, round(length / step) * step)


def _on_edge(value: float, most: int, slack: float) -> float:
    """The edge itself for a number that is beyond it by rounding only."""
    if -slack <= value < 0:
        return 0.0
    return float(most) if most < value <= most + slack else value
