"""How a case tells what it did: one JSON line a step on standard output, read by peers.py.

A case runs in the environment of its peer. It knows nothing of armlabd but the port and the control
socket of the virtual arm, whose truth each claim is held against.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

MARK = "PEER "
SETTLE_S = 10.0


def control(path: str, cmd: str, **args: Any) -> dict[str, Any]:
    """One command to the virtual arm."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        channel.connect(path)
        channel.sendall(json.dumps({"cmd": cmd, **args}).encode() + b"\n")
        with channel.makefile("rb") as lines:
            answer: dict[str, Any] = json.loads(lines.readline())
    if not answer.get("ok"):
        raise AssertionError(f"the virtual arm refuses {cmd}: {answer.get('error')}")
    return answer


def shown_deg(path: str) -> list[float]:
    """Where the virtual arm's five joints really are."""
    return [float(angle) for angle in control(path, "state")["shown_deg"]]


def eventually(true: Callable[[], bool], what: str, seconds: float = SETTLE_S) -> None:
    """Wait for something. Raises AssertionError naming it."""
    until_s = time.monotonic() + seconds
    while not true():
        if time.monotonic() > until_s:
            raise AssertionError(f"{what} did not come true within {seconds:g} s")
        time.sleep(0.02)


def step(name: str, do: Callable[[], str]) -> None:
    """Carry out one step and tell of it; the process ends at the first that fails."""
    try:
        told = do()
    except BaseException as error:
        tell(name, False, f"{type(error).__name__}: {' '.join(str(error).split())}"[:300])
        sys.stdout.flush()
        os._exit(1)  # a peer may have threads or exit handlers that wait
    tell(name, True, told)


def tell(name: str, ok: bool, told: str) -> None:
    """One line for the runner, at the beginning of a line whatever was printed before."""
    print(f"\n{MARK}{json.dumps({'step': name, 'ok': ok, 'told': told})}", flush=True)
