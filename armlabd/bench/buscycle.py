"""`python -m armlabd.bench.buscycle PORT SECONDS [begun]`: the core's bus code for the bare loop's.

100 times a second: the goals of six servos out, the block of six in, checked to the last byte. What
`armlabd.bench.loop` does without looking at it. With `begun` the block is asked for at the end of a
cycle and read in the next, as the core does. Tells times as JSON.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from typing import Any, Final

from armlabd.bus.port import SerialPort
from armlabd.clock import SystemClock
from armlabd.motion.servos import Servos, Sight

PERIOD_S: Final = 0.01
MIDDLE: Final = (2048,) * 6


def main(port: str, seconds: float, begun: bool = False) -> dict[str, Any]:
    """Run the loop; lists in ms, processor share in percent of one core."""
    clock = SystemClock()
    servos = Servos(SerialPort(port, 1_000_000, clock), clock, 1_000_000)
    servos.look()  # the first finds the line quiet, which takes longer
    gc.freeze()
    gc.disable()  # as the core
    late_ms, took_ms, missed = [], [], 0
    began_s, began_cpu_s = time.monotonic(), time.process_time()
    due_s = began_s
    while (now_s := time.monotonic()) < began_s + seconds:
        if now_s < due_s:
            time.sleep(due_s - now_s)
        started_s = time.monotonic()
        late_ms.append(max(0.0, started_s - due_s) * 1e3)
        servos.write_goals(MIDDLE, later=begun)  # as the core: in one write with the question
        missed += not isinstance(servos.look(), Sight)
        if begun:
            servos.begin_look()
        took_ms.append((time.monotonic() - started_s) * 1e3)
        due_s = max(due_s + PERIOD_S, time.monotonic())
    share = 100 * (time.process_time() - began_cpu_s) / (time.monotonic() - began_s)
    servos.close()
    return {"percent": share, "missed": missed, "late_ms": late_ms, "took_ms": took_ms}


if __name__ == "__main__":
    sys.stdout.write(
        json.dumps(main(sys.argv[1], float(sys.argv[2]), sys.argv[3:] == ["begun"])) + "\n"
    )
