"""Where pictures come from, and which of them are believed.

A reader fetches one picture; `Camera` then checks its size, its age and that it is not the last
one over again (a camera that was pulled out can repeat its last picture for ever). Nothing here
raises while the daemon starts: what is missing shows as a state, and as a CameraError on a look.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from armlabd.clock import Clock, SystemClock
from armlabd.config.model import CameraConfig
from armlabd.perceive.capture import CaptureSettings
from armlabd.perceive.device import DeviceReader
from armlabd.perceive.errors import CameraError
from armlabd.perceive.picture import Picture, is_picture
from armlabd.perceive.readers import (
    NO_CAMERA,
    FolderReader,
    NoReader,
    PictureReader,
    SimReader,
    decode_picture,
)
from armlabd.perceive.straight import Straightener

LEAST_PX = (320, 240)  # a tag of 5 cm is then some 25 pixels wide, a block 15
MOST_PX = (4096, 3072)  # a look at more would hold a board up for seconds
_STAMP_SLACK_S = 0.05  # two processes may read the same clock a moment apart


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One picture: BGR image, the monotonic second it was taken, and the source's name."""

    image: Picture
    taken_s: float
    source: str

    def age_s(self, now_s: float) -> float:
        """Seconds since it was taken; never negative."""
        return max(0.0, now_s - self.taken_s)


class Reader(Protocol):
    """Fetches one picture and its monotonic time stamp. Raises CameraError."""

    name: str
    repeats: bool  # True where the same picture twice is normal (files)

    def read(self) -> tuple[Picture, float]:
        """The next picture, BGR, and when it was taken."""

    def close(self) -> None:
        """Let go of the device; a later read may open it again."""


class Camera:
    """A reader whose pictures are checked. `grab` may be called again after any error.

    Pictures may have any size from LEAST_PX to MOST_PX. `max_age_s` is the oldest picture that is
    believed; `lens`, if given, takes the lens' distortion out of every picture.
    """

    def __init__(
        self,
        reader: Reader,
        clock: Clock,
        *,
        max_age_s: float = 2.0,
        lens: Straightener | None = None,
    ) -> None:
        self._reader, self._clock, self._lens = reader, clock, lens
        self._max_age_s = max_age_s
        self._last: Frame | None = None
        self._known: Frame | None = None  # the last one as it came from the reader
        self._problem: CameraError | None = None

    @property
    def source(self) -> str:
        """The name of the source, as in the settings."""
        return self._reader.name

    @property
    def last(self) -> Frame | None:
        """The last picture that was believed."""
        return self._last

    def grab(self) -> Frame:
        """A new picture. Raises CameraError: none there, unreadable, wrong size, old, frozen."""
        try:
            frame = Frame(*self._reader.read(), self._reader.name)
            self._check(frame)
        except CameraError as error:
            self._problem = error
            raise
        if self._lens is not None:
            frame = replace(frame, image=self._lens.straight(frame.image))
        self._last, self._problem = frame, None
        return frame

    def status(self) -> dict[str, Any]:
        """What the status page shows: source, state, what to do next, age of the last picture."""
        age_s = self._last.age_s(self._clock.monotonic()) if self._last else None
        return {
            "source": self.source,
            "state": self._state(),
            "next": self._next(),
            "age_s": None if age_s is None else round(age_s, 3),
        }

    def close(self) -> None:
        """Let go of the source; safe to call twice."""
        self._reader.close()

    def _next(self) -> str:
        if isinstance(self._reader, NoReader):
            return NO_CAMERA
        return self._problem.sentence if self._problem else ""

    def _state(self) -> str:
        if isinstance(self._reader, NoReader):
            return "none"
        if self._problem:
            return "failed"
        return "ready" if self._last else "not_used_yet"

    def _check(self, frame: Frame) -> None:
        self._check_size(frame)
        now_s = self._clock.monotonic()
        if frame.taken_s > now_s + _STAMP_SLACK_S:
            raise CameraError(
                f"The picture of {self.source} is stamped {frame.taken_s - now_s:.2f} s in the "
                "future, so its age is not known. Restart the camera's source."
            )
        if frame.age_s(now_s) > self._max_age_s:
            raise CameraError(
                f"The picture of {self.source} is {frame.age_s(now_s):.1f} s old; at most "
                f"{self._max_age_s:g} s is allowed. Check the camera's cable, then look again."
            )
        if self._is_frozen(frame):
            raise CameraError(
                f"{self.source} gives the same picture again, so it is frozen. Unplug the "
                "camera, plug it in, then look again."
            )

    def _check_size(self, frame: Frame) -> None:
        if not is_picture(frame.image):
            raise CameraError(f"{self.source} gave no 8-bit colour picture. Use a PNG or JPEG.")
        height, width = frame.image.shape[:2]
        if not (LEAST_PX[0] <= width <= MOST_PX[0] and LEAST_PX[1] <= height <= MOST_PX[1]):
            raise CameraError(
                f"The picture of {self.source} is {width} x {height} pixels; allowed are "
                "{} x {} to {} x {}. ".format(*LEAST_PX, *MOST_PX)
                + "Set the camera, or [camera] width_px and height_px, to a size between."
            )

    def _is_frozen(self, frame: Frame) -> bool:
        """The stamp and the picture of the last look once more, before anything is made of it."""
        known = self._known
        self._known = frame
        if known is None or self._reader.repeats or frame.taken_s != known.taken_s:
            return False
        return np.array_equal(frame.image, known.image)


def frame_of(data: bytes, source: str) -> Frame:
    """A PNG or JPEG that somebody sent, as a frame without an age. Raises CameraError."""
    image = decode_picture(data)
    if image is None:
        raise CameraError(f"{source} sent no picture that can be read. Ask again.")
    return Frame(image, 0.0, source)


def make_camera(
    config: CameraConfig, sim_control: Path | str | None = None, clock: Clock | None = None
) -> Camera:
    """The camera that `[camera] source` names; never raises and opens nothing yet.

    `sim_control` is the virtual arm's control socket, needed for source "sim".
    """
    clock = clock or SystemClock()
    reader = _make_reader(config, sim_control, clock)
    lens = Straightener.of(config) if config.distortion else None
    return Camera(reader, clock, max_age_s=config.max_age_s, lens=lens)


def _make_reader(config: CameraConfig, sim_control: Path | str | None, clock: Clock) -> Reader:
    source = config.source
    if source == "sim":
        return SimReader(sim_control, clock)
    if isinstance(source, int) or "://" in source or source.startswith("/dev/"):
        return DeviceReader(source, clock, settings=CaptureSettings.of(config))
    if source in ("none", ""):
        return NoReader()
    path = Path(source)
    return FolderReader(path, clock) if path.is_dir() else PictureReader(path, clock)
