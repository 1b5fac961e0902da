from __future__ import annotations

import math

import pytest

from armlabd.sim.blocks import Bin, Block, WorldError
from armlabd.sim.geometry import Joints, arm_points
from armlabd.sim.world import World

DT_S = 0.002
ON = (True,) * 6
LIMP = (False,) * 6
HOME: Joints = (0.0, -90.0, 60.0, 60.0, 0.0)
LIMITS = ((-110, 110), (-100, 100), (-96.8, 96.8), (-95, 95), (-157.2, 162.8))


def red(x: float = 0.20, y: float = 0.0, yaw_deg: float = 0.0) -> Block:
    return Block("red block", x, y, yaw_deg=yaw_deg)


# --- the table, the bin and the blocks among themselves


def test_blocks_put_on_one_another_end_up_apart():
    world = World([red(), Block("blue block", 0.21, 0.005)], None)
    a, b = world.blocks.values()
    assert max(abs(a.x - b.x), abs(a.y - b.y)) >= 0.03 - 1e-6


@pytest.mark.parametrize("y", [-0.149, -0.10, -0.052])
def test_a_block_over_the_bin_lies_wholly_inside_its_walls(y):
    world = World([red(0.20, y)], Bin())
    assert -0.135 - 1e-9 <= world.blocks["red block"].y <= -0.065 + 1e-9
    assert world.in_bin() == ["red block"]


def test_a_block_on_the_rim_from_outside_lies_wholly_outside():
    world = World([red(0.20, -0.045)], Bin())
    assert world.blocks["red block"].y == pytest.approx(-0.05 + 0.003 + 0.015)
    assert world.in_bin() == []


def test_the_bins_edge_is_inside():
    bin_ = Bin(0.20, -0.10)
    assert bin_.contains(0.20 + 0.05 - 1e-12, -0.10)
    assert not bin_.contains(0.2501, -0.10)


def test_the_default_world_has_three_blocks_and_an_empty_bin():
    state = World().state()
    assert [b["label"] for b in state["blocks"]] == ["red block", "green block", "blue block"]
    assert state["in_bin"] == []
    assert state["bin"]["inner_m"] == 0.10


def test_placing_a_known_block_moves_it_and_a_new_one_adds_it():
    world = World([red()], None)
    world.place("red block", 0.15, 0.05, 30.0)
    world.place("red block 2", 0.25, 0.05, 0.0)
    places = {b["label"]: (b["x"], b["y"], b["yaw_deg"]) for b in world.state()["blocks"]}
    assert places == {"red block": (0.15, 0.05, 30.0), "red block 2": (0.25, 0.05, 0.0)}


def test_removing_takes_the_block_away_and_an_unknown_name_is_refused():
    world = World([red()], None)
    world.remove("red block")
    assert world.state()["blocks"] == []
    with pytest.raises(WorldError, match="no block called"):
        world.remove("red block")


@pytest.mark.parametrize(
    ("label", "x"),
    [("purple block", 0.2), ("", 0.2), ("red block", math.nan), ("red block", True),
     ("red block", "0.2"), ("red block", 0.61), ("red block", math.inf)],
)  # fmt: skip
def test_a_block_that_cannot_be_is_refused(label, x):
    world = World([], None)
    with pytest.raises(WorldError):
        world.place(label, x, 0.0, 0.0)
    assert world.state()["blocks"] == []


def test_two_blocks_of_one_name_are_refused():
    with pytest.raises(WorldError, match="own name"):
        World([red(), red(0.25)], None)


# --- what the limp arm feels


def limp_fall(start: Joints) -> tuple[Joints, bool]:
    """Let every joint follow its weight until the table holds the arm."""
    world, q, blocked = World([], None), list(start), False
    for _ in range(5000):
        forces = world.step(DT_S, tuple(q), -10.0, False, LIMP)  # type: ignore[arg-type]
        blocked = forces.blocked
        if blocked:
            break
        q = [
            min(max(angle + 0.5 * pull, low), high)
            for angle, pull, (low, high) in zip(q, forces.gravity, LIMITS, strict=True)
        ]
    return tuple(q), blocked  # type: ignore[return-value]


def test_limp_from_home_the_arm_rests_on_a_jaw_with_the_tool_7_mm_up_and_tilted_25_degrees():
    q, blocked = limp_fall(HOME)
    points = arm_points(q, -10.0)
    assert blocked
    assert points.tool[2] == pytest.approx(0.007, abs=0.0007)
    assert math.degrees(math.acos(-points.axis[2])) == pytest.approx(25, abs=2)


@pytest.mark.parametrize(
    "start", [(0.0,) * 5, (40.0, -30.0, 30.0, 60.0, 90.0), (0.0, -60.0, 60.0, 20.0, 0.0)]
)
def test_limp_from_elsewhere_it_comes_to_rest_on_the_table_too(start):
    q, blocked = limp_fall(start)
    assert blocked
    assert 0.004 <= arm_points(q, -10.0).tool[2] <= 0.010


def upright_hand(tool_z_m: float) -> Joints:
    """Hand straight down with the tool point at a height, found by halving."""
    low, high = 0.0, 20.0  # degrees of lift: more is lower
    for _ in range(50):
        lift = (low + high) / 2
        q = (0.0, lift, 20.0, 70.0 - lift, 0.0)
        low, high = (lift, high) if arm_points(q, 0.0).tool[2] > tool_z_m else (low, lift)
    return q


@pytest.mark.parametrize(("tool_z_m", "blocked"), [(0.05, False), (0.008, False), (0.0074, True)])
def test_an_upright_hand_is_blocked_when_its_tip_touches_the_table(tool_z_m, blocked):
    assert World([], None).step(DT_S, upright_hand(tool_z_m), -10.0, False, LIMP).blocked is blocked


def test_a_wrist_on_the_table_blocks_too():
    q = (0.0, 100.0, -60.0, -95.0, 0.0)
    points = arm_points(q, -10.0)
    assert points.wrist[2] < 0.012 < min(points.tool[2], points.fixed_tip[2])
    assert World([], None).step(DT_S, q, -10.0, False, LIMP).blocked


def test_a_standing_arm_gets_the_same_answer_again():
    world = World()
    first = world.step(DT_S, HOME, 30.0, False, ON)
    assert world.step(DT_S, HOME, 30.0, False, ON) == first
    assert first.gravity[0] == pytest.approx(0.0, abs=1e-9)
    assert first.gravity[2] > 0.05
