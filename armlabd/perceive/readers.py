"""Readers without a device: no camera, a picture file, a folder of pictures, the virtual arm."""

from __future__ import annotations

import base64
import binascii
import json
import math
import socket
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from armlabd.clock import Clock
from armlabd.perceive.errors import CameraError
from armlabd.perceive.picture import Picture

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".webp"})
_MAX_FILE_BYTES = 20_000_000  # a 640 x 480 picture is far below; a wrong file may be huge
_MAX_REPLY_BYTES = 16_000_000  # one 640 x 480 frame in base64 is 1.2 MB
_SOCKET_WAIT_S = 2.0  # a virtual arm draws a picture in well under 0.1 s
_ASK = b'{"cmd":"frame"}\n'


NO_CAMERA = (
    "No camera is set. Set [camera] source to a device, a picture, a folder of pictures or a URL, "
    "then restart the daemon."
)


class NoReader:
    """No camera is set. Every read raises CameraError that says how to set one."""

    name = "none"
    repeats = False

    def read(self) -> tuple[Picture, float]:
        """Always raises CameraError."""
        raise CameraError(NO_CAMERA)

    def close(self) -> None:
        """Nothing to let go of."""


class PictureReader:
    """One picture file, read anew for each look, so that a script may replace it."""

    repeats = True

    def __init__(self, path: Path, clock: Clock) -> None:
        self.name, self._path, self._clock = str(path), path, clock

    def read(self) -> tuple[Picture, float]:
        """The file as it is now. Raises CameraError: missing, unreadable, no picture."""
        return read_picture(self._path), self._clock.monotonic()

    def close(self) -> None:
        """Nothing to let go of."""


class FolderReader:
    """The pictures of a folder, by name, one per look; after the last one a CameraError.

    Pictures that appear later, with later names, are shown too.
    """

    repeats = True

    def __init__(self, path: Path, clock: Clock) -> None:
        self.name, self._path, self._clock = str(path), path, clock
        self._shown = ""

    def read(self) -> tuple[Picture, float]:
        """The next picture. Raises CameraError: folder gone, empty, all shown, unreadable."""
        names = self._names()
        following = [name for name in names if name > self._shown]
        if not following:
            raise CameraError(self._why_no_more(names))
        self._shown = following[0]
        return read_picture(self._path / self._shown), self._clock.monotonic()

    def close(self) -> None:
        """Nothing to let go of."""

    def _names(self) -> list[str]:
        try:
            return sorted(p.name for p in self._path.iterdir() if p.suffix.lower() in SUFFIXES)
        except OSError as error:
            raise CameraError(
                f"The picture folder {self._path} cannot be read ({error.strerror}). Make the "
                "folder, or set [camera] source anew."
            ) from error

    def _why_no_more(self, names: list[str]) -> str:
        kinds = ", ".join(sorted(SUFFIXES))
        if not names:
            return f"The folder {self._path} holds no pictures. Put in pictures ({kinds})."
        return (
            f"All {len(names)} pictures of {self._path} have been looked at. Add a picture with "
            f"a name after {self._shown}, or restart the daemon to begin again."
        )


class SimReader:
    """The virtual arm's camera, asked over its control socket once per look."""

    name = "sim"
    repeats = False

    def __init__(self, control: Path | str | None, clock: Clock) -> None:
        self._control, self._clock = control, clock

    def read(self) -> tuple[Picture, float]:
        """A fresh picture. Raises CameraError: no socket, no answer, an answer of wrong form."""
        asked_s = self._clock.monotonic()
        return _decode_reply(self._ask(), asked_s)

    def close(self) -> None:
        """Nothing is kept open between looks."""

    def _ask(self) -> bytes:
        if self._control is None:
            raise CameraError(
                'Camera "sim" needs the virtual arm. Start the daemon with --sim, or set '
                "[camera] source to a real camera."
            )
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
                link.settimeout(_SOCKET_WAIT_S)
                link.connect(str(self._control))
                link.sendall(_ASK)
                return _read_line(link)
        except OSError as error:
            reason = error.strerror or str(error) or type(error).__name__
            raise CameraError(
                f"The virtual arm's camera does not answer ({reason}). The virtual arm may have "
                "ended; restart the daemon with --sim."
            ) from error


def read_picture(path: Path) -> Picture:
    """A picture file as BGR. Raises CameraError: missing, not readable, too large, no picture."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise CameraError(
            f"The picture {path} cannot be read ({error.strerror}). Put a picture there, or set "
            "[camera] source anew."
        ) from error
    image = decode_picture(data) if len(data) <= _MAX_FILE_BYTES else None
    if image is None:
        raise CameraError(
            f"The file {path} is no picture that can be read, or only a part of one. Write a "
            "whole PNG or JPEG there."
        )
    return image


def decode_picture(data: bytes) -> Picture | None:
    """A PNG or JPEG as BGR; None for anything else."""
    if not data:
        return None  # OpenCV raises on an empty buffer
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:
        return None
    return None if image is None else image.astype(np.uint8, copy=False)


def _read_line(link: socket.socket) -> bytes:
    parts: list[bytes] = []
    size = 0
    while not (parts and parts[-1].endswith(b"\n")):
        part = link.recv(1 << 18)
        size += len(part)
        if not part or size > _MAX_REPLY_BYTES:
            raise OSError("the answer ended early" if not part else "the answer is too long")
        parts.append(part)
    return b"".join(parts)


def _decode_reply(line: bytes, asked_s: float) -> tuple[Picture, float]:
    try:
        reply = json.loads(line)
        if not reply.get("ok", True):
            raise CameraError(f"The virtual arm gave no picture: {reply.get('error', 'no reason')}")
        return _image_of(reply), _stamp_of(reply, asked_s)
    except (ValueError, TypeError, KeyError, AttributeError, binascii.Error) as error:
        raise CameraError(
            f"The virtual arm's answer is no picture ({error}). Restart the daemon with --sim."
        ) from error


def _image_of(reply: dict[str, Any]) -> Picture:
    data = base64.b64decode(reply["bgr"], validate=True)
    width, height = int(reply["width"]), int(reply["height"])
    if min(width, height) < 1 or len(data) != width * height * 3:
        raise ValueError(f"{len(data)} bytes for {width} x {height} pixels")
    return np.frombuffer(data, np.uint8).reshape(height, width, 3)


def _stamp_of(reply: dict[str, Any], asked_s: float) -> float:
    stamp = reply.get("taken_s")
    if stamp is None:
        return asked_s  # the picture is not older than the question
    if isinstance(stamp, bool) or not math.isfinite(stamp):
        raise ValueError("taken_s is no number")
    return float(stamp)
