"""Every plan of ours passes the checker without a fault or a warning, wherever blocks lie.

The checker simulates with the very function that execution uses, from home with the jaws shut.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from plan_scenes import BIN, ONE_EACH, TWO_RED, Scene, Seen, context

from armlabd.arm.joints import HOME
from armlabd.arm.limits import CEILINGS
from armlabd.check.checker import CheckContext, check_plan
from armlabd.check.report import VALID, Report
from armlabd.config import Config
from armlabd.gate.moves import MoveSettings
from armlabd.gate.tools import tool_table
from armlabd.plan.plan import Plan
from armlabd.plan.question import Question
from armlabd.plan.rules import RulesPlanner
from armlabd.verdict import Code

CONFIG = Config()
TABLE = tool_table(CONFIG)
SETTINGS = MoveSettings.of(CONFIG, CEILINGS)


def checked(plan: Plan, scene: Scene, *, holding: bool = False) -> Report:
    pose = HOME.with_grip(19.5 if holding else 0.0)
    return check_plan(
        plan, CheckContext(TABLE, pose, holding=holding, settings=SETTINGS, scene=scene)
    )


def assert_spotless(plan: object, scene: Scene, *, holding: bool = False) -> None:
    assert isinstance(plan, Plan), plan
    report = checked(plan, scene, holding=holding)
    assert (report.outcome, report.faults, report.warnings) == (VALID, (), ())


def random_rows(count: int, seed: int) -> list[tuple[float, float, float, str]]:
    draw = random.Random(seed)
    rows = []
    while len(rows) < count:
        x, y, yaw = draw.uniform(0.10, 0.28), draw.uniform(-0.15, 0.15), draw.uniform(-45, 45)
        if abs(x - BIN[0]) > 0.06 or abs(y - BIN[1]) > 0.06:
            to = f"at x {draw.uniform(0.10, 0.28):.3f} y {draw.uniform(-0.15, 0.15):.3f}"
            rows.append((x, y, yaw, draw.choice(("in the bin", to, "aside"))))
    return rows


def test_a_block_anywhere_in_reach_with_any_yaw_gives_a_spotless_plan() -> None:
    plans = unreachable = 0
    for x, y, yaw, to in random_rows(40, seed=4):
        scene = Scene((Seen("red block", x, y, yaw),))
        answer = RulesPlanner().answer(f"put the red block {to}", context(scene, speed_dps=45.0))
        if isinstance(answer, Question):
            assert answer.code in (Code.UNREACHABLE, Code.UNKNOWN_PLACE), answer
            unreachable += 1
            continue
        plans += 1
        assert_spotless(answer, scene)
    assert plans >= 30, unreachable  # some points are on the walls of the bin


@pytest.mark.parametrize("x", [0.13, 0.20, 0.26])
@pytest.mark.parametrize("y", [-0.15, 0.0, 0.15])
@pytest.mark.parametrize("yaw", [-45.0, 0.0, 30.0, 45.0])
def test_a_block_on_the_grid_is_picked_up_spotlessly(x: float, y: float, yaw: float) -> None:
    scene = Scene((Seen("red block", x, y, yaw),))
    answer = RulesPlanner().answer("pick up the red block", context(scene))
    assert_spotless(answer, scene)
    assert isinstance(answer, Plan)
    assert 1.0 < checked(answer, scene).duration_s < 30.0


SENTENCES = (
    "put all the blocks in the bin",
    "pick the red block and put it in the bin, then the green one to x 0.15 y 0.02",
    "put the red block next to the green block",
    "set the green block aside",
    "put the red block at x 0.25 y 0.04 and then put it in the bin",
    "pick up the green block and go home",
    "go to (0.2, 0.05, 0.03)",
    "hover over the red block",
    "close the gripper and go home",
    "look and then put the red block in the bin, then open the gripper to 30 % and go home",
)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_longer_wishes_give_spotless_plans(sentence: str) -> None:
    assert_spotless(RulesPlanner().answer(sentence, context(ONE_EACH)), ONE_EACH)


@pytest.mark.parametrize("sentence", ["put it down", "drop it in the bin", "put it at x 0.25 y 0"])
def test_putting_down_what_is_held_gives_a_spotless_plan(sentence: str) -> None:
    scene = Scene((Seen("blue block", 0.14, 0.12, 20.0),))
    answer = RulesPlanner().answer(sentence, context(scene, holding=True))
    assert_spotless(answer, scene, holding=True)


def test_both_red_blocks_go_to_different_points_of_the_bin() -> None:
    answer = RulesPlanner().answer("put both red blocks in the bin", context(TWO_RED))
    assert isinstance(answer, Plan)
    assert_spotless(answer, TWO_RED)
    moves = [step.args for step in answer.steps if step.tool == "move_to_pose"]
    assert len({(m["x"], m["y"]) for m in moves if m["z"] == 0.05}) == 2


def test_neighbours_are_spared_by_the_opened_jaws_where_a_free_side_exists() -> None:
    beside = Scene((Seen("red block", 0.20, 0.05), Seen("green block", 0.20, 0.10)))
    answer = RulesPlanner().answer("pick up the red block", context(beside))
    assert isinstance(answer, Plan)
    yaws = {s.args["yaw_deg"] for s in answer.steps if s.tool == "move_to_pose"}
    assert yaws & {0.0, -90.0}  # along x, or with the moving jaw away from the green block
    assert 90.0 not in yaws
