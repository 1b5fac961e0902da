"""A disk that loses its power: what may be on it after each system call of a writer.

`Recorder` stands in for `os` in `armlabd.durable` and notes every call that changes the disk.
`crashes` gives every disk that a power cut after any of them may leave: of what was written since
the last fsync of a file nothing, a part or all; of what was renamed, made and removed since the
last fsync of its folder any first part. That is what ext4, f2fs and others promise, and no more.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Names = dict[str, int]
KEPT = (0.0, 0.5, 1.0)  # of what was not yet fsynced


@dataclass
class Call:
    """One change: "name" or "gone" of a path, "data" or "fsync" of a file, "folder" fsynced."""

    kind: str
    path: str = ""
    inode: int = 0
    data: bytes = b""


@dataclass
class Recorder:
    """`os` for a writer in one folder; everything else of `os` is the real one."""

    root: Path
    calls: list[Call] = field(default_factory=list)
    names: Names = field(default_factory=dict)
    first: dict[int, bytes] = field(default_factory=dict)
    open_files: dict[int, tuple[str, int]] = field(default_factory=dict)
    begun: Names = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, path in enumerate(sorted(self.root.rglob("*")), start=1):
            if path.is_file():
                self.names[str(path)] = number
                self.first[number] = path.read_bytes()
        self.begun = dict(self.names)
        self._numbers = itertools.count(10_000)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def open(self, path: Any, flags: int, mode: int = 0o777) -> int:
        handle = os.open(path, flags, mode)
        name = os.fspath(path)
        if not flags & os.O_DIRECTORY:
            if name not in self.names:
                self.names[name] = next(self._numbers)
                self.calls.append(Call("name", name, self.names[name]))
            assert not flags & os.O_TRUNC or not self.first.get(self.names[name]), "cut in place"
        self.open_files[handle] = (name, self.names.get(name, 0))
        return handle

    def write(self, handle: int, data: Any) -> int:
        taken = bytes(data)[: max(1, len(data) // 2)]  # the kernel may take a part
        self.calls.append(Call("data", inode=self.open_files[handle][1], data=taken))
        return os.write(handle, taken)

    def fsync(self, handle: int) -> None:
        name, inode = self.open_files[handle]
        self.calls.append(Call("fsync", inode=inode) if inode else Call("folder", name))
        os.fsync(handle)

    def replace(self, old: Any, new: Any) -> None:
        os.replace(old, new)
        inode = self.names.pop(os.fspath(old))
        self.names[os.fspath(new)] = inode
        self.calls.append(Call("moved", f"{os.fspath(old)}\0{os.fspath(new)}", inode))

    def unlink(self, path: Any) -> None:
        os.unlink(path)
        self.names.pop(os.fspath(path))
        self.calls.append(Call("gone", os.fspath(path)))

    def close(self, handle: int) -> None:
        self.open_files.pop(handle)
        os.close(handle)


def crashes(disk: Recorder) -> Iterator[tuple[int, dict[str, bytes]]]:
    """Every disk after a cut, with how many calls were done: path -> content."""
    for done in range(len(disk.calls) + 1):
        calls = disk.calls[:done]
        seen = set()
        for names in _names(disk, calls):
            for share in KEPT:
                contents = {path: _content(disk, calls, n, share) for path, n in names.items()}
                key = tuple(sorted(contents.items()))
                if key not in seen:
                    seen.add(key)
                    yield done, contents


def _names(disk: Recorder, calls: list[Call]) -> Iterator[Names]:
    """The folders' contents: what was fsynced, and any first part of the rest."""
    changes = [n for n, call in enumerate(calls) if call.kind in ("name", "moved", "gone")]
    loose = [n for n in changes if not _is_safe(calls, n)]
    for kept in range(len(loose) + 1):
        lost = set(loose[kept:])
        names = dict(disk.begun)
        for number in changes:
            if number not in lost:
                _apply(names, calls[number])
        yield names


def _is_safe(calls: list[Call], number: int) -> bool:
    folder = os.path.dirname(calls[number].path.split("\0")[0])
    return any(call.kind == "folder" and call.path == folder for call in calls[number:])


def _apply(names: Names, call: Call) -> None:
    if call.kind == "moved":
        old, new = call.path.split("\0")
        names.pop(old, None)
        names[new] = call.inode
    elif call.kind == "gone":
        names.pop(call.path, None)
    else:
        names[call.path] = call.inode


def _content(disk: Recorder, calls: list[Call], inode: int, share: float) -> bytes:
    own = [call for call in calls if call.inode == inode and call.kind in ("data", "fsync")]
    last = max((n for n, call in enumerate(own) if call.kind == "fsync"), default=0)
    safe = b"".join(call.data for call in own[:last])
    loose = b"".join(call.data for call in own[last:])
    return disk.first.get(inode, b"") + safe + loose[: int(len(loose) * share)]
