"""Random picks on a virtual arm that hides errors: aligned by a stand-in, then judged.

The judge reads the frames on the wire and where the links truly were: no goal outside what the
calibration measured, no leap between two goals, nothing of the hand in the table.
"""

from __future__ import annotations

import contextlib
import math
import random
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from scripted_person import Act, Scripted

from armlabd.arm.calibration import Calibration, parse
from armlabd.arm.joints import JOINT_NAMES
from armlabd.bench.arena import Arena
from armlabd.bench.judge import JAW_LEAP, LEAP
from armlabd.bench.virtual import QUICK, VIEW, Rig, build, lived_in
from armlabd.bus.errors import PortLost
from armlabd.bus.master import Master
from armlabd.cli.calibrate import points_of
from armlabd.clock import VirtualClock
from armlabd.config import Config
from armlabd.config.load import parse_config
from armlabd.daemon.settings import fitted, limits_of
from armlabd.motion.calibrate import Task
from armlabd.motion.calibrate_align import alignment_of, touch_all, visits
from armlabd.motion.calibrate_bus import CalibrationBus
from armlabd.sim.arm import VirtualArm
from armlabd.sim.blocks import Block
from armlabd.sim.calibration import calibration_json
from armlabd.sim.geometry import arm_points
from armlabd.sim.hidden import HiddenErrors
from armlabd.sim.inprocess import InProcessCable
from armlabd.sim.world import World

PLAY_COUNTS = 1  # rounding
DEEP_M = -0.002  # of a jaw's tip: the table gives that much
X_M, Y_M = (0.14, 0.26), (-0.14, 0.14)
FROM_BIN_M = 0.11


@dataclass
class Judge:
    """What was unsafe, in words; empty is good."""

    arena: Arena
    calibration: Calibration
    faults: list[str] = field(default_factory=list)
    lowest_m: float = 1.0
    _goals: dict[int, int] = field(default_factory=dict)

    def look(self) -> None:
        """Judge what happened since the last look."""
        for _, goals in self.arena.goals():
            self._judge(goals)
        self.arena.frames.clear()
        if self.arena.torque[0]:
            joints, jaw = self.arena.arm.true_deg()
            points = arm_points(joints, jaw)
            self.lowest_m = min(self.lowest_m, points.fixed_tip[2], points.moving_tip[2])
        else:
            self._goals.clear()

    def _judge(self, goals: dict[int, int]) -> None:
        for id, goal in goals.items():
            joint = self.calibration.joints[JOINT_NAMES[id - 1]]
            if not joint.range_min - PLAY_COUNTS <= goal <= joint.range_max + PLAY_COUNTS:
                self.faults.append(f"goal {goal} of servo {id} is outside its range")
            leap = abs(goal - self._goals.get(id, goal))
            if leap > (JAW_LEAP if id == 6 else LEAP):
                self.faults.append(f"servo {id} leaps by {leap} counts")
            self._goals[id] = goal

    def verdict(self) -> list[str]:
        """Every fault; a hand in the table is one."""
        if self.lowest_m < DEEP_M:
            self.faults.append(f"a jaw was {self.lowest_m * 1e3:.1f} mm in the table")
        return self.faults


def touching(arm: VirtualArm) -> Scripted:
    """A person who puts the true fingertip where asked."""

    def answer(person: Scripted, task: Task) -> Act:
        assert task.point is not None
        slope, roll_deg = ("flat", 80.0) if task.back else ("steep", 0.0)
        person.arm.touch(task.point, slope, roll_deg)
        yield None
        yield ""

    return Scripted(arm, answer)


def calibrated(arm: VirtualArm, clock: VirtualClock, *, align: bool) -> Calibration:
    """The virtual arm's calibration, aligned or as it was made."""
    plain = parse(calibration_json())
    if not align:
        return plain
    master = Master(InProcessCable(arm, clock, PortLost).open(), clock)
    asked = visits(points_of(parse_config(QUICK)))
    fit = touch_all(CalibrationBus(master, clock), touching(arm), plain, asked)
    return plain.aligned(alignment_of(fit, "today"))


def hiding_arena(folder: Path, seed: int, *, align: bool) -> tuple[Arena, Calibration, Config]:
    """A core and an arm that hides the errors of `seed`, with the settings that fit it."""
    clock = VirtualClock(100.0)
    arm = VirtualArm(World(), now_s=100.0, hidden=HiddenErrors.drawn(seed))
    calibration = calibrated(arm, clock, align=align)
    arm.put(VIEW[:5], 50.0)
    config = fitted(parse_config(QUICK), calibration)
    motion = config.motion
    poses = {name: getattr(motion, name) for name in ("home_pose", "view_pose", "park_pose")}
    limits = limits_of(config).as_dict()
    arena = Arena(folder, arm=arm, limits=limits, calibration=calibration.to_text(), **poses)
    return arena.ready(), calibration, config


@contextlib.asynccontextmanager
async def hiding_house(folder: Path, seed: int, *, align: bool) -> AsyncIterator[tuple[Rig, Judge]]:
    """The house with an arm that hides the errors of `seed`."""
    arena, calibration, config = hiding_arena(folder, seed, align=align)
    judge = Judge(arena, calibration)
    rig, server = build(folder, config, arena, calibration.placement)
    async with lived_in(rig, server, lambda _: judge.look()):
        yield rig, judge


async def pick(rig: Rig, dice: random.Random) -> str:
    """One block anywhere on the table, at any yaw; `in the bin`, or how the run ended."""
    while True:
        x, y = dice.uniform(*X_M), dice.uniform(*Y_M)
        if math.hypot(x - 0.20, y + 0.10) > FROM_BIN_M:
            break
    rig.blocks(Block("red block", x, y, yaw_deg=dice.uniform(-45.0, 45.0)))
    run = await rig.run("/goals", {"goal": "put the red block in the bin"}, "waiting")
    if run["state"] == "waiting":
        await rig.ask("DELETE", f"/runs/{run['id']}")
        await rig.wait(run["id"])
        return "asked"
    if run["result"] == "done":
        return "in the bin" if rig.in_bin() == ["red block"] else "said done, but is not in the bin"
    return str(run["result"])


async def picks(folder: Path, seed: int, count: int, *, align: bool = True) -> Picked:
    """`count` picks on the arm of one seed."""
    dice, ends = random.Random(1000 + seed), Counter[str]()
    async with hiding_house(folder, seed, align=align) as (rig, judge):
        for _ in range(count):
            ends[await pick(rig, dice)] += 1
        return Picked(ends, judge.verdict(), judge.lowest_m)


@dataclass(frozen=True)
class Picked:
    """How the picks ended, and what was unsafe."""

    ends: Counter[str]
    faults: list[str]
    lowest_m: float
