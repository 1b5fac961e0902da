"""The guard: each limit at its end, just inside, just outside; and outside only inward, slowly."""

from __future__ import annotations

from dataclasses import replace
from math import dist, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.arm.joints import HOME, JOINT_NAMES, Pose
from armlabd.arm.kinematics import forward, inverse, reach_down
from armlabd.arm.limits import BASE_BOX, CEILINGS, Box, Limits
from armlabd.arm.path import Program, Target, grip_move, joint_move, line_move
from armlabd.motion.fence import (
    RADII_M,
    SAG_DEG,
    SHOULDER,
    _Fence,
    cut_depth_m,
    exact_violation,
    violation,
)
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


def sagged(pose: Pose) -> Pose:
    return pose._replace(lift=pose.lift + SAG_DEG, elbow=pose.elbow + SAG_DEG)


def still(pose: Pose, count: int = 3) -> Program:
    return Program((pose,) * count)


# --- positions --------------------------------------------------------------------------------


@pytest.mark.parametrize("joint", range(5))
@pytest.mark.parametrize("end", [0, 1])
def test_travel_ends_are_inside_and_beyond_is_named(joint: int, end: int) -> None:
    edge = CEILINGS.travel_deg[joint][end]
    out = 1 if end else -1
    at = HOME._replace(**{HOME._fields[joint]: edge})
    beyond = HOME._replace(**{HOME._fields[joint]: edge + 0.01 * out})
    within = HOME._replace(**{HOME._fields[joint]: edge - 0.01 * out})
    assert not names(at, FREE)
    assert not names(within, FREE)
    (depth,) = violation(beyond, FREE)
    assert depth.name == f"travel:{JOINT_NAMES[joint]}"
    assert depth.depth == pytest.approx(0.01)
    assert depth.allowed == edge


@pytest.mark.parametrize(
    ("percent", "outside"), [(0.0, False), (100.0, False), (-0.01, True), (100.01, True)]
)
def test_the_gripper_has_ends_too(percent: float, outside: bool) -> None:
    assert ("travel:gripper" in names(HOME._replace(grip=percent), FREE)) is outside


POINTS = {
    "floor:tool": (lambda r: r.tool, "floor_m"),
    "floor:wrist": (lambda r: r.wrist, "floor_m"),
    "floor:elbow": (lambda r: r.elbow, "floor_m"),
    "floor:hand": (lambda r: r.roll_origin, "floor_m"),
    "floor:jaw hinge": (lambda r: r.hinge, "floor_m"),
    "floor:fixed jaw": (lambda r: r.fixed_tip, "tip_floor_m"),
    "floor:moving jaw": (lambda r: r.moving_tip, "tip_floor_m"),
}


@pytest.mark.parametrize("name", POINTS)
def test_each_point_has_its_floor(name: str) -> None:
    point, floor = POINTS[name]
    z = min(point(forward(pose))[2] for pose in (HOME, sagged(HOME)))
    assert name not in names(HOME, replace(FREE, **{floor: z}))
    assert name not in names(HOME, replace(FREE, **{floor: z - 1e-4}))
    assert name in names(HOME, replace(FREE, **{floor: z + 1e-4}))


def test_the_ceilings_floors_are_those_of_the_design() -> None:
    assert (CEILINGS.floor_m, CEILINGS.tip_floor_m) == (0.012, 0.004)
    low = inverse(0.20, 0.0, 0.012, grip_percent=50.0)
    assert violation(low, CEILINGS, 0.0) == ()
    beyond = violation(inverse(0.20, 0.0, 0.0118, grip_percent=50.0), CEILINGS, 0.0)
    assert [depth.name for depth in beyond] == ["floor:tool"]


@pytest.mark.parametrize(("x", "least_m", "most_m"), [(0.15, 0.001, 0.003), (0.28, 0.0045, 0.0055)])
def test_a_commanded_pose_keeps_the_floor_with_its_sag(
    x: float, least_m: float, most_m: float
) -> None:
    drop = forward(inverse(x, 0.0, 0.03)).tool[2] - forward(sagged(inverse(x, 0.0, 0.03))).tool[2]
    assert least_m < drop < most_m
    assert "floor:tool" not in names(inverse(x, 0.0, CEILINGS.floor_m + drop + 2e-4))
    assert "floor:tool" in names(inverse(x, 0.0, CEILINGS.floor_m + drop - 2e-4))


def test_an_arm_that_leans_back_is_lower_as_commanded_and_held_to_that() -> None:
    back = Pose(0.0, -100.0, 90.0, 20.0, 0.0)
    assert forward(sagged(back)).elbow[2] > forward(back).elbow[2]
    z = forward(back).elbow[2]
    assert "floor:elbow" not in names(back, replace(FREE, floor_m=z))
    assert "floor:elbow" in names(back, replace(FREE, floor_m=z + 1e-4))


def test_the_reach_has_an_end() -> None:
    stretched = Pose(0.0, 80.0, -80.0, 0.0, 0.0)
    assert names(stretched, replace(FREE, reach_m=CEILINGS.reach_m)) == {"reach:tool"}
    assert not names(HOME, replace(FREE, reach_m=CEILINGS.reach_m))


ENDS = [("fixed_tip", 0, 1, "fixed jaw"), ("moving_tip", 0, 1, "moving jaw")]
ENDS += [("wrist", 2, 1, "forearm"), ("wrist", 2, 1, "hand"), ("elbow", 0, -1, "forearm")]


@pytest.mark.parametrize(("end", "axis", "side", "part"), ENDS)
def test_no_part_enters_a_box_nor_comes_nearer_than_its_thickness(
    end: str, axis: int, side: int, part: str
) -> None:
    ends = [getattr(forward(pose), end) for pose in (HOME, sagged(HOME))]
    edge = max(ends, key=lambda point: point[axis] * side)[axis] * side + RADII_M[part]

    def box(gap: float) -> Limits:
        sides = [(value - 1e-3, value + 1e-3) for value in ends[0]]
        sides[axis] = tuple(sorted(((edge + gap) * side, (edge + gap + 0.002) * side)))
        return replace(FREE, keep_out=(Box("lamp", *sides),))

    assert f"box:lamp:{part}" in names(HOME, box(-1e-6))
    assert f"box:lamp:{part}" in names(HOME, box(-1e-4))
    assert f"box:lamp:{part}" not in names(HOME, box(1e-4))


CUBE = Box("cube", (0.0, 0.1), (0.0, 0.1), (0.0, 0.1))


@pytest.mark.parametrize(
    ("a", "b", "depth"),
    [
        ((0.05, 0.05, 0.05), (0.05, 0.05, 0.05), 0.05),  # a point
        ((-1.0, 0.05, 0.05), (1.0, 0.05, 0.05), 0.05),  # right through
        ((-1.0, 0.1, 0.05), (1.0, 0.1, 0.05), 0.0),  # along a face, which belongs to it
        ((-1.0, 0.11, 0.05), (1.0, 0.11, 0.05), None),
        ((-1.0, 0.05, 0.05), (0.0, 0.05, 0.05), 0.0),
        ((-1.0, 0.05, 0.05), (-1e-6, 0.05, 0.05), None),
        ((-0.06, 0.05, 0.05), (0.05, -0.06, 0.05), None),  # past an edge
        ((0.05, 0.05, 0.2), (0.05, 0.05, 0.08), 0.02),
    ],
)
def test_a_piece_is_cut_with_a_box_exactly(a: tuple, b: tuple, depth: float | None) -> None:  # type: ignore[type-arg]
    for one, other in ((a, b), (b, a)):
        assert cut_depth_m(one, other, CUBE) == (None if depth is None else pytest.approx(depth))
    if depth == 0.0:
        assert cut_depth_m(a, b, CUBE, 0.01) == pytest.approx(0.01)


def test_a_sheet_thinner_than_any_spacing_is_seen() -> None:
    reach = forward(HOME)
    x = (reach.elbow[0] * 0.37 + reach.wrist[0] * 0.63) + 2 * RADII_M["forearm"]
    sheet = Box("sheet", (x, x + 1e-6), (-0.1, 0.1), (0.0, 0.5))
    assert "box:sheet:forearm" in names(HOME, replace(FREE, keep_out=(sheet,)))


ANYWHERE = st.builds(
    Pose, *(st.floats(low, high) for low, high in (*CEILINGS.travel_deg, CEILINGS.grip_percent))
)
CUPS = (
    Box("cup", (0.18, 0.24), (0.03, 0.10), (0.0, 0.10)),
    Box("shelf", (-0.30, -0.10), (-0.30, 0.30), (0.20, 0.30)),
)


@settings(max_examples=300, deadline=None)
@given(ANYWHERE, st.sampled_from([(), CUPS]))
def test_the_short_cut_never_says_free_of_what_the_exact_look_finds(
    pose: Pose, boxes: tuple[Box, ...]
) -> None:
    limits = replace(CEILINGS, keep_out=boxes)
    for sag in (0.0, SAG_DEG):
        assert violation(pose, limits, sag) == exact_violation(pose, limits, sag)


def test_the_short_cut_serves_where_the_arm_works() -> None:
    served = 0
    for x, y in ((0.16, 0.0), (0.20, 0.10), (0.25, -0.05)):
        for z in (0.03, 0.05, 0.07):
            served += _Fence(CEILINGS).is_clear(reach_down(x, y, z, yaw_deg=0.0), 0.01)
    assert served == 9


def test_a_post_between_elbow_and_wrist_is_seen_by_the_forearm() -> None:
    reach = forward(HOME)
    x, y, z = (0.4 * a + 0.6 * b for a, b in zip(reach.elbow, reach.wrist, strict=True))
    post = Box("post", (x - 0.015, x + 0.015), (y - 0.02, y + 0.02), (0.0, z + 0.01))
    assert names(HOME, replace(FREE, keep_out=(post,))) == {"box:post:forearm"}


def test_the_hand_stays_out_of_the_base() -> None:
    folded = Pose(0.0, 12.0, 54.0, 79.0, 0.0, 50.0)
    assert any(name.startswith(f"box:{BASE_BOX.name}:") for name in names(folded))


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


def test_the_reach_is_measured_from_the_shoulder() -> None:
    stretched = Pose(20.0, 80.0, -80.0, 0.0, 0.0)
    (depth,) = violation(stretched, replace(FREE, reach_m=0.30))
    far = dist(forward(stretched).tool, SHOULDER)
    assert depth.value == pytest.approx(far)
    assert depth.depth == pytest.approx(far - 0.30)


HIGH = ("tool", "wrist", "elbow", "roll_origin", "hinge")
TIPS = ("fixed_tip", "moving_tip")


@settings(max_examples=100, deadline=None)
@given(ANYWHERE)
def test_the_short_cut_knows_the_lowest_point_and_the_reach_to_half_a_millimetre(
    pose: Pose,
) -> None:
    reach = forward(pose)
    for names_, floor in ((HIGH, "floor_m"), (TIPS, "tip_floor_m")):
        lowest = min(getattr(reach, name)[2] for name in names_)
        for gap, clear in ((-6e-4, True), (1e-5, False)):
            fence = _Fence(replace(FREE, **{floor: lowest + gap}))
            assert fence.is_clear(pose, 0.0) is clear
    far = dist(reach.tool, SHOULDER)
    assert not _Fence(replace(FREE, reach_m=far - 1e-5)).is_clear(pose, 0.0)
    assert _Fence(replace(FREE, reach_m=far + 0.03)).is_clear(pose, 0.0)


@settings(max_examples=100, deadline=None)
@given(ANYWHERE, st.sampled_from(["elbow", "wrist", "hinge", "fixed_tip", "moving_tip"]))
def test_a_small_box_at_any_joint_is_seen_through_the_short_cut(pose: Pose, part: str) -> None:
    x, y, z = getattr(forward(sagged(pose)), part)
    box = Box("nut", (x - 2e-3, x + 2e-3), (y - 2e-3, y + 2e-3), (z - 2e-3, z + 2e-3))
    assert violation(pose, replace(FREE, keep_out=(box,)))


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
