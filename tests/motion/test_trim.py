"""At rest the true tool stands where it was told to, although every joint hangs from its servo.

"True" is the virtual arm's own geometry, which shares nothing with the product's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armlabd.arm.joints import Pose
from armlabd.arm.kinematics import GeometryFault, forward, inverse
from armlabd.arm.path import grip_move, joint_move
from armlabd.arm.program import Program
from armlabd.arm.sag import expected_sag
from armlabd.bench.arena import START, Arena
from armlabd.motion import settle
from armlabd.motion.fence import violation
from armlabd.motion.settle import late_joint
from armlabd.motion.trim import MOST_DEG, NONE, fits, shifted, wanted
from armlabd.sim import memory as at
from armlabd.sim.geometry import arm_points
from armlabd.sim.world import Block, World

Make = Callable[..., Arena]
WORKSPACE = [(x, z) for x in (0.10, 0.15, 0.20, 0.25, 0.28) for z in (0.02, 0.04, 0.07)]
ROLLS = (0.0, -30.0, 30.0, -60.0, 60.0, -90.0, 90.0)


def down(x: float, z: float) -> Pose | None:
    """The hand straight down over (x, 0, z), at the first roll that reaches; None for none."""
    for roll in ROLLS:
        try:
            return inverse(x, 0.0, z, roll_deg=roll, grip_percent=50.0)
        except GeometryFault:
            continue
    return None


FAR = inverse(0.28, 0.0, 0.04, grip_percent=50.0)
NEAR = inverse(0.15, 0.0, 0.04, grip_percent=50.0)


def low_mm(arena: Arena, told: Pose) -> float:
    """How much lower than told the true tool is."""
    joints, jaw = arena.arm.true_deg()
    return (forward(told).tool[2] - arm_points(joints, jaw).tool[2]) * 1e3


def over_the_workspace(arena: Arena) -> list[float]:
    low = []
    for x, z in WORKSPACE:
        pose = down(x, z)
        if pose is None:
            continue
        assert arena.go(pose)["code"] == "ok"
        arena.run(0.2)
        low.append(low_mm(arena, pose))
    assert len(low) >= 12
    return low


def test_the_tool_is_less_than_half_a_millimetre_off_at_rest_over_the_workspace(
    arena: Arena,
) -> None:
    low = over_the_workspace(arena)
    assert max(map(abs, low)) < 0.5, low


def test_without_the_trim_it_is_up_to_4_mm_low(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settle, "MOST_TRIMS", 0)
    low = over_the_workspace(arena)
    assert 3.0 < max(low) < 4.5, low
    assert min(low) > 0.3, low


def test_bus_row_50_servos_set_to_p_16_hang_twice_as_low_and_are_trimmed_all_the_same(
    make: Make,
) -> None:
    arena = make()
    for servo in arena.arm.servos:
        servo.eeprom[at.P_GAIN] = 16
        servo.power_up()
    arena.ready()
    assert arena.core.link.p_gains == (16,) * 5
    low = over_the_workspace(arena)
    assert max(map(abs, low)) < 1.0, low
    assert arena.core.conductor.trim.deg[1] < -1.2


def test_the_trim_is_chosen_once_and_stays(arena: Arena) -> None:
    arena.go(FAR)
    sent = arena.core.conductor.goals_sent
    trim = arena.core.conductor.trim.deg
    arena.run(10.0)
    assert arena.core.conductor.goals_sent == sent
    assert arena.core.conductor.trim.deg == trim
    assert max(map(abs, trim)) < MOST_DEG


def test_small_moves_one_after_the_other_walk_neither_up_nor_down(arena: Arena) -> None:
    arena.go(FAR)
    for number in range(8):
        assert arena.go(FAR._replace(roll=FAR.roll + number % 2))["code"] == "ok"
        goal = arena.core.conductor.goal
        assert goal is not None
        jaws = grip_move(goal, 40.0 + 10 * (number % 2), 80.0, arena.core.link.limits)
        assert arena.answer(arena.move(jaws))["code"] == "ok"
    assert abs(low_mm(arena, FAR)) < 0.6
    assert arena.core.conductor.goal == FAR._replace(roll=FAR.roll + 1, grip=50.0)


def test_the_goal_that_is_told_is_the_one_without_the_trim(arena: Arena) -> None:
    arena.go(FAR)
    assert arena.core.conductor.goal == FAR
    calibration = arena.core.link.calibration
    assert calibration is not None
    sent = calibration.from_raw(arena.core.conductor.goal_counts)
    assert sent.lift == pytest.approx(FAR.lift + arena.core.conductor.trim.deg[1], abs=0.05)
    assert sent.lift < FAR.lift - 0.5


# --- never against anything, never outside -----------------------------------------------------


def test_a_joint_that_is_held_up_is_not_pushed_down(arena: Arena) -> None:
    arena.go(FAR)
    arena.arm.jam(2)
    before = arena.core.conductor.trim.deg
    answer = arena.go(FAR._replace(lift=FAR.lift + 0.8))
    assert answer["code"] == "ok", "within the tolerance"
    assert arena.core.conductor.trim.deg[1] == before[1]


def test_a_trimmed_goal_beyond_a_joints_travel_is_not_sent(arena: Arena) -> None:
    low_end = arena.core.link.limits.travel_deg[2][0]
    edge = Pose(0.0, 50.0, low_end, 40.0, 0.0, 50.0)
    assert expected_sag(edge)[2] > 0.3
    assert not violation(edge, arena.core.link.limits)
    for pose in (edge._replace(lift=0.0, elbow=-50.0), edge._replace(elbow=low_end + 10.0), edge):
        assert arena.go(pose)["code"] == "ok"
    calibration = arena.core.link.calibration
    assert calibration is not None
    end = calibration.joints["elbow_flex"]
    lowest = min(goals[3] for _, goals in arena.goals())
    assert lowest == pytest.approx(calibration.to_raw(edge)[2], abs=1)
    assert lowest >= end.range_min
    assert arena.core.conductor.trim.deg[2] == 0.0, "it was taken off on the way"


def test_a_trim_that_the_last_look_refuses_on_its_way_ends_nothing(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    arena.go(NEAR)
    conductor = arena.core.conductor
    number = arena.move(arena.program(FAR))
    arena.until(lambda: conductor.trim.moving)
    sent = conductor.goals_sent
    assert conductor._look is not None
    look, before = conductor._look, conductor.trim.deg
    monkeypatch.setattr(look, "limits", look.limits.__class__(floor_m=0.3))
    arena.step()
    monkeypatch.undo()
    assert arena.answer(number)["code"] == "ok"
    assert conductor.goals_sent - sent < 40
    assert not conductor.trim.moving
    assert before != conductor.trim.deg, "tried once more, and let pass"


def test_nothing_is_trimmed_while_a_grip_is_decided(make: Make) -> None:
    arena = make(world=World(blocks=[Block("red block", 0.20, 0.0)])).ready()
    for z in (0.07, 0.02):
        pose = inverse(0.20, 0.0, z, yaw_deg=0.0, grip_percent=50.0)
        assert arena.go(pose, 30.0)["code"] == "ok"
    trim = arena.core.conductor.trim.deg
    goal = arena.core.conductor.goal
    assert goal is not None
    number = arena.move(grip_move(goal, 0.0, 60.0, arena.core.link.limits), contact=True)
    while number not in arena.answers:
        arena.step()
        assert arena.core.conductor.trim.deg == trim
    assert arena.answers[number]["holding"]


def test_a_cancel_while_the_trim_moves_comes_to_rest_and_is_cancelled(arena: Arena) -> None:
    number = arena.move(arena.program(FAR))
    arena.until(lambda: arena.core.conductor.trim.moving)
    arena.run(0.03)
    arena.ask("cancel")
    answer = arena.answer(number, 0.4)
    assert answer["code"] == "cancelled"
    assert not arena.core.conductor.trim.moving


def test_a_stop_while_the_trim_moves_sends_nothing_more(arena: Arena) -> None:
    arena.move(arena.program(FAR))
    arena.until(lambda: arena.core.conductor.trim.moving)
    before = len(arena.frames)
    assert arena.now("stop")["confirmed"] == 6
    arena.run(0.5)
    assert arena.goals(before) == []
    assert arena.core.conductor.trim.deg == NONE


def test_a_limp_arm_is_switched_on_without_a_trim(arena: Arena) -> None:
    arena.go(FAR)
    arena.ask("stop")
    arena.ask("clear", by="a person", role="operator")
    arena.run(1.0)
    arena.ask("come_inside")
    arena.until(lambda: arena.core.conductor.goal is not None)
    assert arena.core.conductor.trim.deg == NONE


# --- the sums ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hangs", "lift"),
    [
        (0.11, -0.11),
        (0.09, None),  # half the weight, less friction: something holds it up
        (0.5, -0.5),
        (1.0, -1.0),
        (2.0 * 0.8 + 0.29, -1.89),  # twice the weight, and friction
        (2.0 * 0.8 + 0.31, None),  # something else pulls
        (-0.29, None),
    ],
)
def test_what_weight_explains_is_trimmed(hangs: float, lift: float | None) -> None:
    pose = FAR._replace(lift=FAR.lift + hangs)
    new = wanted(FAR, NONE, pose, (0.0, 0.8, 0.5, 0.0, 0.0))
    assert new == (None if lift is None else pytest.approx((0.0, lift, 0.0, 0.0, 0.0)))


@pytest.mark.parametrize(
    ("hangs", "wrist"), [(0.08, None), (0.1, -0.1), (0.29, -0.29), (0.31, None), (-0.29, 0.29)]
)
def test_a_joint_without_weight_is_trimmed_by_what_friction_keeps(
    hangs: float, wrist: float | None
) -> None:
    new = wanted(FAR, NONE, FAR._replace(wrist=FAR.wrist + hangs), (0.0, 0.2, 0.2, 0.0, 0.0))
    assert new == (None if wrist is None else pytest.approx((0.0, 0.0, 0.0, wrist, 0.0)))


@pytest.mark.parametrize(("hangs", "trims"), [(1.99, True), (2.01, False)])
def test_no_joint_is_trimmed_by_more_than_2_degrees(hangs: float, trims: bool) -> None:
    pose = FAR._replace(elbow=FAR.elbow + hangs)
    new = wanted(FAR, NONE, pose, (0.0, 0.8, 1.5, 0.0, 0.0))
    assert (new is not None) is trims


@given(*(st.floats(-3.0, 3.0) for _ in range(6)))
def test_a_trim_takes_an_arm_that_hangs_the_same_exactly_to_its_goal(
    lift: float, elbow: float, wrist: float, a: float, b: float, c: float
) -> None:
    trim = (0.0, min(a, 2.0), b, c, 0.0)
    hangs = (0.0, lift, elbow, wrist, 0.0)
    pose = shifted(shifted(FAR, trim), hangs)
    new = wanted(FAR, trim, pose, hangs)
    if new is None:
        return
    for joint in (1, 2, 3):
        left = pose[joint] - trim[joint] + new[joint] - FAR[joint]
        kept = new[joint] == trim[joint]
        assert kept or left == pytest.approx(0.0, abs=1e-9)
        assert kept or abs(new[joint]) <= MOST_DEG
    assert new[0] == new[4] == 0.0


@pytest.mark.parametrize(
    ("error", "hangs", "late"),
    [
        (1.0, 0.0, False),
        (1.01, 0.0, True),
        (-1.01, 0.0, True),
        (1.8, 0.8, False),
        (1.81, 0.8, True),
        (-1.0, 0.8, False),
        (-1.01, 0.8, True),  # weight pulls the other way
        (-1.8, -0.8, False),
    ],
)
def test_a_joint_is_late_beyond_its_sag_and_the_tolerance(
    error: float, hangs: float, late: bool
) -> None:
    goal = Pose(0.0, 0.0, 0.0, 0.0, 0.0)
    pose = goal._replace(lift=error)
    assert late_joint(goal, pose, (0.0, hangs, 0.0, 0.0, 0.0), 1.0) == (1 if late else None)


def test_a_joint_stuck_beyond_sag_and_tolerance_is_stalled_by_name(arena: Arena) -> None:
    arena.go(FAR)
    arena.arm.jam(3)
    answer = arena.go(FAR._replace(elbow=FAR.elbow - 1.6))
    assert answer["code"] == "stalled"
    assert "elbow_flex stopped 1.6 degrees before its goal" in answer["sentence"]


def test_a_program_is_looked_at_with_the_trim_on_every_point(arena: Arena) -> None:
    limits = arena.core.link.limits
    inside = joint_move(NEAR, FAR, 45.0, limits).points
    edge = Pose(0.0, 0.0, limits.travel_deg[2][0], 0.0, 0.0, 50.0)

    def verdict(points: Any, trim: Any) -> bool:
        looking = fits(points, trim, limits)
        while True:
            try:
                next(looking)
            except StopIteration as done:
                return bool(done.value)

    assert verdict(inside, (0.0, -0.8, -0.5, 0.0, 0.0))
    assert not violation(edge, limits)
    assert not verdict((*inside, edge), (0.0, -0.8, -0.5, 0.0, 0.0))


def test_a_program_of_one_point_trims_too(arena: Arena) -> None:
    arena.go(START)
    assert arena.answer(arena.move(Program((START,))))["code"] == "ok"
    assert abs(low_mm(arena, START)) < 0.6
