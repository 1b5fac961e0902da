"""Where a state folder's socket lies: inside it, or, on a disk that takes no files, in memory.

A read-only or full disk must not keep a board from being asked and stopped. The folder in memory is
for this boot only; nothing that has to survive is written there.
"""

from __future__ import annotations

import os
import stat
import zlib
from _socket import AF_UNIX, SOCK_STREAM, socket
from collections.abc import Mapping

from armlabd.durable import Pathlike

SOCKET = "core.sock"
BLOCK = b"\0" * 4096
SERVICE_FOLDER = "/run/armlabd"  # RuntimeDirectory= of the unit


def stand_ins(
    state: Pathlike, environment: Mapping[str, str] = os.environ, temp: str = "/tmp"
) -> tuple[str, ...]:
    """The folders in memory that stand in for `state`, the best first; none need be there."""
    name = f"{zlib.crc32(os.fsencode(os.path.abspath(state))):08x}"
    given = environment.get("RUNTIME_DIRECTORY", "").split(":")[0]
    bases = (given, SERVICE_FOLDER, os.path.join(temp, f"armlabd-{os.geteuid()}"))
    return tuple(os.path.join(base, name) for base in dict.fromkeys(bases) if base)


def places(state: Pathlike) -> tuple[str, ...]:
    """Every folder in which a core of `state` may listen, the usual one first."""
    return (os.fspath(state), *filter(_is_private, stand_ins(state)))


def socket_folder(state: Pathlike) -> str:
    """Where the core of `state` listens now; `state` itself when none does."""
    for folder in places(state):
        if _answers(os.path.join(folder, SOCKET)):
            return folder
    return os.fspath(state)


def choose_folder(state: Pathlike) -> str:
    """Where a core shall listen: where one does, else `state`, else a stand-in, which is made.

    Raises OSError when no folder takes a file.
    """
    found = socket_folder(state)
    if found != os.fspath(state) or _answers(os.path.join(found, SOCKET)):
        return found
    trouble = write_trouble(state)
    if trouble is None:
        return found
    for folder in stand_ins(state):
        if _make(folder):
            return folder
    raise trouble


def write_trouble(folder: Pathlike) -> OSError | None:
    """Why `folder` takes no new file of one block, or None when it does."""
    path = os.path.join(folder, f".try.{os.getpid()}")
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        return error
    try:
        os.write(handle, BLOCK)
    except OSError as error:
        return error
    finally:
        os.close(handle)
        os.unlink(path)
    return None


def _make(folder: str) -> bool:
    """Make a stand-in that nobody else can write; False where that is not possible."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.chmod(os.path.dirname(folder), 0o700)
    except OSError:
        return False
    return _is_private(folder) and write_trouble(folder) is None


def _is_private(folder: str) -> bool:
    """True for a folder of this user, or of the service when root asks; never one by a link.

    In /tmp anybody may have made it first, to be told keys or to say what the arm does.
    """
    service = os.geteuid() == 0 and folder.startswith(SERVICE_FOLDER + os.sep)
    for path in (os.path.dirname(folder), folder):
        try:
            found = os.lstat(path)
        except OSError:
            return False
        mine = service or found.st_uid == os.geteuid()
        if not (stat.S_ISDIR(found.st_mode) and mine and not found.st_mode & 0o022):
            return False
    return True


def _answers(path: str) -> bool:
    probe = socket(AF_UNIX, SOCK_STREAM)
    try:
        return probe.connect_ex(path) == 0
    except OSError:  # a path too long for a socket
        return False
    finally:
        probe.close()
