"""`armlabd bench button`: from the contact's opening to the torque-off frame, inside the core.

The contact is the virtual arm's, a pipe: writing to it is the edge, and the core is woken by it as
by a GPIO line. What a real line adds is its interrupt, which the kernel stamps. Idle first, then
with one busy process per processor; the bare sketch runs beside it the same number of times.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

from armlabd.bench import bare, bars, load, stops
from armlabd.bench.figures import Figure
from armlabd.bench.lines import Answer, CoreLine
from armlabd.bench.processes import BenchError, Place, place, prompt
from armlabd.bench.report import Machine, Report, Section
from armlabd.bench.rig import Rig
from armlabd.bench.stop import HARDWARE, NO_HARDWARE, STRESS
from armlabd.motion.pipe_line import FILE

COUNT: Final = 1000
CONFIRM_S: Final = 1.0
HEARTBEAT_S: Final = 1.0  # a virtual arm without a processor must not end the core, and the bench
SETTINGS: Final = """
[stop.button]
required = true
board = "sim"
release_s = 0.05
"""


class Finger(CoreLine):
    """Presses and releases the contact, and watches what the core pushes to a visitor."""

    def __init__(self, state: Path) -> None:
        super().__init__(state / "core.sock")
        self._contact = os.open(state / FILE, os.O_WRONLY)
        self.inside_ms: list[float] = []  # as the core counts, from the edge's stamp

    def press(self) -> Answer:
        """Open the contact; how many servos had confirmed, and when that was known."""
        self.drain()
        sent_ns = time.monotonic_ns()
        os.write(self._contact, b"1@%d" % sent_ns)
        until_ns = sent_ns + int(CONFIRM_S * 1e9)
        while self._confirmed() < stops.ALL and time.monotonic_ns() < until_ns:
            self._hear()
        self.inside_ms.append(int(self.state["stop"]["latency_us"]) / 1e3)
        return Answer({"confirmed": self._confirmed()}, sent_ns, time.monotonic_ns())

    def release(self) -> None:
        """Close it, wait until that counts, and clear the stop. Raises BenchError."""
        os.write(self._contact, b"0")
        until_s = time.monotonic() + CONFIRM_S
        while self.state.get("button") != "released":
            self._hear()
            if time.monotonic() > until_s:
                raise BenchError("The core does not see that the contact is closed again.")
        self.clear()

    def _confirmed(self) -> int:
        stop = self.state.get("stop") or {}
        return int(stop.get("confirmed", 0)) if stop.get("cause") == "button" else 0

    def _hear(self) -> None:
        for message in self._receive():
            self._note(message)

    def close(self) -> None:
        """Hang up."""
        os.close(self._contact)
        super().close()


def measure(count: int = 0) -> Report:
    """`count` presses idle and as many under stress (0 = 1,000)."""
    machine = Machine.now()
    count = count if count > 0 else COUNT
    sections: list[Section] = []
    with place() as here:
        try:
            rig = Rig(here, "button", SETTINGS, heartbeat_s=HEARTBEAT_S).ready()
            with prompt(rig.arm_pid()) as granted:
                sections.append(_part("Presses, idle", here, rig, count))
                with load.busy(here):
                    sections.append(_part(f"Presses, {STRESS}", here, rig, count))
            words = (HARDWARE if granted else NO_HARDWARE, f"The core: {rig.scheduling()}.")
        except (BenchError, OSError, ValueError) as error:
            return Report("button", machine, tuple(sections), (str(error),))
    return Report("button", machine, tuple(sections), (), words)


def _part(title: str, here: Place, rig: Rig, count: int) -> Section:
    finger = Finger(rig.state)
    try:
        with rig.world() as world, prompt():  # a contact is hardware, which no load slows down
            found = stops.series(count, world, finger.press, finger.release)
    finally:
        finger.close()
    with bare.sketch(here) as sketch, prompt():
        reference = stops.bare(count, sketch)
    beside = Figure.of("bare two-process sketch, event to frame", "ms", reference)
    name = "edge to the last byte written to the port, as the core counts"
    inside = Figure.of(name, "ms", finger.inside_ms, bars.PRESS_AT_CORE_MS, "p99")
    return Section(title, (inside, *found.figures(None), beside))
