from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.bus.registers import (
    BLOCK_ADDRESS,
    BLOCK_BYTES,
    REGISTERS,
    TABLE_BYTES,
    Register,
    decode_block,
    decode_value,
    encode_value,
    error_names,
    signed,
    value_range,
)

SIGN_BITS = {
    "goal_position": 15,
    "present_position": 15,
    "goal_position_echo": 15,
    "goal_velocity": 15,
    "present_velocity": 15,
    "present_current": 15,
    "homing_offset": 11,
    "present_load": 10,
    "goal_time": 10,
}
values = st.sampled_from(list(REGISTERS.values())).flatmap(
    lambda reg: st.tuples(st.just(reg), st.integers(*value_range(reg)))
)


def test_only_these_registers_are_signed() -> None:
    found = {n: r.sign_bit for n, r in REGISTERS.items() if r.sign_bit is not None}
    assert found == SIGN_BITS


def test_registers_do_not_overlap_and_stay_inside_the_table() -> None:
    taken = [r.address + i for r in REGISTERS.values() for i in range(r.size)]
    assert len(taken) == len(set(taken))
    assert max(taken) == TABLE_BYTES - 1


def test_the_defaults_are_inside_their_ranges() -> None:
    for register in REGISTERS.values():
        if register.default is not None:
            encode_value(register, register.default)


@pytest.mark.parametrize(
    ("name", "address", "size", "eeprom"),
    [
        ("id", 5, 1, True),
        ("max_position_limit", 11, 2, True),
        ("homing_offset", 31, 2, True),
        ("torque_enable", 40, 1, False),
        ("acceleration", 41, 1, False),
        ("goal_position", 42, 2, False),
        ("torque_limit", 48, 2, False),
        ("lock", 55, 1, False),
        ("present_position", 56, 2, False),
        ("status", 65, 1, False),
        ("present_current", 69, 2, False),
    ],
)
def test_the_registers_we_drive_with_stand_where_the_vendor_put_them(
    name: str, address: int, size: int, eeprom: bool
) -> None:
    register = REGISTERS[name]
    assert (register.address, register.size, register.eeprom) == (address, size, eeprom)


@settings(max_examples=200, deadline=None)
@given(values)
def test_every_value_survives_its_bytes(pair: tuple[Register, int]) -> None:
    register, value = pair
    assert decode_value(register, encode_value(register, value)) == value


@pytest.mark.parametrize(
    ("name", "value", "wire"),
    [
        ("goal_position", -1, "0180"),
        ("goal_position", -32767, "ffff"),
        ("homing_offset", -85, "5508"),
        ("homing_offset", 2047, "ff07"),
        ("goal_time", -1000, "e807"),
        ("goal_position", 2048, "0008"),
    ],
)
def test_a_sign_is_one_bit_and_the_low_byte_comes_first(name: str, value: int, wire: str) -> None:
    assert encode_value(REGISTERS[name], value) == bytes.fromhex(wire)


@pytest.mark.parametrize("bit", [10, 11, 15])
def test_a_negative_zero_is_zero(bit: int) -> None:
    assert signed(1 << bit, bit) == 0


@pytest.mark.parametrize("value", [-2048, 2048, True, 1.0, "1", None])
def test_what_is_no_number_of_the_register_is_refused_with_its_range(value: int) -> None:
    with pytest.raises(ValueError, match=r"homing_offset takes .* from -2047 to 2047"):
        encode_value(REGISTERS["homing_offset"], value)


@pytest.mark.parametrize("value", [-2047, 2047])
def test_the_ends_of_a_range_are_inside(value: int) -> None:
    assert decode_value(REGISTERS["homing_offset"], encode_value(REGISTERS["homing_offset"], value))


def test_bytes_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="has 2 bytes; got 1"):
        decode_value(REGISTERS["goal_position"], b"a")
    with pytest.raises(ValueError, match="has 15 bytes; got 14"):
        decode_block(bytes(14))


def test_the_block_holds_what_its_registers_hold() -> None:
    block = bytes.fromhex("ff87 0a80 6404 7b 1f 00 20 01 0000 0580".replace(" ", ""))
    feedback = decode_block(block)
    for name in ("position", "velocity", "load", "voltage", "temperature", "current"):
        register = REGISTERS[f"present_{name}"]
        start = register.address - BLOCK_ADDRESS
        part = block[start : start + register.size]
        assert getattr(feedback, name) == decode_value(register, part)
    assert feedback == (-2047, -10, -100, 123, 31, 1, 0x20, -5)
    assert len(block) == BLOCK_BYTES


def test_error_bits_have_names() -> None:
    assert error_names(0x21) == ("voltage", "overload")
    assert error_names(0) == ()


def test_row_15_a_position_below_zero_is_no_jump_to_32768() -> None:
    assert decode_value(REGISTERS["present_position"], b"\x05\x80") == -5
