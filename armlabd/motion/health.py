"""Whether the arm can be used: named states, each with what to do next, and the checks behind them.

Everything is read, nothing is written here: bring-up leaves no servo energised that was not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from armlabd.arm.calibration import Calibration
from armlabd.arm.joints import JOINT_NAMES, SERVO_IDS
from armlabd.bus.registers import MODEL_STS3215, Feedback

LOW_VOLTS = 6.0  # a healthy supply is 7.4 or 12; about 5 comes through the USB plug alone
TOO_HOT_C = 65  # the servo itself gives way at 70

# state -> what to do next; the link's own sentence comes before it where there is one.
STATES: dict[str, str] = {
    "absent": "Plug in the arm's USB board and its power; the core tries again by itself.",
    "starting": "Wait a moment: the servos are being read.",
    "ready": "",
    "servos_missing": "Check the power supply and the cable at the first missing servo.",
    "wrong_device": "Plug in the arm's own USB board, or name its port under [arm] port.",
    "wrong_model": "Use Feetech STS3215 servos only.",
    "voltage": "Use the supply that fits the servos' voltage class.",
    "multi_turn": "Clear bit 4 of register 18 (phase) of the servo, then calibrate again.",
    "wrong_mode": "Set register 33 (operating mode) of the servo to 0.",
    "not_calibrated": "Calibrate the arm, or import its calibration file; until then it rests.",
    "calibration_differs": "Choose: import the calibration that belongs to this arm, or calibrate.",
    "disconnected": "Check the USB plug and the servo power; the core tries again by itself.",
}


class Trouble(NamedTuple):
    """A state other than ready, and the sentence that tells why."""

    state: str
    sentence: str


class Facts(NamedTuple):
    """What bring-up reads of one servo."""

    model: int
    firmware: str
    voltage_max: int  # 0.1 V
    voltage_min: int
    phase: int
    homing_offset: int
    range_min: int
    range_max: int
    mode: int
    torque: bool


def facts_of(low: bytes, high: bytes) -> Facts:
    """Decode registers 0..19 and 30..40."""
    word = int.from_bytes
    offset = word(high[1:3], "little")
    magnitude = offset & 0x7FF
    return Facts(
        word(low[3:5], "little"),
        f"{low[0]}.{low[1]}",
        low[14],
        low[15],
        low[18],
        -magnitude if offset & 0x800 else magnitude,
        word(low[9:11], "little"),
        word(low[11:13], "little"),
        high[3],
        high[10] != 0,
    )


def missing_trouble(
    found: Sequence[int], extra: Sequence[int], volts: float | None = None
) -> Trouble | None:
    """Servos that do not answer, named with their place in the chain.

    `volts` is what those who answer see: where that is low, the rest vanish for want of power.
    """
    missing = [id for id in SERVO_IDS if id not in found]
    if not missing:
        return None
    names = ", ".join(f"{id} ({JOINT_NAMES[id - 1]})" for id in missing)
    if not found:
        sentence = "None of the six servos answers: the power supply is off or the bus cable out."
    else:
        sentence = f"Servo {names} does not answer; found: {', '.join(map(str, found))}."
    if volts is not None and volts < LOW_VOLTS:
        sentence += (
            f" Those who answer have only {volts:.1f} V: the power supply is off, missing or too "
            "weak. Look there before you look at cables."
        )
    if extra:
        sentence += f" Unexpected ids on the bus: {', '.join(map(str, extra))}."
    return Trouble("servos_missing", sentence)


def servo_trouble(facts: Mapping[int, Facts], feedback: Mapping[int, Feedback]) -> Trouble | None:
    """The first servo that cannot be used as it is."""
    for id, servo in facts.items():
        name = f"Servo {id} ({JOINT_NAMES[id - 1]})"
        if servo.model != MODEL_STS3215:
            return Trouble("wrong_model", f"{name} is model {servo.model}, not {MODEL_STS3215}.")
        volts = feedback[id].voltage
        if not servo.voltage_min <= volts <= servo.voltage_max:
            low, high = servo.voltage_min / 10, servo.voltage_max / 10
            what = "is missing or too weak" if volts < servo.voltage_min else "is too high"
            return Trouble(
                "voltage",
                f"The supply {what}: {name} sees {volts / 10:.1f} V and accepts {low:.1f} to "
                f"{high:.1f} V.",
            )
        if servo.phase & 0x10:
            return Trouble("multi_turn", f"{name} is set to count several turns.")
        if servo.mode != 0:
            return Trouble("wrong_mode", f"{name} is in mode {servo.mode}, not position mode 0.")
    return None


def calibration_trouble(
    facts: Mapping[int, Facts], calibration: Calibration | None
) -> Trouble | None:
    """A missing calibration, or one that is not what these servos hold."""
    if calibration is None:
        return Trouble("not_calibrated", "There is no calibration for this arm.")
    differing = []
    for name in JOINT_NAMES:
        wanted = calibration.joints[name]
        servo = facts[wanted.id]
        found = (servo.homing_offset, servo.range_min, servo.range_max)
        if found != (wanted.homing_offset, wanted.range_min, wanted.range_max):
            differing.append(
                f"{name} holds offset {found[0]}, range {found[1]} to {found[2]} instead of "
                f"{wanted.homing_offset}, {wanted.range_min} to {wanted.range_max}"
            )
    if not differing:
        return None
    return Trouble(
        "calibration_differs",
        f"The servos do not hold this calibration: {'; '.join(differing)}. Nothing was changed.",
    )


def too_hot(feedback: Mapping[int, Feedback]) -> str | None:
    """The sentence for a servo that must cool down before it moves."""
    for id, servo in feedback.items():
        if servo.temperature >= TOO_HOT_C:
            return (
                f"Servo {id} ({JOINT_NAMES[id - 1]}) has {servo.temperature} degrees; motion is "
                f"refused from {TOO_HOT_C}. Let it cool down."
            )
    return None
