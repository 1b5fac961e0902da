"""The virtual arm's stop contact: a named pipe STATE/button, for demos, tests and the bench.

"0" closes the contact, "1" opens it, "x" breaks the line until the next of them; all else is
passed over, so that `echo 1 > STATE/sim/button` presses it. An edge may carry its time, as the
kernel stamps those of a real line: "1@123456789" (CLOCK_MONOTONIC, ns).
"""

from __future__ import annotations

import os
import re
import stat

from armlabd.durable import Pathlike
from armlabd.motion.button import Reading

FILE = "button"
CHUNK = 4096
MEANING: dict[bytes, bool | None] = {b"0": False, b"1": True, b"x": None}
EDGE = re.compile(rb"([01x])(?:@(\d{1,19}))?")


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
        edge_s = None
        for word, stamp in EDGE.findall(said):
            if MEANING[word] is not before:
                edges += 1
                edge_s = int(stamp) / 1e9 if stamp and edge_s is None else edge_s
            before = self._level = MEANING[word]
        if self._level is None:
            self.why = self.why or "its wire is cut: write 0 into it."
        return Reading(self._level, edges, edge_s=edge_s)

    def close(self) -> None:
        """Let go of it; the pipe stays."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1
