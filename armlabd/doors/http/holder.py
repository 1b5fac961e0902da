"""Who listens on a TCP port of this board already. Source: proc(5), /proc/net/tcp and tcp6."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from armlabd.bus.holder import having_open

LISTENS: Final = "0A"  # the state of a socket that listens
LOCAL, STATE, INODE = 1, 3, 9  # columns


def who_listens(port: int, proc: str = "/proc") -> str:
    """Their names and process numbers, or "" where they cannot be seen (another user's)."""
    found = {one for inode in _inodes(port, proc) for one in having_open(f"socket:[{inode}]", proc)}
    return ", ".join(f"{one.name} (process {one.pid})" for one in sorted(found))


def _inodes(port: int, proc: str) -> Iterator[str]:
    """The sockets that listen on `port`, whatever the address."""
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(proc, "net", table).read_text().splitlines()[1:]:
                row = line.split()
                if row[STATE] == LISTENS and int(row[LOCAL].rpartition(":")[2], 16) == port:
                    yield row[INODE]
