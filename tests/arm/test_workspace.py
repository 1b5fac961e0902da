"""The limits leave room for what the arm is for: named poses, the table, a whole pick and place."""

from __future__ import annotations

import math

import pytest

from armlabd.arm.joints import HOME, PARK, VIEW, Pose
from armlabd.arm.kinematics import (
    GeometryFault,
    best_yaw,
    check_joints,
    forward,
    inverse,
    is_clear,
    reach_down,
)
from armlabd.arm.limits import CEILINGS
from armlabd.arm.path import Program, Target, joint_move, lift_move, line_move

SHOULDER = (0.0388353, 0.0, 0.1166)


def assert_free(pose: Pose) -> None:
    """Within travel, above the floor, out of the base and inside the envelope."""
    check_joints(pose)
    reach = forward(pose)
    assert is_clear(pose), pose
    assert reach.tool[2] >= CEILINGS.floor_m
    assert min(reach.wrist[2], reach.elbow[2]) >= CEILINGS.floor_m
    assert min(reach.fixed_tip[2], reach.moving_tip[2]) >= CEILINGS.tip_floor_m
    assert math.dist(reach.tool, SHOULDER) <= CEILINGS.reach_m


@pytest.mark.parametrize("pose", [HOME, VIEW, PARK], ids=["home", "view", "park"])
@pytest.mark.parametrize("grip", range(0, 101, 10))
def test_the_named_poses_are_free_whatever_the_jaws_do(pose: Pose, grip: float) -> None:
    assert_free(pose.with_grip(grip))


def test_the_ways_between_the_named_poses_are_free() -> None:
    for a, b in ((HOME, VIEW), (VIEW, HOME), (HOME, PARK), (PARK, HOME), (HOME, HOME)):
        for point in joint_move(a, b, 60, CEILINGS).points:
            assert_free(point)


def test_park_rests_low_and_leaves_the_wrist_upright() -> None:
    reach = forward(PARK)
    assert CEILINGS.floor_m <= reach.tool[2] < 0.02  # a limp arm ends up at 0.007
    assert 55 < reach.pitch_deg < 75  # and with its hand at 65


@pytest.mark.parametrize("z", [0.02, 0.03, 0.05, 0.07])
def test_the_direction_chosen_for_any_block_is_free(z: float) -> None:
    found = 0
    for i in range(10):
        for j in range(11):
            x, y = 0.10 + 0.02 * i, -0.15 + 0.03 * j
            for block in range(-45, 45, 15):
                yaws = best_yaw(x, y, z, block_yaw_deg=block, max_tilt_deg=25)
                if not yaws:
                    continue
                found += 1
                for grip in (0, 20, 50, 100):
                    pose = reach_down(x, y, z, yaw_deg=yaws[0], grip_percent=50, max_tilt_deg=25)
                    assert_free(pose.with_grip(grip))
    assert found >= 0.9 * 10 * 11 * 6


def test_the_reach_envelope_stops_a_stretched_out_arm() -> None:
    assert math.dist(forward(Pose(0, 76, -73.8, -2, 0)).tool, SHOULDER) > CEILINGS.reach_m
    for x, y in ((0.28, 0.15), (0.28, -0.15)):
        assert math.dist((x, y, 0.02), SHOULDER) < CEILINGS.reach_m - 0.1


@pytest.mark.parametrize(("x", "y", "block"), [(0.22, 0.09, 0), (0.20, 0.0, 30), (0.15, 0.12, -20)])
def test_a_whole_pick_and_place_is_free(x: float, y: float, block: float) -> None:
    start = HOME.with_grip(50)
    yaw = best_yaw(x, y, 0.03, block_yaw_deg=block)[0]
    there = [(x, y, 0.07, yaw), (x, y, 0.03, yaw), (x, y, 0.07, yaw)]
    bin_yaw = best_yaw(0.20, -0.10, 0.05, block_yaw_deg=0)[0]
    there += [(0.20, -0.10, 0.07, bin_yaw), (0.20, -0.10, 0.05, bin_yaw)]
    programs: list[Program] = []
    for px, py, pz, p_yaw in there:
        pose = reach_down(px, py, pz, yaw_deg=p_yaw, max_tilt_deg=25)
        target = Target(px, py, pz, yaw_deg=p_yaw, pitch_deg=forward(pose).pitch_deg)
        programs.append(line_move(start, target, 45, CEILINGS))
        start = programs[-1].goal
    programs.append(lift_move(start, 0.13, 45, CEILINGS))
    programs.append(joint_move(programs[-1].goal, HOME.with_grip(50), 45, CEILINGS))
    for program in programs:
        for point in program.points:
            assert_free(point)
    assert sum(program.duration_s for program in programs) < 20


def test_the_corner_of_the_table_that_no_hand_reaches_is_refused() -> None:
    with pytest.raises(GeometryFault):
        inverse(0.28, 0.15, 0.03, yaw_deg=0)
    assert best_yaw(0.28, 0.15, 0.03, block_yaw_deg=0) == ()
