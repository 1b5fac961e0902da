"""`armlabd bench start`: start to ready, memory at ready, and goal to first motion.

Each round starts a daemon in a fresh state folder, with the virtual arm, and beside it processes
that only import what daemon and core import.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

from armlabd.bench import bare, bars
from armlabd.bench.door import Door
from armlabd.bench.figures import Bar, Figure, percentile
from armlabd.bench.lines import World
from armlabd.bench.processes import BenchError, Place, place, rss_mib, wait_for
from armlabd.bench.report import Machine, Report, Section
from armlabd.bench.rig import Rig
from armlabd.bench.stops import clear

COUNT: Final = 10
GOAL: Final = "put the red block in the bin"
MOTION_S: Final = 20.0
LOOK_S: Final = 0.02  # stamps are taken by the bus: looking late loses nothing
NS_PER_S: Final = 1e9


@dataclass
class _Found:
    """Samples of all rounds."""

    open_s: list[float] = field(default_factory=list)
    connected_s: list[float] = field(default_factory=list)
    daemon_mib: list[float] = field(default_factory=list)
    core_mib: list[float] = field(default_factory=list)
    bare_daemon_mib: list[float] = field(default_factory=list)
    bare_core_mib: list[float] = field(default_factory=list)
    motion_s: list[float] = field(default_factory=list)


def measure(count: int = 0) -> Report:
    """The whole bench; `count` starts (0 = ten)."""
    machine = Machine.now()
    found, failures = _Found(), []
    with place() as here:
        for number in range(1, (count if count > 0 else COUNT) + 1):
            try:
                _round(here, f"round-{number}", found)
            except (BenchError, OSError, ValueError) as error:
                failures.append(f"Start {number}: {error}")
            here.end_all()
    return Report("start", machine, _sections(found), tuple(failures), _notes())


def _round(here: Place, name: str, found: _Found) -> None:
    rig = Rig(here, name)
    found.open_s.append((rig.wait_open() - rig.spawned_ns) / NS_PER_S)
    found.connected_s.append((rig.wait_connected() - rig.spawned_ns) / NS_PER_S)
    found.daemon_mib.append(rss_mib(rig.process.pid))
    found.core_mib.append(rss_mib(rig.core_pid()))
    with rig.door() as door, rig.world() as world:
        clear(door)
        found.motion_s.append(_goal(door, world))
    rig.end()
    found.bare_daemon_mib.append(bare.daemon_imports_mib(here))
    found.bare_core_mib.append(bare.core_imports_mib(here))


def _goal(door: Door, world: World) -> float:
    """From POST /goals to the first goal frame at the bus, s; the arm waits in the view pose."""
    door.must("POST", "/call/look", {})
    time.sleep(LOOK_S)
    world.new_frames()
    reply = door.must("POST", "/goals", {"goal": GOAL})

    def moved() -> int | None:
        stamps = [f["t_ns"] for f in world.new_frames() if f["kind"] == "goal"]
        later = [stamp for stamp in stamps if stamp >= reply.sent_ns]
        return later[0] if later else None

    first_ns = wait_for(moved, "The first motion of a goal", MOTION_S, LOOK_S)
    door.must("POST", "/stop")  # enough seen; the limp arm needs no parking
    return (first_ns - reply.sent_ns) / NS_PER_S


# --- the report


def _sections(found: _Found) -> tuple[Section, ...]:
    above = _above(found.daemon_mib, found.bare_daemon_mib)
    sections = (
        Section(
            "Start to ready (from process start)",
            _made(
                ("first 200 of /healthz", "s", found.open_s, None),
                ("virtual arm connected", "s", found.connected_s, bars.START_TO_CONNECTED_S),
            ),
        ),
        Section(
            "Resident memory at ready",
            _made(
                ("daemon", "MiB", found.daemon_mib, None),
                ("bare imports and one frame", "MiB", found.bare_daemon_mib, None),
                ("daemon above bare", "MiB", above, bars.DAEMON_ABOVE_BARE_MIB),
                ("core", "MiB", found.core_mib, bars.CORE_MIB),
                ("bare imports of the core", "MiB", found.bare_core_mib, None),
            ),
        ),
        Section(
            f"Goal to first motion ('{GOAL}', rules planner, camera frame included)",
            _made(("arm waiting in the view pose", "s", found.motion_s, bars.GOAL_TO_MOTION_S)),
        ),
    )
    return tuple(section for section in sections if section.figures)


def _above(daemon: list[float], reference: list[float]) -> list[float]:
    """Each daemon above the median of the bare references."""
    if not reference:
        return []
    middle = percentile(reference, 50)
    return [one - middle for one in daemon]


def _made(*parts: tuple[str, str, list[float], Bar | None]) -> tuple[Figure, ...]:
    return tuple(
        Figure.of(name, unit, samples, bar) for name, unit, samples, bar in parts if samples
    )


def _notes() -> tuple[str, ...]:
    return (
        "The bare processes import what daemon and core import besides our own code; the bare "
        "daemon holds one 640 x 480 frame too.",
        "Every start has a fresh state folder; files of Python and its packages are in the page "
        "cache, and modules compiled as pip leaves them, from the second start on.",
        "Bars on start, memory and motion are about the median.",
    )
