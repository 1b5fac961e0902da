"""The model worker: `python -m armlabd.inference.worker FD`, a child of the daemon.

It loads one model and answers one question at a time over the socket FD. It is niced, the first to
go when memory runs out, and ends by itself when the daemon is gone. Killing it gives everything
back.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import queue
import resource
import signal
import socket
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from armlabd.inference.backend import ModelError
from armlabd.inference.memory import lacking
from armlabd.inference.settings import WorkerSettings
from armlabd.inference.wire import Message, WireError, packed, read
from armlabd.verdict import Code

if TYPE_CHECKING:
    from armlabd.inference.engine import Engine
    from armlabd.inference.generate import Halt

NICE = 10
OOM_SCORE = 900  # of 1000: the kernel ends the worker long before the daemon or the core
PR_SET_PDEATHSIG = 1

log = logging.getLogger("armlabd.inference.worker")


class Worker:
    """Reads the wire in a thread of its own, so that a cancel is heard during a pass."""

    def __init__(self, wire: socket.socket) -> None:
        self._wire, self._stream = wire, wire.makefile("rb")
        self._jobs: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._running: tuple[int, Halt] | None = None
        self._cancelled: set[int] = set()
        self._guard = threading.Lock()

    def run(self) -> None:
        """Load what the first message says, then answer until the wire ends."""
        threading.Thread(target=self._listen, args=(self._stream,), daemon=True).start()
        engine = self._loaded(self._jobs.get())
        while engine is not None:
            self._answer(engine, self._jobs.get())

    def _listen(self, stream: BinaryIO) -> None:
        """The end of the wire is the end of the worker, whatever it is doing."""
        with contextlib.suppress(WireError, OSError):
            while (message := read(stream)) is not None:
                if message.op == "cancel":
                    self._cancel(message.fields["id"])
                else:
                    self._jobs.put(message)
        os._exit(0)

    def _cancel(self, number: int) -> None:
        with self._guard:
            self._cancelled.add(number)
            if self._running is not None and self._running[0] == number:
                self._running[1].cancel()

    def _loaded(self, message: Message) -> Engine | None:
        try:
            settings = WorkerSettings.from_fields(dict(message.fields))
            _bound(settings.address_space_bytes)
            from armlabd.inference.engine import Engine

            engine = Engine(settings)
        except BaseException as error:
            self._send("failed", _told(error, "loading"))
            return None
        self._send("loaded", engine.facts())
        return engine

    def _answer(self, engine: Engine, message: Message) -> None:
        from armlabd.inference.engine import ask_of
        from armlabd.inference.generate import Cancelled, Halt

        number = message.fields["id"]
        ask = ask_of(dict(message.fields), message.blobs)
        halt = Halt(ask.answer_s)
        try:
            self._begin(number, halt)
            told = engine.answer(ask, halt)
        except Cancelled:
            self._send("cancelled", {"id": number})
        except Exception as error:
            self._send("refused", {"id": number, **_told(error, "answering")})
        else:
            fields = {**asdict(told.answer), "mask_s": told.mask_s}
            self._send("answer", {"id": number, **fields})
        finally:
            with self._guard:
                self._running = None
                self._cancelled.discard(number)

    def _begin(self, number: int, halt: Halt) -> None:
        with self._guard:
            self._running = (number, halt)
            if number in self._cancelled:
                halt.cancel()
        halt.look()

    def _send(self, op: str, fields: Mapping[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self._wire.sendall(packed(op, fields))


def _told(error: BaseException, doing: str) -> dict[str, str]:
    """An error as code and sentence; what is no ModelError is a bug or a lack of memory."""
    if isinstance(error, ModelError):
        return {"code": error.code, "sentence": error.sentence}
    log.exception("the model worker failed in %s", doing)
    if lacking(error):
        sentence = f"The memory did not suffice in {doing}. Use a smaller variant or model."
        return {"code": Code.MODEL_MEMORY, "sentence": sentence}
    said = f"{type(error).__name__}: {str(error)[:300]}"
    if isinstance(error, ImportError):
        remedy = "Install the libraries for models: pip install 'armlabd[smolvlm]'."
        return {"code": Code.NO_MODEL, "sentence": f"A library is missing ({said}). {remedy}"}
    return {"code": Code.MODEL_LOST, "sentence": f"The model worker failed in {doing} ({said})."}


def _bound(address_space_bytes: int) -> None:
    if address_space_bytes:
        resource.setrlimit(resource.RLIMIT_AS, (address_space_bytes, address_space_bytes))


def become_a_worker(parent: int) -> None:
    """Low priority, first to go, ended with the parent. What is not allowed is left."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it went between our start and the line above
        os._exit(0)
    with contextlib.suppress(OSError):
        os.nice(NICE)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(OOM_SCORE))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the daemon's business


def main(arguments: list[str]) -> int:
    """Entry point: the number of the socket and of the parent."""
    logging.basicConfig(level=logging.WARNING)
    wire, parent = (int(argument) for argument in arguments)
    become_a_worker(parent)
    Worker(socket.socket(fileno=wire)).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
