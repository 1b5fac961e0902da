"""The worker as a process, seen from the daemon: started, talked to, ended, its end explained.

Its wire is a socket pair; what it or a library prints is read apart, and the last of it kept for
the explanation. Ending it is SIGKILL: it holds nothing that could be lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from armlabd.inference import memory
from armlabd.inference.backend import ModelError
from armlabd.inference.wire import MAX_LINE, Message, packed, receive
from armlabd.verdict import Code

log = logging.getLogger(__name__)

WORKER = ("-m", "armlabd.inference.worker")
KEPT_NOISE = 4096  # bytes of what was printed last
QUIET = {  # libraries: no network, no chatter, no threads of their own
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
SECRETS = "ARM_"  # variables that begin so hold keys: no business of the worker
AGAIN = "It is started anew with the next question."


class WorkerProcess:
    """One worker from start to end. `on_end` is called once, when it is gone and reaped."""

    def __init__(self, on_end: Callable[[], None] = lambda: None) -> None:
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._kills_before = memory.oom_kills()
        self._noise = bytearray()
        self._gone = asyncio.Event()
        self._socket, theirs = socket.socketpair()
        try:
            self._process = _started(theirs.fileno())
        except ModelError:
            self._socket.close()
            raise
        finally:
            theirs.close()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._watch()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def gone(self) -> bool:
        """True when it has ended and was reaped."""
        return self._gone.is_set()

    async def send(self, op: str, fields: Mapping[str, Any], blobs: Sequence[bytes] = ()) -> None:
        """One message; a worker that is gone is found when reading. Raises WireError."""
        message = packed(op, fields, blobs)
        _, writer = await self._open()
        with contextlib.suppress(ConnectionError):
            writer.write(message)
            await writer.drain()

    async def receive(self) -> Message | None:
        """The next message; None when the worker has gone. Raises WireError."""
        reader, _ = await self._open()
        return await receive(reader)

    async def end(self) -> None:
        """Kill it; returns when it is gone and its memory given back."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._gone.wait()
        if self._streams is not None:
            self._streams[1].close()
            with contextlib.suppress(ConnectionError):
                await self._streams[1].wait_closed()
        else:
            self._socket.close()

    def cause(self) -> ModelError:
        """Why it ended, once it is gone."""
        return explained(
            self._process.returncode,
            memory.oom_kills() > self._kills_before,
            bytes(self._noise).decode(errors="replace"),
        )

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(sock=self._socket, limit=MAX_LINE)
        return self._streams

    def _watch(self) -> None:
        """Hear of its end, and drain what it prints, without a thread."""
        self._pid_fd = os.pidfd_open(self.pid)
        self._loop.add_reader(self._pid_fd, self._ended)
        assert self._process.stdout is not None
        self._printed = self._process.stdout
        os.set_blocking(self._printed.fileno(), False)
        self._loop.add_reader(self._printed.fileno(), self._heard)

    def _heard(self) -> None:
        try:
            piece = os.read(self._printed.fileno(), 65536)
        except BlockingIOError:
            return
        if not piece:
            self._loop.remove_reader(self._printed.fileno())
        self._noise = (self._noise + piece)[-KEPT_NOISE:]

    def _ended(self) -> None:
        self._process.wait()
        self._heard()
        self._loop.remove_reader(self._printed.fileno())
        self._printed.close()
        self._loop.remove_reader(self._pid_fd)
        os.close(self._pid_fd)
        self._gone.set()
        self._on_end()


def _started(wire: int) -> subprocess.Popen[bytes]:
    """Start the worker on its end of the wire. Raises ModelError."""
    environment = {key: value for key, value in os.environ.items() if key[:4] != SECRETS}
    command = [sys.executable, *WORKER, str(wire), str(os.getpid())]
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[wire],
            env={**environment, **QUIET},
            start_new_session=True,
        )
    except OSError as error:
        raise ModelError(
            Code.MODEL_LOST, f"The model worker could not be started ({error.strerror})."
        ) from error


def explained(returned: int, oom: bool, noise: str) -> ModelError:
    """The end of a worker in words: by the kernel for lack of memory, by a signal, by itself."""
    lack = "Use a smaller variant or model, or end other programs."
    last = noise.strip().splitlines()[-1][:300] if noise.strip() else "it said nothing"
    if returned == -signal.SIGKILL and oom:
        return ModelError(
            Code.MODEL_MEMORY,
            f"The kernel ended the model worker because the memory ran out. {lack}",
        )
    if memory.lacking(last):
        return ModelError(
            Code.MODEL_MEMORY, f"The model worker ended for lack of memory ({last}). {lack}"
        )
    if returned < 0:
        name = signal.Signals(-returned).name
        how = "was killed" if returned in (-signal.SIGKILL, -signal.SIGTERM) else "crashed"
        return ModelError(Code.MODEL_LOST, f"The model worker {how} ({name}; {last}). {AGAIN}")
    return ModelError(
        Code.MODEL_LOST, f"The model worker ended by itself (exit {returned}; {last}). {AGAIN}"
    )
