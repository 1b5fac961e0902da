"""Programs: exact ends, straight lines, and no set-point faster or sharper than allowed."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from armlabd.arm.joints import HOME, JOINT_NAMES, PARK, VIEW, Pose
from armlabd.arm.kinematics import (
    GeometryFault,
    JointLimit,
    Unreachable,
    best_yaw,
    forward,
    inverse,
    reach_down,
)
from armlabd.arm.limits import CEILINGS, Limits, tighten
from armlabd.arm.path import (
    PLAY_DEG,
    Program,
    Target,
    TooFast,
    grip_move,
    joint_move,
    lift_move,
    line_move,
    one_sided,
    still,
)
from armlabd.arm.profile import JERK_DPS3, JERK_PPS3
from armlabd.verdict import Code

OPEN_HOME = HOME.with_grip(50)
poses = st.builds(Pose, *(st.floats(*pair) for pair in CEILINGS.travel_deg), st.floats(0, 100))
speeds = st.floats(5, 60)
EXACT = 1 + 1e-6


def assert_within_rates(program: Program, speed_dps: float, limits: Limits = CEILINGS) -> None:
    """Speed, step, acceleration and jerk of every joint, at rest before and after."""
    dt = program.dt_s
    for joint in range(6):
        values = [point[joint] for point in program.points]
        steps = [0.0, *(b - a for a, b in pairwise(values)), 0.0]
        top = max(map(abs, steps))
        sharp = max(abs(b - a) for a, b in pairwise(steps)) / dt**2
        bends = [0.0, *(b - a for a, b in pairwise(steps)), 0.0]
        jerk = max(abs(b - a) for a, b in pairwise(bends)) / dt**3
        assert jerk <= (JERK_DPS3 if joint < 5 else JERK_PPS3) * EXACT
        if joint < 5:
            assert top <= min(speed_dps * dt, limits.step_deg) * EXACT
            assert sharp <= limits.acceleration_dps2 * EXACT
        else:
            assert top <= limits.grip_speed_pps * dt * EXACT
            assert sharp <= limits.grip_acceleration_pps2 * EXACT


def off_line(point: tuple[float, ...], a: tuple[float, ...], b: tuple[float, ...]) -> float:
    along = [q - p for p, q in zip(a, b, strict=True)]
    length = math.hypot(*along)
    share = sum((p - s) * d for p, s, d in zip(point, a, along, strict=True)) / length**2
    return math.dist(point, [s + share * d for s, d in zip(a, along, strict=True)])


def target_of(pose: Pose) -> Target:
    reach = forward(pose)
    return Target(*reach.grasp, roll_deg=pose.roll, pitch_deg=reach.pitch_deg)


@st.composite
def table_poses(draw: st.DrawFn) -> Pose:
    """Poses over the table as a pick takes them: best direction, tilted only where needed."""
    x, y = draw(st.floats(0.12, 0.27)), draw(st.floats(-0.14, 0.14))
    z, block = draw(st.floats(0.02, 0.07)), draw(st.floats(-45, 45))
    yaws = best_yaw(x, y, z, block_yaw_deg=block, max_tilt_deg=25)
    assume(yaws)
    return reach_down(x, y, z, yaw_deg=yaws[0], max_tilt_deg=25)


class TestJointMove:
    @settings(max_examples=40, deadline=None)
    @given(poses, poses, speeds)
    def test_ends_are_exact_and_rates_are_kept(self, a: Pose, b: Pose, speed: float) -> None:
        program = joint_move(a, b, speed, CEILINGS)
        assert program.start == a
        assert program.goal == b
        assert_within_rates(program, speed)

    @settings(max_examples=40, deadline=None)
    @given(poses, poses)
    def test_no_joint_turns_back_on_the_way(self, a: Pose, b: Pose) -> None:
        points = joint_move(a, b, 60, CEILINGS).points
        for joint in range(6):
            low, high = sorted((a[joint], b[joint]))
            assert all(low - 1e-9 <= point[joint] <= high + 1e-9 for point in points)

    def test_where_the_arm_already_is_nothing_moves(self) -> None:
        assert joint_move(HOME, HOME, 45, CEILINGS).points == (HOME,)

    def test_the_time_is_short(self) -> None:
        program = joint_move(HOME, VIEW, 50, CEILINGS)
        assert 2.0 < program.duration_s <= 1.4 * 2.0

    def test_a_tighter_step_slows_the_move(self) -> None:
        slow = Limits.from_dict({**CEILINGS.as_dict(), "step_deg": 0.1})
        assert_within_rates(joint_move(HOME, VIEW, 60, slow), 10, slow)

    def test_a_start_outside_the_limits_may_come_in(self) -> None:
        limp = Pose(0, -104, 99, 60, 0)
        program = joint_move(limp, PARK, 10, CEILINGS)
        lifts = [point.lift for point in program.points]
        assert lifts == sorted(lifts)

    @pytest.mark.parametrize("joint", range(6))
    def test_a_goal_outside_the_limits_is_refused(self, joint: int) -> None:
        travel = [*CEILINGS.travel_deg, CEILINGS.grip_percent][joint]
        at_end = HOME._replace(**{HOME._fields[joint]: travel[1]})
        assert joint_move(HOME, at_end, 45, CEILINGS).goal == at_end
        outside = HOME._replace(**{HOME._fields[joint]: travel[1] + 0.1})
        with pytest.raises(JointLimit, match=JOINT_NAMES[joint]):
            joint_move(HOME, outside, 45, CEILINGS)

    @pytest.mark.parametrize("speed", [60.1, 0, -5, math.nan, math.inf, True, "30"])
    def test_a_speed_beyond_the_limit_is_refused(self, speed: float) -> None:
        joint_move(HOME, VIEW, 60, CEILINGS)
        for move in (
            lambda: joint_move(HOME, VIEW, speed, CEILINGS),
            lambda: line_move(OPEN_HOME, Target(0.2, 0, 0.06), speed, CEILINGS),
            lambda: lift_move(OPEN_HOME, 0.2, speed, CEILINGS),
        ):
            with pytest.raises(TooFast) as caught:
                move()
            assert caught.value.code is Code.TOO_FAST


class TestLineMove:
    @settings(max_examples=30, deadline=None)
    @given(table_poses(), table_poses(), speeds)
    def test_the_grasp_point_stays_on_its_line(self, a: Pose, b: Pose, speed: float) -> None:
        try:
            program = line_move(a, target_of(b), speed, CEILINGS)
        except GeometryFault:
            assume(False)
        assume(len(program.points) > 1)
        assert program.start == a
        assert program.goal == pytest.approx(b, abs=1e-7)
        assert_within_rates(program, speed)
        start, goal = forward(a), forward(b)
        assume(math.dist(start.grasp, goal.grasp) > 1e-4)
        for point in program.points:
            reach = forward(point)
            assert off_line(reach.grasp, start.grasp, goal.grasp) < 5e-7
            assert_between(reach.pitch_deg, start.pitch_deg, goal.pitch_deg)
            assert_between(point.roll, a.roll, b.roll)
            assert point.grip == a.grip

    def test_from_home_to_a_block_and_down_and_up_again(self) -> None:
        above = line_move(OPEN_HOME, Target(0.22, 0.09, 0.07, yaw_deg=0), 45, CEILINGS)
        down = line_move(above.goal, Target(0.22, 0.09, 0.02, yaw_deg=0), 30, CEILINGS)
        up = line_move(down.goal, Target(0.22, 0.09, 0.07, yaw_deg=0), 30, CEILINGS)
        assert forward(down.goal).grasp == pytest.approx((0.22, 0.09, 0.02), abs=1e-9)
        assert forward(down.goal).yaw_deg == pytest.approx(0, abs=1e-7)
        assert up.goal == pytest.approx(above.goal, abs=1e-7)

    def test_without_yaw_or_roll_the_roll_stays(self) -> None:
        start = inverse(0.2, 0.0, 0.05, roll_deg=20.0)
        assert line_move(start, Target(0.22, 0.02, 0.05), 45, CEILINGS).goal.roll == 20.0

    def test_a_goal_out_of_reach_is_refused(self) -> None:
        with pytest.raises(Unreachable, match=r"\(0\.500, 0\.000, 0\.050\) is out of reach"):
            line_move(OPEN_HOME, Target(0.5, 0.0, 0.05), 45, CEILINGS)

    def test_a_line_that_leaves_the_travel_says_where(self) -> None:
        start = reach_down(0.10, -0.15, 0.05, yaw_deg=-60)
        goal = reach_down(0.10, 0.15, 0.05, yaw_deg=60)
        with pytest.raises(JointLimit, match=r"On the straight line, \d+ % of the way") as caught:
            line_move(start, target_of(goal), 45, CEILINGS)
        assert caught.value.joint == "wrist_flex"

    def test_a_line_through_the_pan_axis_says_where(self) -> None:
        start = inverse(0.10, -0.15, 0.03, roll_deg=0.0)
        through = Target(-0.025, 0.155, 0.03, roll_deg=90.0)
        with pytest.raises(GeometryFault, match=r"On the straight line, \d+ % of the way"):
            line_move(start, through, 45, tighten())

    def test_an_arm_folded_the_other_way_is_sent_home_first(self) -> None:
        with pytest.raises(Unreachable, match="Go home first"):
            line_move(Pose(0, 60, -90, 60, 0, 50), Target(0.2, 0.0, 0.05), 45, CEILINGS)

    def test_a_joint_a_little_outside_may_only_come_back_in(self) -> None:
        tight = tighten(travel_deg={"shoulder_pan": (-20.0, 20.0)})
        start = inverse(0.2, -0.06, 0.05, roll_deg=0.0)
        assert start.pan > 20.0
        back = line_move(start, Target(0.2, 0.0, 0.05), 10, tight)
        assert back.goal.pan < 20.0
        with pytest.raises(JointLimit, match="shoulder_pan"):
            line_move(start, Target(0.19, -0.06, 0.05), 10, tight)


def assert_between(value: float, a: float, b: float) -> None:
    assert min(a, b) - 1e-7 <= value <= max(a, b) + 1e-7


class TestLiftMove:
    @settings(max_examples=20, deadline=None)
    @given(table_poses())
    def test_it_goes_straight_up_as_far_as_reach_allows(self, start: Pose) -> None:
        before = forward(start)
        program = lift_move(start, 0.13, 30, CEILINGS)
        heights = [forward(point).grasp[2] for point in program.points]
        assert heights == sorted(heights)
        assert heights[-1] <= 0.13 + 1e-9
        for point in program.points:
            assert forward(point).grasp[:2] == pytest.approx(before.grasp[:2], abs=1e-9)
            assert abs(forward(point).pitch_deg - 90) <= 25 + 1e-6
        assert_within_rates(program, 30)

    def test_in_the_middle_of_the_table_it_clears_the_table(self) -> None:
        start = inverse(0.2, 0.05, 0.03, yaw_deg=0)
        assert forward(lift_move(start, 0.07, 30, CEILINGS).goal).grasp[2] == pytest.approx(0.07)

    def test_the_hand_tilts_where_that_gains_height(self) -> None:
        start = inverse(0.2, 0.0, 0.03, yaw_deg=0)
        flat = lift_move(start, 0.2, 30, CEILINGS, max_tilt_deg=0)
        tilted = lift_move(start, 0.2, 30, CEILINGS, max_tilt_deg=25)
        assert forward(flat.goal).pitch_deg == pytest.approx(90)
        assert forward(tilted.goal).grasp[2] > forward(flat.goal).grasp[2] + 0.01

    def test_already_high_enough_it_stays(self) -> None:
        assert lift_move(OPEN_HOME, 0.1, 30, CEILINGS) == still(OPEN_HOME)


class TestGripMove:
    @settings(max_examples=30, deadline=None)
    @given(st.floats(0, 100), st.floats(0, 100), st.floats(1, 100))
    def test_only_the_jaws_move_and_not_too_fast(self, a: float, b: float, rate: float) -> None:
        program = grip_move(HOME.with_grip(a), b, rate, CEILINGS)
        assert program.goal.grip == b
        assert {point.arm for point in program.points} == {HOME.arm}
        assert_within_rates(program, 60)
        steps = [abs(q.grip - p.grip) for p, q in pairwise(program.points)]
        assert max(steps, default=0.0) <= rate * program.dt_s * EXACT

    @pytest.mark.parametrize(
        ("percent", "fits"), [(0, True), (100, True), (-0.1, False), (100.1, False)]
    )
    def test_both_ends_of_the_jaws(self, percent: float, fits: bool) -> None:
        start = HOME.with_grip(40)
        if fits:
            assert grip_move(start, percent, 50, CEILINGS).goal.grip == percent
        else:
            with pytest.raises(JointLimit, match="gripper"):
                grip_move(start, percent, 50, CEILINGS)

    @pytest.mark.parametrize("rate", [100.1, 0, -1, math.nan, True])
    def test_a_rate_beyond_the_limit_is_refused(self, rate: float) -> None:
        with pytest.raises(TooFast, match="percent per second"):
            grip_move(HOME, 50, rate, CEILINGS)


@pytest.mark.parametrize(
    ("turn", "longer"), [(20.0, False), (1.3, False), (1.1, True), (-20.0, True), (0.0, False)]
)
def test_pan_comes_from_one_side_at_the_end_whichever_way_it_went(
    turn: float, longer: bool
) -> None:
    goal = HOME._replace(pan=HOME.pan + turn, elbow=HOME.elbow - 10.0)
    plain = joint_move(HOME, goal, 45.0, CEILINGS)
    program = one_sided(plain, 45.0, CEILINGS)
    assert program.points[: len(plain.points)] == plain.points
    assert program.goal == goal
    assert (len(program.points) > len(plain.points)) is longer
    assert program.duration_s - plain.duration_s < 0.6
    if turn:
        pans = [point.pan for point in program.points]
        lowest = max(k for k in range(len(pans)) if k == 0 or pans[k - 1] > pans[k])
        assert goal.pan - pans[lowest] >= min(PLAY_DEG, 1.2) - 1e-9


def test_at_the_end_of_its_travel_pan_cannot_come_from_below() -> None:
    low = CEILINGS.travel_deg[0][0]
    program = joint_move(HOME, HOME._replace(pan=low), 45.0, CEILINGS)
    with pytest.raises(JointLimit):
        one_sided(program, 45.0, CEILINGS)
