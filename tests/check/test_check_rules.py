"""Each rule of the checker by itself: what breaks it, what just does not, which step is named."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from armlabd.arm.joints import HOME, Pose
from armlabd.arm.limits import CEILINGS, Box
from armlabd.check.carry import CarryRules, carried_well
from armlabd.check.checker import OUTCOMES, CheckContext, check_plan
from armlabd.check.report import VALID, Report
from armlabd.config import Config
from armlabd.config.model import CheckConfig
from armlabd.gate.moves import Leg, MoveSettings
from armlabd.gate.tools import tool_table
from armlabd.plan.plan import Plan, Step
from armlabd.verdict import Code, Verdict

CONFIG = Config()
TABLE = tool_table(CONFIG)
RULES_ONLY = CheckContext(TABLE)
WITH_REACH = CheckContext(TABLE, HOME, settings=MoveSettings.of(CONFIG, CEILINGS))
HELD = {"holding_something": True}
STATUS, OPEN, HOME_STEP = Step("get_status"), Step("open_gripper", {"percent": 50}), Step("go_home")
CLOSE = Step("close_gripper", expect=HELD)


def move(x: float, y: float, z: float, **more: Any) -> Step:
    return Step("move_to_pose", {"x": x, "y": y, "z": z, **more})


ABOVE, DOWN = move(0.22, 0.09, 0.07), move(0.22, 0.09, 0.02)
PICK = (STATUS, OPEN, ABOVE, DOWN, CLOSE, ABOVE)
OVER_BIN, IN_BIN = move(0.20, -0.10, 0.07), move(0.20, -0.10, 0.05)
TEN = (*PICK, OVER_BIN, IN_BIN, OPEN, HOME_STEP)


def check(*steps: Step, context: CheckContext = RULES_ONLY, **changes: Any) -> Report:
    return check_plan(Plan(steps), replace(context, **changes))


def broken(report: Report) -> list[tuple[int, str]]:
    return [(fault.step, fault.rule) for fault in report.faults]


def warned(report: Report) -> list[tuple[int, str]]:
    return [(warning.step, warning.rule) for warning in report.warnings]


@dataclass(frozen=True)
class Seen:
    label: str
    x: float
    y: float
    yaw_deg: float = 0.0
    size_m: float = 0.03


@dataclass(frozen=True)
class Scene:
    objects: tuple[Seen, ...]


def test_the_ten_steps_break_no_rule_and_raise_no_warning() -> None:
    report = check(*TEN, context=WITH_REACH)
    assert (report.outcome, report.faults, report.warnings) == (VALID, (), ())


# --- R1, R2


@pytest.mark.parametrize("tool", ["wave_hello", "", "GET_STATUS", "check ", "go home"])
def test_r1_a_tool_that_is_not_in_the_table_is_named_with_the_tools_that_are(tool: str) -> None:
    report = check(STATUS, Step(tool))
    assert broken(report) == [(2, "R1")]
    assert report.faults[0].sentence.startswith("step 2: there is no tool called")
    assert "move_to_pose" in report.faults[0].sentence


def test_r2_every_bad_argument_of_every_step_is_reported() -> None:
    report = check(STATUS, move(9.0, True, 0.07, wild=1), Step("open_gripper", {"percent": "50"}))  # type: ignore[arg-type]
    assert broken(report) == [(2, "R2")] * 3 + [(3, "R2")]
    assert [f.code for f in report.faults] == [
        Code.OUT_OF_RANGE,
        Code.WRONG_TYPE,
        Code.UNKNOWN_PARAMETER,
        Code.WRONG_TYPE,
    ]
    assert all(f.sentence.startswith(f"step {f.step} (") for f in report.faults)


@pytest.mark.parametrize(
    ("z", "good"), [(0.02, True), (0.0199, False), (0.07, True), (0.0701, False)]
)
def test_r2_ends_of_a_range_are_inside(z: float, good: bool) -> None:
    assert check(STATUS, OPEN, move(0.2, 0.0, z)).ok is good


@pytest.mark.parametrize(
    "step",
    [
        Step("open_gripper", {}, expect=HELD),
        Step("close_gripper", {}, expect={"colour": True}),
        Step("close_gripper", {}, expect={"holding_something": 1}),
        Step("close_gripper", {}, expect={"holding_something": "true"}),
        Step("check", {"field": "holding_something", "equals": True}),
        Step("check", {}),
    ],
)
def test_r2_what_no_result_can_answer_cannot_be_expected(step: Step) -> None:
    assert broken(check(STATUS, OPEN, step)) == [(3, "R2")]


def test_r2_a_check_names_a_truth_of_the_close_before_it() -> None:
    good = Step("check", {"field": "holding_something", "equals": True})
    bad = Step("check", {"field": "gripper_percent", "equals": 20})
    assert check(STATUS, OPEN, Step("close_gripper"), good).ok
    assert broken(check(STATUS, OPEN, Step("close_gripper"), bad)) == [(4, "R2")]


# --- R3, R4, R5


def test_r3_an_empty_plan_is_refused() -> None:
    report = check()
    assert not report.ok
    assert report.outcome == OUTCOMES["R3"]


@pytest.mark.parametrize(("percent", "good"), [(25.0, True), (24.9, False), (0.0, False)])
def test_r4_jaws_that_are_hardly_open_are_closed_on_approach(percent: float, good: bool) -> None:
    report = check(STATUS, Step("open_gripper", {"percent": percent}), ABOVE, DOWN)
    assert broken(report) == ([] if good else [(4, "R4")])


def test_r4_a_first_move_to_travel_height_is_no_move_down() -> None:
    assert check(STATUS, ABOVE).ok
    assert broken(check(STATUS, move(0.22, 0.09, 0.0699))) == [(2, "R4")]


def test_r4_a_hand_that_holds_something_may_go_down_closed() -> None:
    steps = (STATUS, OVER_BIN, IN_BIN, OPEN, HOME_STEP)
    assert check(*steps, holding=True).ok
    assert broken(check(*steps)) == [(3, "R4")]


@pytest.mark.parametrize("late", [ABOVE, HOME_STEP])
def test_r5_any_way_up_before_the_check_is_a_lift(late: Step) -> None:
    bare = Step("close_gripper")
    assert broken(check(STATUS, OPEN, ABOVE, DOWN, bare, late)) == [(6, "R5")]


def test_r5_a_check_after_the_lift_is_too_late() -> None:
    check_step = Step("check", {"field": "holding_something", "equals": True})
    report = check(STATUS, OPEN, ABOVE, DOWN, Step("close_gripper"), ABOVE, check_step)
    assert broken(report) == [(6, "R5")]


def test_r5_expecting_to_hold_nothing_is_no_grasp_check() -> None:
    empty = Step("close_gripper", expect={"holding_something": False})
    assert broken(check(STATUS, OPEN, ABOVE, DOWN, empty, ABOVE)) == [(6, "R5")]


def test_r5_every_close_needs_a_check_of_its_own() -> None:
    again = (Step("open_gripper"), DOWN, Step("close_gripper"), ABOVE)
    assert broken(check(*PICK, *again)) == [(10, "R5")]


def test_r5_closing_the_empty_hand_at_home_and_going_on_is_no_lift() -> None:
    report = check(STATUS, Step("close_gripper"), ABOVE, HOME_STEP, context=WITH_REACH)
    assert report.ok


# --- R6


def test_r6_every_step_out_of_reach_is_a_fault_with_its_own_cause() -> None:
    near = move(0.10, 0.0, 0.07)  # the wrist does not bend that far
    report = check(STATUS, OPEN, near, ABOVE, DOWN, near, context=WITH_REACH)
    assert report.outcome == OUTCOMES["R6"]
    assert broken(report) == [(3, "R6"), (6, "R6")]
    assert {f.code for f in report.faults} <= {Code.UNREACHABLE, Code.JOINT_LIMIT}


def test_r6_the_corner_of_vector_d3_is_allowed_by_the_rules_and_judged_by_reach() -> None:
    corner = (STATUS, OPEN, move(0.10, -0.15, 0.07), move(0.10, -0.15, 0.02), CLOSE)
    assert check(*corner).ok
    assert {rule for _, rule in broken(check(*corner, context=WITH_REACH))} <= {"R6"}


def test_r6_a_keep_out_box_on_the_way_is_a_fault_of_the_plan() -> None:
    wall = Box("wall", (0.15, 0.35), (-0.04, 0.03), (0.0, 0.3))
    limits = replace(CEILINGS, keep_out=(wall,))
    report = check(*TEN, context=WITH_REACH, settings=MoveSettings.of(CONFIG, limits))
    assert report.outcome == OUTCOMES["R6"]
    assert Code.PATH_BLOCKED in {fault.code for fault in report.faults}


def test_r6_a_post_that_only_the_upper_arm_sweeps_is_a_fault_of_the_plan() -> None:
    post = Box("post", (0.0, 0.02), (0.10, 0.12), (0.0, 0.11))
    settings = MoveSettings.of(CONFIG, replace(CEILINGS, keep_out=(post,)))
    report = check(STATUS, Step("look"), context=WITH_REACH, settings=settings)
    assert broken(report) == [(2, "R6")]
    assert "puts the upper arm" in report.faults[0].sentence


def test_r6_the_simulation_uses_the_motions_of_the_gate_from_where_the_arm_stands() -> None:
    seen: list[tuple[str, Pose, bool]] = []

    def mover(
        tool: str, args: Any, pose: Pose, holding: bool, settings: MoveSettings
    ) -> tuple[Leg, ...] | Verdict:
        seen.append((tool, pose, holding))
        return Verdict.refused(Code.UNREACHABLE, "no") if tool == "go_home" else ()

    start = HOME.with_grip(50.0)
    report = check(*TEN, context=WITH_REACH, pose=start, mover=mover)
    assert [tool for tool, _, _ in seen] == [step.tool for step in TEN[1:]]
    assert [holding for _, _, holding in seen] == [False] * 4 + [True] * 4 + [False]
    assert seen[-1][1] == start.with_grip(19.5)  # the close ended on a block
    assert broken(report) == [(10, "R6")]
    assert report.faults[0].sentence == "step 10 (go_home): no"


def test_r6_a_step_with_a_bad_value_is_left_out_of_the_simulation() -> None:
    report = check(STATUS, OPEN, move(9.0, 0.0, 0.07), ABOVE, DOWN, context=WITH_REACH)
    assert broken(report) == [(3, "R2")]


# --- R7, R8


@pytest.mark.parametrize(("z", "warns"), [(0.05, False), (0.0499, True)])
def test_r7_what_is_held_travels_lifted(z: float, warns: bool) -> None:
    steps = (STATUS, OPEN, ABOVE, DOWN, CLOSE, move(0.22, 0.09, z), move(0.22, 0.0, 0.07))
    assert warned(check(*steps)) == ([(7, "R7")] if warns else [])


@pytest.mark.parametrize(("y", "warns"), [(0.07, False), (0.0699, True)])
def test_r7_two_centimetres_sideways_are_no_travel(y: float, warns: bool) -> None:
    steps = (STATUS, OPEN, ABOVE, DOWN, CLOSE, move(0.22, y, 0.02))
    assert warned(check(*steps)) == ([(6, "R7")] if warns else [])


@pytest.mark.parametrize(("z", "warns"), [(0.06, False), (0.0601, True)])
def test_r8_letting_go_higher_than_max_drop_warns(z: float, warns: bool) -> None:
    steps = (*PICK, OVER_BIN, move(0.20, -0.10, z), OPEN)
    assert warned(check(*steps)) == ([(9, "R8")] if warns else [])


def test_r8_letting_go_at_home_warns_and_an_empty_hand_may_open_anywhere() -> None:
    assert warned(check(*PICK, HOME_STEP, OPEN)) == [(8, "R8")]
    assert warned(check(STATUS, HOME_STEP, OPEN)) == []


def test_r8_a_block_in_the_way_of_a_low_carry_warns_and_the_picked_one_does_not() -> None:
    low = (STATUS, OPEN, ABOVE, DOWN, CLOSE, move(0.22, 0.09, 0.05), move(0.22, -0.05, 0.05))
    picked = Seen("red block", 0.22, 0.09)
    between = Seen("green block", 0.22, 0.02)
    aside = Seen("green block", 0.15, 0.02)
    tall = 0.04  # blocks higher than the 30 mm by which the carried one is lifted
    assert warned(check(*low, scene=Scene((picked, between)), block_height_m=tall)) == [(7, "R8")]
    assert warned(check(*low, scene=Scene((picked, aside)), block_height_m=tall)) == []
    assert warned(check(*low, scene=Scene((picked, between)))) == []


def test_r8_putting_a_block_down_onto_another_warns() -> None:
    onto = (*PICK, move(0.20, 0.0, 0.07), move(0.20, 0.0, 0.03), OPEN, HOME_STEP)
    assert warned(check(*onto, scene=Scene((Seen("green block", 0.2, 0.0),)))) == [(8, "R8")]


def test_warnings_leave_the_plan_valid_and_strict_makes_them_faults() -> None:
    steps = (*PICK, HOME_STEP, OPEN)
    assert check(*steps).outcome == VALID
    strict = check(*steps, strict=True)
    assert strict.outcome == OUTCOMES["R8"]
    assert broken(strict) == [(8, "R8")]
    assert strict.warnings == ()


# --- R11

BLOCK = Seen("green block", 0.20, 0.0)
RULES_OF_CARRY = CarryRules(0.06)


@pytest.mark.parametrize(
    ("start", "end", "warns"),
    [
        ((0.20, 0.10, 0.05), (0.20, -0.10, 0.05), False),  # as high as the block and a jaw's depth
        ((0.20, 0.10, 0.0499), (0.20, -0.10, 0.0499), True),
        ((0.15, 0.079, 0.03), (0.25, 0.079, 0.03), True),  # beside it, within an opened jaw
        ((0.15, 0.081, 0.03), (0.25, 0.081, 0.03), False),
        ((0.15, 0.10, 0.07), (0.20, 0.04, 0.03), True),  # a slanting way down
        ((0.20, 0.04, 0.03), (0.20, 0.059, 0.03), False),  # two centimetres are no travel
    ],
)
def test_r11_an_empty_hand_goes_low_past_no_block(
    start: tuple[float, float, float], end: tuple[float, float, float], warns: bool
) -> None:
    steps = (STATUS, OPEN, move(start[0], start[1], 0.07), move(*start), move(*end))
    assert warned(check(*steps, scene=Scene((BLOCK,)))) == ([(5, "R11")] if warns else [])
    assert warned(check(*steps)) == []


@pytest.mark.parametrize(
    ("off_m", "z", "warns"),
    [
        (0.0, 0.02, False),
        (0.0119, 0.02, False),
        (0.0121, 0.02, True),
        (0.0279, 0.02, True),
        (0.0281, 0.02, False),
        (0.02, 0.0501, False),
        (0.02, 0.0499, True),
    ],
)
def test_r11_a_jaw_comes_down_on_no_block(off_m: float, z: float, warns: bool) -> None:
    steps = (STATUS, OPEN, move(0.20, off_m, 0.07), move(0.20, off_m, z))
    assert warned(check(*steps, scene=Scene((BLOCK,)))) == ([(4, "R11")] if warns else [])


def test_r11_asks_for_no_other_way_from_where_the_arm_happens_to_stand() -> None:
    steps = (STATUS, OPEN, move(0.20, 0.10, 0.07))
    low = tuple(carried_well(Plan(steps), RULES_OF_CARRY, start=(0.2, -0.1, 0.0), objects=(BLOCK,)))
    assert low == ()
    home = (*steps, HOME_STEP, move(0.20, 0.02, 0.02))
    swept = tuple(carried_well(Plan(home), RULES_OF_CARRY, objects=(BLOCK,)))
    assert [(fault.step, fault.rule) for fault in swept] == [(5, "R11")]


def test_r11_knows_where_the_plan_itself_took_and_put_blocks() -> None:
    placed = (*PICK, OVER_BIN, move(0.20, -0.10, 0.03), OPEN, OVER_BIN)
    picked = Scene((Seen("red block", 0.22, 0.09),))
    low = (move(0.22, 0.15, 0.07), move(0.22, 0.15, 0.03), move(0.22, 0.05, 0.03))
    assert warned(check(*placed, *low, scene=picked)) == []  # it was taken away from there
    back = (move(0.14, -0.10, 0.07), move(0.14, -0.10, 0.03), move(0.17, -0.10, 0.03))
    assert warned(check(*placed, *back, scene=picked)) == [(13, "R11")]


# --- R9, R10


def test_r9_stop_is_no_step_and_all_other_faults_are_told_too() -> None:
    report = check(STATUS, OPEN, ABOVE, DOWN, Step("close_gripper"), Step("stop"), ABOVE)
    assert broken(report) == [(6, "R9"), (7, "R5")]
    assert report.outcome == OUTCOMES["R5"]
    assert check(STATUS, Step("stop")).outcome == "Stop in a plan"


def test_r10_a_plan_may_have_max_steps_and_no_more() -> None:
    looks = tuple(move(0.2, 0.001 * i, 0.07) for i in range(9))
    assert check(STATUS, *looks, max_steps=10).ok
    report = check(STATUS, *looks, HOME_STEP, max_steps=10)
    assert report.outcome == "Too long"
    assert broken(report) == [(0, "R10")]


def test_r10_a_plan_that_moves_for_too_long_is_refused() -> None:
    slow = [move(0.2, 0.1 * (-1) ** i, 0.07, speed_dps=5 + 0.1 * i) for i in range(6)]
    assert check(STATUS, *slow, context=WITH_REACH).ok
    report = check(STATUS, *slow, context=WITH_REACH, max_duration_s=20.0)
    assert report.outcome == "Too long"
    assert broken(report) == [(0, "R10")]


@pytest.mark.parametrize("run", [(HOME_STEP,), (ABOVE, OVER_BIN), (HOME_STEP, ABOVE, OVER_BIN)])
def test_r10_three_equal_runs_in_a_row_pass_and_the_fourth_does_not(run: tuple[Step, ...]) -> None:
    assert check(STATUS, OPEN, *run * 3).ok
    report = check(STATUS, OPEN, *run * 4)
    assert broken(report) == [(3 + 3 * len(run), "R10")]


# --- the report


def test_the_report_travels_as_the_answer_of_plans_check() -> None:
    shown = check(STATUS, Step("wave"), *PICK[1:], HOME_STEP, OPEN).as_dict()
    assert shown["outcome"] == "Uses a tool that does not exist"
    assert shown["faults"][0].keys() == {"step", "rule", "code", "sentence"}
    assert shown["faults"][0]["code"] == "unknown_tool"
    assert [w["rule"] for w in shown["warnings"]] == ["R8"]


def test_the_verdict_of_a_report_carries_every_fault() -> None:
    verdict = check(Step("wave"), Step("dance")).verdict()
    assert verdict.code is Code.UNKNOWN_TOOL
    assert [p.code for p in verdict.problems] == [
        Code.UNKNOWN_TOOL,
        Code.NO_STATUS_FIRST,
        Code.UNKNOWN_TOOL,
    ]
    said = "There is no tool called 'wave'. The tools are: "
    assert said.lower() in verdict.sentence.lower()
    assert verdict.sentence.count("Step ") == len(verdict.problems)
    assert "step" not in verdict.sentence.replace("this step", "")
    assert check(STATUS).verdict().ok


def test_the_figures_of_the_check_section_reach_the_rules() -> None:
    wanted = CheckConfig(strict=True, max_drop_m=0.02, max_steps=3, max_duration_s=9.0)
    settings = MoveSettings.of(CONFIG, CEILINGS)
    context = CheckContext.of(wanted, TABLE, settings, HOME)
    figures = (context.strict, context.max_drop_m, context.max_steps, context.max_duration_s)
    assert figures == (True, 0.02, 3, 9.0)
    assert context.settings is settings
