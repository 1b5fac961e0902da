"""Whose calibration is it: files of real arms against servos."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from armlabd.arm.calibration import Calibration, CalibrationError, calibration_of, parse
from armlabd.arm.joints import JOINT_NAMES
from armlabd.motion.calibrate_bus import FIELDS, CalibrateError, Registers, is_factory
from armlabd.motion.calibrate_import import check_same_arm, from_servos

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/calibrations.json").read_text())
FILES: dict[str, Any] = VECTORS["files"]
ARM_A = calibration_of(FILES["arm_a_swept_wrist_roll"])
ARM_B = calibration_of(FILES["arm_b_wrist_roll_full_turn"])


def servos(calibration: Calibration, **offsets: int) -> Registers:
    """Registers of an arm that holds this calibration, some offsets changed."""
    now: Registers = {}
    for name in JOINT_NAMES:
        joint = calibration.joints[name]
        now[joint.id] = {r: getattr(joint, f) for f, r in FIELDS.items()}
        if name in offsets:
            now[joint.id]["homing_offset"] = offsets[name]
    return now


def test_the_right_arm_is_known_by_its_offsets_two_counts_off_or_less() -> None:
    check_same_arm(servos(ARM_A), ARM_A)
    check_same_arm(servos(ARM_A, elbow_flex=-984), ARM_A)
    with pytest.raises(CalibrateError, match="1 of six servos differ"):
        check_same_arm(servos(ARM_A, elbow_flex=-983), ARM_A)


def test_case_49_the_calibration_of_another_arm_is_refused_with_both_named() -> None:
    with pytest.raises(CalibrateError, match=r"of another arm.*servo -871, file -1365"):
        check_same_arm(servos(ARM_B), ARM_A)


def test_case_49_one_exchanged_servo_is_named() -> None:
    with pytest.raises(CalibrateError, match=r"exchanged or calibrated anew.*gripper: servo 12"):
        check_same_arm(servos(ARM_A, gripper=12), ARM_A)
    with pytest.raises(CalibrateError, match=r"exchanged or reset.*gripper: servo 85"):
        check_same_arm(servos(ARM_A, gripper=85), ARM_A)


@pytest.mark.parametrize("offset", [0, 85])
def test_a_factory_reset_arm_matches_nothing_and_is_named(offset: int) -> None:
    now = servos(ARM_A, **dict.fromkeys(JOINT_NAMES, offset))
    assert is_factory(now)
    with pytest.raises(CalibrateError, match="matches no file"):
        check_same_arm(now, ARM_A)


def test_case_48_what_the_servos_hold_can_be_kept() -> None:
    now = servos(ARM_A, elbow_flex=-900)
    kept = from_servos(now, ARM_A)
    assert kept.joints["elbow_flex"].homing_offset == -900
    assert kept.joints["shoulder_pan"] == ARM_A.joints["shoulder_pan"]
    assert from_servos(servos(ARM_A), ARM_A) == ARM_A


def test_servos_that_hold_nonsense_make_no_calibration() -> None:
    now = servos(ARM_A)
    now[3]["min_position_limit"] = now[3]["max_position_limit"]
    with pytest.raises(CalibrateError, match="no calibration: elbow_flex"):
        from_servos(now, ARM_A)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"range_min": -5}, "multi-turn"),
        ({"range_max": 4096}, "multi-turn"),
        ({"range_min": 3110}, "low before high"),
        ({"homing_offset": 2114}, "outside -2047 to 2047"),
        ({"id": 4}, "must be servo 3"),
    ],
)
def test_rows_09_and_21_files_that_cannot_be_meant_are_refused(
    fields: dict[str, int], words: str
) -> None:
    joints = {name: dict(values) for name, values in FILES["arm_a_swept_wrist_roll"].items()}
    joints["elbow_flex"].update(fields)
    with pytest.raises(CalibrationError, match=words):
        parse(json.dumps(joints))


def test_row_22_the_very_old_form_with_another_zero_is_refused() -> None:
    old = {"homing_offset": [1] * 6, "drive_mode": [0] * 6, "motor_names": list(JOINT_NAMES)}
    with pytest.raises(CalibrationError, match="zero is the arm stretched"):
        parse(json.dumps(old))
