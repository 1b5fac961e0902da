"""OpenCV's capture with what a look needs of it: the size and format asked for, and the stamp."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Protocol, Self

import cv2

from armlabd.config.model import CameraConfig
from armlabd.table import CAMERA

_ANY = "auto"


@dataclass(frozen=True, slots=True)
class CaptureSettings:
    """What a device is asked for; what it gives is what counts. `form` is "auto" or a FOURCC."""

    width_px: int = CAMERA.width_px
    height_px: int = CAMERA.height_px
    form: str = _ANY

    @classmethod
    def of(cls, config: CameraConfig) -> Self:
        """The settings of `[camera]`."""
        return cls(config.width_px, config.height_px, config.format)


class Capture(Protocol):
    """The part of a capture that is used; tests give a scripted one."""

    def isOpened(self) -> bool:
        """True when the device answered."""

    def grab(self) -> bool:
        """Take one picture off the queue without decoding it."""

    def retrieve(self) -> tuple[bool, object]:
        """Decode the picture taken last."""

    def stamp_s(self) -> float:
        """The driver's time of the picture taken last, monotonic seconds; 0 or less for none."""

    def release(self) -> None:
        """Close the device."""


class VideoCapture:
    """cv2.VideoCapture as a Capture."""

    def __init__(self, capture: cv2.VideoCapture, stamped: bool) -> None:
        self._capture, self._stamped = capture, stamped

    def isOpened(self) -> bool:
        """True when the device answered."""
        return self._capture.isOpened()

    def grab(self) -> bool:
        """Take one picture off the queue."""
        return self._capture.grab()

    def retrieve(self) -> tuple[bool, object]:
        """Decode it."""
        return self._capture.retrieve()

    def stamp_s(self) -> float:
        """V4L2's own stamp of the buffer. Of a stream it is the place in its film, and no time."""
        return self._capture.get(cv2.CAP_PROP_POS_MSEC) / 1000 if self._stamped else 0.0

    def release(self) -> None:
        """Close it."""
        self._capture.release()


def open_capture(source: str | int, settings: CaptureSettings) -> Capture:
    """A device by path through V4L2, an address through whatever OpenCV has for it."""
    device = isinstance(source, str) and source.startswith("/")
    capture = cv2.VideoCapture(source, cv2.CAP_V4L2 if device else cv2.CAP_ANY)
    if settings.form != _ANY:  # before the size: a format has sizes of its own
        capture.set(cv2.CAP_PROP_FOURCC, cv2.VideoWriter.fourcc(*settings.form))
    capture.set(cv2.CAP_PROP_FRAME_WIDTH, settings.width_px)
    capture.set(cv2.CAP_PROP_FRAME_HEIGHT, settings.height_px)
    capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)
    return VideoCapture(capture, device)


def path_of(source: str | int, dev: str = "/dev") -> str | None:
    """The device node of an index or a path, links (by-id) followed; None for an address."""
    if isinstance(source, int):
        return os.path.join(dev, f"video{source}")
    return None if "://" in source else os.path.realpath(source)
