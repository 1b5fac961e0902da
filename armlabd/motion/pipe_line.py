"""The virtual arm's stop contact: a named pipe STATE/button, for demos, tests and the bench.

Each byte written is one edge: "0" closes the contact, "1" opens it, "x" breaks the line until the
next byte. White space is passed over, so that `echo 1 > STATE/sim/button` presses it.
"""

from __future__ import annotations

import os
import stat

from armlabd.durable import Pathlike
from armlabd.motion.button import Reading

FILE = "button"
CHUNK = 4096
MEANING: dict[int, bool | None] = {ord("0"): False, ord("1"): True, ord("x"): None}


class PipeLine:
    """Opens, and makes, the pipe in `folder`."""

    def __init__(self, folder: Pathlike) -> None:
        self._path = os.path.join(folder, FILE)
        self._level: bool | None = False
        self.fd = -1
        self.why = ""
        self.where = "the virtual arm's button"

    def open(self) -> bool:
        """Make the pipe where it is missing, and hold both its ends."""
        if self.fd >= 0:
            return True
        try:
            if not os.path.exists(self._path):
                os.mkfifo(self._path, 0o600)
            if not stat.S_ISFIFO(os.stat(self._path).st_mode):
                self.why = f"{self._path} is no pipe: move it away."
                return False
            self.fd = os.open(self._path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            self.why = f"{self._path}: {error.strerror}."
            return False
        return True

    def take(self, events: bool) -> Reading:
        """The level after all that was written."""
        before, edges = self._level, 0
        try:
            said = os.read(self.fd, CHUNK)
        except BlockingIOError:
            said = b""
        except OSError as error:
            self.why, self._level = f"{error.strerror}.", None
            self.close()
            said = b""
        for byte in said:
            if byte in MEANING:
                edges += MEANING[byte] is not before
                before = self._level = MEANING[byte]
        if self._level is None:
            self.why = self.why or "its wire is cut: write 0 into it."
        return Reading(self._level, edges)

    def close(self) -> None:
        """Let go of it; the pipe stays."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1
