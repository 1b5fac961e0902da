"""Pictures as files: what a run folder keeps and a door shows."""

from __future__ import annotations

import cv2

from armlabd.perceive.picture import Picture

JPEG_QUALITY = 85


def encode_png(image: Picture) -> bytes:
    """A BGR picture as PNG, without loss."""
    return _encode(".png", image, [])


def encode_jpeg(image: Picture) -> bytes:
    """A BGR picture as JPEG."""
    return _encode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])


def _encode(form: str, image: Picture, options: list[int]) -> bytes:
    good, data = cv2.imencode(form, image, options)
    if not good:
        raise OSError(f"The picture could not be written as {form}.")
    return data.tobytes()
