"""A real camera: index, /dev path or URL, through OpenCV's capture.

Opened at the first look and kept open. A device that fails is closed, so that the next look opens
it again: a camera that was busy or unplugged comes back without a restart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import cv2
import numpy as np

from armlabd.clock import Clock
from armlabd.perceive.errors import CameraError
from armlabd.perceive.picture import Picture
from armlabd.table import CAMERA

_STALE_FRAMES = 4  # what a driver's queue commonly holds from before the look


class Capture(Protocol):
    """The part of cv2.VideoCapture that is used; tests give a scripted one."""

    def isOpened(self) -> bool:
        """True when the device answered."""

    def grab(self) -> bool:
        """Take one picture off the queue without decoding it."""

    def retrieve(self) -> tuple[bool, object]:
        """Decode the picture taken last."""

    def release(self) -> None:
        """Close the device."""


def open_capture(source: str | int) -> Capture:
    """OpenCV's capture at the picture size this house works with."""
    capture = cv2.VideoCapture(source)
    capture.set(cv2.CAP_PROP_FRAME_WIDTH, CAMERA.width_px)
    capture.set(cv2.CAP_PROP_FRAME_HEIGHT, CAMERA.height_px)
    capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)
    return capture


class DeviceReader:
    """Pictures from a device; the same picture twice running is a frozen device.

    A sensor's noise differs from picture to picture, so equal bytes mean that no new picture came.
    """

    repeats = False

    def __init__(
        self,
        source: str | int,
        clock: Clock,
        opener: Callable[[str | int], Capture] = open_capture,
    ) -> None:
        self.name = f"camera {source}"
        self._source, self._clock, self._opener = source, clock, opener
        self._capture: Capture | None = None
        self._last: tuple[Picture, float] | None = None

    def read(self) -> tuple[Picture, float]:
        """The newest picture. Raises CameraError: absent, busy, no picture came."""
        capture = self._opened()
        fresh = all(capture.grab() for _ in range(_STALE_FRAMES))
        taken_s = self._clock.monotonic()
        good, image = capture.retrieve() if fresh else (False, None)
        if not good or not isinstance(image, np.ndarray):
            self.close()
            raise CameraError(
                f"{self.name} is open but sends no picture. Two cameras on one USB controller "
                "can exceed its bandwidth: set a smaller size or the MJPG format, or use another "
                "USB port. Then look again."
            )
        return self._stamped(image.astype(np.uint8, copy=False), taken_s)

    def close(self) -> None:
        """Let go of the device; the next look opens it again."""
        if self._capture is not None:
            self._capture.release()
        self._capture = None

    def _opened(self) -> Capture:
        if self._capture is None:
            capture = self._opener(self._source)
            if not capture.isOpened():
                capture.release()
                raise CameraError(
                    f"{self.name} cannot be opened: it is not plugged in, or another program "
                    "has it. Plug it in or close that program, then look again."
                )
            self._capture = capture
        return self._capture

    def _stamped(self, image: Picture, taken_s: float) -> tuple[Picture, float]:
        # The stamp of a repeated picture is that of its first showing, so its age tells the truth.
        if self._last is not None and np.array_equal(self._last[0], image):
            return self._last
        self._last = (image, taken_s)
        return self._last
