"""Servos and world together: a block is picked with register writes alone."""

from __future__ import annotations

from armlabd.sim.arm import VirtualArm
from armlabd.sim.calibration import SPECS, encoder_from_degrees, jaw_degrees
from armlabd.sim.world import World

# over and around the default red block at (0.22, 0.09), hand straight down, jaws 45 % open
ABOVE = (-28.21, -1.08, 1.36, 89.72, -25.42)
AROUND = (-28.21, 4.14, 20.55, 65.31, -25.42)


class Hand:
    def __init__(self, torque_limit: int) -> None:
        self.arm = VirtualArm(World(), start_deg=ABOVE, start_percent=45)
        self.now_s = 0.0
        self.arm.servos[5].write(48, torque_limit.to_bytes(2, "little"))

    def go(self, joints: tuple[float, ...], percent: float, seconds: float) -> None:
        for joint, angle in enumerate((*joints, jaw_degrees(percent))):
            raw = round(encoder_from_degrees(joint, angle) - SPECS[joint].homing_offset)
            servo = self.arm.servos[joint]
            # acceleration, goal, time, speed in one write
            servo.write(41, b"\x14" + raw.to_bytes(2, "little") + b"\0\0\x90\x01")
            servo.write(40, b"\x01")
        self.now_s += seconds
        self.arm.advance(self.now_s)


def test_a_gentle_grip_lifts_a_block_holds_it_and_lets_it_go() -> None:
    hand = Hand(torque_limit=300)
    hand.go(AROUND, 45, 2.0)
    hand.go(AROUND, 0, 2.0)
    assert hand.arm.state()["held"] == "red block"
    assert 18.5 < hand.arm.state()["gripper_percent"] < 20.5
    hand.go(ABOVE, 0, 5.0)
    assert hand.arm.state()["error_bits"] == [0] * 6
    assert hand.arm.state()["blocks"][0]["z"] > 0.04
    hand.go(ABOVE, 45, 2.0)
    assert hand.arm.state()["held"] is None
    assert hand.arm.state()["blocks"][0]["z"] == 0.0


def test_case_full_force_on_a_block_trips_the_overload_latch() -> None:
    hand = Hand(torque_limit=1000)
    hand.go(AROUND, 45, 2.0)
    hand.go(AROUND, 0, 4.0)
    assert hand.arm.state()["error_bits"] == [0, 0, 0, 0, 0, 0x20]


def test_closing_on_nothing_reads_nought_percent() -> None:
    hand = Hand(torque_limit=300)
    hand.go(ABOVE, 0, 3.0)
    assert hand.arm.state()["held"] is None
    assert abs(hand.arm.state()["gripper_percent"]) < 0.3
