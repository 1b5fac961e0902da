"""The state folder: where it lies, that nobody else uses it, and the note for the CLI."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import logging
import os
from pathlib import Path

from armlabd.durable import remove, write_atomic
from armlabd.motion.sockets import choose_folder

log = logging.getLogger(__name__)

SOCKET_LIMIT = 107  # bytes of a Unix socket's path on Linux, without the closing zero
NOTE = "daemon.json"
TAKES_NO_FILES = (errno.EROFS, errno.ENOSPC, errno.EDQUOT)


class StateError(Exception):
    """The state folder cannot be used; the sentence says why and what to do."""


def state_folder(chosen: Path | None, simulated: bool) -> Path:
    """--state, else $STATE_DIRECTORY, else ~/.local/state/armlabd; the virtual arm's own inside."""
    given = os.environ.get("STATE_DIRECTORY", "").split(":")[0]
    base = chosen or (Path(given) if given else Path.home() / ".local/state/armlabd")
    return base.absolute() / "sim" if simulated else base.absolute()


def prepare(folder: Path) -> Path:
    """Make the folder, private to this user. Raises StateError."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StateError(
            f"The state folder {folder} cannot be made: {error.strerror}. "
            "Choose another with --state, or mend its owner."
        ) from error
    for name in ("runs", "audit"):
        try:
            (folder / name).mkdir(exist_ok=True, mode=0o700)
        except OSError as error:  # nothing moves without an audit, but status and stop are there
            log.warning("%s cannot be made: %s. Free or mend the disk.", folder / name, error)
    longest = len(os.fsencode(folder / "control.sock"))
    over = longest - SOCKET_LIMIT
    if over > 0:
        raise StateError(
            f"The state folder's path is {over} byte{'s' * (over > 1)} too long for a socket. "
            "Choose a shorter one with --state."
        )
    return folder


def sockets_of(folder: Path) -> Path:
    """Where the socket of this folder's core lies, and the note for the command line.

    Raises StateError when neither the folder nor one in memory takes a file.
    """
    try:
        chosen = Path(choose_folder(folder))
    except OSError as error:
        raise StateError(
            f"{folder} takes no files ({error.strerror}), and neither does /run or /tmp. Free the "
            "disk or mend it, then start again."
        ) from error
    if chosen != folder:
        log.warning("%s takes no files now: nothing is recorded, and nothing moves", folder)
    return chosen


class FolderLock:
    """Held by the one daemon of a state folder; freed by the kernel however it ends.

    A disk that takes no files can still be locked: by the lock's old file, else by the folder.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / "daemon.lock"
        try:
            self._handle = _lock_handle(folder, path)
        except OSError as error:
            raise StateError(
                f"{path} cannot be opened: {error.strerror}. Free the disk, mend the folder, or "
                "choose another with --state."
            ) from error
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._handle)
            raise StateError(
                f"Another armlabd runs with the state folder {folder}. End it first, or choose "
                "another folder with --state."
            ) from error

    def release(self) -> None:
        """Free the folder."""
        os.close(self._handle)


def _lock_handle(folder: Path, path: Path) -> int:
    """What can be opened of the lock. Raises OSError."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno not in TAKES_NO_FILES:
            raise
    there = path if path.exists() else folder
    return os.open(there, os.O_RDONLY | os.O_CLOEXEC)


def write_note(folder: Path, url: str, simulated: bool) -> None:
    """Tell the CLI where this daemon answers. It can do without: a full disk ends no start."""
    note = {"url": url, "pid": os.getpid(), "simulated": simulated}
    try:
        write_atomic(folder / NOTE, json.dumps(note).encode(), 0o644)
    except OSError as error:
        log.warning(
            "%s cannot be written (%s): the command line needs --url %s. Free the disk.",
            folder / NOTE,
            error.strerror or error,
            url,
        )


def forget_note(folder: Path) -> None:
    """Take the note away: from now on the CLI talks to the core itself."""
    with contextlib.suppress(OSError):
        remove(folder / NOTE)
