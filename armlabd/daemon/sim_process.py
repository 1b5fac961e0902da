"""The virtual arm as a process: started, or taken over when one is already running."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from armlabd.config import Config

START_TIMEOUT_S = 15.0
CALL_TIMEOUT_S = 5.0


class SimError(Exception):
    """The virtual arm did not start."""


def arguments_of(config: Config) -> list[str]:
    """What the settings say about the virtual arm, for its command line."""
    own = ["--seed", str(config.sim.seed), "--orphan-s", str(config.sim.orphan_s)]
    return [*own, "--hidden-errors"] if config.sim.hidden_errors else own


class SimProcess:
    """One virtual arm. `port` is the pty's stable name, `control` its socket."""

    def __init__(self, state: Path, arguments: Sequence[str] = ()) -> None:
        self._state = state
        self._arguments = list(arguments)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def port(self) -> Path:
        """The name of the servo bus: a link to the pty of the moment."""
        return self._state / "bus"

    @property
    def control(self) -> Path:
        """The control socket."""
        return self._state / "control.sock"

    @property
    def ours(self) -> bool:
        """True when this process started it, false when it was taken over."""
        return self._process is not None

    def spawn(self) -> None:
        """Start the process without waiting, unless one already answers here."""
        if self._answers_now():
            return
        command = [sys.executable, "-m", "armlabd.sim", "--state", str(self._state)]
        self._process = subprocess.Popen(
            [*command, *self._arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    async def wait_ready(self) -> None:
        """Wait for its first line. Raises SimError."""
        if self._process is None:
            return
        assert self._process.stdout is not None
        reading = asyncio.to_thread(self._process.stdout.readline)
        try:
            line = await asyncio.wait_for(reading, START_TIMEOUT_S)
        except TimeoutError:
            line = b""
        if not line.startswith(b"{"):
            self.kill()
            raise SimError("The virtual arm did not start. Its own message stands above.")

    async def call(self, **request: Any) -> dict[str, Any]:
        """One command on the control socket. Raises OSError, ValueError, TimeoutError."""
        async with asyncio.timeout(CALL_TIMEOUT_S):
            reader, writer = await asyncio.open_unix_connection(self.control, limit=2**23)
            try:
                writer.write(json.dumps(request).encode() + b"\n")
                answer = json.loads(await reader.readline())
            finally:
                writer.close()
        if not isinstance(answer, dict):
            raise ValueError("the virtual arm answered with something else than an object")
        return answer

    async def quit(self) -> None:
        """End the virtual arm in order; kill it if it does not."""
        with contextlib.suppress(OSError, ValueError, TimeoutError):
            await self.call(cmd="quit")
        if self._process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(self._process.wait, 3.0)
        self.kill()

    def kill(self) -> None:
        """End the process at once, if we started it."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _answers_now(self) -> bool:
        import socket

        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(0.5)
            try:
                probe.connect(str(self.control))
            except OSError:
                return False
        return True
