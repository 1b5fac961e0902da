from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.bus import registers
from armlabd.bus.frames import Instruction
from armlabd.sim import memory as at
from armlabd.sim.motor import Load
from armlabd.sim.servo import VirtualServo


def servo(encoder: float = 2048.0) -> VirtualServo:
    return VirtualServo(1, encoder)


def le(value: int) -> bytes:
    return value.to_bytes(2, "little")


def test_a_ping_is_answered_byte_for_byte() -> None:
    assert servo().handle(Instruction.PING, b"") == bytes.fromhex("ffff010200fc")


def test_a_read_of_the_model_is_answered_byte_for_byte() -> None:
    assert servo().handle(Instruction.READ, bytes((3, 2))) == bytes.fromhex("ffff0104000903ee")


def test_a_write_is_acknowledged_and_taken() -> None:
    one = servo()
    assert one.handle(Instruction.WRITE, b"\x2a\x00\x08") == bytes.fromhex("ffff010200fc")
    assert one.read(at.GOAL_POSITION, 2) == b"\x00\x08"


def test_status_level_0_answers_only_ping_and_read() -> None:
    one = servo()
    one.write(at.STATUS_LEVEL, b"\x00")
    assert one.handle(Instruction.WRITE, b"\x2a\x00\x08") is None
    assert one.handle(Instruction.ACTION, b"") is None
    assert one.handle(Instruction.PING, b"") is not None
    assert one.handle(Instruction.READ, b"\x38\x02") is not None


def test_a_read_beyond_the_table_is_not_answered() -> None:
    assert servo().handle(Instruction.READ, bytes((at.SIZE - 1, 2))) is None
    assert servo().handle(Instruction.READ, bytes((at.SIZE - 2, 2))) is not None


def test_an_unknown_instruction_is_not_answered() -> None:
    assert servo().handle(0x77, b"") is None


def test_a_reg_write_waits_for_the_action() -> None:
    one = servo()
    one.handle(Instruction.REG_WRITE, b"\x2a" + le(1000))
    assert one.read(at.GOAL_POSITION, 2) == le(2048)
    assert one.read(at.ASYNC_FLAG, 1) == b"\x01"
    one.handle(Instruction.ACTION, b"")
    assert one.read(at.GOAL_POSITION, 2) == le(1000)
    assert one.read(at.ASYNC_FLAG, 1) == b"\x00"


def test_read_only_registers_keep_what_they_hold() -> None:
    one = servo()
    one.write(at.MODEL, le(1))
    one.write(at.POSITION, le(1))
    assert one.read(at.MODEL, 2) == le(777)
    assert one.read(at.POSITION, 2) == le(2048)


def test_a_new_id_holds_from_the_next_frame_on() -> None:
    one = servo()
    assert one.handle(Instruction.WRITE, b"\x05\x09") == bytes.fromhex("ffff010200fc")
    assert one.id == 9
    assert one.handle(Instruction.PING, b"") == bytes.fromhex("ffff090200f4")


def test_an_eeprom_write_under_lock_1_works_and_is_lost_at_the_power_cycle() -> None:
    one = servo()
    one.write(at.P_GAIN, b"\x10")
    assert one.read(at.P_GAIN, 1) == b"\x10"
    one.power_up()
    assert one.read(at.P_GAIN, 1) == b"\x20"


def test_an_eeprom_write_under_lock_0_survives_the_power_cycle() -> None:
    one = servo()
    one.write(at.LOCK, b"\x00")
    one.write(at.P_GAIN, b"\x10")
    one.power_up()
    assert one.read(at.P_GAIN, 1) == b"\x10"
    assert one.read(at.LOCK, 1) == b"\x01"


def test_power_up_copies_the_torque_limit_and_switches_torque_off() -> None:
    one = servo()
    one.write(at.LOCK, b"\x00")
    one.write(at.MAX_TORQUE, le(500))
    one.write(at.TORQUE_ENABLE, b"\x01")
    assert one.read(at.TORQUE_LIMIT, 2) == le(1000)
    one.power_up()
    assert one.read(at.TORQUE_LIMIT, 2) == le(500)
    assert one.read(at.TORQUE_ENABLE, 1) == b"\x00"


@pytest.mark.parametrize(
    ("offset", "encoder", "present"),
    [(85, 2048, 1963), (-212, 2048, 2260), (85, 84, 4095), (85, 85, 0), (-100, 4090, 94)],
)
def test_present_is_encoder_less_offset_within_a_turn(
    offset: int, encoder: int, present: int
) -> None:
    one = servo(encoder)
    one.write(at.HOMING_OFFSET, le(at.unsigned(offset, 11)))
    assert one.present_position() == present


def test_phase_bit_4_lets_the_position_go_negative() -> None:
    one = servo(10.0)
    one.write(at.HOMING_OFFSET, le(100))
    one.write(at.PHASE, bytes((12 | 0x10,)))
    assert at.signed(at.word(one.read(at.POSITION, 2), 0), 15) == -90


def test_writing_128_makes_here_the_middle_and_is_kept() -> None:
    one = servo(3000.4)
    one.write(at.TORQUE_ENABLE, b"\x80")
    assert one.read(at.TORQUE_ENABLE, 1) == b"\x00"
    assert one.present_position() == 2048
    assert one.homing_offset == 952
    one.power_up()
    assert one.present_position() == 2048


@pytest.mark.parametrize(("goal", "reached"), [(500, 1000), (1000, 1000), (3001, 3000), (-5, 1000)])
def test_goals_stop_at_the_limits(goal: int, reached: int) -> None:
    one = servo()
    one.write(at.MIN_LIMIT, le(1000) + le(3000))
    one.write(at.GOAL_POSITION, le(at.unsigned(goal, 15)))
    one.write(at.TORQUE_ENABLE, b"\x01")
    for _ in range(1000):
        one.step(0.002, Load())
    assert one.present_position() == reached


@given(st.integers(-2047, 2047))
def test_sign_and_magnitude_goes_there_and_back(value: int) -> None:
    assert at.signed(at.unsigned(value, 11), 11) == value


def test_negative_zero_is_zero() -> None:
    assert at.signed(0x8000, 15) == 0


@settings(max_examples=100)
@given(st.integers(0, 255), st.binary(max_size=40))
def test_no_bytes_break_a_servo(instruction: int, params: bytes) -> None:
    one = servo()
    answer = one.handle(instruction, params)
    one.step(0.002, Load())
    assert answer is None or answer[:2] == b"\xff\xff"


def test_the_servo_and_the_product_agree_on_every_address() -> None:
    ours = {
        "id": at.ID, "homing_offset": at.HOMING_OFFSET, "min_position_limit": at.MIN_LIMIT,
        "max_position_limit": at.MAX_LIMIT, "max_torque_limit": at.MAX_TORQUE,
        "phase": at.PHASE, "p_coefficient": at.P_GAIN, "d_coefficient": at.D_GAIN,
        "operating_mode": at.MODE, "protective_torque": at.PROTECTIVE_TORQUE,
        "protection_time": at.PROTECTION_TIME, "overload_torque": at.OVERLOAD_TORQUE,
        "protection_current": at.PROTECTION_CURRENT, "torque_enable": at.TORQUE_ENABLE,
        "acceleration": at.ACCELERATION, "goal_position": at.GOAL_POSITION,
        "goal_velocity": at.GOAL_VELOCITY, "torque_limit": at.TORQUE_LIMIT, "lock": at.LOCK,
        "present_position": at.POSITION, "present_velocity": at.VELOCITY,
        "present_load": at.LOAD, "present_voltage": at.VOLTAGE,
        "present_temperature": at.TEMPERATURE, "status": at.STATUS, "moving": at.MOVING,
        "present_current": at.CURRENT, "return_delay_time": at.RETURN_DELAY,
        "response_status_level": at.STATUS_LEVEL, "unloading_condition": at.UNLOADING,
    }  # fmt: skip
    theirs = {name: registers.REGISTERS[name].address for name in ours}
    assert ours == theirs


def test_a_new_servo_holds_the_factory_values_of_the_table() -> None:
    one = servo()
    one.memory[at.MAX_VOLTAGE] = 80  # ours is the 12 V variant
    for register in registers.REGISTERS.values():
        if register.eeprom and register.default is not None:
            held = one.memory[register.address : register.address + register.size]
            assert int.from_bytes(held, "little") == register.default, register.name
