"""The audit: one JSON line per decision on anything that could move. Appended, never truncated.

A file that has grown to its share is closed by a rename and a new one begun; of the closed ones the
oldest goes when there are more than PARTS. A file that cannot be opened is set aside the same way.

Time: `monotonic_s` with `boot_id` orders rows; `wall` is only to show, and `synced` says whether it
was worth anything. No keys and no pictures are written: strings are cut short.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import stat
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from armlabd.clock import Clock
from armlabd.durable import append_line, fsync_folder, move

SIZE_BYTES = 50 * 1024 * 1024  # of all files together
PARTS = 4  # closed files that are kept
CLOSED = re.compile(r"audit-\d{12}\.jsonl")
TAIL_BYTES = 512 * 1024  # how far back a tail reads
MAX_TAIL = 1000  # rows
MAX_TEXT = 300  # characters of one string in a row
MAX_ITEMS = 40  # of one list or object in a row
MAX_DEPTH = 5
SYNCED_MARK = Path("/run/systemd/timesync/synchronized")  # timesyncd touches it when it has time


class Audit:
    """The audit file of one state folder. Safe to use from several threads."""

    def __init__(self, folder: Path, clock: Clock, size_bytes: int = SIZE_BYTES) -> None:
        """Opens nothing yet, so that a full or broken disk does not end the start."""
        self._folder, self._clock = folder, clock
        self._part_bytes = size_bytes // (PARTS + 1)
        self._lock = threading.Lock()
        self._boot_id = boot_id()
        self._seq: int | None = None

    @property
    def path(self) -> Path:
        """The file of rows."""
        return self._folder / "audit.jsonl"

    def write(self, row: Mapping[str, Any], *, sync: bool = True) -> int:
        """Append one row and fsync it; answers its number. Raises OSError (a full disk, ...).

        `sync` False leaves the fsync to a later row: for refusals that nothing depends on.
        """
        with self._lock:
            seq = (self._last_seq() if self._seq is None else self._seq) + 1
            line = json.dumps({"seq": seq, **self._stamp(), **cut(row)}, separators=(",", ":"))
            self._append(line.encode("utf-8", "replace"), sync)
            self._seq = seq
            return seq

    def tail(self, count: int = 50) -> list[dict[str, Any]]:
        """The last rows, oldest first; torn or foreign lines are left out. Raises OSError."""
        wanted = max(0, min(count, MAX_TAIL))
        return self._rows()[-wanted:] if wanted else []

    def _stamp(self) -> dict[str, Any]:
        return {
            "boot_id": self._boot_id,
            "monotonic_s": round(self._clock.monotonic(), 6),
            "wall": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "synced": SYNCED_MARK.exists(),
        }

    def _append(self, line: bytes, sync: bool) -> None:
        new = self._close_full() or not self.path.exists()
        if new:
            self._folder.mkdir(parents=True, exist_ok=True)
        if sync:
            append_line(self.path, line)
        else:
            _append_unsynced(self.path, line)
        if new:
            fsync_folder(self._folder)

    def _close_full(self) -> bool:
        """Close a file that has its share, or is none; True when a new one begins."""
        try:
            found = self.path.lstat()
        except OSError:
            return False
        if stat.S_ISREG(found.st_mode) and found.st_size < self._part_bytes:
            return False
        closed = self.closed()
        number = int(closed[-1].name[6:18]) + 1 if closed else 1
        move(self.path, self._folder / f"audit-{number:012d}.jsonl")
        for old in closed[: max(0, len(closed) + 1 - PARTS)]:
            with contextlib.suppress(OSError):
                old.unlink()
        return True

    def closed(self) -> list[Path]:
        """The closed files, oldest first."""
        try:
            names = [name for name in os.listdir(self._folder) if CLOSED.fullmatch(name)]
        except OSError:
            return []
        return [self._folder / name for name in sorted(names)]

    def _last_seq(self) -> int:
        numbers = [row["seq"] for row in self._rows() if isinstance(row.get("seq"), int)]
        return max(numbers, default=0)

    def _rows(self) -> list[dict[str, Any]]:
        """The rows at the end; from the last closed file too while the newest one is short."""
        tail = _end_of(self.path, TAIL_BYTES)
        if len(tail) < TAIL_BYTES and (closed := self.closed()):
            with contextlib.suppress(OSError):
                tail = _end_of(closed[-1], TAIL_BYTES - len(tail)) + b"\n" + tail
        lines = tail.split(b"\n")
        return [row for line in lines if (row := _parse(line)) is not None]


def boot_id() -> str:
    """The kernel's name for this boot; empty where there is none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def cut(value: Any, depth: int = 0) -> Any:
    """A value that is safe to write: JSON types only, finite numbers, bounded size and depth."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else "a very large number"
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes) or depth >= MAX_DEPTH:
        return f"({type(value).__name__} left out)"
    if isinstance(value, Mapping):
        items = list(value.items())[:MAX_ITEMS]
        return {_short(str(key)): cut(item, depth + 1) for key, item in items}
    if isinstance(value, list | tuple):
        return [cut(item, depth + 1) for item in value[:MAX_ITEMS]]
    return _short(str(value))


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."


def _end_of(path: Path, most_bytes: int) -> bytes:
    """The last bytes of a file; none when there is no such file. Raises OSError."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - most_bytes))
            return file.read(most_bytes)
    except (FileNotFoundError, IsADirectoryError):
        return b""


def _append_unsynced(path: Path, line: bytes) -> None:
    with path.open("ab+") as file:
        size = file.seek(0, os.SEEK_END)
        torn = size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
        file.write((b"\n" if torn else b"") + line + b"\n")


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None
