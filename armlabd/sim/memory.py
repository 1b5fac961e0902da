"""The memory of one virtual STS3215: addresses, factory values, what may be written, what survives.

Written apart from `bus.registers` on purpose, so that the product and its demo cannot share a wrong
address; a test compares the two. Figures: vendor table "STS3215 V3.6" and field reports on
firmware 3.10; the 12 V variant (C018).
"""

from __future__ import annotations

from typing import Final

SIZE: Final = 128  # bytes a servo answers for; undefined ones read 0
EEPROM_END: Final = 40  # addresses below survive a power cycle (when written with Lock 0)

FIRMWARE: Final = 0
MODEL: Final = 3
ID: Final = 5
BAUD_RATE: Final = 6
RETURN_DELAY: Final = 7
STATUS_LEVEL: Final = 8
MIN_LIMIT: Final = 9
MAX_LIMIT: Final = 11
MAX_TEMPERATURE: Final = 13
MAX_VOLTAGE: Final = 14
MIN_VOLTAGE: Final = 15
MAX_TORQUE: Final = 16
PHASE: Final = 18
UNLOADING: Final = 19
P_GAIN: Final = 21
D_GAIN: Final = 22
PROTECTION_CURRENT: Final = 28
HOMING_OFFSET: Final = 31
MODE: Final = 33
PROTECTIVE_TORQUE: Final = 34
PROTECTION_TIME: Final = 35
OVERLOAD_TORQUE: Final = 36
OVER_CURRENT_TIME: Final = 38
TORQUE_ENABLE: Final = 40
ACCELERATION: Final = 41
GOAL_POSITION: Final = 42
GOAL_PWM: Final = 44
GOAL_VELOCITY: Final = 46
TORQUE_LIMIT: Final = 48
LOCK: Final = 55
POSITION: Final = 56
VELOCITY: Final = 58
LOAD: Final = 60
VOLTAGE: Final = 62
TEMPERATURE: Final = 63
ASYNC_FLAG: Final = 64
STATUS: Final = 65
MOVING: Final = 66
GOAL_ECHO: Final = 67
CURRENT: Final = 69
FACTORY: Final = 80

MODEL_NUMBER: Final = 777
CALIBRATE_MIDDLE: Final = 128  # written to Torque_Enable

# address -> (size in bytes, value) of a servo as it leaves the factory
FACTORY_VALUES: Final[dict[int, tuple[int, int]]] = {
    FIRMWARE: (1, 3),
    FIRMWARE + 1: (1, 10),
    MODEL: (2, MODEL_NUMBER),
    ID: (1, 1),
    STATUS_LEVEL: (1, 1),
    MAX_LIMIT: (2, 4095),
    MAX_TEMPERATURE: (1, 70),
    MAX_VOLTAGE: (1, 140),
    MIN_VOLTAGE: (1, 40),
    MAX_TORQUE: (2, 1000),
    PHASE: (1, 12),
    UNLOADING: (1, 44),
    20: (1, 47),  # LED alarm condition
    P_GAIN: (1, 32),
    D_GAIN: (1, 32),
    24: (2, 16),  # minimum start-up force
    26: (1, 1),  # dead zones
    27: (1, 1),
    PROTECTION_CURRENT: (2, 500),
    30: (1, 1),  # angular resolution
    PROTECTIVE_TORQUE: (1, 20),
    PROTECTION_TIME: (1, 200),
    OVERLOAD_TORQUE: (1, 80),
    37: (1, 10),  # speed loop
    OVER_CURRENT_TIME: (1, 200),
    39: (1, 10),
}
# the factory area at the end of the table, the same after every power-up
FIXED_VALUES: Final[dict[int, tuple[int, int]]] = {
    80: (1, 1),
    81: (1, 20),
    82: (1, 1),
    84: (1, 68),
    85: (1, 254),
    86: (1, 1),
}
_READ_ONLY = (*range(5), *range(50, 55), *range(56, FACTORY + 5), *range(86, SIZE))
WRITABLE: Final[tuple[bool, ...]] = tuple(address not in _READ_ONLY for address in range(SIZE))


def put(memory: bytearray, address: int, size: int, value: int) -> None:
    """Store an unsigned value, low byte first."""
    memory[address : address + size] = value.to_bytes(size, "little")


def word(memory: bytearray | bytes, address: int) -> int:
    """The unsigned two-byte value at `address`."""
    return memory[address] | memory[address + 1] << 8


def signed(value: int, bit: int) -> int:
    """Decode sign-magnitude: `bit` set means negative; negative zero is 0."""
    magnitude = value & ((1 << bit) - 1)
    return -magnitude if value & (1 << bit) else magnitude


def unsigned(value: int, bit: int) -> int:
    """Encode sign-magnitude; a magnitude too large for the field stops at its end."""
    magnitude = min(abs(value), (1 << bit) - 1)
    return magnitude | (1 << bit if value < 0 else 0)


def factory_image() -> bytearray:
    """The EEPROM part of a new servo."""
    image = bytearray(EEPROM_END)
    for address, (size, value) in FACTORY_VALUES.items():
        put(image, address, size, value)
    return image
