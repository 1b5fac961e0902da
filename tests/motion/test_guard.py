"""The guard: each limit at its end, just inside, just outside; and outside only inward, slowly."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.arm.joints import HOME, JOINT_NAMES, Pose
from armlabd.arm.kinematics import inverse
from armlabd.arm.limits import CEILINGS, Box, Limits
from armlabd.arm.path import Program, Target, grip_move, joint_move, line_move
from armlabd.motion.fence import violation
from armlabd.motion.guard import SLICE, LastLook, Rates, check_in_slices, check_program
from armlabd.verdict import Code

FREE = replace(
    CEILINGS,
    floor_m=-9.0,
    tip_floor_m=-9.0,
    reach_m=9.0,
    base_box=Box("nothing", (8.0, 9.0), (8.0, 9.0), (8.0, 9.0)),
)
DT = 0.01


def names(pose: Pose, limits: Limits = CEILINGS) -> set[str]:
    return {depth.name for depth in violation(pose, limits)}


def still(pose: Pose, count: int = 3) -> Program:
    return Program((pose,) * count)


# --- programs ---------------------------------------------------------------------------------


def ramp(step: float, count: int, index: int = 0, start: Pose = HOME) -> Program:
    """Speeds up within the acceleration ceiling to `step` per cycle, and slows down again."""
    bend = 0.03 if index < 5 else 0.07
    steps: list[float] = []
    speed = 0.0
    while speed < step:
        speed = min(step, speed + bend)
        steps.append(speed)
    steps = steps + [step] * count + steps[::-1]
    points, value = [start], start[index]
    for one in steps:
        value += one
        points.append(start._replace(**{start._fields[index]: value}))
    return Program(tuple(points))


@pytest.mark.parametrize(
    ("index", "step", "fine"),
    [(0, 0.6, True), (0, 0.59, True), (0, 0.601, False), (5, 1.0, True), (5, 1.001, False)],
)
def test_speed_has_a_ceiling(index: int, step: float, fine: bool) -> None:
    fault = check_program(ramp(step, 10, index), FREE, HOME)
    assert (fault is None) is fine
    if fault is not None:
        assert fault.code is Code.TOO_FAST
        assert fault.limit == f"speed:{JOINT_NAMES[index]}"
        assert fault.value == pytest.approx(step / DT)


@pytest.mark.parametrize(("bend", "fine"), [(0.04, True), (0.039, True), (0.0401, False)])
def test_acceleration_has_a_ceiling_at_the_start_on_the_way_and_at_the_end(
    bend: float, fine: bool
) -> None:
    first = Program((HOME, HOME._replace(pan=bend), HOME._replace(pan=bend)))
    assert (check_program(first, FREE, HOME) is None) is fine
    last = Program((HOME, HOME._replace(pan=bend)))
    assert (check_program(last, FREE, HOME) is None) is fine


def test_the_last_point_must_be_at_rest() -> None:
    program = ramp(0.5, 10)
    torn = Program(program.points[:20])
    fault = check_program(torn, FREE, HOME)
    assert fault is not None
    assert fault.limit == "acceleration:shoulder_pan"
    assert fault.point == 19


@pytest.mark.parametrize("index", range(6))
def test_a_number_that_is_none_is_no_set_point(index: int) -> None:
    points = list(still(HOME).points)
    points[2] = HOME._replace(**{HOME._fields[index]: nan})
    fault = check_program(Program(tuple(points)), FREE, HOME)
    assert fault is not None
    assert fault.code is Code.BAD_PROGRAM
    assert fault.limit == f"number:{JOINT_NAMES[index]}"
    assert fault.point == 2


@pytest.mark.parametrize(("away", "fine"), [(3.0, True), (2.9, True), (3.1, False), (-3.1, False)])
def test_the_start_must_be_where_the_arm_is(away: float, fine: bool) -> None:
    fault = check_program(still(HOME), FREE, HOME._replace(wrist=HOME.wrist + away))
    assert (fault is None) is fine


def test_an_empty_program_is_none() -> None:
    fault = check_program(Program(()), FREE, HOME)
    assert fault is not None
    assert fault.code is Code.BAD_PROGRAM


@pytest.mark.parametrize("place", [1, SLICE - 1, SLICE, SLICE + 1, 57, 58])
def test_one_bad_point_anywhere_refuses_the_whole_program_and_is_named(place: int) -> None:
    points = [HOME] * 59
    points[place] = HOME._replace(pan=111.0)
    fault = check_program(Program(tuple(points)), FREE, HOME)
    assert fault is not None
    assert place - 1 <= fault.point <= place


def test_checking_pauses_about_every_dozen_points() -> None:
    slices = list(check_in_slices((HOME,) * 120, DT, FREE, HOME))
    assert len(slices) == 120 // SLICE


# --- outside ----------------------------------------------------------------------------------

LOW = inverse(0.20, 0.0, 0.004, grip_percent=50.0)  # the tool 8 mm below its floor


def lift(count: int, step: float = 0.05, start: Pose = LOW) -> Program:
    points = [start]
    for k in range(count):
        bend = min(step, 0.03 * (k + 1), 0.03 * (count - k))
        points.append(points[-1]._replace(lift=points[-1].lift - bend))
    return Program(tuple(points))


def test_from_outside_every_set_point_must_lessen_the_violation() -> None:
    assert names(LOW)
    assert check_program(lift(60), CEILINGS, LOW) is None
    down = Program(tuple(reversed(lift(60).points)))
    assert check_program(down, CEILINGS, down.points[0]) is not None
    deeper = Program((LOW, LOW._replace(lift=LOW.lift + 0.03)))
    fault = check_program(deeper, CEILINGS, LOW)
    assert fault is not None
    assert fault.code is Code.PATH_BLOCKED


def test_a_program_that_gains_nothing_outside_is_refused() -> None:
    assert check_program(still(LOW), CEILINGS, LOW) is not None


def test_a_program_may_not_trade_one_violation_for_another() -> None:
    limits = replace(CEILINGS, keep_out=(Box("lamp", (0.0, 0.4), (-0.2, 0.2), (0.06, 0.5)),))
    high = LOW
    fault = check_program(lift(120, start=high), limits, high)
    assert fault is not None


@pytest.mark.parametrize(("step", "fine"), [(0.1, True), (0.09, True), (0.101, False)])
def test_outside_the_speed_is_ten_degrees_per_second_at_most(step: float, fine: bool) -> None:
    fault = check_program(lift(40, step), CEILINGS, LOW)
    assert (fault is None) is fine
    if fault is not None:
        assert fault.allowed == pytest.approx(10.0)
        assert "while outside" in fault.sentence


@pytest.mark.parametrize(
    ("index", "step", "fine"),
    [(4, 0.1, True), (4, 0.101, False), (5, 0.3, True), (5, 0.301, False)],
)
def test_outside_each_joint_and_the_jaws_have_their_own_pace(
    index: int, step: float, fine: bool
) -> None:
    after = LOW._replace(**{LOW._fields[index]: LOW[index] + step})
    fault = Rates(CEILINGS, DT).check_slow(1, LOW, after, violation(LOW, CEILINGS))
    assert (fault is None) is fine


def test_once_inside_the_full_speed_is_allowed() -> None:
    high = inverse(0.20, 0.0, 0.011, grip_percent=50.0)
    slow = lift(80, 0.05, high)
    assert not names(slow.points[-1])
    fast = ramp(0.6, 5, 0, slow.points[-1])
    whole = Program((*slow.points, *fast.points[1:]))
    assert check_program(whole, CEILINGS, high) is None


def test_an_arm_that_rests_outside_by_sag_alone_is_not_slowed_down() -> None:
    edge = HOME._replace(lift=-100.2)
    swing = ramp(0.6, 20, 0, edge)
    assert check_program(swing, FREE, edge) is None
    far = HOME._replace(lift=-100.6)
    assert check_program(ramp(0.6, 20, 0, far), FREE, far) is not None


def test_a_plan_of_an_arm_that_has_sunk_meanwhile_is_old() -> None:
    sunk = LOW._replace(lift=LOW.lift + 1.0)
    fault = check_program(lift(60, start=sunk), CEILINGS, LOW)
    assert fault is not None
    assert fault.code is Code.OLD_STATE
    assert "has moved" in fault.sentence


def test_from_inside_no_program_begins_outside() -> None:
    inside = HOME._replace(lift=-99.5)
    fault = check_program(still(HOME._replace(lift=-100.5)), FREE, inside)
    assert fault is not None
    assert fault.code is Code.JOINT_LIMIT


# --- the planner's programs -------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(*(st.floats(low, high) for low, high in CEILINGS.travel_deg)),
    st.floats(0.0, 100.0),
    st.floats(5.0, 60.0),
)
def test_joint_moves_between_allowed_poses_keep_all_rates(
    goal: tuple[float, ...], grip: float, speed: float
) -> None:
    program = joint_move(HOME, Pose(*goal, grip), speed, FREE)
    assert check_program(program, FREE, HOME) is None


@settings(max_examples=25, deadline=None)
@given(st.floats(0.14, 0.26), st.floats(-0.12, 0.12), st.floats(-60.0, 60.0), st.floats(5.0, 60.0))
def test_straight_lines_of_the_planner_pass_the_guard(
    x: float, y: float, yaw: float, speed: float
) -> None:
    start = inverse(0.20, 0.05, 0.045, yaw_deg=0.0, grip_percent=50.0)
    program = line_move(start, Target(x, y, 0.02, yaw_deg=yaw), speed, CEILINGS)
    assert check_program(program, CEILINGS, start) is None


def test_grip_moves_pass_the_guard() -> None:
    assert check_program(grip_move(HOME, 100.0, 100.0, CEILINGS), CEILINGS, HOME) is None


# --- the last look ----------------------------------------------------------------------------


def test_the_last_look_lets_nothing_pass_before_the_arm_is_pinned() -> None:
    assert LastLook(CEILINGS, DT).check(HOME) is not None


@pytest.mark.parametrize(("step", "fine"), [(0.6, True), (-0.6, True), (0.61, False)])
def test_the_last_look_measures_each_step_from_the_goal_before(step: float, fine: bool) -> None:
    look = LastLook(CEILINGS, DT)
    look.pin(HOME)
    assert (look.check(HOME._replace(pan=step)) is None) is fine
    assert (look.check(HOME._replace(pan=step + 0.6)) is None) is (step == -0.6 or fine)


def test_the_last_look_refuses_a_goal_outside_and_keeps_the_goal_before() -> None:
    look = LastLook(CEILINGS, DT)
    edge = HOME._replace(pan=109.9)
    look.pin(edge)
    assert look.check(HOME._replace(pan=110.1)) is not None
    assert look.check(edge._replace(pan=110.0)) is None


def test_the_last_look_lets_an_arm_come_inside_slowly() -> None:
    look = LastLook(CEILINGS, DT)
    look.pin(LOW)
    for point in lift(60).points[1:]:
        assert look.check(point) is None
    look.pin(LOW)
    assert look.check(LOW._replace(lift=LOW.lift - 0.2)) is not None
    assert look.check(LOW._replace(lift=LOW.lift + 0.01)) is not None
    assert look.check(LOW._replace(pan=nan)) is not None


# --- words and corners ------------------------------------------------------------------------


def test_a_fault_gives_its_facts_without_the_words() -> None:
    fault = check_program(still(HOME._replace(pan=111.0)), FREE, HOME._replace(pan=110.0))
    assert fault is not None
    assert fault.facts() == {
        "point": 0,
        "limit": "travel:shoulder_pan",
        "value": 111.0,
        "allowed": 110.0,
    }


def test_a_first_point_without_a_number_is_named_before_anything_else() -> None:
    fault = check_program(still(HOME._replace(wrist=nan)), FREE, HOME)
    assert fault is not None
    assert (fault.code, fault.limit, fault.point) == (Code.BAD_PROGRAM, "number:wrist_flex", 0)


def test_numbers_too_large_to_add_up_are_numbers_all_the_same() -> None:
    huge = Pose(1e308, 1e308, 1e308, -1e308, 1e308, 1e308)
    fault = check_program(still(huge), FREE, huge)
    assert fault is not None
    assert fault.limit != "number:shoulder_pan"


@pytest.mark.parametrize(("percent", "fine"), [(56.0, True), (56.1, False), (43.9, False)])
def test_the_jaws_may_start_a_little_elsewhere(percent: float, fine: bool) -> None:
    fault = check_program(still(HOME.with_grip(50.0)), FREE, HOME.with_grip(percent))
    assert (fault is None) is fine
    assert fault is None or "percent" in fault.sentence


def test_a_start_outside_may_be_deeper_by_noise_only_and_must_gain() -> None:
    start = HOME._replace(pan=111.0)
    within = check_program(still(HOME._replace(pan=111.19)), FREE, start)
    beyond = check_program(still(HOME._replace(pan=111.25)), FREE, start)
    assert within is not None
    assert beyond is not None
    assert (within.code, within.point) == (Code.JOINT_LIMIT, 2), "it gains nothing"
    assert (beyond.code, beyond.point) == (Code.OLD_STATE, 0), "it has moved since"


def test_faults_carry_exact_figures_in_the_right_unit() -> None:
    fault = check_program(still(HOME._replace(pan=111.1234567)), FREE, HOME._replace(pan=110.0))
    assert fault is not None
    assert fault.facts()["value"] == 111.12346
    sudden = check_program(Program((HOME, HOME._replace(pan=0.5))), FREE, HOME)
    assert sudden is not None
    assert sudden.allowed == pytest.approx(400.0, rel=1e-3)
    for index, unit in ((0, "deg/s"), (5, "%/s")):
        fast = check_program(ramp(1.2, 3, index), FREE, HOME)
        assert fast is not None
        assert f" {unit};" in fast.sentence
    nothing = check_program(still(HOME._replace(pan=nan)), FREE, HOME)
    assert nothing is not None
    assert (nothing.value, nothing.allowed) == (0.0, 0.0)
    assert Rates(CEILINGS, DT).bends[5] == pytest.approx(0.08, rel=1e-3)


def test_the_last_look_refuses_before_a_pin_and_names_no_point() -> None:
    look = LastLook(FREE, DT)
    unpinned = look.check(HOME)
    assert unpinned is not None
    assert (unpinned.code, unpinned.point, unpinned.value) == (Code.OLD_STATE, 0, 0.0)
    look.pin(HOME._replace(pan=110.0))
    beyond = look.check(HOME._replace(pan=110.1))
    assert beyond is not None
    assert (beyond.limit, beyond.point) == ("travel:shoulder_pan", 0)


def test_a_program_of_one_point_stays_and_a_fault_names_its_point_exactly() -> None:
    assert check_program(Program((HOME,)), FREE, HOME) is None
    pans = (110.0, 110.0, 110.01, 110.01)
    fault = check_program(
        Program(tuple(HOME._replace(pan=pan) for pan in pans)), FREE, HOME._replace(pan=110.0)
    )
    assert fault is not None
    assert (fault.limit, fault.point) == ("travel:shoulder_pan", 2)
    unpinned = LastLook(FREE, DT).check(HOME)
    assert unpinned is not None
    assert unpinned.allowed == 0.0
