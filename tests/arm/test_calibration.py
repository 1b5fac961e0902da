from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.arm.calibration import CalibrationError, calibration_of, parse, parse_lerobot
from armlabd.arm.joints import JOINT_NAMES, ZERO, Pose
from armlabd.arm.limits import CEILINGS, intersect_travel

VECTORS = json.loads(
    (Path(__file__).parents[1] / "vectors" / "calibrations.json").read_text("utf-8")
)
FILES: dict[str, dict[str, Any]] = VECTORS["files"]
ARM_A = FILES["arm_a_swept_wrist_roll"]


def changed(joint: str, **fields: Any) -> dict[str, Any]:
    values = copy.deepcopy(ARM_A)
    values[joint].update(fields)
    return values


@pytest.mark.parametrize("name", FILES)
def test_published_files_are_accepted_and_survive_our_own_form(name: str) -> None:
    read = parse_lerobot(json.dumps(FILES[name]))
    assert read.as_lerobot() == FILES[name]
    assert parse(read.to_text()) == read
    assert parse(json.dumps(FILES[name])) == read


def test_zero_is_the_middle_of_the_range_and_one_turn_is_4096_counts() -> None:
    read = calibration_of(ARM_A)
    assert read.from_raw((2112, 2016, 2006, 2032, 2060, 1975)).pan == pytest.approx(
        0.5 * 360 / 4096
    )
    assert read.to_raw(ZERO)[1:5] == (2016, 2006, 2032, 2060)
    assert read.to_raw(Pose(0, 90, 0, 0, 0))[1] - read.to_raw(ZERO)[1] == 1024


def test_the_gripper_is_closed_at_range_min_and_open_at_range_max() -> None:
    read = calibration_of(ARM_A)
    assert read.to_raw(ZERO.with_grip(0))[5] == 1975
    assert read.to_raw(ZERO.with_grip(100))[5] == 3565
    assert read.from_raw((0, 0, 0, 0, 0, 2770)).grip == pytest.approx(50)


def test_drive_mode_turns_the_gripper_round_and_leaves_degrees_alone() -> None:
    plain = calibration_of(ARM_A)
    turned = calibration_of(changed("gripper", drive_mode=1))
    assert turned.to_raw(ZERO.with_grip(0))[5] == 3565
    assert turned.from_raw((0, 0, 0, 0, 0, 3565)).grip == pytest.approx(0)
    pan = calibration_of(changed("shoulder_pan", drive_mode=1))
    assert pan.to_raw(Pose(30, 0, 0, 0, 0)) == plain.to_raw(Pose(30, 0, 0, 0, 0))


@settings(deadline=None)
@given(st.lists(st.integers(0, 4095), min_size=6, max_size=6), st.sampled_from(sorted(FILES)))
def test_counts_survive_the_way_to_degrees_and_back(counts: list[int], name: str) -> None:
    read = calibration_of(FILES[name])
    assert all(
        abs(a - b) <= 1 for a, b in zip(read.to_raw(read.from_raw(counts)), counts, strict=True)
    )


def test_an_arm_folded_past_its_swept_range_can_still_be_read() -> None:
    folded = VECTORS["folded_past_the_swept_range_raw"]
    counts = [folded[name] for name in JOINT_NAMES]
    pose = calibration_of(ARM_A).from_raw(counts)
    assert pose.lift == pytest.approx((3700 - 2016.5) * 360 / 4096)
    assert pose.lift > CEILINGS.travel_deg[1][1]
    assert pose.grip < 0
    assert calibration_of(ARM_A).to_raw(pose) == tuple(counts)


def test_a_resting_arm_reads_near_zero() -> None:
    resting = VECTORS["resting_positions_raw"]
    pose = calibration_of(ARM_A).from_raw([resting[name] for name in JOINT_NAMES])
    assert all(abs(angle) < 10 for angle in pose.arm)


@pytest.mark.parametrize(("degrees", "fits"), [(174.0, True), (175.0, False), (-186.0, False)])
def test_a_pose_beyond_one_turn_of_the_servo_is_refused(degrees: float, fits: bool) -> None:
    read = calibration_of(ARM_A)
    if fits:
        assert read.to_raw(Pose(degrees, 0, 0, 0, 0))[0] <= 4095
    else:
        with pytest.raises(CalibrationError, match="shoulder_pan would need count"):
            read.to_raw(Pose(degrees, 0, 0, 0, 0))


def test_travel_follows_the_range_within_the_ceilings() -> None:
    read = calibration_of(FILES["arm_b_wrist_roll_full_turn"])
    travel = read.travel_deg()
    assert travel["shoulder_lift"] == pytest.approx((-1217 * 360 / 4096, 1217 * 360 / 4096))
    assert intersect_travel(CEILINGS, travel) == CEILINGS


@pytest.mark.parametrize("field", ["id", "drive_mode", "homing_offset", "range_min", "range_max"])
@pytest.mark.parametrize("value", [True, 1.0, "1", None, [1]])
def test_only_whole_numbers_are_figures(field: str, value: object) -> None:
    with pytest.raises(CalibrationError):
        calibration_of(changed("wrist_flex", **{field: value}))


@pytest.mark.parametrize(
    ("fields", "fits"),
    [
        ({"range_min": 0}, True),
        ({"range_min": -1}, False),
        ({"range_max": 4095}, True),
        ({"range_max": 4096}, False),
        ({"range_min": 3215}, True),
        ({"range_min": 3216}, False),
        ({"homing_offset": 2047}, True),
        ({"homing_offset": 2048}, False),
        ({"homing_offset": -2047}, True),
        ({"homing_offset": -2048}, False),
        ({"drive_mode": 1}, True),
        ({"drive_mode": 2}, False),
        ({"drive_mode": -1}, False),
    ],
    ids=str,
)
def test_every_figure_at_and_beyond_its_ends(fields: dict[str, int], fits: bool) -> None:
    if fits:
        calibration_of(changed("wrist_flex", **fields))
    else:
        with pytest.raises(CalibrationError, match="wrist_flex"):
            calibration_of(changed("wrist_flex", **fields))


def test_case_46_an_offset_of_2114_is_refused_before_it_reaches_a_servo() -> None:
    with pytest.raises(CalibrationError, match=r"homing_offset = 2114 is outside -2047 to 2047"):
        calibration_of(changed("shoulder_lift", homing_offset=2114))


def test_reversed_ids_are_refused() -> None:
    values = copy.deepcopy(ARM_A)
    for joint, number in zip(JOINT_NAMES, range(6, 0, -1), strict=True):
        values[joint]["id"] = number
    with pytest.raises(CalibrationError, match="shoulder_pan has id 6, but it must be servo 1"):
        calibration_of(values)


def test_an_id_used_twice_is_refused() -> None:
    with pytest.raises(CalibrationError, match="elbow_flex has id 2"):
        calibration_of(changed("elbow_flex", id=2))


def test_names_must_be_exact() -> None:
    values = copy.deepcopy(ARM_A)
    values["shoulder_Pan"] = values.pop("shoulder_pan")
    with pytest.raises(CalibrationError, match="shoulder_pan is missing; 'shoulder_Pan' is no"):
        calibration_of(values)
    with pytest.raises(CalibrationError, match="'tail' is no joint"):
        calibration_of({**ARM_A, "tail": ARM_A["gripper"]})


def test_missing_and_extra_fields_are_refused() -> None:
    values = copy.deepcopy(ARM_A)
    del values["gripper"]["range_max"]
    with pytest.raises(CalibrationError, match="gripper must have exactly"):
        calibration_of(values)
    with pytest.raises(CalibrationError, match="gripper must have exactly"):
        calibration_of(changed("gripper", speed=1))
    with pytest.raises(CalibrationError, match="gripper must have exactly"):
        calibration_of({**ARM_A, "gripper": 6})


def test_the_very_old_form_has_its_own_sentence() -> None:
    old = {
        "homing_offset": [1, 2, 3, 4, 5, 6],
        "drive_mode": [0] * 6,
        "start_pos": [0] * 6,
        "end_pos": [1] * 6,
        "calib_mode": ["DEGREE"] * 5 + ["LINEAR"],
        "motor_names": list(JOINT_NAMES),
    }
    with pytest.raises(CalibrationError, match="old form"):
        parse(json.dumps(old))


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "7", '"text"', "NaN", "[" * 50_000, "{" + " " * 70_000 + "}"],
    ids=lambda text: text[:8],
)
def test_text_that_is_no_calibration_is_refused(text: str) -> None:
    with pytest.raises(CalibrationError):
        parse(text)
    with pytest.raises(CalibrationError):
        parse_lerobot(text)


def test_a_joint_said_twice_is_refused() -> None:
    text = json.dumps(ARM_A)
    twice = text[:-1] + ', "gripper": ' + json.dumps(ARM_A["gripper"]) + "}"
    with pytest.raises(CalibrationError, match="'gripper' twice"):
        parse(twice)


@pytest.mark.parametrize(
    "values",
    [
        {"form": "something else", "joints": ARM_A},
        {"form": "armlabd calibration 1"},
        {"form": "armlabd calibration 1", "joints": ARM_A, "more": 1},
        {"form": "armlabd calibration 1", "joints": []},
    ],
    ids=lambda v: ", ".join(v),
)
def test_our_own_form_is_exact_too(values: dict[str, Any]) -> None:
    with pytest.raises(CalibrationError):
        parse(json.dumps(values))


@pytest.mark.parametrize(("shift", "same"), [(0, True), (2, True), (-2, True), (3, False)])
def test_two_counts_of_difference_are_the_same_arm(shift: int, same: bool) -> None:
    read = calibration_of(ARM_A)
    assert read.matches([offset + shift for offset in read.fingerprint]) is same


def test_case_49_offsets_tell_two_arms_apart_though_their_ranges_agree() -> None:
    a, b = (calibration_of(FILES[name]) for name in sorted(FILES))
    assert not a.matches(b.fingerprint)
    assert not a.matches([0] * 6)  # a factory-reset arm
    assert not a.matches([85] * 6)  # a kit as delivered
    assert not a.matches(a.fingerprint[:5])
