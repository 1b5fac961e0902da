"""The way inside: from any limp pose, gently, and no violation ever grows."""

from __future__ import annotations

import random

import pytest

from armlabd.arm.joints import HOME, Pose
from armlabd.arm.kinematics import forward
from armlabd.arm.limits import CEILINGS, TRAVEL_DEG, Limits, tighten
from armlabd.motion.fence import violation
from armlabd.motion.guard import check_program
from armlabd.motion.inside import way_inside

SAG_DEG = 0.2


def lowest_m(pose: Pose) -> float:
    reach = forward(pose)
    points = (reach.tool, reach.wrist, reach.elbow, reach.fixed_tip, reach.moving_tip)
    return min(point[2] for point in points)


def in_base(pose: Pose) -> bool:
    return any(depth.name.startswith("box:the base") for depth in violation(pose, CEILINGS))


def limp_pose(dice: random.Random) -> Pose:
    """Random, then sagged joint by joint until a point touches the table (or the base)."""
    while True:
        pose = Pose(*(dice.uniform(*ends) for ends in TRAVEL_DEG), dice.uniform(0.0, 100.0))
        if lowest_m(pose) >= 0.0 and not in_base(pose):
            break
    for joint, index in (("lift", 1), ("elbow", 2), ("wrist", 3)):
        while lowest_m(pose) >= 0.001 and pose[index] < TRAVEL_DEG[index][1]:
            lower = pose._replace(**{joint: pose[index] + SAG_DEG})
            if lowest_m(lower) < 0.0 or in_base(lower):
                break
            pose = lower
    return pose


@pytest.mark.parametrize("seed", range(5))
def test_500_limp_arms_are_brought_inside_gently(seed: int) -> None:
    dice = random.Random(seed)
    outside = 0
    for _ in range(100):
        pose = limp_pose(dice)
        program = way_inside(pose, CEILINGS, HOME)
        assert program is not None, pose
        assert check_program(program, CEILINGS, pose) is None, pose
        assert not violation(program.goal, CEILINGS), pose
        outside += bool(violation(pose, CEILINGS))
    assert outside > 90, "the poses are what they claim to be"


def test_the_whole_way_is_slow() -> None:
    pose = limp_pose(random.Random(7))
    program = way_inside(pose, CEILINGS, HOME)
    assert program is not None
    steps = zip(program.points, program.points[1:], strict=False)
    fastest = max(
        abs(b - a) for now, after in steps for a, b in zip(now[:5], after[:5], strict=True)
    )
    assert fastest <= 0.1


def test_an_arm_that_is_inside_stays_where_it_is() -> None:
    program = way_inside(HOME, CEILINGS, HOME)
    assert program is not None
    assert program.points == (HOME,)


@pytest.mark.parametrize("index", range(5))
@pytest.mark.parametrize("end", [0, 1])
def test_a_joint_beyond_its_travel_turns_straight_back(index: int, end: int) -> None:
    free = tighten(CEILINGS)
    beyond = TRAVEL_DEG[index][end] + (1.5 if end else -1.5)
    middle = Pose(0.0, -60.0, 20.0, 30.0, 0.0, 20.0)
    pose = middle._replace(**{Pose._fields[index]: beyond})
    kinds = {depth.name.partition(":")[0] for depth in violation(pose, free)}
    if kinds != {"travel"}:
        pytest.skip("this joint's end is on the table too")
    program = way_inside(pose, free, HOME)
    assert program is not None
    assert not violation(program.goal, free)
    moved = [abs(a - b) > 1e-9 for a, b in zip(program.goal, pose, strict=True)]
    assert moved == [k == index for k in range(6)]


def test_a_wedged_arm_gets_no_program_rather_than_a_harmful_one() -> None:
    nowhere = Limits(floor_m=0.3, tip_floor_m=0.3)
    folded = Pose(0.0, 60.0, 60.0, 60.0, 0.0, 20.0)
    program = way_inside(folded, nowhere, HOME)
    if program is not None:
        assert check_program(program, nowhere, folded) is None
