"""A look at the registers of one servo while the arm is in use: settings change under our feet.

A servo that starts anew forgets its pace, a swapped one brings other settings, and another program
may have left the EEPROM open. Registers 9 to 55 in one read.
"""

from __future__ import annotations

from typing import NamedTuple

from armlabd.arm.calibration import Calibration
from armlabd.arm.joints import SERVO_IDS
from armlabd.bus.registers import REGISTERS, Register, decode_value
from armlabd.motion.chain import servo_name
from armlabd.motion.health import Facts, Trouble, settings_trouble
from armlabd.motion.servos import Kept

ADDRESS = 9
COUNT = 47


class Inspection(NamedTuple):
    """What one servo holds, raw."""

    range_min: int
    range_max: int
    phase: int
    homing_offset: int
    mode: int
    torque: int
    acceleration: int
    goal_velocity: int
    torque_limit: int
    lock: int


_REGISTERS: tuple[Register, ...] = tuple(
    REGISTERS[name]
    for name in (
        "min_position_limit",
        "max_position_limit",
        "phase",
        "homing_offset",
        "operating_mode",
        "torque_enable",
        "acceleration",
        "goal_velocity",
        "torque_limit",
        "lock",
    )
)


def decode(data: bytes) -> Inspection:
    """The inspected registers out of bytes 9 to 55."""
    values = []
    for register in _REGISTERS:
        start = register.address - ADDRESS
        values.append(decode_value(register, data[start : start + register.size]))
    return Inspection(*values)


def changed(
    id: int, seen: Inspection, facts: Facts, calibration: Calibration | None
) -> Trouble | None:
    """A setting that does not allow motion, found while the arm was ready."""
    now = facts._replace(
        phase=seen.phase,
        mode=seen.mode,
        homing_offset=seen.homing_offset,
        range_min=seen.range_min,
        range_max=seen.range_max,
    )
    return settings_trouble(id, now, calibration)


def started_anew(seen: Inspection | Kept) -> bool:
    """True when a servo that was given a pace holds none, as after power-up."""
    return seen.goal_velocity == 0 and seen.acceleration == 0


def brown_out_sentence(ids: list[int]) -> str:
    """A servo that has restarted, and what happens next."""
    names = ", ".join(servo_name(id) for id in ids) if len(ids) < len(SERVO_IDS) else "All servos"
    return (
        f"{names} started anew after a short loss of power (brown-out): torque and pace are "
        "forgotten. Check the supply and its plugs; they are set up again before the next motion."
    )
