from __future__ import annotations

import pytest

from armlabd.bus.registers import decode_block
from armlabd.sim import memory as at
from armlabd.sim.arm import VirtualArm
from armlabd.sim.calibration import JOINTS, encoder_from_degrees, jaw_degrees
from armlabd.sim.hidden import HiddenErrors
from armlabd.sim.motor import Load
from armlabd.sim.protection import CURRENT_BIT, OVERLOAD_BIT, TEMPERATURE_BIT, VOLTAGE_BIT
from armlabd.sim.servo import VirtualServo
from armlabd.sim.world import World

DT_S = 0.002


def le(value: int) -> bytes:
    return value.to_bytes(2, "little")


def run(one: VirtualServo, seconds: float, load: Load | None = None) -> None:
    for _ in range(round(seconds / DT_S)):
        one.step(DT_S, load or Load())


def moving_servo(goal: int, speed: int = 0, acceleration: int = 0) -> VirtualServo:
    one = VirtualServo(1, 2048.0)
    one.write(at.ACCELERATION, bytes((acceleration,)) + le(goal) + le(0) + le(speed))
    one.write(at.TORQUE_ENABLE, b"\x01")
    return one


def test_a_servo_reaches_its_goal_and_says_so() -> None:
    one = moving_servo(3000)
    run(one, 0.05)
    assert one.read(at.MOVING, 1) == b"\x01"
    run(one, 1.0)
    assert abs(one.present_position() - 3000) <= 1
    assert one.read(at.MOVING, 1) == b"\x00"
    assert one.resting


def test_without_torque_nothing_moves() -> None:
    one = VirtualServo(1, 2048.0)
    one.write(at.GOAL_POSITION, le(3000))
    run(one, 0.5)
    assert one.present_position() == 2048


def test_the_speed_limit_holds() -> None:
    one = moving_servo(4000, speed=500)
    run(one, 1.0)
    assert at.word(one.read(at.VELOCITY, 2), 0) == pytest.approx(500, abs=2)
    assert 2048 + 400 < one.present_position() <= 2048 + 500


def test_speed_0_is_full_speed_and_with_phase_bit_3_clear_it_is_standstill() -> None:
    fast = moving_servo(4000)
    run(fast, 0.3)
    assert fast.present_position() > 2600
    still = VirtualServo(1, 2048.0)
    still.write(at.PHASE, b"\x04")
    still.write(at.GOAL_POSITION, le(4000))
    still.write(at.TORQUE_ENABLE, b"\x01")
    run(still, 0.3)
    assert still.present_position() == 2048


def test_the_acceleration_limit_holds() -> None:
    gentle, brisk = moving_servo(4000, 2000, 5), moving_servo(4000, 2000, 50)
    run(gentle, 0.4)
    run(brisk, 0.4)
    assert gentle.motor.velocity == pytest.approx(5 * 100 * 0.4, rel=0.15)
    assert brisk.motor.velocity == pytest.approx(2000, rel=0.1)


def test_a_slow_servo_stops_without_overshoot() -> None:
    one = moving_servo(2500, 700, 20)
    highest = 0
    for _ in range(1000):
        one.step(DT_S, Load())
        highest = max(highest, one.present_position())
    assert highest <= 2501
    assert abs(one.present_position() - 2500) <= 1


@pytest.mark.parametrize(("gain", "sag_deg"), [(32, 0.6), (16, 1.2)])
def test_a_loaded_servo_sags_by_its_gain(gain: int, sag_deg: float) -> None:
    one = moving_servo(2048)
    one.write(at.P_GAIN, bytes((gain,)))
    run(one, 1.0, Load(gravity=0.128))
    assert (one.motor.position - 2048) * 360 / 4096 == pytest.approx(sag_deg, rel=0.1)
    assert one.resting


def test_the_load_shows_in_load_current_and_heat() -> None:
    one = moving_servo(2048)
    run(one, 1.0, Load(gravity=0.5))
    block = decode_block(one.read(at.POSITION, 15))
    assert block.load == pytest.approx(-500, abs=10)
    assert block.current == pytest.approx(3 + 0.5 * 415, abs=10)
    run(one, 60.0, Load(gravity=0.5))
    assert one.read(at.TEMPERATURE, 1)[0] > 27


def test_the_torque_limit_limits_the_squeeze() -> None:
    one = moving_servo(1000)
    one.write(at.TORQUE_LIMIT, le(300))
    run(one, 1.0, Load(lowest=1800.0))
    block = decode_block(one.read(at.POSITION, 15))
    assert (block.position, block.velocity, block.load) == (1800, 0, -300)
    assert one.read(at.MOVING, 1) == b"\x01"  # the goal is not reached
    run(one, 5.0, Load(lowest=1800.0))
    assert one.error_bits == 0
    assert one.resting


def squeezing_servo(seconds: float) -> VirtualServo:
    one = moving_servo(1000)
    run(one, 0.3, Load(lowest=1800.0))
    run(one, seconds, Load(lowest=1800.0))
    return one


def test_an_overload_trips_after_the_protection_time_and_not_before() -> None:
    assert squeezing_servo(1.5).error_bits == 0
    assert squeezing_servo(2.1).error_bits & OVERLOAD_BIT


def test_an_overloaded_servo_gives_way_and_ignores_goals() -> None:
    one = squeezing_servo(2.1)
    one.write(at.GOAL_POSITION, le(3000))
    run(one, 1.0, Load(lowest=1800.0))
    assert one.present_position() == 1800
    assert one.read(at.GOAL_POSITION, 2) == le(3000)
    run(one, 1.0, Load(gravity=0.5))  # more than the protective torque holds
    assert one.present_position() > 1900
    assert abs(one.motor.duty) == pytest.approx(0.2)


def test_case_overload_clears_by_torque_off_though_its_answer_carries_the_bit() -> None:
    one = squeezing_servo(2.1)
    assert one.handle(1, b"") == bytes.fromhex("ffff010220dc")
    assert one.handle(3, b"\x28\x01") == bytes.fromhex("ffff010220dc")
    assert one.handle(3, b"\x28\x00") == bytes.fromhex("ffff010220dc")
    assert one.handle(1, b"") == bytes.fromhex("ffff010200fc")
    assert not one.torque_on


def test_too_much_current_trips_its_own_bit() -> None:
    one = moving_servo(1000)
    one.write(at.PROTECTION_CURRENT, le(200))
    one.write(at.TORQUE_LIMIT, le(600))
    run(one, 3.0, Load(lowest=1800.0))
    assert one.error_bits == CURRENT_BIT


def test_heat_and_voltage_raise_bits_that_go_away_by_themselves() -> None:
    one = moving_servo(2048)
    one.motor.temperature_c = 71.0
    one.voltage = 15.0
    one.idle(0.0)
    assert one.error_bits == TEMPERATURE_BIT | VOLTAGE_BIT
    assert one.drive.limit == pytest.approx(0.2)  # heat cuts the torque
    one.motor.temperature_c = 50.0
    one.voltage = 12.0
    one.idle(0.0)
    assert one.error_bits == 0
    assert one.drive.limit == pytest.approx(1.0)


def test_torque_on_goes_to_an_old_goal() -> None:
    one = VirtualServo(1, 2048.0)
    one.motor.place(2500.0)
    one.write(at.TORQUE_ENABLE, b"\x01")
    run(one, 1.0)
    assert one.present_position() == 2048


def test_constant_speed_mode_turns_both_ways() -> None:
    for wish in (300, -300):
        one = VirtualServo(1, 2048.0)
        one.write(at.MODE, b"\x01")
        one.write(at.GOAL_VELOCITY, le(at.unsigned(wish, 15)))
        one.write(at.TORQUE_ENABLE, b"\x01")
        run(one, 1.0)
        assert one.motor.velocity == pytest.approx(wish, rel=0.05)


def test_duty_mode_takes_its_sign_from_bit_10() -> None:
    one = VirtualServo(1, 2048.0)
    one.write(at.MODE, b"\x02")
    one.write(at.GOAL_PWM, le(0x400 | 500))
    one.write(at.TORQUE_ENABLE, b"\x01")
    run(one, 0.2)
    assert one.motor.velocity == pytest.approx(-1700, rel=0.05)


# --- six of them under gravity


def test_a_limp_arm_sags_to_the_table_and_stays() -> None:
    arm = VirtualArm(World(), start_deg=(0, -90, 60, 60, 0))
    arm.advance(0.1)
    assert arm.shown_deg()[2] < 65
    arm.advance(2.5)
    assert 85 < arm.shown_deg()[2] < 92
    assert arm.resting
    there = arm.shown_deg()
    arm.advance(60.0)
    assert arm.shown_deg() == there


def hold(arm: VirtualArm) -> None:
    for servo in arm.servos:
        servo.write(at.GOAL_POSITION, le(servo.present_position()))
        servo.write(at.TORQUE_ENABLE, b"\x01")


@pytest.mark.parametrize(("sag", "least", "most"), [(True, 0.3, 0.9), (False, 0.0, 0.1)])
def test_a_held_arm_sags_a_little_unless_told_not_to(sag: bool, least: float, most: float) -> None:
    arm = VirtualArm(World(), start_deg=(0, 0, 30, 60, 0), sag=sag)
    hold(arm)
    arm.advance(2.0)
    assert least <= arm.shown_deg()[1] <= most
    assert least <= arm.shown_deg()[2] - 30 <= most


def test_joint_zero_reads_the_middle_and_the_jaw_its_ends() -> None:
    arm = VirtualArm(World(), start_deg=(0, 0, 0, 0, 0), start_percent=0.0)
    reads = [servo.present_position() for servo in arm.servos]
    assert all(place in (2047, 2048) for place in reads[:5])
    assert reads[5] == 2000
    gripper = JOINTS["gripper"]
    wide = encoder_from_degrees(5, jaw_degrees(100)) - gripper.homing_offset
    assert wide == gripper.range_max


def test_offsets_are_all_different_and_none_is_zero() -> None:
    offsets = {spec.homing_offset for spec in JOINTS.values()}
    assert len(offsets) == 6
    assert 0 not in offsets


def test_hidden_errors_are_off_by_default_and_repeat_with_their_seed() -> None:
    plain = VirtualArm(World(), start_deg=(10, -80, 50, 40, 5))
    assert plain.true_deg()[0] == pytest.approx((10, -80, 50, 40, 5))
    one, two = HiddenErrors.drawn(7), HiddenErrors.drawn(7)
    assert one == two
    assert all(abs(zero) <= 4 for zero in one.zero_deg)
    assert all(0.5 <= play <= 1.0 for play in one.backlash_deg)
    off = VirtualArm(World(), start_deg=(10, -80, 50, 40, 5), hidden=one)
    assert off.shown_deg()[0] == pytest.approx(10)
    assert off.true_deg()[0][0] == pytest.approx(10 + one.zero_deg[0], abs=0.5)


def test_backlash_lets_the_link_stay_behind() -> None:
    errors = HiddenErrors(backlash_deg=(1.0,) * 5)
    weightless = (0.0,) * 5
    assert errors.links([0.0] * 5, weightless)[0] == 0.0
    assert errors.links([0.4] * 5, weightless)[0] == 0.0
    assert errors.links([1.0] * 5, weightless)[0] == 0.5
    assert errors.links([0.8] * 5, weightless)[0] == 0.5


def test_a_loaded_supply_drops_a_little() -> None:
    arm = VirtualArm(World(), start_deg=(0, 0, 30, 60, 0))
    hold(arm)
    arm.advance(1.0)
    assert 11.5 < arm.servos[0].voltage < 12.0
