"""The planar arm against the drawing's 4x4 frames, the textbook's anchors and its own inverse."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from armlabd.arm import geometry
from armlabd.arm.joints import HOME, Pose
from armlabd.arm.kinematics import (
    GeometryFault,
    JointLimit,
    Unreachable,
    best_yaw,
    check_joints,
    forward,
    grasp_offset_m,
    inverse,
    inverse_plain,
    is_clear,
    reach_down,
)
from armlabd.arm.limits import CEILINGS, tighten
from armlabd.verdict import Code

Matrix = list[list[float]]
Joint = tuple[tuple[float, float, float], tuple[float, float, float]]
PI = math.pi
# Origins of the public SO-101 drawing: xyz in metres, rpy in radians; every joint turns about z.
CHAIN: tuple[Joint, ...] = (
    ((0.0388353, 0.0, 0.0624), (PI, 0.0, -PI)),
    ((-0.0303992, -0.0182778, -0.0542), (-PI / 2, -PI / 2, 0.0)),
    ((-0.11257, -0.028, 0.0), (0.0, 0.0, PI / 2)),
    ((-0.1349, 0.0052, 0.0), (0.0, 0.0, -PI / 2)),
    ((0.0, -0.0611, 0.0181), (PI / 2, 0.0486795, PI)),
)
HINGE: Joint = ((0.0202, 0.0188, -0.0234), (PI / 2, 0.0, 0.0))
TOOL: Joint = ((-0.0079, -0.000218, -0.0981274), (0.0, PI, 0.0))


def frame(joint: Joint) -> Matrix:
    (x, y, z), (r, p, w) = joint
    cr, sr, cp, sp, cw, sw = (f(a) for a in (r, p, w) for f in (math.cos, math.sin))
    return [
        [cw * cp, cw * sp * sr - sw * cr, cw * sp * cr + sw * sr, x],
        [sw * cp, sw * sp * sr + cw * cr, sw * sp * cr - cw * sr, y],
        [-sp, cp * sr, cp * cr, z],
        [0.0, 0.0, 0.0, 1.0],
    ]


def times(a: Matrix, b: Matrix) -> Matrix:
    return [[sum(a[i][k] * b[k][j] for k in range(4)) for j in range(4)] for i in range(4)]


def drawing(pose: Pose) -> list[Matrix]:
    """The frames pan, lift, elbow, wrist, roll, hinge, tool in the base frame."""
    at = frame(((0, 0, 0), (0, 0, 0)))
    frames = []
    for joint, angle in zip(CHAIN, pose, strict=False):
        turned = frame(((0, 0, 0), (0, 0, math.radians(angle))))
        at = times(times(at, frame(joint)), turned)
        frames.append(at)
    return [*frames, times(at, frame(HINGE)), times(at, frame(TOOL))]


def origin(matrix: Matrix) -> tuple[float, float, float]:
    return matrix[0][3], matrix[1][3], matrix[2][3]


def apart(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    return math.dist(a, b)


def turn_between(a_deg: float, b_deg: float) -> float:
    return abs((a_deg - b_deg + 180) % 360 - 180)


angles = [st.floats(low, high) for low, high in CEILINGS.travel_deg]
poses = st.builds(Pose, *angles, st.floats(0, 100))


@settings(deadline=None)
@given(poses)
def test_forward_agrees_with_the_drawing_everywhere(pose: Pose) -> None:
    reach, frames = forward(pose), drawing(pose)
    ours = (reach.elbow, reach.wrist, reach.roll_origin, reach.hinge, reach.tool)
    assert max(map(apart, ours, map(origin, frames[2:]))) < 1e-12
    assert reach.pitch_deg == pytest.approx(pose.lift + pose.elbow + pose.wrist)
    roll = frames[4]
    assume(math.hypot(roll[0][0], roll[1][0]) > 1e-6)
    opening = math.degrees(math.atan2(roll[1][0], roll[0][0]))
    assert turn_between(reach.yaw_deg, opening) < 1e-8


@settings(deadline=None)
@given(poses)
def test_grasp_and_tips_sit_where_the_hand_says(pose: Pose) -> None:
    reach = forward(pose)
    assert apart(reach.tool, reach.grasp) == pytest.approx(grasp_offset_m(pose.grip))
    assert apart(reach.tool, reach.fixed_tip) == pytest.approx(0.1044 - 0.0981274)
    in_hand = math.hypot(0.082, 0.0188 + 0.000218)
    assert apart(reach.hinge, reach.moving_tip) == pytest.approx(in_hand)


def test_the_zero_pose_is_the_drawings() -> None:
    reach = forward(Pose(0, 0, 0, 0, 0))
    assert reach.elbow == pytest.approx((0.0972, -0.0183, 0.2292), abs=6e-5)
    assert reach.wrist == pytest.approx((0.2321, -0.0183, 0.2344), abs=6e-5)
    assert reach.tool == pytest.approx((0.3914, 0.0, 0.2265), abs=6e-5)


def test_the_textbooks_forward_anchors() -> None:
    assert forward(Pose(30, 20, 40, -10, 0)).tool == pytest.approx(
        (0.2670, -0.1317, -0.0285), abs=1e-4
    )
    assert forward(HOME).tool[2] == pytest.approx(0.13, abs=5e-4)


@pytest.mark.parametrize(
    ("point", "angles_deg"),
    [
        ((0.20, 0.10, 0.05), (-31.8, 2.8, 7.3, 79.9)),
        ((0.22, 0.09, 0.03), (-26.4, 11.0, 5.1, 73.9)),
        ((0.22, 0.05, 0.05), (-15.4, 2.0, 8.3, 79.7)),
    ],
)
def test_the_textbooks_inverse_anchors(
    point: tuple[float, float, float], angles_deg: tuple[float, ...]
) -> None:
    assert inverse_plain(*point)[:4] == pytest.approx(angles_deg, abs=0.3)


def test_the_textbooks_unreachable_point() -> None:
    with pytest.raises(GeometryFault):
        check_joints(inverse_plain(0.28, 0.14, 0.07))


@pytest.mark.parametrize(("x", "top"), [(0.10, 0.040), (0.15, 0.081), (0.20, 0.090), (0.28, 0.053)])
def test_straight_down_the_tool_tops_out_where_it_was_measured(x: float, top: float) -> None:
    def reachable(z: float) -> bool:
        try:
            check_joints(inverse_plain(x, 0.0, z))
        except GeometryFault:
            return False
        return True

    heights = [k * 1e-4 for k in range(1200)]
    assert max(filter(reachable, heights)) == pytest.approx(top, abs=1.5e-3)


def test_the_inverse_is_exact_over_the_workspace_at_any_direction_and_tilt() -> None:
    picks = random.Random(7)
    solved, worst = 0, 0.0
    grid = itertools.product(
        (0.10, 0.13, 0.16, 0.19, 0.22, 0.25, 0.28),
        (-0.15, -0.1, -0.05, 0.0, 0.05, 0.1, 0.15),
        (0.02, 0.03, 0.05, 0.07),
        (90.0, 65.0, 80.0, 100.0, 115.0),
        range(-180, 180, 30),
    )
    for x, y, z, pitch, yaw in grid:
        grip = picks.uniform(0, 100)
        try:
            pose = inverse(x, y, z, pitch_deg=pitch, yaw_deg=yaw, grip_percent=grip)
        except GeometryFault:
            continue
        solved += 1
        reach = forward(pose)
        worst = max(worst, apart(reach.grasp, (x, y, z)), abs(reach.pitch_deg - pitch))
        worst = max(worst, turn_between(reach.yaw_deg, yaw))
    assert solved > 5000
    assert worst < 1e-9


@settings(deadline=None)
@given(poses)
def test_the_inverse_returns_the_pose_it_came_from(pose: Pose) -> None:
    reach = forward(pose)
    pan = math.radians(pose.pan)
    ahead = (reach.grasp[0] - 0.0388353) * math.cos(pan) - reach.grasp[1] * math.sin(pan)
    assume(ahead > 0.02)  # in front of the pan axis
    assume(pose.elbow > -70)  # the elbow stands above the line from shoulder to wrist
    back = inverse(
        *reach.grasp, pitch_deg=reach.pitch_deg, roll_deg=pose.roll, grip_percent=pose.grip
    )
    assert back == pytest.approx(pose, abs=1e-6)


@pytest.mark.parametrize("yaw", [-150.0, -60.0, 0.0, 45.0, 120.0])
def test_straight_down_yaw_is_roll_minus_pan_minus_the_drawings_2_79(yaw: float) -> None:
    pose = inverse(0.2, 0.05, 0.03, yaw_deg=yaw, limits=None)
    assert turn_between(yaw, pose.roll - pose.pan - 2.79) < 0.01


def test_neither_roll_nor_yaw_means_roll_zero() -> None:
    assert inverse(0.2, 0.0, 0.03).roll == 0.0
    with pytest.raises(TypeError):
        inverse(0.2, 0.0, 0.03, roll_deg=0.0, yaw_deg=0.0)


@pytest.mark.parametrize("joint", range(5))
@pytest.mark.parametrize("end", [0, 1])
def test_joint_limits_at_inside_and_outside_both_ends(joint: int, end: int) -> None:
    travel = CEILINGS.travel_deg[joint]
    outward = -0.1 if end == 0 else 0.1

    def pose(value: float) -> Pose:
        return Pose(*(value if k == joint else 0.0 for k in range(6)))

    check_joints(pose(travel[end]))
    check_joints(pose(travel[end] - outward))
    with pytest.raises(JointLimit) as caught:
        check_joints(pose(travel[end] + outward))
    assert caught.value.code is Code.JOINT_LIMIT
    assert caught.value.joint in caught.value.sentence
    assert caught.value.travel_deg == travel


def test_a_tighter_limit_is_the_one_that_counts() -> None:
    tight = tighten(travel_deg={"wrist_flex": (-95.0, 60.0)})
    inverse(0.2, 0.0, 0.03)
    with pytest.raises(JointLimit, match="wrist_flex"):
        inverse(0.2, 0.0, 0.03, limits=tight)


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ((0.6, 0.0, 0.05), "out of reach"),
        ((0.28, 0.0, 0.3), "out of reach"),
        ((0.0389, 0.0, 0.05), "too near the pan axis"),
    ],
)
def test_points_beyond_the_arm_are_refused_with_a_reason(
    point: tuple[float, float, float], words: str
) -> None:
    with pytest.raises(Unreachable, match=words) as caught:
        inverse(*point, roll_deg=90.0)
    assert caught.value.code is Code.UNREACHABLE
    assert "Choose" in caught.value.sentence


class TestReachDown:
    def test_up_to_z_0_05_the_hand_is_straight_down_or_not_there(self) -> None:
        for z in (0.049, 0.05):
            with pytest.raises(GeometryFault):
                reach_down(0.28, 0.13, z, yaw_deg=-30, max_tilt_deg=25)
        pose = reach_down(0.28, 0.13, 0.0501, yaw_deg=-30, max_tilt_deg=25)
        assert forward(pose).pitch_deg < 89

    def test_no_tilt_where_none_is_needed(self) -> None:
        pose = reach_down(0.2, 0.0, 0.07, yaw_deg=0, max_tilt_deg=25)
        assert forward(pose).pitch_deg == pytest.approx(90)

    @pytest.mark.parametrize("point", [(0.28, 0.1, 0.07), (0.15, 0.0, 0.075), (0.26, 0.13, 0.07)])
    def test_above_the_blocks_the_hand_tilts_as_little_as_reaches(
        self, point: tuple[float, float, float]
    ) -> None:
        with pytest.raises(GeometryFault):
            reach_down(*point, yaw_deg=0, max_tilt_deg=0)
        pose = reach_down(*point, yaw_deg=0, max_tilt_deg=25)
        tilt = abs(forward(pose).pitch_deg - 90)
        assert 0 < tilt <= 25
        with pytest.raises(GeometryFault):
            reach_down(*point, yaw_deg=0, max_tilt_deg=tilt - 0.5)
        assert forward(pose).grasp == pytest.approx(point, abs=1e-9)

    def test_the_fault_is_that_of_the_hand_straight_down(self) -> None:
        with pytest.raises(GeometryFault) as straight:
            inverse(0.4, 0.0, 0.07, yaw_deg=0)
        with pytest.raises(GeometryFault) as tilted:
            reach_down(0.4, 0.0, 0.07, yaw_deg=0, max_tilt_deg=25)
        assert tilted.value.sentence == straight.value.sentence


class TestBestYaw:
    @settings(deadline=None)
    @given(st.floats(0.14, 0.24), st.floats(-0.1, 0.1), st.floats(-180, 180))
    def test_directions_are_square_to_the_block_and_least_roll_comes_first(
        self, x: float, y: float, block_yaw: float
    ) -> None:
        yaws = best_yaw(x, y, 0.03, block_yaw_deg=block_yaw)
        assert yaws
        rolls = [abs(inverse(x, y, 0.03, yaw_deg=yaw).roll) for yaw in yaws]
        assert rolls == sorted(rolls)
        assert rolls[0] <= 50
        for yaw in yaws:
            off_square = (yaw - block_yaw) % 90
            assert min(off_square, 90 - off_square) < 1e-9

    def test_no_direction_opens_into_the_base(self) -> None:
        for yaw in best_yaw(0.10, 0.0, 0.02, block_yaw_deg=45):
            assert is_clear(inverse(0.10, 0.0, 0.02, yaw_deg=yaw))
        assert not is_clear(inverse(0.10, 0.0, 0.02, yaw_deg=135))

    def test_out_of_reach_there_is_none(self) -> None:
        assert best_yaw(0.5, 0.0, 0.03, block_yaw_deg=0) == ()


class TestJaws:
    def test_the_grasp_point_is_midway_until_the_best_offset(self) -> None:
        assert grasp_offset_m(20.0) == pytest.approx(0.0155)
        assert grasp_offset_m(0.0) == pytest.approx(0.001875)
        assert grasp_offset_m(50.0) == grasp_offset_m(100.0) == 0.0205

    def test_the_gap_grows_with_the_opening(self) -> None:
        gaps = [geometry.gap_m(k / 2) for k in range(-20, 201)]
        assert gaps == sorted(gaps)
        assert gaps[0] == 0.0

    @pytest.mark.parametrize(("grip", "gap"), geometry.GAP_M)
    def test_the_gap_table_is_met_at_its_own_rows(self, grip: float, gap: float) -> None:
        assert geometry.gap_m(grip) == pytest.approx(gap)

    @pytest.mark.parametrize(
        ("grip", "gap"), [(0, 2), (10, 17), (15, 24), (20, 31), (25, 38), (30, 46)]
    )
    def test_the_moving_tip_agrees_with_the_gap_measured_near_the_tips(
        self, grip: float, gap: float
    ) -> None:
        reach = forward(inverse(0.2, 0.0, 0.03, grip_percent=grip))
        across = math.dist(reach.fixed_tip[:2], reach.moving_tip[:2])
        assert across * 1000 == pytest.approx(gap, abs=2.1)
