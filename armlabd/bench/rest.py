"""Stops in motion: how long until the arm is at rest, and how far it went after the stop.

Torque off lets go of the arm: the pan joint, which carries no weight, shows how it brakes; the
others sag to the table, which counts as travel too.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from armlabd.bench.door import Door
from armlabd.bench.lines import CoreLine, World
from armlabd.bench.processes import BenchError, wait_for
from armlabd.bench.rig import Rig
from armlabd.bench.stops import GAP_S, Stops, clear

SIDES: Final = ({"x": 0.2, "y": 0.1, "z": 0.06}, {"x": 0.2, "y": -0.1, "z": 0.06})
FAST_DPS: Final = 60.0
UNDER_WAY_DEG: Final = 10.0  # so far from its start the pan joint has its full speed
STILL_DEG: Final = 0.05  # less than one encoder step
STILL_S: Final = 0.1
LONGEST_S: Final = 5.0
EVERY_S: Final = 0.002
PAN: Final = 0
HOME_TRIES: Final = 5


class Sample(NamedTuple):
    """Joint angles at a time of the virtual arm's clock (CLOCK_MONOTONIC, s)."""

    at_s: float
    joints_deg: tuple[float, ...]


class Rest(NamedTuple):
    """From a stop to rest: seconds, degrees of pan, degrees of the joint that went farthest."""

    pan_s: float
    all_s: float
    pan_deg: float
    most_deg: float


def rest_after(stop_s: float, samples: Sequence[Sample]) -> Rest:
    """What the samples around a stop tell. Raises BenchError when the arm never came to rest.

    A joint is at rest from the first sample on after which it moves less than an encoder step; the
    samples must go on for 0.1 s beyond that.
    """
    after = [sample for sample in samples if sample.at_s >= stop_s]
    if not after:
        raise BenchError("No sample of the arm was taken after the stop.")
    before = [sample for sample in samples if sample.at_s < stop_s]
    start = (before[-1] if before else after[0]).joints_deg
    joints = range(len(start))
    at_s = [_still_from(joint, after) - stop_s for joint in joints]
    went = [abs(after[-1].joints_deg[joint] - start[joint]) for joint in joints]
    return Rest(max(0.0, at_s[PAN]), max(0.0, *at_s), went[PAN], max(went))


def _still_from(joint: int, samples: Sequence[Sample]) -> float:
    last = samples[-1]
    still_s = last.at_s
    for sample in reversed(samples):
        if abs(sample.joints_deg[joint] - last.joints_deg[joint]) > STILL_DEG:
            break
        still_s = sample.at_s
    if last.at_s - still_s < STILL_S:
        raise BenchError(f"The arm did not come to rest within {LONGEST_S:g} s of a stop.")
    return still_s


class Caller:
    """One call of a motion tool in a thread of its own, with its own connection."""

    def __init__(self, rig: Rig, tool: str, args: dict[str, Any]) -> None:
        self.error = ""
        self._call = (rig, tool, args)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        rig, tool, args = self._call
        try:
            with rig.door() as door:
                reply = door.ask("POST", f"/call/{tool}", args)
        except BenchError as error:
            self.error = str(error)
            return
        if reply.status != 200:
            self.error = str(reply.body.get("error", reply.status))

    @property
    def running(self) -> bool:
        """True until the answer is there."""
        return self._thread.is_alive()

    def wait(self) -> None:
        """Wait for the answer."""
        self._thread.join()


def holding(count: int, door: Door, line: CoreLine, world: World) -> Stops:
    """Stops at the core while the arm stands at home with its torque on. Raises BenchError."""
    stops, gaps = Stops(), random.Random(1)
    world.new_frames()
    for _ in range(count):
        clear(door)
        stops.refused += _come_home(door)
        time.sleep(gaps.uniform(*GAP_S))
        answer = line.stop()
        stops.add([answer], world.new_frames())
        _until_still(world)
    return stops


def in_motion(
    count: int, rig: Rig, door: Door, line: CoreLine, world: World
) -> tuple[Stops, list[Rest]]:
    """`count` stops at the core in the middle of a fast swing. Raises BenchError."""
    stops, rests = Stops(), []
    world.new_frames()
    for _ in range(count):
        clear(door)
        stops.refused += _come_home(door)
        move(door, 0)
        call = Caller(rig, "move_to_pose", {**SIDES[1], "speed_dps": FAST_DPS})
        before = _under_way(world, call)
        answer = line.stop()
        stops.add([answer], world.new_frames())
        after = _until_still(world)
        rests.append(rest_after(answer.sent_ns / 1e9, [*before, *after]))
        call.wait()
    return stops, rests


def move(door: Door, side: int, speed_dps: float = FAST_DPS) -> None:
    """Move to one side of the table. Raises BenchError."""
    door.must("POST", "/call/move_to_pose", {**SIDES[side], "speed_dps": speed_dps})


def _come_home(door: Door) -> int:
    """Bring the limp arm home; how often that was refused before. Raises BenchError."""
    for refused in range(HOME_TRIES - 1):
        if door.ask("POST", "/call/go_home", {}).status == 200:
            return refused
    door.must("POST", "/call/go_home", {})
    return HOME_TRIES - 1


def _under_way(world: World, call: Caller) -> list[Sample]:
    """Wait until the swing has its speed; the last samples before that moment."""
    samples = [_sample(world)]

    def look() -> bool | None:
        samples.append(_sample(world))
        if abs(samples[-1].joints_deg[PAN] - samples[0].joints_deg[PAN]) > UNDER_WAY_DEG:
            return True
        if not call.running:
            raise BenchError(f"A motion ended before it could be stopped: {call.error}")
        return None

    wait_for(look, "A motion", 10.0, EVERY_S)
    return samples[-2:]


def _until_still(world: World) -> list[Sample]:
    """Samples until nothing has moved for a while, or too long."""
    samples = [_sample(world)]
    until_s = time.monotonic() + LONGEST_S
    moved_s = samples[0].at_s
    while samples[-1].at_s - moved_s <= 2 * STILL_S and time.monotonic() < until_s:
        time.sleep(EVERY_S)
        samples.append(_sample(world))
        pairs = zip(samples[-1].joints_deg, samples[-2].joints_deg, strict=True)
        if any(abs(now - then) > STILL_DEG / 10 for now, then in pairs):
            moved_s = samples[-1].at_s
    return samples


def _sample(world: World) -> Sample:
    state = world.ask("state")
    return Sample(time.monotonic(), tuple(float(angle) for angle in state["shown_deg"]))
