from __future__ import annotations

import math

import pytest

from armlabd.sim import jaws
from armlabd.sim.geometry import Joints, arm_points, link_frames, points_of
from armlabd.sim.gravity import FULL_TORQUE_NM, gravity_torques

HOME: Joints = (0.0, -90.0, 60.0, 60.0, 0.0)


@pytest.mark.parametrize(
    ("q", "tool"),
    [
        ((0.0, 0.0, 0.0, 0.0, 0.0), (0.3914, 0.0, 0.2265)),
        ((30.0, 20.0, 40.0, -10.0, 0.0), (0.2670, -0.1317, -0.0285)),
    ],
)
def test_the_tool_point_is_where_the_published_anchors_have_it(q, tool):
    assert arm_points(q, -10.0).tool == pytest.approx(tool, abs=6e-5)


def test_the_joints_of_the_zero_pose_are_where_the_facts_have_them():
    points = arm_points((0.0,) * 5, -10.0)
    assert points.shoulder == pytest.approx((0.0692, -0.0183, 0.1166), abs=6e-5)
    assert points.elbow == pytest.approx((0.0972, -0.0183, 0.2292), abs=6e-5)
    assert points.wrist == pytest.approx((0.2321, -0.0183, 0.2344), abs=6e-5)
    assert points.roll_origin == pytest.approx((0.2932, -0.0002, 0.2344), abs=6e-5)


def test_link_lengths_do_not_change_with_the_joints():
    for q in (HOME, (70.0, 33.0, -50.0, 80.0, 120.0)):
        points = arm_points(q, 20.0)
        assert math.dist(points.shoulder, points.elbow) == pytest.approx(0.1160, abs=5e-5)
        assert math.dist(points.elbow, points.wrist) == pytest.approx(0.1350, abs=5e-5)
        assert math.dist(points.tool, points.fixed_tip) == pytest.approx(0.006, abs=1e-9)


@pytest.mark.parametrize(("joint", "sign"), [(1, -1), (2, -1), (3, -1)])
def test_positive_lift_elbow_and_wrist_lower_the_hand(joint, sign):
    q = [0.0] * 5
    q[joint] = 5.0
    rise = arm_points(tuple(q), 0.0).tool[2] - arm_points((0.0,) * 5, 0.0).tool[2]
    assert math.copysign(1, rise) == sign


def test_positive_pan_turns_the_hand_to_the_right():
    assert arm_points((90.0, 0.0, 0.0, 0.0, 0.0), 0.0).tool[1] < -0.3


@pytest.mark.parametrize("roll", [-90.0, 0.0, 35.0])
@pytest.mark.parametrize("pan", [-40.0, 0.0, 25.0])
def test_hand_down_the_jaws_open_at_roll_less_pan_less_2_79_degrees(pan, roll):
    points = arm_points((pan, 11.0, 5.0, 74.0, roll), 0.0)
    assert points.axis == pytest.approx((0.0, 0.0, -1.0), abs=1e-6)
    yaw = math.degrees(math.atan2(points.opening[1], points.opening[0]))
    assert yaw == pytest.approx(roll - pan - 2.79, abs=0.01)


def test_at_roll_zero_the_fixed_jaw_is_the_one_nearest_the_base():
    points = arm_points((0.0, 11.0, 5.0, 74.0, 0.0), 30.0)
    assert points.fixed_tip[0] < points.moving_tip[0] - 0.03


GAPS_MM = {0: (5.5, 2), 10: (19, 17), 15: (25, 24), 20: (31, 31), 25: (38, 38), 30: (45, 46)}


@pytest.mark.parametrize("percent", sorted(GAPS_MM))
def test_the_gap_between_the_jaws_repeats_the_measured_table(percent):
    for depth_m, wanted_mm in zip((0.090, 0.098), GAPS_MM[percent], strict=True):
        gap_mm = jaws.gap_m(jaws.jaw_deg(percent), depth_m) * 1000
        assert gap_mm == pytest.approx(wanted_mm, abs=1.5)


def test_the_jaw_turns_110_degrees_from_shut_to_open():
    assert jaws.jaw_deg(0) == -10.0
    assert jaws.jaw_deg(100) == 100.0
    assert jaws.percent(jaws.jaw_deg(37.5)) == pytest.approx(37.5)


def test_a_30_mm_block_between_the_jaws_reads_as_measured():
    percent = jaws.percent(jaws.angle_at_width(0.030, 0.086))
    assert 19.1 <= percent <= 19.7


def test_a_30_mm_block_across_its_corners_reads_about_30_percent():
    percent = jaws.percent(jaws.angle_at_width(0.030 * math.sqrt(2), 0.086))
    assert percent == pytest.approx(30, abs=1.5)


def test_the_moving_tip_lies_on_the_line_of_the_gap():
    for angle in (-10.0, 12.0, 40.0):
        opening, depth = jaws.moving_tip(angle)
        assert jaws.gap_m(angle, depth) == pytest.approx(opening, abs=1e-9)


def test_moving_tip_in_space_is_the_tip_opening_away_from_the_fixed_jaws_face():
    points = arm_points(HOME, 45.0)
    across = [m - t for m, t in zip(points.moving_tip, points.tool, strict=True)]
    along = sum(a * b for a, b in zip(across, points.opening, strict=True))
    assert along == pytest.approx(jaws.moving_tip(45.0)[0], abs=1e-9)


def _energy(q: Joints) -> float:
    """Height times weight of the links, from the same masses (J)."""
    p = arm_points(q, 0.0)

    def mid(a: tuple[float, ...], b: tuple[float, ...]) -> float:
        return (a[2] + b[2]) / 2

    return 9.81 * (
        0.103 * mid(p.shoulder, p.elbow)
        + 0.104 * mid(p.elbow, p.wrist)
        + 0.079 * mid(p.wrist, p.roll_origin)
        + 0.087 * mid(p.roll_origin, p.tool)
        + 0.012 * mid(p.hinge, p.moving_tip)
    )


@pytest.mark.parametrize("q", [HOME, (20.0, 11.0, 5.0, 40.0, 50.0), (0.0, 60.0, -40.0, -70.0, 9.0)])
def test_gravity_pulls_every_joint_down_the_slope_of_the_energy(q):
    links = link_frames(q)
    torques = gravity_torques(links, points_of(links, 0.0))
    for joint in range(5):
        ahead, behind = list(q), list(q)
        ahead[joint] += 0.01
        behind[joint] -= 0.01
        slope = (_energy(tuple(ahead)) - _energy(tuple(behind))) / math.radians(0.02)
        assert torques[joint] * FULL_TORQUE_NM == pytest.approx(-slope, abs=1e-6)


def test_a_held_block_weighs_on_the_wrist():
    links = link_frames((0.0,) * 5)
    points = points_of(links, 0.0)
    bare, laden = gravity_torques(links, points), gravity_torques(links, points, held_kg=0.025)
    arm_m = points.tool[0] - points.wrist[0]
    assert (laden[3] - bare[3]) * FULL_TORQUE_NM == pytest.approx(0.025 * 9.81 * arm_m, rel=1e-6)
