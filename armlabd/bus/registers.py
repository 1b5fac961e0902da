"""The control table of the STS3215 servo as data, and its integers as bytes.

Sources: vendor table V3.6 (7.4 V), the newer STS/SMS tables and bench logs of others where they
agree; a comment says where they do not. Signed registers are sign and magnitude, not two's
complement: bit 15 for positions and velocities, 11 for the homing offset, 10 for load and PWM.
"""

from __future__ import annotations

import struct
from typing import Literal, NamedTuple

STEPS_PER_TURN = 4096
MODEL_STS3215 = 777  # main number 9, sub number 3, low byte first
TABLE_BYTES = 87  # addresses 0..86 are defined
BAUD_RATES = (1_000_000, 500_000, 250_000, 128_000, 115_200, 76_800, 57_600, 38_400)

_DEG = 360 / STEPS_PER_TURN  # degrees per step
_CURRENT_A = 0.0065  # 6.5 mA per count


class Register(NamedTuple):
    """One entry of the table: `raw * scale` is the value in `unit`.

    `sign_bit` is the bit that holds the sign, or None when the raw number is unsigned. `default`
    is the factory value. `minimum` and `maximum` are raw, both inside; None for what only the
    servo writes.
    """

    name: str
    address: int
    size: int
    access: Literal["r", "rw"]
    sign_bit: int | None
    unit: str
    scale: float
    eeprom: bool
    default: int | None
    minimum: int | None
    maximum: int | None


def _rom(
    name: str, address: int, size: int, default: int | None, unit: str = "", scale: float = 1.0
) -> Register:
    """A register that only the servo writes and that survives power-off."""
    return Register(name, address, size, "r", None, unit, scale, True, default, None, None)


def _eeprom(
    name: str,
    address: int,
    size: int,
    default: int | None,
    low: int,
    high: int,
    unit: str = "",
    scale: float = 1.0,
    sign_bit: int | None = None,
) -> Register:
    """A setting that survives power-off when Lock was 0 as it was written."""
    return Register(name, address, size, "rw", sign_bit, unit, scale, True, default, low, high)


def _goal(
    name: str,
    address: int,
    size: int,
    default: int | None,
    low: int,
    high: int,
    unit: str = "",
    scale: float = 1.0,
    sign_bit: int | None = None,
) -> Register:
    """A value the master writes while it works; lost at power-off."""
    return Register(name, address, size, "rw", sign_bit, unit, scale, False, default, low, high)


def _present(
    name: str,
    address: int,
    size: int,
    unit: str = "",
    scale: float = 1.0,
    sign_bit: int | None = None,
) -> Register:
    """A measurement."""
    return Register(name, address, size, "r", sign_bit, unit, scale, False, None, None, None)


_TABLE = (
    # --- EEPROM
    _rom("firmware_major_version", 0, 1, 3),
    _rom("firmware_minor_version", 1, 1, None),  # 6, 9 and 10 are in the field
    _rom("byte_order", 2, 1, 0),  # 0 = low byte first
    _rom("model_number", 3, 2, MODEL_STS3215),
    _eeprom("id", 5, 1, 1, 0, 253),  # applies at once
    _eeprom("baud_rate", 6, 1, 0, 0, 7),  # index into BAUD_RATES; applies at once
    # HLS servos keep a second id here: look at the model before writing.
    _eeprom("return_delay_time", 7, 1, None, 0, 254, "s", 2e-6),  # factory 0 or 250, disputed
    _eeprom("response_status_level", 8, 1, 1, 0, 1),
    _eeprom("min_position_limit", 9, 2, 0, 0, 4094, "deg", _DEG),
    _eeprom("max_position_limit", 11, 2, 4095, 1, 4095, "deg", _DEG),
    _eeprom("max_temperature_limit", 13, 1, 70, 0, 100, "degC"),
    _eeprom("max_voltage_limit", 14, 1, 80, 0, 254, "V", 0.1),  # 12 V variants about 140
    _eeprom("min_voltage_limit", 15, 1, 40, 0, 254, "V", 0.1),
    _eeprom("max_torque_limit", 16, 2, 1000, 0, 1000, "%", 0.1),  # copied to 48 at power-up
    _eeprom("phase", 18, 1, 12, 0, 255),  # bit 4 = multi-turn positions; change no other bit
    _eeprom("unloading_condition", 19, 1, 44, 0, 255),  # error bits that cut the torque
    _eeprom("led_alarm_condition", 20, 1, 47, 0, 255),
    _eeprom("p_coefficient", 21, 1, 32, 0, 254),
    _eeprom("d_coefficient", 22, 1, 32, 0, 254),
    _eeprom("i_coefficient", 23, 1, 0, 0, 254),
    _eeprom("minimum_startup_force", 24, 2, 16, 0, 1000, "%", 0.1),  # 1 byte in new firmware
    _eeprom("cw_dead_zone", 26, 1, 1, 0, 32, "deg", _DEG),
    _eeprom("ccw_dead_zone", 27, 1, 1, 0, 32, "deg", _DEG),
    _eeprom("protection_current", 28, 2, 500, 0, 511, "A", _CURRENT_A),  # new tables: to 2047
    _eeprom("angular_resolution", 30, 1, 1, 1, 100),
    _eeprom("homing_offset", 31, 2, 0, -2047, 2047, "deg", _DEG, sign_bit=11),
    _eeprom("operating_mode", 33, 1, 0, 0, 3),  # 0 position, 1 speed, 2 PWM, 3 step
    _eeprom("protective_torque", 34, 1, 20, 0, 254, "%"),
    _eeprom("protection_time", 35, 1, 200, 0, 254, "s", 0.01),
    _eeprom("overload_torque", 36, 1, 80, 0, 254, "%"),
    _eeprom("speed_loop_p", 37, 1, 10, 0, 254),
    _eeprom("over_current_protection_time", 38, 1, 200, 0, 254, "s", 0.01),
    _eeprom("speed_loop_i", 39, 1, 10, 0, 254),
    # --- SRAM, written by the master
    _goal("torque_enable", 40, 1, 0, 0, 128),  # 0 off, 1 on, 128 = "here is 2048"
    _goal("acceleration", 41, 1, 0, 0, 254, "deg/s2", 100 * _DEG),
    _goal("goal_position", 42, 2, 0, -32767, 32767, "deg", _DEG, sign_bit=15),
    # Time in mode 0 (some firmware), PWM duty with its sign in bit 10 in mode 2.
    _goal("goal_time", 44, 2, 0, -1000, 1000, sign_bit=10),
    _goal("goal_velocity", 46, 2, 0, -32767, 32767, "deg/s", _DEG, sign_bit=15),
    _goal("torque_limit", 48, 2, None, 0, 1000, "%", 0.1),
    _goal("lock", 55, 1, 1, 0, 1),  # 1 = EEPROM writes are lost at power-off
    # --- SRAM, written by the servo
    _present("present_position", 56, 2, "deg", _DEG, sign_bit=15),
    _present("present_velocity", 58, 2, "deg/s", _DEG, sign_bit=15),
    _present("present_load", 60, 2, "%", 0.1, sign_bit=10),
    _present("present_voltage", 62, 1, "V", 0.1),
    _present("present_temperature", 63, 1, "degC"),
    _present("async_write_flag", 64, 1),
    _present("status", 65, 1),  # the error bits once more
    _present("moving", 66, 1),
    _present("goal_position_echo", 67, 2, "deg", _DEG, sign_bit=15),  # 71 by some tables
    # Sign by the vendor's C++; some drivers read it unsigned, which is the same for small values.
    _present("present_current", 69, 2, "A", _CURRENT_A, sign_bit=15),
    # --- factory area
    _rom("moving_velocity_threshold", 80, 1, None),
    _rom("dts", 81, 1, None, "s", 0.001),
    _rom("velocity_unit_factor", 82, 1, None),
    _rom("hts", 83, 1, None, "s", 20.83e-9),
    _rom("maximum_velocity_limit", 84, 1, None, "deg/s", 50 * _DEG),
    # The tables call it read-only; servos take a write of one byte (two would spill into 86).
    _eeprom("maximum_acceleration", 85, 1, None, 0, 254, "deg/s2", 100 * _DEG),
    _rom("acceleration_multiplier", 86, 1, None),
)

REGISTERS: dict[str, Register] = {register.name: register for register in _TABLE}

BLOCK_ADDRESS = 56  # position to current in one read
BLOCK_BYTES = 15
_BLOCK = struct.Struct("<HHHBBBBBHH")

# Bits of the error byte and of register 65. Bit 4 is reserved; no servo sets bits 6 and 7.
ERROR_BITS: dict[int, str] = {
    0x01: "voltage",
    0x02: "angle sensor",
    0x04: "temperature",
    0x08: "current",
    0x10: "reserved bit 4",
    0x20: "overload",
    0x40: "reserved bit 6",
}


class Feedback(NamedTuple):
    """The block 56..70 of one servo in raw signed integers.

    Steps, steps/s, 0.1 % of full PWM, 0.1 V, degrees Celsius, 0 or 1, error bits, 6.5 mA.
    """

    position: int
    velocity: int
    load: int
    voltage: int
    temperature: int
    moving: int
    status: int
    current: int


def error_names(bits: int) -> tuple[str, ...]:
    """The names of the error bits that are set, lowest first."""
    return tuple(name for bit, name in ERROR_BITS.items() if bits & bit)


def signed(raw: int, sign_bit: int) -> int:
    """Sign and magnitude to an integer; a negative zero is 0."""
    mask = 1 << sign_bit
    magnitude = raw & (mask - 1)
    return -magnitude if raw & mask else magnitude


def encode_value(register: Register, value: int) -> bytes:
    """`value` (raw, signed) as the register's bytes, low byte first.

    Raises ValueError, with a sentence, for anything but a whole number inside the register's range.
    """
    low, high = value_range(register)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(
            f"Register {register.name} takes a whole number from {low} to {high}; "
            f"{value!r} is not one."
        )
    raw = value if value >= 0 else -value | 1 << (register.sign_bit or 0)
    return raw.to_bytes(register.size, "little")


def value_range(register: Register) -> tuple[int, int]:
    """Lowest and highest raw value: the table's, or for a measurement what its bytes can hold."""
    bits = register.size * 8 if register.sign_bit is None else register.sign_bit
    most = (1 << bits) - 1
    least = 0 if register.sign_bit is None else -most
    low = least if register.minimum is None else register.minimum
    return low, most if register.maximum is None else register.maximum


def decode_value(register: Register, data: bytes) -> int:
    """The register's raw signed integer. Raises ValueError when `data` has another length."""
    if len(data) != register.size:
        raise ValueError(f"Register {register.name} has {register.size} bytes; got {len(data)}.")
    raw = int.from_bytes(data, "little")
    return raw if register.sign_bit is None else signed(raw, register.sign_bit)


def decode_block(data: bytes) -> Feedback:
    """The fifteen bytes 56..70 as a `Feedback`. Raises ValueError for another length."""
    if len(data) != BLOCK_BYTES:
        raise ValueError(f"The feedback block has {BLOCK_BYTES} bytes; got {len(data)}.")
    fields = _BLOCK.unpack(data)
    position, velocity, load, voltage, temperature, _, status, moving, _, current = fields
    return Feedback(
        signed(position, 15),
        signed(velocity, 15),
        signed(load, 10),
        voltage,
        temperature,
        moving,
        status,
        signed(current, 15),
    )
