"""A person at the terminal: lines read from standard input, a live line that replaces itself.

Works without a terminal too: then lines come from a pipe, and live lines are left out.
"""

from __future__ import annotations

import os
import select
import sys

from armlabd.cli.show import say
from armlabd.motion.calibrate import Task
from armlabd.motion.calibrate_bus import CalibrateError

CLEAR = "\r\x1b[K"  # back to the start of the line, and wipe it
ENDED = (
    "The input has ended, so nobody can go on. What was swept is kept: run the command again to "
    "go on from there."
)


class Keyboard:
    """`Person` for people. `handle` is the file that lines come from, standard input by default.

    Read plainly, without Python's buffers: what lies in a buffer cannot be waited for.
    """

    def __init__(self, handle: int = 0) -> None:
        self._handle = handle
        self._text = b""
        self._ended = False
        self._live = False

    def ask(self, text: str, task: Task) -> None:
        """A line to be acted upon; at a terminal an Enter typed before does not count."""
        self.say(f"\n> {text}")
        if os.isatty(self._handle):
            self._read()
            self._text = b""

    def say(self, text: str) -> None:
        """A line that stays."""
        self._wipe()
        say(text)
        sys.stdout.flush()

    def show(self, text: str) -> None:
        """A live line, only where a terminal is."""
        if sys.stdout.isatty():
            sys.stdout.write(f"{CLEAR}{text}")
            sys.stdout.flush()
            self._live = True

    def entered(self) -> str | None:
        """The next line if there is one. Raises CalibrateError when no more can come."""
        self._read()
        line, newline, rest = self._text.partition(b"\n")
        if newline:
            self._text = rest
            self._live = False  # the Enter has left the live line standing
            return line.decode(errors="replace").rstrip("\r")
        if self._ended:
            raise CalibrateError(ENDED)
        return None

    def _read(self) -> None:
        while not self._ended and select.select([self._handle], [], [], 0.0)[0]:
            data = os.read(self._handle, 4096)
            self._text += data
            self._ended = not data

    def _wipe(self) -> None:
        if self._live:
            sys.stdout.write(CLEAR)
            self._live = False
