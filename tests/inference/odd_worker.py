"""A worker that misbehaves as it is told: the client's side must survive each way.

Usage: python odd_worker.py WAY WIRE PARENT. The first message is answered with "loaded" unless the
way is about loading.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Callable

from armlabd.inference.wire import packed, read

ANSWER = {
    "text": "{}",
    "model": "odd",
    "finish": "stop",
    "prompt_tokens": 1,
    "output_tokens": 1,
    "forced_tokens": 0,
    "steps": 0,
    "prompt_s": 0.0,
    "output_s": 0.0,
    "mask_s": 0.0,
}


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def garbage(wire: socket.socket) -> None:
    wire.sendall(b"\x00\xff not a message\n")
    time.sleep(60)


def endless_line(wire: socket.socket) -> None:
    while True:
        wire.sendall(b"x" * 65536)


def no_object(wire: socket.socket) -> None:
    wire.sendall(b"[1]\n")
    time.sleep(60)


def cut(wire: socket.socket) -> None:
    wire.sendall(b'{"op": "answer", "id"')
    os._exit(0)


def ends(wire: socket.socket) -> None:
    say("the library said no")
    os._exit(3)


def crashes(wire: socket.socket) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def no_memory(wire: socket.socket) -> None:
    say("terminate called after throwing an instance of 'std::bad_alloc'")
    os.kill(os.getpid(), signal.SIGABRT)


def killed(wire: socket.socket) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def deaf(wire: socket.socket) -> None:
    time.sleep(60)


def chatty(wire: socket.socket) -> None:
    for _ in range(2000):
        say("noise " * 200)
    for number in range(4):  # most of them of questions that nobody asked
        wire.sendall(packed("answer", {"id": number, **ANSWER}))
    time.sleep(60)


WAYS: dict[str, Callable[[socket.socket], None]] = {
    way.__name__: way
    for way in (
        garbage,
        endless_line,
        no_object,
        cut,
        ends,
        crashes,
        no_memory,
        killed,
        deaf,
        chatty,
    )
}


def main() -> None:
    way, wire = sys.argv[1], socket.socket(fileno=int(sys.argv[2]))
    stream = wire.makefile("rb")
    assert read(stream) is not None
    if way.startswith("load-"):
        WAYS[way.removeprefix("load-")](wire)
    wire.sendall(packed("loaded", {"window": 100, "notes": []}))
    assert read(stream) is not None
    WAYS[way](wire)


if __name__ == "__main__":
    main()
