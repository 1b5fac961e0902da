"""Whole runs while something goes wrong: what ends them, and what they then say."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from armlabd.bench.virtual import Rig, virtual_house
from armlabd.motion.state import slow_state
from armlabd.sim.blocks import Block
from armlabd.sim.commands import Commands, parse_line

GOAL = {"goal": "put the red block in the bin"}


def inject(rig: Rig, line: str) -> None:
    answer = Commands(rig.arena.arm, rig.arena.cable, lambda: None).handle(parse_line(line))
    assert answer["ok"], answer


def under_way(rig: Rig) -> bool:
    """The arm is in the middle of a motion."""
    job = rig.arena.core.conductor.job
    if job is None or job.phase != "stream" or job.stream is None:
        return False
    return 20 <= job.stream.place <= len(job.points) - 40


async def run_with(rig: Rig, line: str) -> dict[str, Any]:
    """A run into which the fault comes while the arm moves."""
    rig.blocks(Block("red block", 0.22, 0.09))
    status, started = await rig.ask("POST", "/goals", GOAL)
    assert status == 202
    sent = rig.arena.core.conductor.goals_sent
    while rig.arena.core.conductor.goals_sent < sent + 120 or not under_way(rig):
        await asyncio.sleep(0.001)
    inject(rig, line)
    return await rig.wait(started["id"])


@pytest.mark.parametrize("line", ["drop rate=0.01", "at seconds=60", "echo"])
async def test_case_31_what_costs_only_readings_never_ends_a_run(tmp_path: Path, line: str) -> None:
    async with virtual_house(tmp_path) as rig:
        run = await run_with(rig, line)
        assert run["result"] == "done", run
        assert rig.in_bin() == ["red block"]


@pytest.mark.parametrize(
    ("line", "cause", "words"),
    [
        ("drop rate=0.3", "bus_lost", "cycles in a row"),
        ("mute id=3", "bus_lost", "Servo 3 (elbow_flex), third from the base"),
        ("break after=3", "bus_lost", "the cable after servo 3"),
        ("brownout id=2", "servo_fault", "Servo 2 (shoulder_lift) started anew"),
        ("heat id=6 celsius=66", "servo_fault", "66 degrees"),
        ("overload id=3", "stalled", "elbow_flex gave way (overload)"),
    ],
)
async def test_case_31_what_takes_the_arm_away_ends_a_run_with_a_named_cause_and_counters(
    tmp_path: Path, line: str, cause: str, words: str
) -> None:
    async with virtual_house(tmp_path) as rig:
        run = await run_with(rig, line)
        assert run["result"] in ("failed", "stopped"), run
        assert words in run["sentence"], run
        assert run["cause"] == cause
        rig.arena.run(0.5)
        servos = slow_state(rig.arena.core)["servos"]
        assert all(servo["bus"]["asked"] > 100 for servo in servos.values())
        if cause == "bus_lost":
            assert sum(servo["bus"]["missed"] for servo in servos.values()) >= 10
