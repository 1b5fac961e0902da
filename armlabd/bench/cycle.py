"""The 100 Hz cycle: how punctual it is, and what it costs beside the bare loop of the same run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from armlabd.bench import bare
from armlabd.bench.door import Door
from armlabd.bench.processes import BenchError, Place, cpu_s, wait_for
from armlabd.bench.rest import move

SECONDS: Final = 10.0
SPEED_DPS: Final = 30.0
SETTLE_S: Final = 0.5
US_PER_MS: Final = 1000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cycle:
    """The core over some seconds."""

    late_p99_ms: float  # of the last five seconds
    ticks: int
    overruns: int
    percent: float  # of one core
    longest_ms: float  # the longest cycle since the core's start


class _Watch:
    """Follows the core's own statistics, as the daemon tells them, and its processor time.

    Nobody but the daemon listens to the core meanwhile: each visitor would cost it pushes.
    """

    def __init__(self, door: Door) -> None:
        self._door = door
        status = door.must("GET", "/status").body
        self._pid = int(status["core"]["pid"])
        self._first = statistics(status["arm"])
        self._began_s, self._began_cpu_s = time.monotonic(), cpu_s(self._pid)

    def done(self) -> Cycle:
        """The figures since the beginning; lateness is that of the last five seconds."""
        took_s = time.monotonic() - self._began_s
        percent = 100 * (cpu_s(self._pid) - self._began_cpu_s) / took_s
        last = statistics(self._door.must("GET", "/status").body["arm"])
        return Cycle(
            last["late_p99_us"] / US_PER_MS,
            last["ticks"] - self._first["ticks"],
            last["overruns"] - self._first["overruns"],
            percent,
            last["longest_us"] / US_PER_MS,
        )


def statistics(arm: dict[str, Any]) -> dict[str, int]:
    """The cycle's part of the arm's status. Raises BenchError while the core has told nothing."""
    cycle = arm.get("cycle")
    if not isinstance(cycle, dict) or "late_p99_us" not in cycle:
        raise BenchError("The core told nothing about its cycle.")
    return {name: int(value) for name, value in cycle.items()}


def moving(door: Door, seconds: float) -> Cycle:
    """The core while the arm swings to and fro. Raises BenchError."""
    move(door, 0)
    watch = _Watch(door)
    until_s, side = time.monotonic() + seconds, 1
    while time.monotonic() < until_s:
        move(door, side, SPEED_DPS)
        side = 1 - side
    return watch.done()


def holding(door: Door, seconds: float) -> Cycle:
    """The core while the arm stands still with its torque on. Raises BenchError."""
    time.sleep(SETTLE_S)
    watch = _Watch(door)
    time.sleep(seconds)
    return watch.done()


def bare_loop(place: Place, seconds: float) -> dict[str, Any]:
    """The bare loop on a virtual arm of its own. Raises BenchError."""
    return on_second_arm(place, lambda port: bare.loop(place, port, seconds))


def on_second_arm(place: Place, work: Callable[[str], T]) -> T:
    """Do something at the port of a virtual arm that nobody else uses. Raises BenchError."""
    folder = place.folder / "second"
    folder.mkdir(exist_ok=True)
    arguments = ["--state", str(folder), "--orphan-s", "60", "--realtime"]
    arm = place.start(["-m", "armlabd.sim", *arguments])
    try:
        port = wait_for(lambda: _port(folder), "The second virtual arm", 15.0)
        return work(port)
    finally:
        place.end(arm)


def _port(folder: Path) -> str | None:
    link = folder / "bus"
    return str(link) if link.exists() and (folder / "control.sock").exists() else None
