"""From where a raised point seems to lie on the table to where it is.

The ray from the lens C through a point P at height h meets the table at P + (P - C) h / (H - h),
H being the lens' height: a block's top seems to lie further from the point under the lens. This
holds however the camera is turned, so only the lens' place is needed, not its focal length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armlabd.perceive.picture import Floats
from armlabd.table import CAMERA


@dataclass(frozen=True, slots=True)
class Lens:
    """The place of the lens in the base frame, metres."""

    x: float
    y: float
    height_m: float

    def seen_at(self, points: Floats, height_m: float) -> Floats:
        """(n, 2) true x, y at `height_m` -> where they seem to lie on the table."""
        return points + (points - self._nadir()) * (height_m / (self.height_m - height_m))

    def true_at(self, points: Floats, height_m: float) -> Floats:
        """(n, 2) table points -> true x, y of what is seen there at `height_m`."""
        return points + (self._nadir() - points) * (height_m / self.height_m)

    def _nadir(self) -> Floats:
        return np.array([self.x, self.y], np.float64)


TABLE_LENS = Lens(CAMERA.x, CAMERA.y, CAMERA.height_m)
