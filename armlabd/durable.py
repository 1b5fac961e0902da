"""Files that survive a power cut at any instant.

A replaced file is old or new, never empty: write beside it, fsync, rename, fsync the folder.
An appended line is fsynced; a torn last line is for the reader to skip. Nothing here needs
`pathlib`, which would cost the motion core 0.3 MB.
"""

from __future__ import annotations

import contextlib
import os

Pathlike = str | os.PathLike[str]


def fsync_folder(folder: Pathlike) -> None:
    """Make a rename or a new name in `folder` durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_atomic(path: Pathlike, data: bytes, mode: int = 0o600) -> None:
    """Replace `path` with `data`, old or new at any power cut. Raises OSError."""
    folder, name = os.path.split(path)
    beside = os.path.join(folder, f".{name}.{os.getpid()}.new")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    try:
        try:
            _write_all(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(beside, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
    fsync_folder(folder or os.curdir)


def _write_all(handle: int, data: bytes) -> None:
    """Write all of it; a nearly full disk takes a part, and the rest then raises OSError."""
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]


def move(old: Pathlike, new: Pathlike) -> None:
    """Rename within one folder, durably. Raises OSError."""
    os.replace(old, new)
    fsync_folder(os.path.dirname(new) or os.curdir)


def sweep(folder: Pathlike) -> None:
    """Take away what writers that are gone have left unfinished: a power cut leaves one file."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            pid = name.removesuffix(".new").rpartition(".")[2]
            unfinished = name.startswith(".") and name.endswith(".new") and pid.isdigit()
            if unfinished and not os.path.isdir(f"/proc/{pid}"):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, name))


def append_line(path: Pathlike, line: bytes, mode: int = 0o600) -> None:
    """Append one line and fsync it. Raises OSError. A torn line before it is closed off first."""
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, mode)
    try:
        size = os.fstat(handle).st_size
        torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
        _write_all(handle, (b"\n" if torn else b"") + line.rstrip(b"\n") + b"\n")
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(path: Pathlike) -> None:
    """Remove `path` durably; a missing file is fine. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    fsync_folder(os.path.dirname(path) or os.curdir)
