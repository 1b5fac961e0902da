"""Whether the disk below a folder takes what is written: room, and the right to write."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MIB = 1024 * 1024
LEAST_MIB = 200  # a few hundred runs with pictures
FULL_MIB = 1  # below this nothing of any size is taken


@dataclass(frozen=True, slots=True)
class Space:
    """State ("ok", "low", "full", "read_only" or "lost"), free MiB, and what to do next."""

    state: str
    free_mib: int | None
    next: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For GET /status."""
        return {"state": self.state, "free_mib": self.free_mib, "next": self.next}


def look(folder: Path) -> Space:
    """The disk under `folder` now."""
    try:
        found = os.statvfs(folder)
    except OSError as error:
        why = error.strerror or error
        return Space("lost", None, f"{folder} cannot be looked at ({why}): restart the board.")
    free_mib = found.f_bavail * found.f_frsize // MIB
    if found.f_flag & os.ST_RDONLY:
        return Space("read_only", free_mib, _read_only(folder))
    if free_mib < FULL_MIB or found.f_files > 0 == found.f_favail:
        return Space("full", free_mib, f"Nothing is recorded, so nothing moves. {_free(folder)}")
    if free_mib < LEAST_MIB:
        return Space("low", free_mib, f"Runs and audit may soon not be kept. {_free(folder)}")
    return Space("ok", free_mib)


def _read_only(folder: Path) -> str:
    return (
        "Nothing is recorded, so nothing moves, and a stop is forgotten over a power cut. Look at "
        f"dmesg | tail, then: sudo mount -o remount,rw {folder}, or restart the board."
    )


def _free(folder: Path) -> str:
    return f"Free some: sudo du -xh {folder} | sort -h | tail"
