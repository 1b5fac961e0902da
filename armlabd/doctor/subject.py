"""What is looked at: settings, folders, and what a running daemon or core says of itself.

Every folder of the system is an argument, so that tests build their own.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from armlabd.bus.holder import user_name
from armlabd.bus.port import SerialPort, Transport
from armlabd.clock import Clock, SystemClock
from armlabd.config import Config
from armlabd.config.model import CameraConfig
from armlabd.motion.boards import Wanted
from armlabd.motion.button import LineSource
from armlabd.motion.lines import make_line
from armlabd.motion.messages import LineReader, encode
from armlabd.motion.sockets import SOCKET, socket_folder

if TYPE_CHECKING:
    from armlabd.perceive.camera import Frame

CORE_WAIT_S = 1.5  # details come twice a second
CHUNK = 65_536


class Roots(NamedTuple):
    """The system's folders."""

    dev: str = "/dev"
    sys: str = "/sys"
    proc: str = "/proc"
    etc: str = "/etc"
    run: str = "/run"
    lib: str = "/usr/lib"


class User(NamedTuple):
    """Who asks: the name, the number, and the groups of this session."""

    name: str
    uid: int
    groups: tuple[int, ...]

    @classmethod
    def now(cls) -> User:
        """Whoever runs this."""
        uid = os.geteuid()
        return cls(user_name(uid), uid, (os.getegid(), *os.getgroups()))


ROOTS = Roots()
NOBODY = User("", 0, ())


def open_serial(path: str, baud: int, clock: Clock) -> Transport:
    """The real port. Raises PortError."""
    return SerialPort(path, baud, clock)


class Eye(Protocol):
    """What is needed of a camera."""

    def grab(self) -> Frame:
        """A picture. Raises CameraError."""

    def close(self) -> None:
        """Let go of it."""


def open_camera(config: CameraConfig) -> Eye:
    """The real camera; OpenCV is imported only when there is one to look at."""
    from armlabd.perceive.camera import make_camera

    return make_camera(config)


@dataclass(frozen=True, slots=True)
class Subject:
    """Everything a check may look at.

    `core`: what a running motion core pushed, or None. `status`: what a running daemon answered.
    `keep` takes a picture (PNG) with what is seen in it, for whoever wants one; `live` is then a
    running daemon's picture (JPEG), None when it has none.
    """

    config: Config
    state: Path
    simulated: bool = False
    core: Mapping[str, Any] | None = None
    status: Mapping[str, Any] | None = None
    roots: Roots = ROOTS
    user: User = NOBODY
    clock: Clock = field(default_factory=SystemClock)
    open_port: Callable[[str, int, Clock], Transport] = open_serial
    make_camera: Callable[[CameraConfig], Eye] = open_camera
    make_line: Callable[[Wanted, Path], LineSource] = make_line
    synced: Callable[[], bool | None] = lambda: None
    live: Callable[[], bytes | None] = lambda: None
    keep: Callable[[bytes], None] | None = None


def ask_core(folder: Path, wait_s: float = CORE_WAIT_S) -> dict[str, Any] | None:
    """State and details as the core of this folder pushes them to any visitor; None without one."""
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    channel.settimeout(wait_s)
    told: dict[str, Any] = {}
    lines = LineReader()
    try:
        channel.connect(os.path.join(socket_folder(folder), SOCKET))
        channel.sendall(encode({"do": "hello", "role": "visitor"}))
        while not {"state", "servos"} <= told.keys():
            data = channel.recv(CHUNK)
            if not data:
                break
            for message in lines.feed(data):
                told |= message.get("state") or {}
                told |= message.get("details") or {}
    except (OSError, ValueError):
        return told or None
    finally:
        channel.close()
    return told or None


def daemon_pid(folder: Path, proc: str = "/proc") -> int | None:
    """The process of the daemon that wrote its note here and still runs."""
    try:
        pid = json.loads((folder / "daemon.json").read_text())["pid"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    alive = isinstance(pid, int) and pid > 0 and os.path.isdir(os.path.join(proc, str(pid)))
    return pid if alive else None
