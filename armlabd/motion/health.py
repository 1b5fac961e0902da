"""Whether the arm can be used: named states, each with what to do next, and the checks behind them.

Everything is read, nothing is written here: bring-up leaves no servo energised that was not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from armlabd.arm.calibration import Calibration
from armlabd.arm.joints import JOINT_NAMES, SERVO_IDS
from armlabd.bus.registers import MODEL_STS3215, Feedback, error_names
from armlabd.motion.chain import missing_sentence, servo_name
from armlabd.motion.thresholds import TOO_HOT, supply_class
from armlabd.verdict import Code

LOW_VOLTS = 6.0  # a healthy supply is 7.4 or 12; about 5 comes through the USB plug alone
TOO_HOT_C = round(TOO_HOT.value)
MULTI_TURN = 0x10

# state -> what to do next; the link's own sentence comes before it where there is one.
STATES: dict[str, str] = {
    "absent": "Plug in the arm's USB board and its power; the core tries again by itself.",
    "starting": "Wait a moment: the servos are being read.",
    "ready": "",
    "servos_missing": "Check the power supply and the cable at the first missing servo.",
    "duplicate_id": "Connect one of the two servos alone and give it another id.",
    "lossy": "Look for a loose plug, a weak supply or a disturbance on the bus cable.",
    "wrong_device": "Plug in the arm's own USB board, or name its port under [arm] port.",
    "wrong_model": "Use Feetech STS3215 servos only.",
    "voltage": "Torque is refused until the supply fits; the core looks again by itself.",
    "overload": "Take the load off, stop the arm and clear the stop: that resets the servo.",
    "overcurrent": "Look for what blocks the joint, then stop and clear: that resets the servo.",
    "hot": "Let it cool down with the torque off; the core tries again by itself.",
    "sensor": "Switch the servo's power off and on; if it stays, the servo is broken.",
    "encoder": "See that the joint is where the picture shows it, then clear the stop.",
    "multi_turn": "Clear bit 4 of register 18 (phase) of the servo, then calibrate again.",
    "wrong_mode": "Set register 33 (operating mode) of the servo to 0.",
    "not_calibrated": "Calibrate the arm, or import its calibration file; until then it rests.",
    "calibration_differs": "Choose: import the calibration that belongs to this arm, or calibrate.",
    "disconnected": "Check the USB plug and the servo power; the core tries again by itself.",
}


# states in which a servo is there and not well; every other one but ready means there is no arm
FAULTS = frozenset(
    {"overload", "overcurrent", "hot", "sensor", "encoder", "voltage", "multi_turn", "wrong_mode"}
)
UNCALIBRATED = frozenset({"not_calibrated", "calibration_differs"})

# error bit -> state; the servo sets them in every answer
BIT_STATES: dict[int, tuple[str, str]] = {
    0x20: ("overload", "has been overloaded and gives way: it takes goals and ignores them"),
    0x08: ("overcurrent", "has drawn too much current and gives way"),
    0x04: ("hot", "is too hot and gives way"),
    0x02: ("sensor", "reports a fault of its angle sensor: its position cannot be trusted"),
    0x01: ("voltage", "reports a supply voltage outside its limits"),
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
    lock: int = 1
    p_gain: int = 32


def facts_of(low: bytes, high: bytes) -> Facts:
    """Decode registers 0..21 and 30..40."""
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
        p_gain=low[21],
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
    sentence = missing_sentence(found)
    if volts is not None and volts < LOW_VOLTS:
        sentence += (
            f" Those who answer have only {volts:.1f} V: the power supply is off, missing or too "
            "weak. Look there before you look at cables."
        )
    if extra:
        sentence += f" Unexpected ids on the bus: {', '.join(map(str, extra))}."
    return Trouble("servos_missing", sentence)


def code_of(state: str) -> Code:
    """The cause of a refusal while the arm is in `state`."""
    if state in UNCALIBRATED:
        return Code.NOT_CALIBRATED
    return Code.SERVO_FAULT if state in FAULTS else Code.NO_ARM


def servo_trouble(
    facts: Mapping[int, Facts],
    feedback: Mapping[int, Feedback],
    hot_from_c: float = TOO_HOT_C,
) -> Trouble | None:
    """The first servo that cannot be used as it is."""
    for id, servo in facts.items():
        if servo.model != MODEL_STS3215:
            sentence = f"{servo_name(id)} is model {servo.model}, not {MODEL_STS3215}."
            return Trouble("wrong_model", sentence)
        trouble = (
            supply_trouble(id, servo, feedback[id].voltage)
            or bits_trouble(id, feedback[id].status)
            or heat_trouble(id, feedback[id].temperature, hot_from_c)
            or settings_trouble(id, servo, None)
        )
        if trouble is not None:
            return trouble
    return None


def supply_range_v(servo: Facts) -> tuple[float, float]:
    """Lowest and highest voltage for this servo, by its class and its registers 14 and 15."""
    kind = supply_class(servo.voltage_max)
    low, high = servo.voltage_min / 10, servo.voltage_max / 10
    return max(low, kind.lowest_v), min(high, kind.highest_v)


def supply_trouble(id: int, servo: Facts, decivolts: int) -> Trouble | None:
    """A supply that does not fit the servo's class, with the one that does."""
    low, high = supply_range_v(servo)
    volts = decivolts / 10
    if low <= volts <= high:
        return None
    what = "is missing or too weak" if volts < low else "is too high"
    kind = supply_class(servo.voltage_max)
    return Trouble(
        "voltage",
        f"The supply {what}: {servo_name(id)} sees {volts:.1f} V. It is a {kind.name} servo and "
        f"takes {low:.1f} to {high:.1f} V: use {kind.supply}.",
    )


def bits_trouble(id: int, status: int) -> Trouble | None:
    """What a servo says of itself in its error bits."""
    for bit, (state, what) in BIT_STATES.items():
        if status & bit:
            names = ", ".join(error_names(status))
            return Trouble(state, f"{servo_name(id)} {what} (error bits: {names}).")
    return None


def heat_trouble(id: int, celsius: int, from_c: float) -> Trouble | None:
    """A servo that must cool down before it moves."""
    if celsius < from_c:
        return None
    return Trouble(
        "hot",
        f"{servo_name(id)} has {celsius} degrees; motion is refused from {TOO_HOT_C}.",
    )


def settings_trouble(id: int, servo: Facts, calibration: Calibration | None) -> Trouble | None:
    """A setting with which no motion is possible; the calibration counts where it is given."""
    if servo.phase & MULTI_TURN:
        return Trouble("multi_turn", f"{servo_name(id)} is set to count several turns.")
    if servo.mode != 0:
        sentence = f"{servo_name(id)} is in mode {servo.mode}, not position mode 0."
        return Trouble("wrong_mode", sentence)
    if calibration is not None and (difference := _difference(id, servo, calibration)):
        return Trouble("calibration_differs", _differing([difference]))
    return None


def _difference(id: int, servo: Facts, calibration: Calibration) -> str:
    """Which registers of one servo are not the calibration's; empty when all are."""
    name = JOINT_NAMES[id - 1]
    wanted = calibration.joints[name]
    pairs = (
        ("homing_offset (31)", servo.homing_offset, wanted.homing_offset),
        ("range_min (9)", servo.range_min, wanted.range_min),
        ("range_max (11)", servo.range_max, wanted.range_max),
    )
    wrong = [f"{what} {found} instead of {right}" for what, found, right in pairs if found != right]
    return f"{name} holds {', '.join(wrong)}" if wrong else ""


def _differing(differences: Sequence[str]) -> str:
    return (
        f"The servos do not hold this calibration: {'; '.join(differences)}. Nothing was changed."
    )


def calibration_trouble(
    facts: Mapping[int, Facts], calibration: Calibration | None
) -> Trouble | None:
    """A missing calibration, or one that is not what these servos hold."""
    if calibration is None:
        return Trouble("not_calibrated", "There is no calibration for this arm.")
    found = [_difference(id, servo, calibration) for id, servo in sorted(facts.items())]
    differences = [difference for difference in found if difference]
    return Trouble("calibration_differs", _differing(differences)) if differences else None
