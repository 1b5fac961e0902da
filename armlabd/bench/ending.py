"""Was it the right ending? Judged by where the blocks and the arm truly are.

What a planner, a run or a model says of itself counts only for what a person would be asked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from armlabd.bench.arena import Arena
from armlabd.bench.goals import End, Goal, Wanted
from armlabd.sim import calibration as cal
from armlabd.sim.blocks import Bin
from armlabd.sim.geometry import arm_points
from armlabd.sim.world import World
from armlabd.verdict import Code

STILL_M: Final = 0.02  # a block that moved less lies where it lay: a jaw may have brushed it
MOVED_M: Final = 0.03
AT_POINT_M: Final = 0.02
BESIDE_M: Final = 0.10  # middle to middle, of blocks
BESIDE_BIN_M: Final = 0.14  # a free spot 80 mm from its middle, on a grid of 20 mm
OVER_M: Final = 0.04  # the tool point, from the point that the hand is over
HOME_DEG: Final = 3.0
OPEN_PERCENT: Final = 90.0
SHUT_PERCENT: Final = 6.0
BIN: Final = Bin()


@dataclass(frozen=True, slots=True)
class Truth:
    """The table and the arm at one moment."""

    at: dict[str, tuple[float, float]]  # middle of each block, m
    in_bin: frozenset[str]
    held: str | None
    joints_deg: tuple[float, ...]
    jaw_percent: float
    tool: tuple[float, float]

    @classmethod
    def of(cls, arena: Arena) -> Truth:
        """As it is now."""
        world = arena.arm.world
        assert isinstance(world, World)
        joints, jaw = arena.arm.true_deg()
        return cls(
            {block.label: (block.x, block.y) for block in world.blocks.values()},
            frozenset(world.in_bin()),
            world.held,
            joints,
            cal.jaw_percent(jaw),
            arm_points(joints, jaw).tool[:2],
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a goal ended, before anybody answered what no answer was given for."""

    end: End | None  # None: it failed, or ended in no way that a goal may end
    code: Code | None
    sentence: str
    truth: Truth


def wrong(goal: Goal, before: Truth, outcome: Outcome, home_deg: tuple[float, ...]) -> list[str]:
    """What is not as the goal wants it, in words; empty is right."""
    end = outcome.end
    if end is None:
        return [f"it failed ({outcome.code}): {outcome.sentence}"]
    if not _end_fits(goal, outcome):
        wanted = " or ".join(goal.ends)
        return [f"{end} instead of {wanted} ({outcome.code}): {outcome.sentence}"]
    if end is not End.DONE:
        return disturbed(before, outcome.truth)
    return (
        _misplaced(goal, before, outcome.truth)
        + _arm(goal, outcome.truth, home_deg)
        + [f"it did not say {word!r}" for word in goal.says if word not in outcome.sentence.lower()]
    )


def _end_fits(goal: Goal, outcome: Outcome) -> bool:
    asked = outcome.end in (End.ASKED, End.DECLINED)
    if asked and End.DECLINED in goal.ends:
        return True
    if asked and End.ASKED in goal.ends and outcome.code is not None:
        plain = outcome.end is End.ASKED and not goal.codes
        return plain or outcome.code in goal.codes
    return outcome.end in goal.ends


def _misplaced(goal: Goal, before: Truth, now: Truth) -> list[str]:
    wanted = dict(goal.where)
    faults = []
    if goal.any is not None:
        fit = [name for name in goal.any.of if _is_at(name, goal.any.where, before, now)]
        wanted |= dict.fromkeys(fit, goal.any.where)
        if len(fit) != goal.any.count:
            faults.append(f"{len(fit)} instead of {goal.any.count} blocks are in their place")
    for name, spot in wanted.items():
        if not _is_at(name, spot, before, now):
            faults.append(f"the {name} is {_place(name, now)}, not {_told(spot)}")
    return faults + disturbed(before, now, frozenset(wanted))


def disturbed(before: Truth, now: Truth, meant: frozenset[str] = frozenset()) -> list[str]:
    """Blocks that were to stay and did not."""
    faults = []
    for name, at in before.at.items():
        moved_m = math.dist(at, now.at[name])
        if name not in meant and (moved_m > STILL_M or now.held == name):
            faults.append(f"the {name} was to stay and is {_place(name, now)}")
    return faults


def _is_at(name: str, spot: Wanted, before: Truth, now: Truth) -> bool:
    if spot == "held":
        return now.held == name
    if now.held == name:
        return False
    if spot == "bin":
        return name in now.in_bin
    moved_m = math.dist(before.at[name], now.at[name])
    if spot == "elsewhere":
        return moved_m > MOVED_M
    if name in now.in_bin:
        return False
    if isinstance(spot, tuple):
        return math.dist(now.at[name], spot) <= AT_POINT_M
    if spot == "table":
        return moved_m > MOVED_M
    return moved_m > STILL_M and _is_beside(name, spot.removeprefix("beside "), now)


def _is_beside(name: str, other: str, now: Truth) -> bool:
    if other == "bin":
        return math.dist(now.at[name], (BIN.x, BIN.y)) <= BESIDE_BIN_M
    return now.held != other and math.dist(now.at[name], now.at[other]) <= BESIDE_M


def _arm(goal: Goal, now: Truth, home_deg: tuple[float, ...]) -> list[str]:
    if goal.arm is None:
        return []
    if isinstance(goal.arm, tuple):
        fits = math.dist(now.tool, goal.arm) <= OVER_M
    elif goal.arm == "home":
        turns = zip(now.joints_deg, home_deg, strict=False)
        fits = all(abs(joint - wanted) <= HOME_DEG for joint, wanted in turns)
    elif goal.arm == "open":
        fits = now.jaw_percent >= OPEN_PERCENT
    else:
        fits = now.jaw_percent <= SHUT_PERCENT
    return [] if fits else [f"the arm is not {_told(goal.arm)}"]


def _place(name: str, now: Truth) -> str:
    x, y = now.at[name]
    where = "in the hand" if now.held == name else "in the bin" if name in now.in_bin else "out"
    return f"{where} at x {x:.3f} y {y:.3f}"


def _told(spot: Wanted) -> str:
    return spot if isinstance(spot, str) else f"at x {spot[0]:g} y {spot[1]:g}"


def code_of(text: Any) -> Code | None:
    """A cause as doors show it."""
    return Code(text) if isinstance(text, str) and text in list(Code) else None
