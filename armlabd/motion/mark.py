"""Two marks on disk that tell the next core how this one ended.

`in_motion.json` is fsynced before the first goal of a run and removed at rest. `core_alive.json` is
there while a core lives and removed at its goodbye. What a start finds of them decides whether it
is latched: a mark of motion always, a missing goodbye within the same boot (a crash) too. A power
cut at rest leaves only `core_alive.json` of another boot, and changes nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable

from armlabd.durable import Pathlike, remove, write_atomic
from armlabd.motion.disk import Disk, Ticket

MOTION_FILE = "in_motion.json"
ALIVE_FILE = "core_alive.json"


def crash_cause(folder: Pathlike, boot: str) -> str | None:
    """The latch cause that the marks of an earlier core call for, or None after a goodbye."""
    motion, alive = os.path.join(folder, MOTION_FILE), os.path.join(folder, ALIVE_FILE)
    if os.path.exists(motion):
        return "core_crashed" if _boot_of(motion) == boot else "power_lost_in_motion"
    if os.path.exists(alive) and _boot_of(alive) in (boot, ""):
        return "core_crashed"
    return None


def _boot_of(path: str) -> str:
    """The boot a mark was written in; empty when the mark cannot be read."""
    try:
        with open(path, "rb") as file:
            raw = json.loads(file.read())
    except (OSError, ValueError):
        return ""
    boot = raw.get("boot_id") if isinstance(raw, dict) else None
    return boot if isinstance(boot, str) else ""


class Marks:
    """Writes and removes both marks through the disk, in order."""

    def __init__(self, folder: Pathlike, disk: Disk, boot: str, pid: int) -> None:
        self._motion_file = os.path.join(folder, MOTION_FILE)
        self._alive_file = os.path.join(folder, ALIVE_FILE)
        self._disk = disk
        self._record = json.dumps({"boot_id": boot, "pid": pid}).encode()
        self._motion: Ticket | None = None

    def arrive(self, latched_safely: Callable[[], bool]) -> None:
        """A core has taken over: its own mark is written, an earlier mark of motion goes.

        It goes only when `latched_safely`, asked once the latch was written, says so: the mark is
        what a full disk leaves of a stop.
        """
        path, record = self._alive_file, self._record
        self._disk.submit(lambda: write_atomic(path, record))
        motion = self._motion_file
        self._disk.submit(lambda: remove(motion) if latched_safely() else None)

    def leave(self) -> None:
        """An orderly end: nothing is left that speaks of a crash."""
        self.rest()
        self._disk.submit(lambda: remove(self._alive_file))

    @property
    def in_motion(self) -> bool:
        """True from the first request until `rest`."""
        return self._motion is not None

    def move(self) -> Ticket:
        """The mark that must be safe on disk before the first goal leaves.

        For each motion once: after a failure it is tried again.
        """
        if self._motion is None or self._motion.error:
            path, record = self._motion_file, self._record
            self._motion = self._disk.submit(lambda: write_atomic(path, record))
        return self._motion

    def rest(self) -> None:
        """The arm has been at rest for a while."""
        if self._motion is not None:
            self._motion = None
            self._disk.submit(lambda: remove(self._motion_file))
