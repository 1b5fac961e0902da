from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from armlabd.sim import jaws
from armlabd.sim.blocks import Bin, Block
from armlabd.sim.geometry import Joints, arm_points
from armlabd.sim.grasp import Hand, Touch
from armlabd.sim.world import World, WorldForces

DT_S = 0.002
ON = (True,) * 6
HOME: Joints = (0.0, -90.0, 60.0, 60.0, 0.0)


@cache
def hand_down(x: float, y: float, z: float, yaw_deg: float) -> Joints:
    """Joint angles that put the tool point there, hand straight down, found by trial."""
    yaw = math.radians(yaw_deg)

    def miss(q: np.ndarray) -> np.ndarray:
        p = arm_points(tuple(q), 0.0)
        turn = p.opening[1] * math.cos(yaw) - p.opening[0] * math.sin(yaw)
        off = (p.tool[0] - x, p.tool[1] - y, p.tool[2] - z)
        return np.array([*off, 0.1 * p.axis[0], 0.1 * p.axis[1], 0.1 * turn])

    pan = -math.degrees(math.atan2(y, x))
    q = np.array([pan, 10.0, 5.0, 75.0, yaw_deg + pan + 2.8])
    for _ in range(40):
        now = miss(q)
        slope = np.array([(miss(q + step) - now) / 1e-4 for step in np.eye(5) * 1e-4]).T
        q = q - np.linalg.lstsq(slope, now, rcond=None)[0]
    assert np.abs(miss(q)).max() < 1e-7, "the test asks for a pose out of reach"
    return tuple(float(v) for v in q)  # type: ignore[return-value]


class Rig:
    """A world and an arm that goes where it is told, at speeds a servo reaches."""

    def __init__(self, *blocks: Block, bin: Bin | None = None, percent: float = 45.0) -> None:
        self.world = World(list(blocks), bin)
        self.q: Joints = HOME
        self.jaw = jaws.jaw_deg(percent)
        self.torque = ON
        self.forces: WorldForces = self.step()

    def step(self, closing: bool = False) -> WorldForces:
        self.forces = self.world.step(DT_S, self.q, self.jaw, closing, self.torque)
        return self.forces

    def go(self, q: Joints) -> None:
        """Joints together, 60 degrees a second."""
        closing = self.world.held is not None
        start = self.q
        longest = max(abs(a - b) for a, b in zip(q, start, strict=True))
        steps = max(1, round(longest / (60.0 * DT_S)))
        for n in range(1, steps + 1):
            part = n / steps
            self.q = tuple(a + (b - a) * part for a, b in zip(start, q, strict=True))  # type: ignore[assignment]
            self.step(closing)

    def jaw_to(self, percent: float) -> float:
        """Drive the jaw, 100 %/s, until there or stopped by a block; returns where it is."""
        goal, step = jaws.jaw_deg(percent), 110.0 * DT_S
        closing = goal < self.jaw
        while abs(self.jaw - goal) > 1e-9:
            wish = max(self.jaw - step, goal) if closing else min(self.jaw + step, goal)
            stop = self.forces.grip_block_deg
            if closing and stop is not None and wish <= stop:
                self.jaw = min(self.jaw, stop)
                self.step(closing=True)
                self.step(closing=True)
                break
            self.jaw = wish
            self.step(closing)
        return jaws.percent(self.jaw)

    def wait(self, seconds: float) -> None:
        for _ in range(round(seconds / DT_S)):
            self.step(self.world.held is not None)

    def reach(self, x: float, y: float, yaw_deg: float, z: float = 0.018) -> None:
        """Come down upon a place from above."""
        for height in (0.055, 0.045, 0.038, 0.032, 0.030, 0.025, z):
            if height >= z:  # by short pieces, so that the tool's way is a straight line
                self.go(hand_down(x, y, height, yaw_deg))

    def pick(
        self,
        ahead_mm: float,
        *,
        off_mm: float = 0.0,
        z: float = 0.018,
        yaw_deg: float = 0.0,
    ) -> float:
        """Try to pick the red block with the tool this far short of its centre."""
        block = self.world.blocks["red block"]
        c, s = math.cos(math.radians(yaw_deg)), math.sin(math.radians(yaw_deg))
        ahead, off = ahead_mm / 1000, off_mm / 1000
        self.reach(block.x - ahead * c + off * s, block.y - ahead * s - off * c, yaw_deg, z)
        return self.jaw_to(0)

    @property
    def block(self) -> Block:
        return self.world.blocks["red block"]


def red(x: float = 0.20, y: float = 0.0, yaw_deg: float = 0.0) -> Block:
    return Block("red block", x, y, yaw_deg=yaw_deg)


# --- the grasp


@pytest.mark.parametrize("ahead_mm", [14.45, 14.6, 18.0, 20.5, 23.0, 30.0, 45.8])
def test_a_block_is_picked_with_the_tool_14_4_to_45_9_mm_short_of_its_centre(ahead_mm):
    rig = Rig(red(), percent=50)
    assert rig.pick(ahead_mm) == pytest.approx(19.4, abs=0.4)
    assert rig.world.held == "red block"


@pytest.mark.parametrize("ahead_mm", [-12.0, 0.0, 7.0, 11.0, 14.35, 46.0, 50.0])
def test_outside_that_range_the_jaws_close_on_nothing(ahead_mm):
    rig = Rig(red(), percent=50)
    assert rig.pick(ahead_mm) == pytest.approx(0.0, abs=1e-6)
    assert rig.world.held is None


@pytest.mark.parametrize(
    ("along_mm", "off_mm", "tilt_deg", "inside"),
    [
        (14.4, 0, 0, True), (14.5, 0, 0, True), (14.3, 0, 0, False),
        (45.9, 0, 0, True), (45.8, 0, 0, True), (46.0, 0, 0, False),
        (20, 12, 0, True), (20, 11.9, 0, True), (20, 12.1, 0, False),
        (20, -12, 0, True), (20, -11.9, 0, True), (20, -12.1, 0, False),
        (20, 0, 25, True), (20, 0, 24.9, True), (20, 0, 26, False),
    ],
)  # fmt: skip
def test_the_ends_of_the_zone_where_the_jaws_pick_are_inside(along_mm, off_mm, tilt_deg, inside):
    upright = math.cos(math.radians(tilt_deg))
    hand = Hand(0.18, 0.0, 0.018, 1.0, 0.0, 0.0, upright, 0.012, 0.012, jaws.jaw_deg(45))
    touch = Touch(hand, red(0.18 + along_mm / 1000, off_mm / 1000))
    assert touch.in_zone is inside


def test_a_hand_that_aims_the_tool_at_the_centre_shoves_the_block_out_of_its_place():
    rig = Rig(red())
    rig.pick(0.0)
    assert math.dist((rig.block.x, rig.block.y), (0.20, 0.0)) > 0.01
    assert rig.block.z == 0.0


@pytest.mark.parametrize("off_mm", [-12.0, -11.9, 0.0, 11.9, 12.0])
def test_up_to_12_mm_across_the_opening_still_picks(off_mm):
    rig = Rig(red())
    rig.pick(20.0, off_mm=off_mm)
    assert rig.world.held == "red block"


@pytest.mark.parametrize("off_mm", [-12.2, 12.2, 20.0])
def test_more_than_12_mm_across_the_opening_misses(off_mm):
    rig = Rig(red())
    assert rig.pick(20.0, off_mm=off_mm) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("yaw", [-45.0, -44.0, -20.0, 7.0, 44.0, 45.0, 90.0, 135.0])
def test_a_block_turned_by_up_to_45_degrees_is_turned_into_line_and_picked(yaw):
    rig = Rig(red(yaw_deg=yaw))
    assert rig.pick(20.5) == pytest.approx(19.4, abs=0.4)
    assert rig.world.held == "red block"
    assert math.remainder(rig.block.yaw_deg, 90.0) == pytest.approx(0.0, abs=0.5)


@pytest.mark.parametrize("place", [(0.22, 0.09), (0.15, 0.12), (0.24, -0.09), (0.14, -0.06)])
@pytest.mark.parametrize("yaw", [-50.0, 30.0])
def test_blocks_anywhere_on_the_table_are_picked_along_their_own_sides(place, yaw):
    rig = Rig(red(*place, yaw_deg=yaw))
    rig.pick(20.0, yaw_deg=yaw)
    assert rig.world.held == "red block"


@pytest.mark.parametrize("z", [0.008, 0.016, 0.020, 0.035])
def test_tool_heights_from_8_to_35_mm_pick(z):
    rig = Rig(red())
    rig.pick(20.0, z=z)
    assert rig.world.held == "red block"


def test_jaws_above_the_block_close_on_nothing():
    rig = Rig(red())
    assert rig.pick(20.0, z=0.039) == pytest.approx(0.0, abs=1e-6)
    assert (rig.block.x, rig.block.y) == (0.20, 0.0)


@pytest.mark.parametrize(("percent", "picked"), [(25, True), (40, True), (100, True), (20, False)])
def test_jaws_must_come_down_wider_than_the_block(percent, picked):
    rig = Rig(red(), percent=percent)
    rig.pick(17.0)
    assert (rig.world.held is not None) is picked


def test_jaws_20_percent_open_never_come_down_around_a_block_however_well_they_are_aimed():
    rig = Rig(red(), percent=20)
    assert rig.pick(15.5) == pytest.approx(0.0, abs=1e-6)
    assert rig.world.held is None


@pytest.mark.parametrize("percent", [28, 25, 22])
def test_a_closing_jaw_turns_the_block_only_as_far_as_the_gap_needs(percent):
    rig = Rig(red(yaw_deg=40.0))
    rig.reach(0.18, 0.0, 0.0)
    rig.jaw_to(percent)
    gap = jaws.clear_gap_m(rig.jaw, 0.086)
    width = 2 * rig.block.reach_m(0.0)
    assert width == pytest.approx(gap, abs=0.0006)
    assert rig.world.held is None


def test_a_hand_tilted_by_more_than_25_degrees_picks_nothing():
    rig = Rig(red())
    q = list(hand_down(0.18, 0.0, 0.018, 0.0))
    q[3] -= 32.0
    tool = arm_points(tuple(q), rig.jaw).tool
    rig.world.place("red block", tool[0] + 0.02, tool[1], 0.0)
    rig.q = tuple(q)  # type: ignore[assignment]
    rig.step()
    assert rig.jaw_to(0) == pytest.approx(0.0, abs=1e-6)


def test_the_moving_jaw_pushes_the_block_against_the_fixed_one():
    rig = Rig(red(), percent=50)
    rig.pick(40.0)
    tool = arm_points(rig.q, rig.jaw).tool
    assert rig.block.x - tool[0] == pytest.approx(0.015, abs=0.0005)


def test_closing_away_from_any_block_reads_zero_and_moves_none():
    rig = Rig(red())
    rig.reach(0.14, 0.10, 0.0)
    assert rig.jaw_to(0) == pytest.approx(0.0, abs=1e-6)
    assert (rig.block.x, rig.block.y) == (0.20, 0.0)


def test_a_low_hand_moving_sideways_pushes_a_block_along_instead_of_passing_through():
    rig = Rig(red(0.21, 0.0), percent=0)
    rig.reach(0.15, 0.0, 0.0)
    rig.go(hand_down(0.20, 0.0, 0.018, 0.0))
    tip = arm_points(rig.q, rig.jaw).tool[0]
    assert rig.block.x - 0.015 > tip
    assert rig.block.y == pytest.approx(0.0, abs=0.003)


def test_two_blocks_side_by_side_only_the_aimed_one_is_picked():
    rig = Rig(red(), Block("green block", 0.20, 0.05))
    rig.pick(20.0)
    assert rig.world.held == "red block"
    assert not rig.world.blocks["green block"].held


def test_random_errors_of_place_and_yaw_as_a_camera_makes_them_are_forgiven():
    chance = np.random.default_rng(5)
    for _ in range(15):
        rig = Rig(red(0.20, float(chance.uniform(-0.08, 0.08)), yaw_deg=chance.uniform(-90, 90)))
        ahead, off = 20.5 + chance.normal(0, 1.5), chance.normal(0, 1.5)
        rig.pick(float(ahead), off_mm=float(off), yaw_deg=round(chance.uniform(-60, 60)))
        assert rig.world.held == "red block"


# --- carrying and letting go


def lifted(bin: Bin | None = None) -> Rig:
    rig = Rig(red(), bin=bin)
    rig.pick(20.0)
    rig.go(hand_down(0.18, 0.0, 0.075, 0.0))
    return rig


def test_a_held_block_moves_rigidly_with_the_hand():
    rig = lifted()
    before = arm_points(rig.q, rig.jaw)
    offset = [b - t for b, t in zip(_centre(rig), before.tool, strict=True)]
    along = [sum(o * a for o, a in zip(offset, axis, strict=True)) for axis in _axes(before)]
    rig.go(HOME)
    after = arm_points(rig.q, rig.jaw)
    offset = [b - t for b, t in zip(_centre(rig), after.tool, strict=True)]
    assert along == pytest.approx(
        [sum(o * a for o, a in zip(offset, axis, strict=True)) for axis in _axes(after)], abs=1e-9
    )
    assert rig.world.state()["held"] == "red block"
    assert rig.block.z > 0.05


def _centre(rig: Rig) -> tuple[float, float, float]:
    return rig.world.solids()[0].centre


def _axes(points) -> tuple[tuple[float, ...], ...]:  # type: ignore[no-untyped-def]
    return points.opening, points.across, points.axis


def test_a_block_comes_off_the_table_with_the_hand():
    rig = lifted()
    assert rig.block.z == pytest.approx(0.057, abs=0.001)


def test_opened_by_less_than_a_millimetre_the_block_stays():
    rig = lifted()
    rig.jaw += math.degrees(0.0009 / 0.082)
    rig.wait(0.2)
    assert rig.world.held == "red block"


def test_opened_by_more_than_a_millimetre_it_falls_straight_down_and_keeps_its_yaw():
    rig = lifted()
    rig.go(hand_down(0.16, 0.06, 0.06, 30.0))
    x, y, yaw = rig.block.x, rig.block.y, rig.block.yaw_deg
    rig.jaw_to(30)
    rig.wait(0.3)
    assert rig.world.held is None
    assert (rig.block.x, rig.block.y, rig.block.z) == pytest.approx((x, y, 0.0), abs=1e-9)
    assert rig.block.yaw_deg == pytest.approx(yaw)


def test_it_takes_the_time_of_a_fall():
    rig = lifted()
    height = rig.block.z
    rig.jaw += 2.0
    falling = 0
    while rig.step().grip_block_deg is not None or rig.block.z > 0:
        falling += 1
        assert falling < 1000
    assert falling * DT_S == pytest.approx(math.sqrt(2 * height / 9.81), rel=0.1)


def test_a_limp_gripper_lets_the_block_fall():
    rig = lifted()
    rig.torque = (True,) * 5 + (False,)
    rig.wait(0.3)
    assert rig.world.held is None
    assert rig.block.z == 0.0


def test_a_limp_joint_elsewhere_does_not_open_the_jaws():
    rig = lifted()
    rig.torque = (False,) * 5 + (True,)
    rig.wait(0.1)
    assert rig.world.held == "red block"


def test_while_held_the_jaw_feels_the_block():
    rig = lifted()
    assert rig.forces.grip_block_deg is not None
    assert jaws.percent(rig.forces.grip_block_deg) == pytest.approx(19.4, abs=0.3)


@pytest.mark.parametrize("z", [0.03, 0.06])
def test_dropped_over_the_bin_it_lies_in_the_bin(z):
    rig = lifted(bin=Bin())
    rig.go(hand_down(0.18, -0.10, 0.06, 0.0))
    rig.go(hand_down(0.18, -0.10, z, 0.0))
    assert rig.world.in_bin() == []  # held over the bin is not in the bin
    rig.jaw_to(50)
    rig.wait(0.3)
    rig.go(hand_down(0.18, -0.10, 0.06, 0.0))
    assert rig.world.in_bin() == ["red block"]
    assert rig.block.z == 0.0


def test_drop_all_lays_the_held_block_down_at_once():
    rig = lifted()
    rig.world.drop_all()
    assert rig.world.held is None
    assert rig.block.z == 0.0


def test_a_carried_block_shoves_another_aside():
    rig = Rig(red(), Block("green block", 0.20, 0.06))
    rig.pick(20.0)
    rig.go(hand_down(0.18, 0.05, 0.020, 0.0))
    green = rig.world.blocks["green block"]
    assert max(abs(green.x - rig.block.x), abs(green.y - rig.block.y)) >= 0.029
    tool = arm_points(rig.q, rig.jaw).tool
    assert rig.block.x - tool[0] == pytest.approx(0.015, abs=1e-4)  # the hand's stays in the hand
    assert rig.block.y == pytest.approx(tool[1], abs=1e-4)
    assert rig.world.held == "red block"


def test_placing_the_held_block_takes_it_out_of_the_hand():
    rig = lifted()
    rig.world.place("red block", 0.25, 0.0, 0.0)
    rig.wait(0.1)
    assert rig.world.held is None
    assert (rig.block.x, rig.block.z) == (0.25, 0.0)
