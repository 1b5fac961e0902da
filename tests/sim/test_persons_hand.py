"""The person at the virtual arm: the true fingertip on a point, whatever the servos show."""

from __future__ import annotations

from math import dist

import pytest

from armlabd.clock import VirtualClock
from armlabd.sim.arm import VirtualArm
from armlabd.sim.commands import Commands, parse_line
from armlabd.sim.geometry import arm_points
from armlabd.sim.hand import SLOPES, OutOfReach
from armlabd.sim.hidden import HiddenErrors
from armlabd.sim.inprocess import InProcessCable
from armlabd.sim.world import World

POINTS = ((0.06, 0.22, 0.0), (0.06, -0.22, 0.0), (0.34, 0.22, 0.0), (0.34, -0.22, 0.0))


def tip(arm: VirtualArm) -> tuple[float, float, float]:
    joints, jaw = arm.true_deg()
    return arm_points(joints, jaw).fixed_tip


@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize("point", POINTS)
def test_the_true_tip_is_where_the_hand_put_it_and_stays(
    point: tuple[float, float, float], slope: str
) -> None:
    arm = VirtualArm(World(blocks=()), hidden=HiddenErrors.drawn(3))
    arm.touch(point, slope, 40.0)
    assert dist(tip(arm), point) < 0.0002
    arm.advance(arm.now_s + 1.0)
    assert dist(tip(arm), point) < 0.0005
    assert not any(servo.torque_on for servo in arm.servos)


def test_the_servos_show_something_else() -> None:
    arm = VirtualArm(World(blocks=()), hidden=HiddenErrors.drawn(3))
    arm.touch(POINTS[0])
    jaw = arm.shown_deg()[5]
    one, two, three, four, five = arm.shown_deg()[:5]
    shown = arm_points((one, two, three, four, five), jaw).fixed_tip
    assert dist(shown, POINTS[0]) > 0.003


def test_steep_and_flat_are_two_postures() -> None:
    arm = VirtualArm(World(blocks=()))
    slopes = []
    for slope in ("steep", "flat"):
        arm.touch(POINTS[0], slope)
        joints, _ = arm.true_deg()
        slopes.append(sum(joints[1:4]))
    assert slopes[0] > slopes[1] + 20.0


def test_a_point_out_of_reach_is_refused() -> None:
    arm = VirtualArm(World(blocks=()))
    with pytest.raises(OutOfReach, match="does not reach"):
        arm.touch((0.55, 0.0, 0.0))


def test_an_arm_let_go_sinks_and_one_held_does_not() -> None:
    arm = VirtualArm(World(blocks=()))
    high = (0.25, 0.0, 0.15)
    arm.touch(high, "flat")
    arm.advance(arm.now_s + 2.0)
    assert tip(arm)[2] == pytest.approx(0.15, abs=0.001)
    arm.let_go()
    arm.advance(arm.now_s + 3.0)
    assert tip(arm)[2] < 0.05


def test_the_hand_lets_a_joint_go_that_is_switched_on() -> None:
    arm = VirtualArm(World(blocks=()))
    arm.put((0.0, -60.0, 60.0, 60.0, 0.0), held=True)
    servo = arm.servos[0]
    servo.write(42, (2048 + 200).to_bytes(2, "little"))
    servo.write(40, b"\x01")
    arm.advance(arm.now_s + 2.0)
    assert arm.shown_deg()[0] > 10.0


def test_a_hand_cannot_turn_a_joint_beyond_its_end() -> None:
    arm = VirtualArm(World(blocks=()))
    arm.put((180.0, -60.0, 60.0, 60.0, 0.0), held=True)
    assert arm.shown_deg()[0] == pytest.approx(112.0, abs=0.5)


def test_touching_over_the_control_socket() -> None:
    arm = VirtualArm(World(blocks=()), hidden=HiddenErrors.drawn(1))
    commands = Commands(arm, InProcessCable(arm, VirtualClock()), lambda: None)
    assert commands.handle(parse_line("touch x=0.06 y=0.22 slope=flat"))["ok"] is True
    assert dist(tip(arm), POINTS[0]) < 0.0002
    wrong = commands.handle(parse_line("touch x=0.06 y=0.22 slope=round"))
    assert "steep or flat" in wrong["error"]
    assert "does not reach" in commands.handle(parse_line("touch x=0.5 y=0.5"))["error"]
    assert commands.handle(parse_line("let_go"))["ok"] is True
    held = '{"cmd": "limp", "joints_deg": [0, 0, 0, 0, 0], "held": true}'
    assert commands.handle(parse_line(held))["ok"] is True
    arm.advance(arm.now_s + 2.0)
    assert arm.shown_deg()[1] == pytest.approx(0.0, abs=0.1)
