"""Blocking JSON lines over a Unix socket: a visitor at the core, and the virtual arm's control.

Plain sockets and no event loop: a time stamp here is taken right beside the system call.
"""

from __future__ import annotations

import json
import select
import socket
import time
from pathlib import Path
from typing import Any, NamedTuple

from armlabd.bench.processes import BenchError
from armlabd.motion.messages import LineReader, encode

ANSWER_S = 10.0
CHUNK = 65_536


class Answer(NamedTuple):
    """An answer, when the request was sent and when it had come (CLOCK_MONOTONIC, ns)."""

    body: dict[str, Any]
    sent_ns: int
    answered_ns: int


class _Line:
    """One connection; messages in order."""

    def __init__(self, path: Path) -> None:
        self._lines = LineReader()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(ANSWER_S)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise BenchError(f"Nothing answers at {path.name}: {error.strerror}.") from error

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _send(self, data: bytes) -> int:
        """Send; the time right before."""
        sent_ns = time.monotonic_ns()
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise BenchError(f"The other end has hung up: {error}.") from error
        return sent_ns

    def _receive(self) -> list[dict[str, Any]]:
        try:
            data = self._socket.recv(CHUNK)
        except TimeoutError:
            raise BenchError(f"No answer came within {ANSWER_S:g} s.") from None
        except OSError as error:
            raise BenchError(f"The other end has hung up: {error}.") from error
        if not data:
            raise BenchError("The other end has hung up.")
        return self._lines.feed(data)

    def _waiting(self) -> bool:
        return bool(select.select([self._socket], [], [], 0)[0])


class CoreLine(_Line):
    """A visitor at the core's socket: may stop and clear, holds no lease.

    The core pushes its state to visitors too: `state` and `details` are the last ones seen.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.state: dict[str, Any] = {}
        self.details: dict[str, Any] = {}
        self._number = 0
        self.ask("hello", role="visitor")

    def ask(self, do: str, **words: Any) -> Answer:
        """One request and its answer. Raises BenchError."""
        self.drain()
        self._number += 1
        line = encode({"id": self._number, "do": do, **words})
        sent_ns = self._send(line)
        while True:
            messages = self._receive()
            answered_ns = time.monotonic_ns()
            for message in messages:
                self._note(message)
                if message.get("id") == self._number:
                    return Answer(message.get("answer", {}), sent_ns, answered_ns)

    def stop(self) -> Answer:
        """The stop lane. Raises BenchError."""
        return self.ask("stop", cause="asked", by="bench")

    def clear(self) -> None:
        """Clear the stop. Raises BenchError when it stays."""
        answer = self.ask("clear", by="bench", role="operator").body
        if answer.get("code") != "ok":
            raise BenchError(f"The stop could not be cleared: {answer.get('sentence')}")

    def drain(self) -> None:
        """Take what has been pushed, without waiting. Raises BenchError."""
        while self._waiting():
            for message in self._receive():
                self._note(message)

    def told(self) -> dict[str, Any]:
        """The last details pushed; empty before the first. Raises BenchError."""
        self.drain()
        return self.details

    def _note(self, message: dict[str, Any]) -> None:
        self.state = {**self.state, **message.get("state", {})}  # pushes tell what has changed
        self.details = message.get("details", self.details)


class World(_Line):
    """The virtual arm's control socket: the truth, and the stamps of frames."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._seq = 0

    def ask(self, cmd: str, **words: Any) -> dict[str, Any]:
        """One command and its answer. Raises BenchError for a refused one."""
        self._send(json.dumps({"cmd": cmd, **words}).encode() + b"\n")
        messages: list[dict[str, Any]] = []
        while not messages:
            messages = self._receive()
        if not messages[0].get("ok", True):
            raise BenchError(f"The virtual arm refused {cmd}: {messages[0].get('error')}")
        return messages[0]

    def new_frames(self) -> list[dict[str, Any]]:
        """The stamps since the last call, oldest first, of every kind. Raises BenchError."""
        found: list[dict[str, Any]] = []
        while part := self.ask("frames", since=self._seq)["frames"]:
            self._seq = int(part[-1]["seq"])
            found += part
        return found
