"""`armlabd bench stop`: from an event to the torque-off frame, to confirmed, to rest; the cycle.

One daemon with core and virtual arm serves the whole bench. Every part is measured idle first,
then with one busy process per processor; the bare sketch runs beside it the same number of times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from armlabd.bench import bare, bars, cycle, load, rest, stops
from armlabd.bench.figures import Bar, Figure
from armlabd.bench.processes import BenchError, Place, place, prompt
from armlabd.bench.report import Machine, Report, Section
from armlabd.bench.rig import Rig
from armlabd.bench.stops import Stops

COUNT: Final = 2000
HTTP_SHARE: Final = 300 / COUNT
HOLDING_SHARE: Final = 20 / COUNT
MOTION_SHARE: Final = 10 / COUNT
STRESS: Final = "under stress (one busy process per processor)"
HARDWARE: Final = (
    "Virtual arm and the sketch's reader stand for hardware, which no load slows down: they ran "
    "with SCHED_FIFO 1."
)
NO_HARDWARE: Final = (
    "SCHED_FIFO was refused to the virtual arm: its own waiting for a processor is in the figures."
)
VIRTUAL: Final = (
    "These processors are virtual. One that sleeps is halted by the hypervisor, and the way back "
    "is charged to whoever is woken, the bare loop too: the share is judged where none halts."
)


@dataclass
class _Bench:
    """What the parts of this bench share, and what they have found."""

    place: Place
    rig: Rig
    count: int
    seconds: float
    virtual: bool  # the processors are a hypervisor's
    sections: list[Section] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def share(self, part: float) -> int:
        return max(1, round(self.count * part))

    def part(self, title: str, measure: Callable[[_Bench], list[Figure]]) -> None:
        """A section; what cannot be measured is a failure of this part alone."""
        try:
            self._calm_down()
            figures = measure(self)
        except (BenchError, OSError, ValueError) as error:
            self.failures.append(f"{title}: {error}")
            return
        self.sections.append(Section(title, tuple(figures)))

    def _calm_down(self) -> None:
        """Every part begins with the arm connected and not stopped."""
        self.rig.wait_connected()
        with self.rig.door() as door:
            stops.clear(door)


def measure(count: int = 0) -> Report:
    """The whole bench; `count` stops at the core idle and as many under stress (0 = 2,000)."""
    machine = Machine.now()
    count = count if count > 0 else COUNT
    seconds = cycle.SECONDS * min(1.0, count / COUNT * 10)
    with place() as here:
        try:
            rig = Rig(here, "arm").ready()
            bench = _Bench(here, rig, count, max(1.0, seconds), machine.virtual)
            arm = bench.rig.arm_pid()
        except (BenchError, OSError) as error:
            return Report("stop", machine, (), (str(error),))
        with prompt(arm) as granted:
            bench.notes.append(HARDWARE if granted else NO_HARDWARE)
            bench.notes += [VIRTUAL] if bench.virtual else []
            bench.notes.append(f"The core's scheduling: {bench.rig.scheduling()}.")
            _measure_all(bench)
    sections, failures = tuple(bench.sections), tuple(bench.failures)
    return Report("stop", machine, sections, failures, tuple(bench.notes))


def _measure_all(bench: _Bench) -> None:
    bench.part("The 100 Hz cycle", lambda b: _cycles(b, judged=not b.virtual))
    with load.awake(bench.place):
        bench.part("The 100 Hz cycle, no processor halts", lambda b: _cycles(b, judged=b.virtual))
    bench.part("Stops at the core, idle", _at_core)
    bench.part("Stops by HTTP, idle", lambda b: _by_http(b, bars.STOP_BY_HTTP_IDLE_MS))
    with load.busy(bench.place):
        bench.part(f"Stops at the core, {STRESS}", _at_core)
        bench.part(f"Stops by HTTP, {STRESS} and a flood", _by_http_flooded)
    bench.part("Stops at the core while the arm holds, torque on", _holding)
    bench.part("Stops at the core in motion", _in_motion)
    _losses(bench)


# --- parts


def _at_core(bench: _Bench) -> list[Figure]:
    with bench.rig.core() as line, bench.rig.world() as world:
        found = stops.at_core(bench.count, line, world)
    with bare.sketch(bench.place) as sketch, prompt():
        reference = stops.bare(bench.count, sketch)
    beside = Figure.of("bare two-process sketch, event to frame", "ms", reference)
    return [*found.figures(bars.STOP_AT_CORE_MS), beside]


def _by_http(bench: _Bench, bar: Bar) -> list[Figure]:
    with bench.rig.world() as world, bench.rig.door() as door:
        return stops.by_http(bench.share(HTTP_SHARE), door, world).figures(bar)


def _by_http_flooded(bench: _Bench) -> list[Figure]:
    with load.flood(bench.place, bench.rig) as flood:
        figures = _by_http(bench, bars.STOP_BY_HTTP_STRESS_MS)
    bench.notes.append(f"The flood of {load.CLIENTS} clients asking GET /status: {flood.words}.")
    return figures


def _holding(bench: _Bench) -> list[Figure]:
    with bench.rig.core() as line, bench.rig.world() as world, bench.rig.door() as door:
        found = rest.holding(bench.share(HOLDING_SHARE), door, line, world)
    _note_refused(bench, found)
    return found.figures(None)


def _in_motion(bench: _Bench) -> list[Figure]:
    count = bench.share(MOTION_SHARE)
    with bench.rig.core() as line, bench.rig.world() as world, bench.rig.door() as door:
        found, rests = rest.in_motion(count, bench.rig, door, line, world)
    _note_refused(bench, found)
    sags = "let go, the arm sags to the table"
    return [
        *found.figures(None),
        Figure.of("event to pan at rest", "s", [one.pan_s for one in rests]),
        Figure.of("event to all joints at rest", "s", [one.all_s for one in rests]),
        Figure.of("pan travelled after the stop", "deg", [one.pan_deg for one in rests]),
        Figure.of("farthest joint travelled", "deg", [one.most_deg for one in rests], note=sags),
    ]


def _note_refused(bench: _Bench, found: Stops) -> None:
    if found.refused:
        bench.notes.append(
            f"go_home of the limp arm was refused {found.refused} times in {found.asked} stops "
            "with torque on, and then asked for again."
        )


def _cycles(bench: _Bench, judged: bool) -> list[Figure]:
    """`judged`: the processor share has its bar here."""
    with bench.rig.door() as door:
        moving = cycle.moving(door, bench.seconds)
        holding = cycle.holding(door, bench.seconds)
    reference = cycle.bare_loop(bench.place, bench.seconds)
    unread = f"{reference['missed']} of {reference['cycles']} cycles without a whole answer"
    return [
        *_cycle("in motion", moving, reference, bars.CYCLE_CPU_PERCENT if judged else None),
        *_cycle("holding", holding, reference, bars.CYCLE_CPU_PERCENT if judged else None),
        Figure.of("bare loop: processor share", "% of a core", [reference["percent"]], note=unread),
        Figure.of("bare loop: jitter p99", "ms", [reference["late_p99_ms"]]),
    ]


def _cycle(
    when: str, found: cycle.Cycle, reference: dict[str, Any], cpu: Bar | None
) -> list[Figure]:
    ratio = found.percent / reference["percent"] if reference["percent"] else float("inf")
    overruns = f"{found.overruns} overruns in {found.ticks} cycles"
    longest = f"longest cycle since the start {found.longest_ms:.1f} ms"
    late, note = [found.late_p99_ms], f"{overruns}, {longest}"
    return [
        Figure.of(f"{when}: jitter p99", "ms", late, bars.CYCLE_JITTER_MS, note=note),
        Figure.of(f"{when}: processor share", "% of a core", [found.percent], cpu),
        # The bus alone is judged beside that loop, in `bench bus`: like with like.
        Figure.of(f"{when}: share as multiple of the bare loop", "", [ratio]),
    ]


def _losses(bench: _Bench) -> None:
    try:
        lost = bench.rig.cores_lost()
    except BenchError as error:
        bench.failures.append(str(error))
        return
    if lost:
        bench.failures.append(f"The daemon lost its motion core {lost} times during the bench.")
