"""The processes that play goals side by side: they leave with whoever began them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

PATIENCE_S = 120.0  # a busy machine starts processes slowly; nothing here is timed


def children(pid: int) -> list[int]:
    try:
        return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition: Callable[[], bool]) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until_s, "it did not come to pass"
        time.sleep(0.05)


@pytest.mark.real
def test_no_process_is_left_when_the_bench_is_killed() -> None:
    command = [sys.executable, "-m", "armlabd", "bench", "planner", "--limit", "14", "--jobs", "2"]
    bench = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: len(children(bench.pid)) >= 3)  # two that play, one that tidies up
        began = children(bench.pid)
    finally:
        os.kill(bench.pid, signal.SIGKILL)
        bench.wait()
    wait_until(lambda: not any(is_alive(pid) for pid in began))
