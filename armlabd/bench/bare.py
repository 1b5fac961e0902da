"""Bare references, measured in the same run: imports alone, two processes alone, a loop alone.

What a bar costs on this machine without armlabd: the rest is ours.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import time
import tty
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from armlabd.bench.processes import BenchError, Place, rss_mib, wait_for

READY_S: Final = 30.0
ONE_FRAME: Final = "import numpy; frame = numpy.full((480, 640, 3), 7, numpy.uint8)"
# Some names are of modules that only their package can make (cv2.gapi).
IMPORT: Final = (
    "import contextlib, importlib\n"
    "for name in {names!r}:\n"
    "    with contextlib.suppress(Exception):\n"
    "        importlib.import_module(name)\n"
)
HOLD_STILL: Final = "import time; print('ready', flush=True); time.sleep(60)"
DAEMON: Final = "armlabd.cli.processes, armlabd.daemon.house, armlabd.doors.http.server"
CORE: Final = "armlabd.motion.core, armlabd.motion.server"
# What a process imports besides our own code; asked of Python itself, so that it is never stale and
# holds what a lazy package (pydantic) loads once it is used.
ASK: Final = (
    "import sys; before = set(sys.modules); import {ours}; "
    "print(*sorted(m for m in set(sys.modules) - before if m.split('.')[0] != 'armlabd'))"
)
FRAME_BYTES: Final = 8  # of a broadcast torque-off
BYTE_WAIT_S: Final = 5.0


def daemon_imports_mib(place: Place) -> float:
    """Memory of a Python that imports what the daemon imports and holds one 640 x 480 frame."""
    return _imports_mib(place, _asked(place, DAEMON), ONE_FRAME)


def core_imports_mib(place: Place) -> float:
    """Memory of a Python that imports what the core imports, without our own code."""
    return _imports_mib(place, _asked(place, CORE), "pass")


def _asked(place: Place, ours: str) -> list[str]:
    """The modules of others that these of ours bring in."""
    process = place.start(["-c", ASK.format(ours=ours)], piped=True)
    try:
        return _first_line(process).split()
    finally:
        place.end(process)


def _imports_mib(place: Place, modules: Iterable[str], then: str) -> float:
    imports = IMPORT.format(names=tuple(modules))
    process = place.start(["-c", f"{imports}{then}\n{HOLD_STILL}"], piped=True)
    try:
        _first_line(process)
        return rss_mib(process.pid)
    finally:
        place.end(process)


def _first_line(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], READY_S)
    line = process.stdout.readline().decode().strip() if ready else ""
    if not line:
        raise BenchError("A bare reference process did not start.")
    return line


@contextlib.contextmanager
def sketch(place: Place) -> Iterator[Sketch]:
    """The two-process sketch of a stop: this process, and one that writes to a pty when told."""
    master, slave = os.openpty()
    tty.setraw(slave)
    path = place.folder / "sketch.sock"
    path.unlink(missing_ok=True)
    process = place.start(["-m", "armlabd.bench.sketch", str(path), os.ttyname(slave)])
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        wait_for(lambda: _connected(channel, path), "The bare sketch", READY_S)
        yield Sketch(channel, master)
    finally:
        channel.close()
        place.end(process)
        os.close(slave)
        os.close(master)


def _connected(channel: socket.socket, path: Path) -> bool | None:
    try:
        channel.connect(str(path))
    except OSError:
        return None
    return True


class Sketch:
    """Sends a byte and stamps the frame that comes back through the pty."""

    def __init__(self, channel: socket.socket, master: int) -> None:
        self._channel = channel
        self._master = master

    def stop_ms(self) -> float:
        """From before the byte is sent until the whole frame was read, ms. Raises BenchError."""
        sent_ns = time.monotonic_ns()
        self._channel.sendall(b"x")
        got = 0
        while got < FRAME_BYTES:
            if not select.select([self._master], [], [], BYTE_WAIT_S)[0]:
                raise BenchError("The bare sketch fell silent.")
            got += len(os.read(self._master, FRAME_BYTES - got))
        return (time.monotonic_ns() - sent_ns) / 1e6


def loop(place: Place, port: str, seconds: float) -> dict[str, Any]:
    """The bare 100 Hz loop at a port: its processor share and lateness. Raises BenchError."""
    command = ["-m", "armlabd.bench.loop", port, str(seconds)]
    process = place.start(command, piped=True)
    try:
        out, _ = process.communicate(timeout=seconds + READY_S)
        made = json.loads(out)
    except (subprocess.TimeoutExpired, ValueError) as error:
        raise BenchError(f"The bare loop told nothing: {place.last_words()}") from error
    finally:
        place.end(process)
    if not isinstance(made, dict):
        raise BenchError("The bare loop told nonsense.")
    return made
