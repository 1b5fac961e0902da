"""The control socket: JSON lines (or words) over a Unix socket, without threads and never blocking.

A line in, a line out, in order for each client. Lines longer than 64 kB end the connection.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

from armlabd.sim.commands import Answer, CommandError, parse_line

LONGEST_LINE: Final = 65_536
CLIENTS: Final = 32
CHUNK: Final = 65_536


class Client:
    """One connection: lines that wait, and bytes that have not gone out yet."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.lines: list[bytes] = []
        self.waiting = False  # for a picture
        self.gone = False
        self._input = b""
        self._output = bytearray()

    def fileno(self) -> int:
        """The socket, to wait on."""
        return self.channel.fileno()

    @property
    def wants_to_write(self) -> bool:
        """True while an answer is not out yet."""
        return bool(self._output)

    def receive(self) -> None:
        """Take what has come; whole lines go to `lines`."""
        try:
            data = self.channel.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._input += data
        *lines, self._input = self._input.split(b"\n")
        self.lines += [line for line in lines if line.strip()]
        self.gone = not data or len(self._input) > LONGEST_LINE

    def answer(self, line: bytes) -> None:
        """Send a finished line, now or as the client reads."""
        self._output += line
        self.flush()

    def flush(self) -> None:
        """Send on."""
        try:
            sent = self.channel.send(memoryview(self._output)[:CHUNK])
            del self._output[:sent]
        except BlockingIOError:
            return
        except OSError:
            self.gone = True


class ControlServer:
    """Listens at `path`. `handle` answers a request; `frame` has a client's picture made."""

    def __init__(
        self,
        path: Path,
        handle: Callable[[dict[str, object]], Answer],
        frame: Callable[[Client, dict[str, object]], None],
    ) -> None:
        self._path = path
        self._handle = handle
        self._frame = frame
        self.clients: list[Client] = []
        path.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.setblocking(False)
        self._listener.bind(str(path))
        os.chmod(path, 0o600)
        self._listener.listen(CLIENTS)

    def fileno(self) -> int:
        """The listening socket, to wait on."""
        return self._listener.fileno()

    def accept(self) -> None:
        """Take a new client, unless there are too many."""
        try:
            channel, _ = self._listener.accept()
        except OSError:
            return
        if len(self.clients) >= CLIENTS:
            channel.close()
            return
        channel.setblocking(False)
        self.clients.append(Client(channel))

    def serve(self, client: Client) -> None:
        """Read from a client and answer it."""
        client.receive()
        self.work_off(client)

    def work_off(self, client: Client) -> None:
        """Answer the lines that wait, up to one that has to wait for a picture."""
        while client.lines and not client.waiting and not client.gone:
            self._one(client, client.lines.pop(0))

    def _one(self, client: Client, line: bytes) -> None:
        try:
            request = parse_line(line.decode("utf-8", "replace"))
        except CommandError as error:
            client.answer(as_line({"ok": False, "error": str(error)}))
            return
        if request.get("cmd") == "frame":
            client.waiting = True
            self._frame(client, request)
            return
        client.answer(as_line(self._handle(request)))

    def finish(self, client: Client, line: bytes) -> None:
        """The picture a client waited for is there."""
        client.waiting = False
        client.answer(line)
        self.work_off(client)

    def drop_gone(self) -> None:
        """Close the connections that have ended."""
        for client in [c for c in self.clients if c.gone]:
            client.channel.close()
            self.clients.remove(client)

    def close(self) -> None:
        """Close everything and remove the socket."""
        for client in self.clients:
            client.channel.close()
        self.clients.clear()
        self._listener.close()
        with contextlib.suppress(OSError):
            self._path.unlink()


def as_line(answer: Answer) -> bytes:
    """An answer as a JSON line."""
    return json.dumps(answer).encode() + b"\n"
