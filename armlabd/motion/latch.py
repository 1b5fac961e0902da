"""The stop latch: set in memory at once, on disk right after, cleared only by a person.

`stop.json` says "not stopped" or the arm is stopped: a new folder, a missing, empty, torn or
strange file all mean stopped. It survives restarts and power cuts. Nothing here moves anything.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from armlabd.durable import Pathlike, remove, write_atomic
from armlabd.motion.disk import Disk, Ticket

FILE = "stop.json"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
LONGEST_FILE = 10_000  # bytes; ours has about 300
RETRY_S = 1.0  # a stop that could not be written is tried again this often

CAUSES: dict[str, str] = {
    "asked": "A stop was asked for.",
    "": "Why is not on record.",
    "new": "No stop record is here, as in a new state folder: a person clears the first stop.",
    "unreadable": "The stop record cannot be read, which counts as stopped.",
    "button": "The stop button is pressed, or its line is broken or not read.",
    "lease_lost": "The daemon fell silent while it moved the arm or had a run under way.",
    "bus_lost": "The servos stopped answering while the arm moved.",
    "brown_out": "A servo's supply broke down for a moment while the arm moved.",
    "encoder": "A joint's position jumped further than the joint can move.",
    "core_lost": "The motion core fell silent and was ended.",
    "core_crashed": "The motion core ended without a goodbye.",
    "power_lost_in_motion": "The power went while the arm moved.",
}


@dataclass(frozen=True, slots=True)
class Cause:
    """Why the arm is stopped, by whom, since when (wall time, only to show) and in which boot."""

    code: str
    by: str = ""
    since: str = ""
    boot_id: str = ""

    @property
    def sentence(self) -> str:
        """The cause in words."""
        return CAUSES.get(self.code, f"Stopped: {self.code}.")


class Latch:
    """The latch of one state folder. `disk` does the writing; a write that fails is repeated."""

    def __init__(self, folder: Pathlike, disk: Disk, boot: str = "") -> None:
        self.path = os.path.join(folder, FILE)
        self._disk = disk
        self._boot = boot
        self._saving: Ticket | None = None
        self._tried_s = 0.0
        self._undated = False
        self.cause: Cause | None = read_cause(self.path)
        self._unsaved = self.cause is not None and self.cause.code in ("new", "unreadable")

    @property
    def stopped(self) -> bool:
        """True while nothing may move."""
        return self.cause is not None

    @property
    def on_disk(self) -> bool:
        """False while the last change is not yet safe on disk."""
        return not self._unsaved and (self._saving is None or self._saving.ok)

    @property
    def disk_error(self) -> str | None:
        """Why the last change is not on disk, if that failed."""
        return None if self._saving is None else self._saving.error

    def set(self, code: str, by: str) -> None:
        """Stop, in memory only: `save` dates it and makes it durable. The first cause stays."""
        if self.cause is None:
            self.cause = Cause(code[:80], by[:80], "", self._boot)
            self._unsaved = self._undated = True

    def save(self, now_s: float) -> None:
        """Hand the record to the disk; called again and again it retries what failed."""
        again = self.disk_error is not None and now_s >= self._tried_s + RETRY_S
        if self.cause is None or not (self._unsaved or again):
            return
        if self._undated:  # not before the first frame is out: the wall clock takes a while
            self.cause, self._undated = replace(self.cause, since=wall_time()), False
        cause, path = self.cause, self.path
        self._unsaved, self._tried_s = False, now_s
        self._saving = self._disk.submit(lambda: write_cause(path, cause))

    def begin_clear(self, by: str) -> Ticket:
        """Write the cleared record; the latch stays set until `finish_clear`."""
        record = {"stopped": False, "by": by[:80], "since": wall_time(), "boot_id": self._boot}
        path = self.path
        return self._disk.submit(lambda: write_atomic(path, _text(record)))

    def finish_clear(self) -> None:
        """The cleared record is on disk: the latch opens."""
        self.cause = None
        self._saving, self._unsaved = None, False

    def write_again(self) -> None:
        """A stop came while a clear was being written: the next `save` says stopped again."""
        self._unsaved = True


def read_cause(path: Pathlike) -> Cause | None:
    """What `stop.json` says: None only for a well-formed record of a cleared stop."""
    try:
        with open(path, "rb") as file:
            raw = json.loads(file.read(LONGEST_FILE))
    except FileNotFoundError:
        return Cause("new")
    except (OSError, ValueError, RecursionError):
        return Cause("unreadable")
    if not isinstance(raw, dict) or not isinstance(raw.get("stopped"), bool):
        return Cause("unreadable")
    if raw["stopped"] is False:
        return None
    return _cause(raw)


def _cause(raw: Mapping[str, Any]) -> Cause:
    texts = (raw.get("code"), raw.get("by"), raw.get("since"), raw.get("boot_id"))
    return Cause(*(text if isinstance(text, str) else "" for text in texts))


def write_cause(path: Pathlike, cause: Cause) -> None:
    """Write the record of a stop durably. Raises OSError.

    A full disk takes no new record, but gives up an old one: without any, the arm counts as
    stopped, so the record of a cleared stop must not outlive this one.
    """
    try:
        write_atomic(path, _text({"stopped": True, **asdict(cause)}))
    except OSError:
        with contextlib.suppress(OSError):
            remove(path)
        raise


def _text(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, indent=1).encode() + b"\n"


def wall_time() -> str:
    """The wall clock, only to show to people."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


def boot_id() -> str:
    """The kernel's name for this boot; empty where there is none."""
    try:
        with open(BOOT_ID, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""
