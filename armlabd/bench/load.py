"""Stress: busy processes, and clients that flood the daemon's door. All end by themselves."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from typing import Final

from armlabd.bench.processes import BenchError, Place
from armlabd.bench.rig import Rig

LONGEST_S: Final = 900  # a busy process that outlives its bench ends by then
CLIENTS: Final = 8
BUSY: Final = f"""
import time
end_s = time.monotonic() + {LONGEST_S}
while time.monotonic() < end_s:
    pass
"""


AWAKE: Final = f"""
import os
os.sched_setaffinity(0, {{CPU}})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
{BUSY}
"""


@contextlib.contextmanager
def awake(place: Place) -> Iterator[None]:
    """No processor halts: on each runs what yields to everything else (SCHED_IDLE)."""
    cpus = os.sched_getaffinity(0)
    processes = [place.start(["-c", AWAKE.replace("CPU", str(cpu))]) for cpu in cpus]
    try:
        yield
    finally:
        for process in processes:
            place.end(process)


@contextlib.contextmanager
def busy(place: Place) -> Iterator[int]:
    """One busy process per processor; how many there are."""
    count = len(os.sched_getaffinity(0))
    processes = [place.start(["-c", BUSY]) for _ in range(count)]
    try:
        yield count
    finally:
        for process in processes:
            place.end(process)


class Flood:
    """What a flood came to: statuses and how often, once it has ended."""

    def __init__(self) -> None:
        self.statuses: dict[str, int] = {}

    @property
    def words(self) -> str:
        """The statuses in words."""
        listed = [f"{count} x {status}" for status, count in sorted(self.statuses.items())]
        return ", ".join(listed) or "nothing"


@contextlib.contextmanager
def flood(place: Place, rig: Rig) -> Iterator[Flood]:
    """Eight keep-alive clients asking GET /status as fast as they get answers."""
    command = ["-m", "armlabd.bench.flood", rig.url, str(CLIENTS), str(LONGEST_S)]
    process = place.start(command, environment={"ARMLABD_BENCH_KEY": rig.key}, piped=True)
    made = Flood()
    try:
        assert process.stdout is not None
        if process.stdout.readline().strip() != b"flooding":
            raise BenchError(f"The flood did not start: {place.last_words()}")
        yield made
    finally:
        process.terminate()
        made.statuses = _counts(process)
        place.end(process)


def _counts(process: subprocess.Popen[bytes]) -> dict[str, int]:
    try:
        out, _ = process.communicate(timeout=10.0)
        counts = json.loads(out)
    except (subprocess.TimeoutExpired, ValueError):
        return {}
    return {str(status): int(count) for status, count in counts.items()}
