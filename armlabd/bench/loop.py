"""`python -m armlabd.bench.loop PORT SECONDS`: the bare loop the core's cycle is compared with.

100 times a second: the goals of six servos out, ask all six for 15 bytes, read until they are
there. The same bytes as the core's, made beforehand, and nobody looks at the answers.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from typing import Any, Final

from armlabd.bus.frames import OVERHEAD_BYTES, sync_read, sync_write
from armlabd.bus.registers import BLOCK_ADDRESS, BLOCK_BYTES, REGISTERS

PERIOD_S: Final = 0.01
PATIENCE_S: Final = 0.005
IDS: Final = (1, 2, 3, 4, 5, 6)
MIDDLE: Final = (2048).to_bytes(2, "little")


def main(port: str, seconds: float) -> dict[str, Any]:
    """Run the loop; processor share in percent of one core, cycles, and those without answers."""
    goals = sync_write(REGISTERS["goal_position"].address, dict.fromkeys(IDS, MIDDLE))
    ask = sync_read(IDS, BLOCK_ADDRESS, BLOCK_BYTES)
    answer = len(IDS) * (BLOCK_BYTES + OVERHEAD_BYTES)
    bus = os.open(port, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    poller = select.poll()
    poller.register(bus, select.POLLIN)
    cycles = missed = 0
    late_s, took_s = [], []
    began_s, began_cpu_s = time.monotonic(), time.process_time()
    due_s = began_s
    while (now_s := time.monotonic()) < began_s + seconds:
        if now_s < due_s:
            time.sleep(due_s - now_s)
        started_s = time.monotonic()
        late_s.append(max(0.0, started_s - due_s))
        os.write(bus, goals)
        os.write(bus, ask)
        missed += not _read(bus, poller, answer, started_s + PATIENCE_S)
        took_s.append(time.monotonic() - started_s)
        cycles += 1
        due_s = max(due_s + PERIOD_S, time.monotonic())
    share = 100 * (time.process_time() - began_cpu_s) / (time.monotonic() - began_s)
    late_p99_ms = sorted(late_s)[max(0, len(late_s) * 99 // 100 - 1)] * 1e3
    return {
        "percent": share,
        "cycles": cycles,
        "missed": missed,
        "late_p99_ms": late_p99_ms,
        "late_ms": [1e3 * late for late in late_s],
        "took_ms": [1e3 * took for took in took_s],
    }


def _read(bus: int, poller: select.poll, count: int, until_s: float) -> bool:
    """Read `count` bytes; False when they do not come in time."""
    while count > 0:
        wait_s = until_s - time.monotonic()
        if wait_s <= 0 or not poller.poll(wait_s * 1000):
            return False
        count -= len(os.read(bus, 4096))
    return True


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1], float(sys.argv[2]))) + "\n")
