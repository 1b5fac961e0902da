"""A lens' distortion taken out of its pictures, for cameras whose intrinsics are known.

Without them nothing is changed: four markers that lie within 3 mm of their places, as any look
demands, show that the lens is straight enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import cv2
import numpy as np

from armlabd.config.model import CameraConfig
from armlabd.perceive.picture import Floats, Picture

_Maps = tuple[np.ndarray, np.ndarray]


@dataclass(slots=True)
class Straightener:
    """OpenCV's coefficients (k1, k2, p1, p2, k3, ...) and the focal length at `width_px`.

    The optical axis is taken to pass through the middle of the picture.
    """

    coefficients: tuple[float, ...]
    focal_px: float
    width_px: int
    _maps: tuple[tuple[int, int], _Maps] | None = None

    @classmethod
    def of(cls, config: CameraConfig) -> Self:
        """The lens of `[camera]`."""
        return cls(config.distortion, config.focal_px, config.width_px)

    def straight(self, image: Picture) -> Picture:
        """The picture as a pinhole of the same focal length would have taken it."""
        size = (image.shape[1], image.shape[0])
        if self._maps is None or self._maps[0] != size:
            self._maps = (size, self._make_maps(size))
        across, down = self._maps[1]
        return np.asarray(cv2.remap(image, across, down, cv2.INTER_LINEAR), np.uint8)

    def _make_maps(self, size: tuple[int, int]) -> _Maps:
        camera = self.matrix(size)
        bent = np.array(self.coefficients, np.float64)
        eye = np.eye(3)
        return cv2.initUndistortRectifyMap(camera, bent, eye, camera, size, cv2.CV_16SC2)

    def matrix(self, size: tuple[int, int]) -> Floats:
        """The pinhole's matrix for pictures of this size."""
        focal = self.focal_px * size[0] / self.width_px
        middle = ((size[0] - 1) / 2, (size[1] - 1) / 2)
        return np.array([[focal, 0, middle[0]], [0, focal, middle[1]], [0, 0, 1]], np.float64)
