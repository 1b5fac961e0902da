"""Whether this stop button was ever seen to open and close again: STATE/button.json.

A line that only ever reads closed may be a short, a pin that is no input or a button on another
pin: until a press was seen it is unproven. The proof is for one chip and line, and stays over
restarts; another line starts unproven. It permits nothing: it is only shown.
"""

from __future__ import annotations

import json
import os

from armlabd.durable import Pathlike, write_atomic
from armlabd.motion.disk import Disk
from armlabd.motion.latch import wall_time

FILE = "button.json"
AGAIN_S = 3600.0  # a proof is renewed at most this often, to spare the memory card
READABLE = 0o644  # nothing in it is secret, and whoever asks the doctor may be another user
LONGEST_FILE = 1000


class Proof:
    """`at` is when a press was last seen (wall clock, only to show), "" while there was none."""

    def __init__(self, folder: Pathlike = "", line: str = "", disk: Disk | None = None) -> None:
        self._line, self._disk = line, disk
        self._path = os.path.join(folder, FILE)
        self._again_s = float("-inf")
        self.at = "" if disk is None else read_proof(folder, line)

    def seen(self, now_s: float) -> None:
        """A press was seen, from open to closed."""
        if now_s < self._again_s:
            return
        self._again_s = now_s + AGAIN_S
        self.at = wall_time()
        text = json.dumps({"line": self._line, "at": self.at}).encode() + b"\n"
        if self._disk is not None:
            self._disk.submit(lambda: write_atomic(self._path, text, READABLE))


def line_name(chip: str, line: str | int) -> str:
    """How a line is named in the proof."""
    return f"{chip} {line}"


def read_proof(folder: Pathlike, line: str) -> str:
    """When this line was proven; "" for another line, no file, or one that says nothing."""
    try:
        with open(os.path.join(folder, FILE), encoding="utf-8") as file:
            raw = json.loads(file.read(LONGEST_FILE))
        known, at = raw["line"], raw["at"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return at if known == line and isinstance(at, str) else ""
