"""Rules R7, R8, R11: what is held is lifted, not dropped, not dragged; no block is swept aside.

Heights are those of the grasp point above the table, metres. An object held since z `grip_z`
hangs with its underside at z - grip_z.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from armlabd.check.order import HOME, MOVE, OPEN, fault, number_of
from armlabd.check.report import Fault
from armlabd.plan.context import SeenObject
from armlabd.plan.plan import CLOSE, Plan, Step
from armlabd.table import BLOCK_HEIGHT_M
from armlabd.verdict import Code

LIFTED_M = 0.05  # clear of the table
TRAVEL_M = 0.02  # less than this is not travel
SAME_BLOCK_M = 0.025  # a block seen this near to where the jaws close is the one that is picked
IN_THE_WAY_M = 0.035  # centres of two 30 mm blocks that would touch, and a little
JAWS_M = 0.08  # from the grasp point to the far side of a block that the opened jaws may touch
AIMED_M = 0.012  # a hand that comes down this near to a block's middle has it between its jaws
ON_BLOCK_M = 0.028  # ... and up to here one jaw comes down on it; no other block can be so near
SLACK_M = 1e-6
GRIP_Z_M = 0.02  # where our own planners grip; for an object that was held before the plan

Point3 = tuple[float, float, float]


@dataclass(slots=True)
class Hand:
    """What the rules know of the hand while they read the plan."""

    at: Point3 | None
    holding: bool
    grip_z: float = GRIP_Z_M
    sent: bool = False  # by a step of this plan; where it stood before is nobody's choice
    blocks: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CarryRules:
    """The figures: heights in metres; `home` is the grasp point at home."""

    max_drop_m: float
    block_height_m: float = BLOCK_HEIGHT_M
    home: Point3 = (0.164, 0.0, 0.13)


def carried_well(
    plan: Plan,
    rules: CarryRules,
    *,
    start: Point3 | None = None,
    holding: bool = False,
    objects: tuple[SeenObject, ...] = (),
) -> Iterator[Fault]:
    """R7, R8 and R11 for every step. `start` is the grasp point before step 1, if known."""
    hand = Hand(start, holding, blocks=[(o.x, o.y) for o in objects])
    for number, step in enumerate(plan.steps, 1):
        if step.tool == MOVE:
            yield from _move(hand, rules, number, step)
        elif step.tool == OPEN:
            yield from _release(hand, rules, number, step)
        elif step.tool == CLOSE:
            _grasp(hand)
        elif step.tool == HOME:
            hand.at, hand.sent = rules.home, True
        elif step.tool == "look":
            hand.at = None  # it may have swung aside


def _grasp(hand: Hand) -> None:
    hand.holding = True
    if hand.at is not None:
        x, y, hand.grip_z = hand.at
        hand.blocks = [b for b in hand.blocks if math.dist(b, (x, y)) > SAME_BLOCK_M]


def _release(hand: Hand, rules: CarryRules, number: int, step: Step) -> Iterator[Fault]:
    if hand.holding and hand.at is not None:
        if hand.at[2] > rules.max_drop_m + SLACK_M:
            what = f"lets go at z {hand.at[2]:.3f} m, higher than {rules.max_drop_m:g} m"
            what += "; go lower first"
            yield fault(number, step, "R8", Code.DROPS, what)
        hand.blocks.append(hand.at[:2])
    hand.holding = False


def _move(hand: Hand, rules: CarryRules, number: int, step: Step) -> Iterator[Fault]:
    numbers = [number_of(step, name) for name in "xyz"]
    known = [n for n in numbers if n is not None]
    if len(known) < 3:
        return
    before, goal = hand.at, (known[0], known[1], known[2])
    sent_before = before if hand.sent else None
    hand.at, hand.sent = goal, True
    if not hand.holding:
        yield from _swept(hand.blocks, sent_before, goal, rules, number, step)
        return
    if before is None:
        return
    far = math.dist(before[:2], goal[:2]) > TRAVEL_M + SLACK_M
    if far and min(before[2], goal[2]) < LIFTED_M - SLACK_M:
        what = f"carries what it holds below z {LIFTED_M:g} m; lift it first, lower it at the end"
        yield fault(number, step, "R7", Code.DRAGS, what)
    if any(_hits(block, before, goal, hand.grip_z, rules) for block in hand.blocks):
        what = "carries what it holds through a block in the way; go higher or around it"
        yield fault(number, step, "R8", Code.DROPS, what)


def _swept(
    blocks: list[tuple[float, float]],
    before: Point3 | None,
    goal: Point3,
    rules: CarryRules,
    number: int,
    step: Step,
) -> Iterator[Fault]:
    """R11: an empty hand goes low past a block, or comes down on one beside its middle."""
    travels = before is not None and math.dist(before[:2], goal[:2]) > TRAVEL_M + SLACK_M
    if travels and before is not None:
        low = (_hits(block, before, goal, GRIP_Z_M, rules, JAWS_M) for block in blocks)
        if any(low):
            what = "sweeps low past a block; go up first, and down only over what is to be picked"
            yield fault(number, step, "R11", Code.PATH_BLOCKED, what)
            return
    is_low = goal[2] - GRIP_Z_M < rules.block_height_m - SLACK_M
    if is_low and any(AIMED_M < math.dist(b, goal[:2]) < ON_BLOCK_M for b in blocks):
        what = "comes down on a block beside its middle; aim at its middle"
        yield fault(number, step, "R11", Code.PATH_BLOCKED, what)


def _hits(
    block: tuple[float, float],
    start: Point3,
    goal: Point3,
    grip_z: float,
    rules: CarryRules,
    near_m: float = IN_THE_WAY_M,
) -> bool:
    """True when what is held, or the hand, passes the block lower than the block is high."""
    dx, dy = goal[0] - start[0], goal[1] - start[1]
    length2 = dx * dx + dy * dy
    along = 1.0  # a move straight down is as low as its end
    if length2 > SLACK_M:
        along = ((block[0] - start[0]) * dx + (block[1] - start[1]) * dy) / length2
        along = min(1.0, max(0.0, along))
    nearest = (start[0] + along * dx, start[1] + along * dy)
    underside = start[2] + along * (goal[2] - start[2]) - grip_z
    return math.dist(nearest, block) < near_m and underside < rules.block_height_m - SLACK_M
