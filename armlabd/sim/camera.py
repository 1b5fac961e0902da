"""The bus process's end of the camera: asks the camera process for pictures and hands them on."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Final

from armlabd.sim.camera_process import Shot, pack
from armlabd.sim.control import Client

CHUNK: Final = 1 << 18
PATIENCE_S: Final = 2.0


class CameraLink:
    """Starts the camera process; one picture at a time, clients are served in turn."""

    def __init__(self, deliver: Callable[[Client, bytes], None]) -> None:
        self._deliver = deliver
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "armlabd.sim.camera_process", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        ours.setblocking(False)
        self._channel = ours
        self._queue: list[Client] = []
        self._output = b""
        self._input = bytearray()
        self.alive = True

    def fileno(self) -> int:
        """The channel, to wait on."""
        return self._channel.fileno()

    @property
    def wants_to_write(self) -> bool:
        """True while a request is not out yet."""
        return bool(self._output)

    def ask(self, client: Client, shot: Shot) -> None:
        """Have `shot` drawn for `client`."""
        self._queue.append(client)
        if not self.alive:
            self._fail()
            return
        self._output += pack(shot)
        self.flush()

    def flush(self) -> None:
        """Send on."""
        try:
            sent = self._channel.send(self._output)
            self._output = self._output[sent:]
        except BlockingIOError:
            return
        except OSError:
            self._fail()

    def receive(self) -> None:
        """Take what has been drawn; whole answers go to their clients."""
        try:
            data = self._channel.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._fail()
            return
        self._input += data
        if not data.endswith(b"\n"):  # base64 holds no line end: it can only be the last byte
            return
        line, self._input = bytes(self._input), bytearray()
        if self._queue:
            self._deliver(self._queue.pop(0), line)

    def _fail(self) -> None:
        """The camera process is gone: say so to everybody who waits."""
        self.alive = False
        waiting, self._queue = self._queue, []
        for client in waiting:
            self._deliver(client, b'{"ok": false, "error": "The virtual camera has ended."}\n')

    def close(self) -> None:
        """End the camera process."""
        self._channel.close()
        self._process.terminate()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(OSError):
                self._process.kill()
            self._process.wait()
