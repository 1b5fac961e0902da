"""The 100 Hz cycle: how punctual it is, and what it costs beside the bare loop of the same run."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from armlabd.bench import bare
from armlabd.bench.door import Door
from armlabd.bench.lines import CoreLine
from armlabd.bench.processes import BenchError, Place, cpu_s, wait_for
from armlabd.bench.rest import SIDES, Caller, move
from armlabd.bench.rig import Rig

SECONDS: Final = 10.0
SPEED_DPS: Final = 30.0
LOOK_S: Final = 0.05
SETTLE_S: Final = 0.5
US_PER_MS: Final = 1000


@dataclass
class Cycle:
    """The core over some seconds: lateness (p99 of five seconds, ms), overruns, processor share."""

    late_p99_ms: list[float] = field(default_factory=list)
    ticks: int = 0
    overruns: int = 0
    percent: float = 0.0
    longest_ms: float = 0.0  # the longest cycle since the core's start


class _Watch:
    """Follows the core's own statistics and its processor time."""

    def __init__(self, line: CoreLine, pid: int) -> None:
        self._line, self._pid = line, pid
        line.drain()
        self._first = statistics(line.details)
        self._began_s, self._began_cpu_s = time.monotonic(), cpu_s(pid)

    def look(self) -> None:
        """Take the pushes: a reader that falls behind is left out by the core."""
        self._line.drain()

    def done(self) -> Cycle:
        """The figures since the beginning."""
        took_s = time.monotonic() - self._began_s
        percent = 100 * (cpu_s(self._pid) - self._began_cpu_s) / took_s
        self.look()
        last = statistics(self._line.details)
        return Cycle(
            [last["late_p99_us"] / US_PER_MS],
            last["ticks"] - self._first["ticks"],
            last["overruns"] - self._first["overruns"],
            percent,
            last["longest_us"] / US_PER_MS,
        )


def statistics(details: dict[str, Any]) -> dict[str, int]:
    """The cycle's part of what the core pushes. Raises BenchError while it has told nothing."""
    cycle = details.get("cycle")
    if not isinstance(cycle, dict) or "late_p99_us" not in cycle:
        raise BenchError("The core told nothing about its cycle.")
    return {name: int(value) for name, value in cycle.items()}


def moving(rig: Rig, door: Door, line: CoreLine, seconds: float) -> Cycle:
    """The core while the arm swings to and fro. Raises BenchError."""
    move(door, 0)
    wait_for(lambda: _told(line), "The core's statistics", 10.0, LOOK_S)
    watch = _Watch(line, rig.core_pid())
    until_s, side = time.monotonic() + seconds, 1
    while time.monotonic() < until_s:
        call = Caller(rig, "move_to_pose", {**SIDES[side], "speed_dps": SPEED_DPS})
        side = 1 - side
        while call.running:
            time.sleep(LOOK_S)
            watch.look()
        if call.error:
            raise BenchError(f"A motion was refused: {call.error}")
    return watch.done()


def holding(rig: Rig, line: CoreLine, seconds: float) -> Cycle:
    """The core while the arm stands still with its torque on. Raises BenchError."""
    time.sleep(SETTLE_S)
    watch = _Watch(line, rig.core_pid())
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        time.sleep(LOOK_S)
        watch.look()
    return watch.done()


def _told(line: CoreLine) -> bool | None:
    line.drain()
    return True if line.details.get("cycle") else None


def bare_loop(place: Place, seconds: float) -> dict[str, Any]:
    """The bare loop on a virtual arm of its own. Raises BenchError."""
    folder = place.folder / "second"
    folder.mkdir(exist_ok=True)
    arguments = ["--state", str(folder), "--orphan-s", "60"]
    arm = place.start(["-m", "armlabd.sim", *arguments])
    try:
        port = wait_for(lambda: _port(folder), "The second virtual arm", 15.0)
        return bare.loop(place, port, seconds)
    finally:
        place.end(arm)


def _port(folder: Path) -> str | None:
    link = folder / "bus"
    return str(link) if link.exists() and (folder / "control.sock").exists() else None
