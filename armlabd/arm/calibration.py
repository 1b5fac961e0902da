"""Servo counts <-> joint degrees, from our own file or from LeRobot's.

Convention (LeRobot's since June 2025): zero of the five joints is the middle of the swept range;
the gripper is 0 % at `range_min` and 100 % at `range_max`, the other way round with drive_mode 1.
As in LeRobot, drive_mode says nothing about degrees. One turn is 4096 counts here, because this is
physics; LeRobot divides by 4095, which differs by 0.04 degrees at half a turn.

What `calibrate --align` found is kept beside the joints: how far the middle of each range is from
the drawing's zero, and how the base stands on the table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from armlabd.arm.joints import ARM_JOINTS, DEGREES_PER_STEP, JOINT_NAMES, SERVO_IDS, Pose
from armlabd.arm.placement import Alignment, Placement, fault_of

FORM = "armlabd calibration 2"  # what our own file says it is
FORM_1 = "armlabd calibration 1"  # the same without alignment; still read
MAX_COUNT = 4095  # a single turn; more comes from a servo left in multi-turn mode
MAX_OFFSET = 2047  # register 31 has a sign and eleven bits
MAX_TEXT = 65_536  # characters; a calibration needs about a thousand
FIELDS: tuple[str, ...] = ("id", "drive_mode", "homing_offset", "range_min", "range_max")
_OLD_FIELDS = {"start_pos", "end_pos", "calib_mode", "motor_names"}  # arrays, before 2025


class CalibrationError(ValueError):
    """A calibration that cannot be used; `sentence` says what is wrong and what to do."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class JointCalibration:
    """One servo: its id, direction, homing offset (register 31) and range (9, 11), in counts."""

    id: int
    drive_mode: int
    homing_offset: int
    range_min: int
    range_max: int

    @property
    def middle(self) -> float:
        """The count that is zero degrees."""
        return (self.range_min + self.range_max) / 2.0


@dataclass(frozen=True)
class Calibration:
    """All six joints by name. Make one with `parse` or `calibration_of`, which check it."""

    joints: Mapping[str, JointCalibration]
    alignment: Alignment | None = None  # None: every zero is the middle of its range

    @property
    def zero_deg(self) -> tuple[float, ...]:
        """The joint angle at the middle of each range, in joint order; 0 where not aligned."""
        return (0.0,) * len(ARM_JOINTS) if self.alignment is None else self.alignment.zero_deg

    @property
    def placement(self) -> Placement:
        """How the base stands on the table; not aligned: exactly on its mark."""
        return Placement() if self.alignment is None else self.alignment.base

    def aligned(self, alignment: Alignment | None) -> Calibration:
        """The same joints with another alignment."""
        return replace(self, alignment=alignment)

    def to_raw(self, pose: Pose) -> tuple[int, ...]:
        """Servo counts of a pose, in joint order; CalibrationError outside 0..4095.

        The calibrated range is not checked: an arm may start outside it and must come back gently.
        """
        (m1, m2, m3, m4, m5), (z1, z2, z3, z4, z5), closed, span = self._lines
        pan, lift, elbow, wrist, roll, jaw = pose
        values = (
            m1 + (pan - z1) / DEGREES_PER_STEP,
            m2 + (lift - z2) / DEGREES_PER_STEP,
            m3 + (elbow - z3) / DEGREES_PER_STEP,
            m4 + (wrist - z4) / DEGREES_PER_STEP,
            m5 + (roll - z5) / DEGREES_PER_STEP,
            closed + jaw / 100.0 * span,
        )
        if min(values) >= 0.0 and max(values) <= MAX_COUNT:
            return tuple(map(round, values))
        return tuple(map(_count, JOINT_NAMES, values))

    def from_raw(self, counts: Sequence[float]) -> Pose:
        """The pose read from six servo counts in joint order; any counts, also beyond the range."""
        (m1, m2, m3, m4, m5), (z1, z2, z3, z4, z5), closed, span = self._lines
        pan, lift, elbow, wrist, roll, jaw = counts
        return Pose(  # written out, as below: a hundred times a second
            (pan - m1) * DEGREES_PER_STEP + z1,
            (lift - m2) * DEGREES_PER_STEP + z2,
            (elbow - m3) * DEGREES_PER_STEP + z3,
            (wrist - m4) * DEGREES_PER_STEP + z4,
            (roll - m5) * DEGREES_PER_STEP + z5,
            (jaw - closed) * 100.0 / span,
        )

    @cached_property
    def _lines(self) -> tuple[tuple[float, ...], tuple[float, ...], int, int]:
        """The middles and zeros of the five joints; where the jaws are closed, and their span."""
        jaw = self.joints["gripper"]
        closed, opened = jaw.range_min, jaw.range_max
        if jaw.drive_mode:
            closed, opened = opened, closed
        middles = tuple(self.joints[name].middle for name in ARM_JOINTS)
        return middles, tuple(self.zero_deg), closed, opened - closed

    def travel_deg(self) -> dict[str, tuple[float, float]]:
        """The calibrated travel of the five joints: degrees around the angle of their middle."""
        pairs = zip(ARM_JOINTS, self.zero_deg, strict=True)
        return {name: _travel(self.joints[name], zero) for name, zero in pairs}

    @property
    def fingerprint(self) -> tuple[int, ...]:
        """The six homing offsets: they tell one arm from another, positions do not."""
        return tuple(self.joints[name].homing_offset for name in JOINT_NAMES)

    def matches(self, offsets: Sequence[int], tolerance: int = 2) -> bool:
        """True when the offsets read from six servos are this calibration's, within `tolerance`."""
        return len(offsets) == len(JOINT_NAMES) and all(
            abs(mine - theirs) <= tolerance
            for mine, theirs in zip(self.fingerprint, offsets, strict=True)
        )

    def as_lerobot(self) -> dict[str, dict[str, int]]:
        """The joints as LeRobot's file has them."""
        return {name: asdict(self.joints[name]) for name in JOINT_NAMES}

    def to_text(self) -> str:
        """Our own file: its form, the joints, the alignment. `parse` reads it back."""
        found = None if self.alignment is None else self.alignment.as_dict()
        text = {"form": FORM, "joints": self.as_lerobot(), "alignment": found}
        return json.dumps(text, indent=2) + "\n"


def parse(text: str) -> Calibration:
    """A calibration from our own file or LeRobot's; CalibrationError naming the first fault."""
    values = _object(text)
    if "form" not in values:
        return calibration_of(values)
    keys = {FORM: {"form", "joints", "alignment"}, FORM_1: {"form", "joints"}}
    if not isinstance(values["form"], str) or set(values) != keys.get(values["form"]):
        raise CalibrationError(
            f"the file must have exactly form = {FORM!r}, joints and alignment, but has form = "
            f"{values['form']!r} and the keys {', '.join(sorted(values))}. Calibrate the arm again."
        )
    return calibration_of(values["joints"]).aligned(_alignment(values.get("alignment")))


def _alignment(values: object) -> Alignment | None:
    """The alignment of a file; CalibrationError for one that cannot be meant."""
    if values is None:
        return None
    fault = fault_of(values)
    if fault is not None:
        raise CalibrationError(f"the alignment {fault}. Run armlabd calibrate --align again.")
    assert isinstance(values, Mapping)
    return Alignment.from_dict(values)


def parse_lerobot(text: str) -> Calibration:
    """A calibration from LeRobot's JSON; CalibrationError naming the first fault."""
    return calibration_of(_object(text))


def calibration_of(values: object) -> Calibration:
    """A calibration from an object of six joints; CalibrationError naming the first fault."""
    if not isinstance(values, Mapping):
        raise CalibrationError("the calibration must be one JSON object with the six joints.")
    if _OLD_FIELDS & set(values) or any(isinstance(value, list) for value in values.values()):
        raise CalibrationError(
            "this is LeRobot's old form with one array per field, whose zero is the arm stretched "
            "out. It cannot be converted safely: calibrate the arm again."
        )
    _check_names(values)
    return Calibration(
        {
            name: _joint(name, expected, values[name])
            for name, expected in zip(JOINT_NAMES, SERVO_IDS, strict=True)
        }
    )


def _object(text: str) -> dict[str, Any]:
    if len(text) > MAX_TEXT:
        raise CalibrationError(
            f"the file has {len(text)} characters; a calibration has at most {MAX_TEXT}. "
            "Check that it is the right file."
        )
    try:
        values = json.loads(text, object_pairs_hook=_no_twins)
    except (json.JSONDecodeError, RecursionError) as fault:
        raise CalibrationError(
            f"the file is not JSON ({fault}). Check that it is the right file."
        ) from fault
    if not isinstance(values, dict):
        raise CalibrationError("the calibration must be one JSON object with the six joints.")
    return values


def _no_twins(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise CalibrationError(f"the file says {name!r} twice. Remove one of the two.")
        found[name] = value
    return found


def _check_names(values: Mapping[str, Any]) -> None:
    missing = [name for name in JOINT_NAMES if name not in values]
    unknown = sorted(set(values) - set(JOINT_NAMES))
    if missing or unknown:
        parts = [f"{name} is missing" for name in missing]
        parts += [f"{name!r} is no joint" for name in unknown]
        raise CalibrationError(
            f"{'; '.join(parts)}. A calibration has exactly: {', '.join(JOINT_NAMES)}."
        )


def _joint(name: str, expected_id: int, values: object) -> JointCalibration:
    if not isinstance(values, Mapping) or set(values) != set(FIELDS):
        got = ", ".join(sorted(values)) if isinstance(values, Mapping) else repr(values)
        raise CalibrationError(f"{name} must have exactly {', '.join(FIELDS)}, but has {got}.")
    for field in FIELDS:
        value = values[field]
        if isinstance(value, bool) or not isinstance(value, int):
            raise CalibrationError(f"{name}: {field} = {value!r} must be a whole number.")
    joint = JointCalibration(**values)
    _check_joint(name, expected_id, joint)
    return joint


def _check_joint(name: str, expected_id: int, joint: JointCalibration) -> None:
    if joint.id != expected_id:
        raise CalibrationError(
            f"{name} has id {joint.id}, but it must be servo {expected_id}: the ids run from 1 at "
            "the base to 6 at the gripper. Check which file, or which arm, this is."
        )
    if joint.drive_mode not in (0, 1):
        raise CalibrationError(f"{name}: drive_mode = {joint.drive_mode} must be 0 or 1.")
    if abs(joint.homing_offset) > MAX_OFFSET:
        raise CalibrationError(
            f"{name}: homing_offset = {joint.homing_offset} is outside -{MAX_OFFSET} to "
            f"{MAX_OFFSET}. Calibrate this arm again."
        )
    if not 0 <= joint.range_min < joint.range_max <= MAX_COUNT:
        raise CalibrationError(
            f"{name}: range {joint.range_min} to {joint.range_max} must lie within 0 to "
            f"{MAX_COUNT}, low before high. A servo in multi-turn mode gives such figures: "
            "switch it back to one turn and calibrate again."
        )


def _travel(joint: JointCalibration, zero_deg: float) -> tuple[float, float]:
    half = (joint.range_max - joint.range_min) / 2.0 * DEGREES_PER_STEP
    return zero_deg - half, zero_deg + half


def _count(name: str, value: float) -> int:
    if not -0.5 <= value <= MAX_COUNT + 0.5:
        raise CalibrationError(
            f"{name} would need count {value:.0f}, outside 0 to {MAX_COUNT} of its servo. "
            "Choose a pose nearer the middle, or calibrate again."
        )
    return min(MAX_COUNT, max(0, round(value)))
