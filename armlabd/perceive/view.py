"""The table and nothing else: what a model is shown and what a run's folder keeps.

Everything outside the rectangle of the four markers is somebody's room: it is made black before
a picture leaves the daemon's memory for a model or a disk. A rim around the markers stays, so
that a kept picture can be measured again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np

from armlabd.perceive.boxes import Rect
from armlabd.perceive.camera import Frame
from armlabd.perceive.markers import Homography
from armlabd.perceive.picture import Floats, Picture
from armlabd.perceive.scene import Scene, SceneSettings, look_at, measure
from armlabd.table import Marker

_RIM = 0.35  # of a marker's edge: the white that a detector needs around the black


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """One look: the scene, and the frame it was read from with only the table left in it."""

    scene: Scene
    table: Frame
    part: Rect  # where the table lies in the frame
    homography: Homography


def view(frame: Frame, settings: SceneSettings) -> View:
    """Measure a frame, read its scene and leave only the table. Raises MarkerError."""
    homography = measure(frame, settings)
    outline = table_outline(homography, settings.markers)
    image = only_inside(frame.image, outline)
    scene = look_at(frame, homography, settings)
    part = rect_of(outline, frame.image)
    return View(scene, replace(frame, image=image), part, homography)


def table_outline(homography: Homography, markers: Sequence[Marker]) -> Floats:
    """(n, 2) pixels: the hull of the markers with their rims."""
    grown = [replace(m, size_m=m.size_m * (1 + 2 * _RIM)) for m in markers]
    table = np.array([corner for marker in grown for corner in marker.corners()], np.float64)
    pixels = homography.to_pixels(table).astype(np.float32)
    return np.asarray(cv2.convexHull(pixels).reshape(-1, 2), np.float64)


def rect_of(outline: Floats, image: Picture) -> Rect:
    """The smallest part of the picture that holds the outline."""
    height, width = image.shape[:2]
    low, high = np.floor(outline.min(axis=0)), np.ceil(outline.max(axis=0)) + 1
    left, top = (int(v) for v in np.maximum(low, 0))
    return Rect(left, top, int(min(high[0], width)), int(min(high[1], height)))


def only_inside(image: Picture, outline: Floats) -> Picture:
    """A copy that is black outside the outline."""
    mask = np.zeros(image.shape[:2], np.uint8)
    cv2.fillConvexPoly(mask, np.round(outline).astype(np.int32), 255)
    return np.asarray(cv2.bitwise_and(image, image, mask=mask), np.uint8)
