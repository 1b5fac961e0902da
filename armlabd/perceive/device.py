"""A real camera: a V4L2 index, its /dev path, or an address, through OpenCV's capture.

Opened at the first look and kept open, so that its exposure goes on adapting. A look takes the
newest picture: what the driver had queued from before is thrown away, by the driver's own stamps
where it has them. A picture is used when its brightness has settled. Everything happens in a
thread of its own with an end to the waiting, because a driver's call can hang for ever; a device
that fails is closed, and opened anew by the next look, so a camera that was busy or unplugged
comes back without a restart. A stream is opened for each look: what was sent since the last one
waits in buffers of the network, nobody knows how much of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from armlabd.clock import Clock
from armlabd.perceive.capture import Capture, CaptureSettings, open_capture, path_of
from armlabd.perceive.device_words import DARK, NO_PICTURE, UNSETTLED, not_opened
from armlabd.perceive.errors import CameraError
from armlabd.perceive.patience import Hung, Patience
from armlabd.perceive.picture import Picture, is_picture

_STALE_FRAMES = 4  # what a driver without stamps commonly holds from before the look
_MOST_STALE = 32  # more queued pictures than any driver holds: its stamps make no sense
_STAMP_WINDOW_S = 60.0  # a driver's stamp further from now than this is of another clock
_STEADY_FRAMES = 3  # so many pictures in a row whose brightness agrees
_STEADY_SHARE = 0.04  # of the mean; a lamp on the mains flickers less in a camera's exposure
_DARK_LEVELS = 10.0  # a sensor that has just been switched on gives steady, black pictures
_STEADY_LEVELS = 2.0  # gray levels: a dark picture's mean moves by more than its share


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """How long a look waits, in seconds: for everything together, and for steady brightness."""

    look_s: float = 8.0  # opening takes 1 to 2 s, settling as much
    settle_s: float = 3.0


class DeviceReader:
    """Pictures from a device; the same picture twice running is a frozen device.

    A sensor's noise differs from picture to picture, so equal bytes mean that no new picture came.
    """

    repeats = False

    def __init__(
        self,
        source: str | int,
        clock: Clock,
        opener: Callable[[str | int, CaptureSettings], Capture] = open_capture,
        settings: CaptureSettings | None = None,
        limits: DeviceLimits | None = None,
        *,
        dev: str = "/dev",
        proc: str = "/proc",
    ) -> None:
        self.name = f"camera {source}"
        self._source, self._clock, self._opener = source, clock, opener
        self._settings = settings or CaptureSettings()
        self._limits = limits or DeviceLimits()
        self._dev, self._proc = dev, proc
        self._patience = Patience(self.name)
        self._capture: Capture | None = None
        self._last: tuple[Picture, float] | None = None

    def read(self) -> tuple[Picture, float]:
        """The newest picture. Raises CameraError: absent, busy, hung, unsteady, no picture."""
        try:
            image, taken_s = self._patience.wait(self._newest, self._limits.look_s)
        except Hung as hung:
            raise CameraError(hung.sentence) from hung
        return self._stamped(image, taken_s)

    def close(self) -> None:
        """Let go of the device; the next look opens it again."""
        if self._capture is not None:
            self._capture.release()
        self._capture = None

    # --- in the thread that may hang ----------------------------------------------------------

    def _newest(self, left: Callable[[], bool]) -> tuple[Picture, float]:
        """One look. A device kept open from earlier may have been unplugged: it is opened anew."""
        kept, self._capture = self._capture, None
        if kept is not None:
            with contextlib.suppress(CameraError):
                return self._kept(kept, left)
        return self._kept(self._opened(), left)

    def _kept(self, capture: Capture, left: Callable[[], bool]) -> tuple[Picture, float]:
        """A picture of an open device, which stays open; one that fails or came late is closed, and
        so is a stream.
        """
        found = None
        try:
            found = self._settled(capture)
        finally:
            if found is None or left() or self._path is None:
                capture.release()
            else:
                self._capture = capture
        return found

    @property
    def _path(self) -> str | None:
        """The node; a link may lead to another one after the camera was plugged in anew."""
        return path_of(self._source, self._dev)

    def _opened(self) -> Capture:
        capture = self._opener(self._path or self._source, self._settings)
        if capture.isOpened():
            return capture
        capture.release()
        raise CameraError(not_opened(self.name, self._path, self._dev, self._proc))

    def _settled(self, capture: Capture) -> tuple[Picture, float]:
        """The first of the newest pictures whose brightness is that of those before it."""
        taken_s = self._drain(capture)
        image = self._picture(capture)
        means = [float(image.mean())]
        until_s = self._clock.monotonic() + self._limits.settle_s
        while not _steady(means):
            if self._clock.monotonic() > until_s:
                why = DARK if max(means[-_STEADY_FRAMES:]) < _DARK_LEVELS else UNSETTLED
                raise CameraError(why.format(name=self.name, seconds=self._limits.settle_s))
            taken_s = self._grab(capture)
            image = self._picture(capture)
            means.append(float(image.mean()))
        return image, taken_s

    def _drain(self, capture: Capture) -> float:
        """Past what was queued before now; the stamp of the first picture after it."""
        asked_s = self._clock.monotonic()
        for number in range(1, _MOST_STALE + 1):
            taken_s = self._grab(capture)
            stamp_s = self._driver_stamp_s(capture)
            if number >= _STALE_FRAMES if stamp_s is None else stamp_s >= asked_s:
                return taken_s
        raise CameraError(NO_PICTURE.format(name=self.name))

    def _grab(self, capture: Capture) -> float:
        if not capture.grab():
            raise CameraError(NO_PICTURE.format(name=self.name))
        stamp_s = self._driver_stamp_s(capture)
        return self._clock.monotonic() if stamp_s is None else stamp_s

    def _driver_stamp_s(self, capture: Capture) -> float | None:
        """When the driver says the grabbed picture was taken; None where it says nothing sound."""
        stamp_s = capture.stamp_s()
        now_s = self._clock.monotonic()
        return stamp_s if 0 < stamp_s <= now_s < stamp_s + _STAMP_WINDOW_S else None

    def _picture(self, capture: Capture) -> Picture:
        good, image = capture.retrieve()
        if not good or not is_picture(image):
            raise CameraError(NO_PICTURE.format(name=self.name))
        return image  # type: ignore[return-value]

    def _stamped(self, image: Picture, taken_s: float) -> tuple[Picture, float]:
        # The stamp of a repeated picture is that of its first showing, so its age tells the truth.
        if self._last is not None and np.array_equal(self._last[0], image):
            return self._last
        self._last = (image, taken_s)
        return self._last


def _steady(means: list[float]) -> bool:
    recent = means[-_STEADY_FRAMES:]
    allowed = max(_STEADY_LEVELS, _STEADY_SHARE * max(recent))
    steady = len(recent) == _STEADY_FRAMES and max(recent) - min(recent) <= allowed
    return steady and max(recent) >= _DARK_LEVELS
