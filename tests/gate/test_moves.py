from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.arm.geometry import forward
from armlabd.arm.joints import HOME, VIEW, Pose
from armlabd.arm.limits import CEILINGS, Box, Limits, tighten
from armlabd.arm.path import joint_move
from armlabd.config import Config
from armlabd.gate.moves import CLEAR_Z_M, Leg, MoveSettings, hides_table, plan_motion, regripped
from armlabd.gate.sight import hides
from armlabd.gate.ways import DIP_M, NoWay, around
from armlabd.motion.fence import violation
from armlabd.motion.guard import check_program
from armlabd.table import CAMERA, REACH, Area, CameraModel
from armlabd.verdict import Code, Verdict

SETTINGS = MoveSettings.of(Config(), CEILINGS)
OPEN_HOME = HOME.with_grip(50.0)


def plan(
    tool: str,
    pose: Pose = OPEN_HOME,
    holding: bool = False,
    use: MoveSettings = SETTINGS,
    **args: float,
) -> tuple[Leg, ...] | Verdict:
    args = {"speed_dps": 30.0, **args} if tool == "move_to_pose" else args
    return plan_motion(tool, args, pose, holding, use)


def legs_of(*call: Any, **args: Any) -> tuple[Leg, ...]:
    found = plan(*call, **args)
    assert not isinstance(found, Verdict), found
    return found


def at(x: float, y: float, z: float, grip: float = 50.0, **args: float) -> Pose:
    """A pose over the table, reached as a plan would: from home to above, then down."""
    above = legs_of("move_to_pose", HOME.with_grip(grip), x=x, y=y, z=0.07, **args)[-1].end
    legs = legs_of("move_to_pose", above, x=x, y=y, z=z, **args)
    return legs[-1].end if legs else above


def check(legs: tuple[Leg, ...], start: Pose, limits: Limits = CEILINGS) -> None:
    """What must hold of any answer: guarded, joined end to end, from where the arm is."""
    for leg in legs:
        assert leg.program.start == start
        assert check_program(leg.program, limits, start) is None
        start = leg.end


@settings(max_examples=40, deadline=None)
@given(
    x=st.floats(0.10, 0.28),
    y=st.floats(-0.15, 0.15),
    z=st.floats(0.02, 0.07),
    yaw=st.none() | st.floats(-90, 90),
    speed=st.floats(5, 60),
    start=st.sampled_from([OPEN_HOME, VIEW.with_grip(50.0), HOME.with_grip(19.5)]),
)
def test_a_move_ends_at_the_point_or_is_refused_by_geometry(
    x: float, y: float, z: float, yaw: float | None, speed: float, start: Pose
) -> None:
    args = {"x": x, "y": y, "z": z, "speed_dps": speed}
    args |= {} if yaw is None else {"yaw_deg": yaw}
    found = plan("move_to_pose", start, **args)
    if isinstance(found, Verdict):
        assert found.code in (Code.UNREACHABLE, Code.JOINT_LIMIT, Code.PATH_BLOCKED)
        return
    check(found, start)
    reach = forward(found[-1].end)
    assert reach.grasp == pytest.approx((x, y, z), abs=1e-6)
    assert abs(reach.pitch_deg - 90.0) <= (SETTINGS.max_tilt_deg if z > 0.05 else 0.0) + 1e-6
    if yaw is not None:
        assert abs((reach.yaw_deg - yaw + 180.0) % 360.0 - 180.0) < 1e-6
    assert found[-1].end.grip == start.grip


@pytest.mark.parametrize("y", [-0.10, 0.0, 0.10])
@pytest.mark.parametrize("x", [0.15, 0.20, 0.25])
def test_between_points_of_the_table_the_grasp_point_goes_straight(x: float, y: float) -> None:
    start = at(0.20, 0.05, 0.07)
    (leg,) = legs_of("move_to_pose", start, x=x, y=y, z=0.05)
    a, b = forward(leg.program.start).grasp, forward(leg.end).grasp
    arrived = leg.program.points.index(leg.end)
    for point in leg.program.points[arrived:]:  # pan comes from one side: a short way out and back
        aside = forward(point).grasp
        assert math.dist(aside, b) < 0.006
        assert aside[2] == pytest.approx(b[2], abs=1e-9)
    for point in leg.program.points[: arrived + 1]:
        grasp = forward(point).grasp
        s = (grasp[2] - a[2]) / (b[2] - a[2])
        assert grasp == pytest.approx(
            [p + s * (q - p) for p, q in zip(a, b, strict=True)], abs=1e-6
        )


def test_lifting_straight_up_does_not_turn_the_hand() -> None:
    low = at(0.22, 0.09, 0.03, yaw_deg=-60.0)
    (leg,) = legs_of("move_to_pose", low.with_grip(19.5), True, x=0.22, y=0.09, z=0.07)
    assert {point.roll for point in leg.program.points} == {low.roll}


def test_an_empty_hand_that_closed_over_the_point_is_still_over_it() -> None:
    low = at(0.22, 0.09, 0.03, yaw_deg=-60.0)
    (leg,) = legs_of("move_to_pose", low.with_grip(0.0), x=0.22, y=0.09, z=0.07)
    assert leg.end.roll == low.roll


def test_elsewhere_without_a_yaw_the_roll_goes_back_to_zero() -> None:
    low = at(0.22, 0.09, 0.07, yaw_deg=-60.0)
    assert legs_of("move_to_pose", low, x=0.20, y=-0.10, z=0.07)[-1].end.roll == 0.0


def test_the_hand_tilts_only_above_a_grasp_and_only_where_it_must() -> None:
    assert forward(at(0.20, 0.0, 0.07)).pitch_deg == pytest.approx(90.0)
    tilted = legs_of("move_to_pose", x=0.25, y=0.15, z=0.07)[-1].end
    assert 0.5 < abs(forward(tilted).pitch_deg - 90.0) <= 25.0
    upright = MoveSettings.of(Config.model_validate({"motion": {"max_tilt_deg": 0.0}}), CEILINGS)
    found = plan("move_to_pose", use=upright, x=0.25, y=0.15, z=0.07)
    assert isinstance(found, Verdict)


def test_a_point_out_of_reach_is_named_and_the_sentence_says_what_to_do() -> None:
    found = plan("move_to_pose", x=0.10, y=0.0, z=0.07)  # straight down it ends at z 0.040 there
    assert isinstance(found, Verdict)
    assert found.code in (Code.UNREACHABLE, Code.JOINT_LIMIT)
    assert "0.100" in found.sentence
    assert "Choose" in found.sentence


def test_the_chapters_far_corner_is_out_of_reach_straight_down_and_in_reach_tilted() -> None:
    upright = MoveSettings.of(Config.model_validate({"motion": {"max_tilt_deg": 0.0}}), CEILINGS)
    assert isinstance(plan("move_to_pose", use=upright, x=0.28, y=0.14, z=0.07), Verdict)
    assert forward(legs_of("move_to_pose", x=0.28, y=0.14, z=0.07)[-1].end).pitch_deg < 89.0


def test_from_a_far_pose_the_way_around_never_sinks_below_both_ends() -> None:
    start = VIEW.with_grip(50.0)
    legs = legs_of("move_to_pose", start, x=0.10, y=0.15, z=0.07)
    assert legs[0].note == "around"
    lowest = min(forward(start).tool[2], forward(legs[-1].end).tool[2])
    for leg in legs:
        assert min(forward(p).tool[2] for p in leg.program.points) >= lowest - DIP_M


def test_a_joint_move_that_sinks_between_two_high_ends_is_no_way_around() -> None:
    high = Pose(70.0, 10.0, 20.0, -30.0, 0.0, 0.0)
    low = Pose(70.0, 10.0, 9.5, 90.0, 0.0, 0.0)
    direct = joint_move(high, low, 45.0, CEILINGS)
    heights = [forward(point).tool[2] for point in direct.points]
    assert min(heights) < heights[-1] - DIP_M  # 18 mm: the guard alone would let it pass
    assert check_program(direct, CEILINGS, high) is None
    with pytest.raises(NoWay) as caught:
        around(high, low, 45.0, CEILINGS)
    assert caught.value.verdict.code is Code.PATH_BLOCKED
    assert "sinks" in caught.value.verdict.sentence


def test_low_down_a_keep_out_box_on_the_straight_line_is_gone_around_after_a_lift() -> None:
    box = Box("the cup", (0.17, 0.21), (-0.02, 0.02), (0.0, 0.05))
    use = MoveSettings.of(Config(), tighten(keep_out=[box]))
    found = plan("move_to_pose", at(0.19, 0.12, 0.03), use=use, x=0.19, y=-0.12, z=0.03)
    assert not isinstance(found, Verdict)
    assert found[0].note == "lift"
    assert {leg.note for leg in found[1:]} == {"around"}
    start = forward(found[0].program.points[0]).grasp
    for point in found[0].program.points:
        grasp = forward(point).grasp
        assert abs(grasp[0] - start[0]) + abs(grasp[1] - start[1]) < 0.001, "straight up"
    for leg in found:
        assert check_program(leg.program, use.limits, leg.program.points[0]) is None


def test_low_down_a_wall_that_nothing_goes_around_is_refused() -> None:
    box = Box("the wall", (0.12, 0.5), (-0.02, 0.02), (0.0, 0.5))
    use = MoveSettings.of(Config(), tighten(keep_out=[box]))
    found = plan("move_to_pose", at(0.19, 0.12, 0.03), use=use, x=0.19, y=-0.12, z=0.03)
    assert isinstance(found, Verdict)
    assert found.code is Code.PATH_BLOCKED
    assert "the wall" in found.sentence


@pytest.mark.parametrize(("y", "free"), [(0.100, False), (0.135, True)])
def test_a_post_that_only_the_upper_arm_sweeps_blocks_the_way(y: float, free: bool) -> None:
    post = Box("the post", (0.0, 0.02), (y, y + 0.02), (0.0, 0.11))
    use = MoveSettings.of(Config(), tighten(keep_out=[post]))
    found = plan("look", use=use)
    assert isinstance(found, Verdict) is not free
    if isinstance(found, Verdict):
        assert found.code is Code.PATH_BLOCKED
        assert "puts the upper arm" in found.sentence
        assert "into the post" in found.sentence


def test_a_hand_low_beside_the_base_lifts_before_it_swings_over_the_table() -> None:
    sunk = Pose(97.4, -88.5, 81.0, 66.7, 0.0, 50.0)  # a limp arm, sunk from the view pose
    found = plan("move_to_pose", sunk, x=0.22, y=0.09, z=0.07)
    assert not isinstance(found, Verdict)
    assert found[0].note == "lift"
    assert {leg.note for leg in found[1:]} == {"around"}


@pytest.mark.parametrize("holding", [False, True])
@pytest.mark.parametrize("z", [0.02, 0.03, 0.07])
@pytest.mark.parametrize(("x", "y"), [(0.10, 0.12), (0.20, -0.10), (0.28, 0.0)])
def test_going_home_lifts_first_and_keeps_the_gripper(
    x: float, y: float, z: float, holding: bool
) -> None:
    start = at(x, y, z).with_grip(19.5 if holding else 50.0)
    legs = legs_of("go_home", start, holding)
    check(legs, start)
    assert legs[-1].end == HOME.with_grip(start.grip)
    here = forward(start).grasp
    if z < CLEAR_Z_M:
        lift = legs[0]
        assert lift.note == "lift"
        assert forward(lift.end).grasp[2] >= CLEAR_Z_M
        for point in lift.program.points:
            assert forward(point).grasp[:2] == pytest.approx(here[:2], abs=1e-6)
        heights = [forward(point).grasp[2] for point in lift.program.points]
        assert all(b >= a - 1e-9 for a, b in pairwise(heights))


def test_at_home_there_is_nothing_to_do() -> None:
    assert legs_of("go_home", HOME) == ()


def test_home_hides_the_table_and_the_view_pose_does_not() -> None:
    assert hides_table(HOME, SETTINGS)
    assert hides_table(HOME.with_grip(100.0), SETTINGS)
    for grip in (0.0, 19.5, 50.0, 100.0):
        assert not hides_table(VIEW.with_grip(grip), SETTINGS)


def test_what_is_hidden_lies_in_the_shadow_from_the_lens_not_under_the_arm() -> None:
    aside = CameraModel(x=0.20, y=0.50)
    assert not hides(HOME, Area(0.10, 0.28, -0.05, 0.05), aside)
    assert hides(HOME, Area(0.10, 0.28, -0.30, -0.15), aside)


def test_the_shadow_is_as_wide_as_the_hand() -> None:
    tip_x, _, tip_z = forward(HOME).moving_tip
    edge = 0.20 + (tip_x - 0.20) * 0.45 / (0.45 - tip_z)
    far = [forward(HOME).fixed_tip, forward(HOME).tool]
    edge = max(edge, *(0.20 + (x - 0.20) * 0.45 / (0.45 - z) for x, _, z in far))
    assert hides(HOME, Area(edge + 0.025, 0.40, -0.05, 0.05), CAMERA)
    assert not hides(HOME, Area(edge + 0.035, 0.40, -0.05, 0.05), CAMERA)


def test_an_arm_as_high_as_the_lens_hides_everything() -> None:
    up = Pose(0.0, 0.0, -80.0, 0.0, 0.0, 0.0)
    assert max(forward(up).tool[2], forward(up).wrist[2]) > 0.3
    assert hides(up, REACH, CameraModel(height_m=0.30))


def test_looking_swings_aside_lifting_first_and_only_if_needed() -> None:
    low = at(0.22, 0.09, 0.03)
    legs = legs_of("look", low)
    check(legs, low)
    assert legs[0].note == "lift"
    assert legs[-1].end == VIEW.with_grip(low.grip)
    assert legs_of("look", VIEW) == ()


def test_the_jaws_open_and_close_alone() -> None:
    start = at(0.22, 0.09, 0.03)
    (opening,) = legs_of("open_gripper", start, percent=100.0)
    assert opening.end == start.with_grip(100.0)
    assert not opening.contact
    (closing,) = legs_of("close_gripper", start)
    assert closing.end == start.with_grip(0.0)
    assert closing.contact
    assert legs_of("close_gripper", start.with_grip(0.0)) == ()
    check((opening,), start)
    check((closing,), start)


LIMP = [
    Pose(5.0, 15.0, 25.0, 50.0, 0.0, 10.0),
    Pose(0.0, -98.0, 90.0, 70.0, 0.0, 0.0),
    Pose(-40.0, 30.0, 20.0, 40.0, 30.0, 60.0),
    Pose(0.0, -100.8, 60.0, 60.0, 0.0, -0.4),
]


@pytest.mark.parametrize("tool", ["go_home", "look", "open_gripper", "move_to_pose"])
@pytest.mark.parametrize("pose", LIMP)
def test_an_arm_outside_its_limits_comes_inside_first(pose: Pose, tool: str) -> None:
    assert violation(pose, CEILINGS)
    args = {"percent": 50.0} if tool == "open_gripper" else {}
    if tool == "move_to_pose":
        args = {"x": 0.2, "y": 0.0, "z": 0.05}
    legs = plan(tool, pose, **args)
    if isinstance(legs, Verdict):  # low and far the straight line may not be free; never for home
        assert tool == "move_to_pose"
        assert legs.code in (Code.PATH_BLOCKED, Code.UNREACHABLE, Code.JOINT_LIMIT)
        return
    assert legs[0].note == "come inside"
    check(legs, pose)
    assert not violation(legs[-1].end, CEILINGS)


def test_parking_goes_home_and_then_down_if_the_guard_lets_it() -> None:
    settled = MoveSettings.of(
        Config.model_validate({"motion": {"park_pose": (0.0, -90.0, 70.0, 60.0, 0.0)}}), CEILINGS
    )
    start = at(0.22, 0.09, 0.03)
    legs = legs_of("park", start, use=settled)
    check(legs, start)
    assert legs[-1].end == Pose(0.0, -90.0, 70.0, 60.0, 0.0, start.grip)


def test_the_same_call_gives_the_same_programs() -> None:
    start = at(0.22, 0.09, 0.03)
    assert plan("go_home", start) == plan("go_home", start)


def test_another_gripper_set_point_changes_nothing_else() -> None:
    legs = legs_of("go_home", at(0.22, 0.09, 0.03))
    tight = regripped(legs, 15.5)
    for leg, changed in zip(legs, tight, strict=True):
        assert {p.grip for p in changed.program.points} == {15.5}
        assert [p.arm for p in leg.program.points] == [p.arm for p in changed.program.points]
        assert (leg.contact, leg.note) == (changed.contact, changed.note)
