"""The play of joints that carry no weight: where the hand comes from, and where that puts it.

The virtual arm has the play of a worn one, 1 degree in every joint, and no other hidden error.
"""

from __future__ import annotations

from math import cos, hypot, radians, sin
from pathlib import Path

import pytest

from armlabd.arm.joints import Pose
from armlabd.arm.kinematics import forward, inverse
from armlabd.bench.arena import Arena
from armlabd.gate.moves import MoveSettings, plan_motion
from armlabd.sim.arm import VirtualArm
from armlabd.sim.geometry import arm_points
from armlabd.sim.hidden import HiddenErrors
from armlabd.sim.world import World

X_M, Y_M = 0.25, 0.03
HOME5, VIEW5, PARK5 = (
    (0.0, -90.0, 60.0, 60.0, 0.0),
    (100.0, -90.0, 60.0, 60.0, 0.0),
    (0.0, -98.0, 86.0, 75.0, 0.0),
)


def worn(folder: Path) -> Arena:
    hidden = HiddenErrors(backlash_deg=(1.0,) * 5)
    return Arena(folder, arm=VirtualArm(World(blocks=()), now_s=100.0, hidden=hidden)).ready()


def plan(arena: Arena, z: float, holding: bool = False) -> list[Pose]:
    """`move_to_pose` as the gate plans it, carried out."""
    settings = MoveSettings(arena.core.link.limits, HOME5, VIEW5, PARK5)
    start = arena.core.conductor.goal or arena.pose
    args = {"x": X_M, "y": Y_M, "z": z, "speed_dps": 30.0}
    legs = plan_motion("move_to_pose", args, start, holding, settings)
    assert isinstance(legs, tuple), legs
    for leg in legs:
        assert arena.answer(arena.move(leg.program))["code"] == "ok"
    return [point for leg in legs for point in leg.program.points]


def place_mm(arena: Arena, pan_deg: float, z: float, holding: bool = False) -> tuple[float, float]:
    """Where the true tool stands at `z` over the point, coming from `pan_deg`: along, across."""
    over = inverse(X_M, Y_M, 0.07, roll_deg=0.0, grip_percent=50.0)
    side = over._replace(pan=over.pan + pan_deg, lift=over.lift - 15.0)
    assert arena.go(side, 45.0)["code"] == "ok"
    plan(arena, 0.07, holding)
    if z < 0.07:
        plan(arena, z, holding)
    joints, jaw = arena.arm.true_deg()
    x, y, _ = arm_points(joints, jaw).tool
    told = forward(arena.core.conductor.goal or arena.pose).tool
    c, s = cos(radians(over.pan)), sin(radians(over.pan))
    dx, dy = (x - told[0]) * 1e3, (y - told[1]) * 1e3
    return dx * c - dy * s, dx * s + dy * c


def test_a_hand_that_comes_from_either_side_ends_at_the_same_place_over_a_block(
    tmp_path: Path,
) -> None:
    arena = worn(tmp_path)
    places = [place_mm(arena, pan, 0.02) for pan in (-25.0, 25.0, -5.0, 5.0, 0.6, -0.6)]
    across = [side for _, side in places]
    assert max(across) - min(across) < 0.6, places  # a step of the servo is 0.4 mm out there
    along = [out for out, _ in places]
    assert max(along) - min(along) < 1.0, places


def test_a_hand_that_carries_something_takes_the_plain_way_and_lands_4_mm_apart(
    tmp_path: Path,
) -> None:
    arena = worn(tmp_path)
    one, other = (place_mm(arena, pan, 0.07, holding=True)[1] for pan in (-25.0, 25.0))
    assert 3.0 < abs(one - other) < 5.0


def test_roll_need_not_come_from_one_side_its_play_moves_the_grasp_by_a_tenth_of_a_mm() -> None:
    pose = inverse(X_M, Y_M, 0.02, roll_deg=0.0, grip_percent=50.0)
    a, b = forward(pose).grasp, forward(pose._replace(roll=1.0)).grasp
    assert hypot(a[0] - b[0], a[1] - b[1]) * 1e3 < 0.25
    assert forward(pose._replace(roll=1.0)).yaw_deg - forward(pose).yaw_deg == pytest.approx(1.0)


def test_low_over_the_table_nothing_is_dragged_aside(tmp_path: Path) -> None:
    arena = worn(tmp_path)
    place_mm(arena, 10.0, 0.03)
    pans = [point.pan for point in plan(arena, 0.02)]
    assert max(pans) - min(pans) < 0.5
