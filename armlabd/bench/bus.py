"""`armlabd bench bus`: the six-servo read beside the bare loop, and what it survives.

The loops run by turns on one virtual arm, so that whatever else the machine does meets both. The
faults are brought in virtual time: nothing of the machine is in that table.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from typing import Any, Final

from armlabd.bench import bars, cycle
from armlabd.bench.busfaults import FAULTS, Survived, survive
from armlabd.bench.figures import Bar, Figure
from armlabd.bench.plot import Bars, Curve, picture
from armlabd.bench.processes import BenchError, Place, place
from armlabd.bench.report import Machine, Report, Section

READS: Final = 3000  # after each fault
TURNS: Final = 8
SECONDS: Final = 2.0  # of each loop and turn, at the full count
SHORT_S: Final = 0.3
READY_S: Final = 30.0
LOOPS: Final = {
    "bare loop": ("loop",),
    "our bus, as the core": ("buscycle", "begun"),
    "our bus, at once": ("buscycle",),
}
NOTE: Final = (
    "All loops write six goals and read six blocks of 15 bytes 100 times a second, by turns. The "
    "bare loop looks at nothing it reads; the core asks at the end of a cycle and reads in the "
    "next; at once means there and back in one cycle. The wire alone takes 1.66 ms."
)
FAULT_NOTE: Final = (
    "Faults: one second of each at 100 Hz in virtual time. Stale is a value of an earlier read or "
    "mixed up between servos."
)


@dataclass
class _Loop:
    """One of the two loops, over all turns."""

    name: str
    command: tuple[str, ...]
    percent: list[float] = field(default_factory=list)
    late_ms: list[float] = field(default_factory=list)
    took_ms: list[float] = field(default_factory=list)
    missed: int = 0

    def take(self, told: dict[str, Any]) -> None:
        """Add one turn."""
        self.percent.append(told["percent"])
        self.late_ms += told["late_ms"]
        self.took_ms += told["took_ms"]
        self.missed += told["missed"]


def measure(count: int = 0) -> Report:
    """The whole bench; `count` reads after each fault (0 = three thousand)."""
    machine = Machine.now()
    reads = count if count > 0 else READS
    failures: list[str] = []
    loops = tuple(_Loop(name, command) for name, command in LOOPS.items())
    with place() as here:
        try:
            cycle.on_second_arm(here, lambda port: _turns(here, port, loops, reads))
        except (BenchError, OSError) as error:
            failures.append(f"The cycle: {error}")
    survived = [survive(name, reads) for name in FAULTS]
    sections = (
        *((_cycle(*loops),) if not failures else ()),
        Section("Values that are stale or wrong, by fault", tuple(map(_fault, survived))),
        Section("Whole reads after each fault", (_whole(survived, reads),)),
    )
    notes = (NOTE, FAULT_NOTE)
    return Report("bus", machine, sections, tuple(failures), notes, _plot(loops, survived))


def _turns(here: Place, port: str, loops: tuple[_Loop, ...], reads: int) -> None:
    seconds = SECONDS if reads >= READS else SHORT_S
    for _ in range(TURNS):
        for loop in loops:
            loop.take(_run(here, loop.command, port, seconds))


def _run(here: Place, command: tuple[str, ...], port: str, seconds: float) -> dict[str, Any]:
    """One turn in a process of its own. Raises BenchError."""
    module, *words = command
    arguments = ["-m", f"armlabd.bench.{module}", port, str(seconds), *words]
    process = here.start(arguments, piped=True)
    try:
        out, _ = process.communicate(timeout=seconds + READY_S)
        told = json.loads(out)
    except (subprocess.TimeoutExpired, ValueError) as error:
        raise BenchError(f"A loop told nothing: {here.last_words()}") from error
    finally:
        here.end(process)
    return dict(told)


def _cycle(bare: _Loop, ours: _Loop, at_once: _Loop) -> Section:
    figures = [_share(bare, None), _share(ours, bars.CYCLE_CPU_PERCENT), _share(at_once, None)]
    figures.append(_multiple(ours, bare, bars.CYCLE_CPU_RATIO))
    figures.append(_multiple(at_once, bare, None))
    for loop in (bare, at_once):
        note = f"{loop.missed} of {len(loop.took_ms)} without a whole answer"
        figures.append(Figure.of(f"{loop.name}: cycle", "ms", loop.took_ms, note=note))
    figures.append(Figure.of(f"{bare.name}: jitter", "ms", bare.late_ms))
    name = f"{ours.name}: jitter"
    jitter = Figure.of(name, "ms", ours.late_ms, bars.CYCLE_JITTER_MS, "p99")
    return Section("Goals out and the block of six servos in, 100 Hz", (*figures, jitter))


def _multiple(loop: _Loop, bare: _Loop, bar: Bar | None) -> Figure:
    """Turn by turn: what else the machine does changes from one to the next."""
    ratios = [a / max(b, 1e-9) for a, b in zip(loop.percent, bare.percent, strict=False)]
    return Figure.of(f"{loop.name}: share as multiple of the bare loop", "", ratios, bar)


def _share(loop: _Loop, bar: Bar | None) -> Figure:
    name = f"{loop.name}: processor share"
    return Figure.of(name, "% of a core", loop.percent, bar, note="one sample a turn")


def _fault(found: Survived) -> Figure:
    values = [float(found.stale + found.wrong)]
    return Figure.of(found.name, "", values, bars.STALE_VALUES, note=found.words)


def _whole(survived: list[Survived], reads: int) -> Figure:
    missing = [float(reads - found.healthy) for found in survived]
    name = "reads without all six, after the bus was whole again"
    note = f"of {reads} after each of {len(survived)} faults"
    return Figure.of(name, "", missing, bars.READS_FAILED, "maximum", note)


def _plot(loops: tuple[_Loop, ...], survived: list[Survived]) -> str:
    curves = [
        Curve(f"{loop.name}, {what}", samples)
        for loop in loops
        for what, samples in (("cycle", loop.took_ms), ("jitter", loop.late_ms))
        if samples
    ]
    shares = [(one.name, 100 * one.got / max(one.asked, 1)) for one in survived]
    return picture(
        "armlabd bench bus",
        "share of cycles, by ms they took or were late",
        curves,
        Bars("values read while the fault lasted, % (none stale)", shares),
    )
