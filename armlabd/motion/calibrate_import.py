"""Which truth holds: the calibration file, or what the servos carry. Never decided silently.

Offsets tell one arm from another. Servos that carry none (as made, or as kits arrive) match
nothing. A file whose offsets are another arm's is refused unless a person says it is this arm.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from armlabd.arm.calibration import Calibration, CalibrationError, calibration_of
from armlabd.arm.joints import JOINT_NAMES, SERVO_IDS
from armlabd.motion.calibrate_bus import (
    FACTORY_OFFSETS,
    FIELDS,
    CalibrateError,
    Registers,
    is_factory,
)

TOLERANCE: Final = 2  # counts: rounding of whoever wrote the offset


def offsets_of(now: Registers) -> tuple[int, ...]:
    """The six homing offsets the servos hold."""
    return tuple(now[id]["homing_offset"] for id in SERVO_IDS)


def check_same_arm(now: Registers, file: Calibration) -> None:
    """Raise CalibrateError unless the offsets are this arm's; nothing is written."""
    held = offsets_of(now)
    if file.matches(held, TOLERANCE):
        return
    if is_factory(now):
        raise CalibrateError(
            "The servos hold no calibration (offset 0 or 85 in all six, as made): this arm matches "
            "no file. Run armlabd calibrate, or import with --write-to-servos --same-arm when you "
            "know that the file was made on this arm and its servos were reset since."
        )
    others = [
        f"{name}: servo {servo}, file {wanted}"
        for name, servo, wanted in zip(JOINT_NAMES, held, file.fingerprint, strict=True)
        if abs(servo - wanted) > TOLERANCE
    ]
    kind = _kind(now, others)
    raise CalibrateError(
        f"{kind} Homing offsets: {'; '.join(others)}. Take the file that was made on this arm, run "
        "armlabd calibrate, or add --same-arm when you know that it is the same arm."
    )


def _kind(now: Registers, others: list[str]) -> str:
    """What differing offsets mean most likely."""
    if len(others) <= 2:
        reset = any(servo["homing_offset"] in FACTORY_OFFSETS for servo in now.values())
        what = "exchanged or reset" if reset else "exchanged or calibrated anew"
        return f"{len(others)} of six servos differ: it was {what} since the file was made."
    return "This is the calibration of another arm, or an older one of this arm."


def from_servos(now: Registers, file: Calibration) -> Calibration:
    """What the servos hold, with the file's directions; alignment only if all is the same.

    Raises CalibrateError for registers that make no calibration.
    """
    joints = {
        name: replace(file.joints[name], **{f: now[id][r] for f, r in FIELDS.items()})
        for name, id in zip(JOINT_NAMES, SERVO_IDS, strict=True)
    }
    held = Calibration(joints)
    try:
        found = calibration_of(held.as_lerobot())
    except CalibrationError as error:
        raise CalibrateError(f"What the servos hold is no calibration: {error.sentence}") from error
    return found.aligned(file.alignment if found.as_lerobot() == file.as_lerobot() else None)
