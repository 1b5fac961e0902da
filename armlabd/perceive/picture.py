"""The type of a picture, and the one OpenCV switch of this room."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

# The motion core shares the board; a look may not take every processor from it.
cv2.setNumThreads(1)

Picture = NDArray[np.uint8]  # height x width x 3, BGR
Mask = NDArray[np.bool_]  # height x width
Floats = NDArray[np.float64]


def is_picture(image: object) -> bool:
    """True for an 8-bit array of height x width x 3."""
    return (
        isinstance(image, np.ndarray)
        and image.dtype == np.uint8
        and image.ndim == 3
        and image.shape[2] == 3
    )
