from __future__ import annotations

import copy
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armlabd.arm.calibration import FORM, CalibrationError, calibration_of, parse
from armlabd.arm.joints import DEGREES_PER_STEP, PARK, ZERO, Pose
from armlabd.arm.limits import CEILINGS, LimitError
from armlabd.arm.own import own_limits, own_pose
from armlabd.arm.placement import Alignment, Placement
from armlabd.sim.calibration import calibration_json

ALIGNMENT = Alignment((1.0, -2.0, 3.0, -4.0, 0.5), Placement(0.01, -0.02, 0.003, 2.0), 1.2, "today")
JOINTS = json.loads(calibration_json())
PLAIN = calibration_of(JOINTS)
ALIGNED = PLAIN.aligned(ALIGNMENT)
metres = st.floats(-0.3, 0.3)


@given(metres, metres, metres)
def test_table_and_base_are_two_views_of_one_point(x: float, y: float, z: float) -> None:
    base = Placement(0.03, -0.02, 0.004, 7.0)
    assert base.to_table(base.to_base(x, y, z)) == pytest.approx((x, y, z), abs=1e-12)


def test_a_base_turned_left_sees_the_table_turned_right() -> None:
    x, y, z = Placement(0.1, 0.0, 0.002, 90.0).to_base(0.1, 0.2, 0.0)
    assert (x, y, z) == pytest.approx((0.2, 0.0, -0.002))


def test_zeros_are_added_when_reading_and_taken_off_when_sending() -> None:
    counts = PLAIN.to_raw(ZERO)
    read = ALIGNED.from_raw(counts)
    half = DEGREES_PER_STEP / 2  # counts are whole numbers
    for angle, zero in zip(read.arm, ALIGNMENT.zero_deg, strict=True):
        assert abs(angle - zero) <= half + 1e-9
    assert ALIGNED.to_raw(Pose(*ALIGNMENT.zero_deg)) == counts
    assert read.grip == PLAIN.from_raw(counts).grip


def test_the_travel_moves_with_the_zero() -> None:
    low, high = PLAIN.travel_deg()["elbow_flex"]
    assert ALIGNED.travel_deg()["elbow_flex"] == pytest.approx((low + 3.0, high + 3.0))


def test_the_file_keeps_the_alignment() -> None:
    assert parse(ALIGNED.to_text()) == ALIGNED
    assert parse(PLAIN.to_text()) == PLAIN
    assert parse(json.dumps({"form": "armlabd calibration 1", "joints": JOINTS})) == PLAIN


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("zero_deg", "elbow_flex", 12.1),
        ("zero_deg", "elbow_flex", math.nan),
        ("zero_deg", "elbow_flex", True),
        ("zero_deg", "gripper", 0.0),
        ("base", "x", 0.0401),
        ("base", "z", -0.0121),
        ("base", "yaw_deg", "0"),
        ("", "residual_mm", 5.01),
        ("", "residual_mm", -0.1),
        ("", "date", 3),
        ("", "extra", 3),
    ],
)
def test_an_alignment_that_cannot_be_meant_is_refused(part: str, name: str, value: object) -> None:
    values: dict[str, Any] = copy.deepcopy(ALIGNMENT.as_dict())
    (values[part] if part else values)[name] = value
    text = json.dumps({"form": FORM, "joints": JOINTS, "alignment": values})
    with pytest.raises(CalibrationError, match="calibrate --align again"):
        parse(text)


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [("zero_deg", "elbow_flex", 12.0), ("base", "x", -0.04), ("", "residual_mm", 5.0)],
)
def test_the_ends_of_what_an_alignment_may_say_are_inside(
    part: str, name: str, value: float
) -> None:
    values: dict[str, Any] = copy.deepcopy(ALIGNMENT.as_dict())
    (values[part] if part else values)[name] = value
    parse(json.dumps({"form": FORM, "joints": JOINTS, "alignment": values}))


def test_an_arm_has_no_more_travel_than_it_was_built_with() -> None:
    own = own_limits(CEILINGS, ALIGNED)
    low, high = own.travel_deg[1]
    assert low == CEILINGS.travel_deg[1][0]  # its own -102 is beyond the ceiling
    assert high == pytest.approx(98.0, abs=0.1)
    assert own.floor_m == CEILINGS.floor_m  # the base stands high: the floor is not lowered


def test_a_base_that_stands_low_raises_the_floor() -> None:
    low = Alignment((0.0,) * 5, Placement(z=-0.005), 1.0, "today")
    own = own_limits(CEILINGS, PLAIN.aligned(low))
    assert own.floor_m == pytest.approx(CEILINGS.floor_m + 0.005)
    assert own.tip_floor_m == pytest.approx(CEILINGS.tip_floor_m + 0.005)


def test_an_arm_without_travel_is_refused() -> None:
    joints = copy.deepcopy(JOINTS)
    joints["shoulder_pan"].update(range_min=10, range_max=20)
    tight = CEILINGS.from_dict({**CEILINGS.as_dict(), "travel_deg": [(50.0, 60.0), *TRAVEL[1:]]})
    with pytest.raises(LimitError, match="nothing of 50 to 60"):
        own_limits(tight, calibration_of(joints))


TRAVEL = CEILINGS.travel_deg


def test_the_resting_pose_of_an_arm_that_reaches_less_keeps_the_slope_of_its_forearm() -> None:
    short = Alignment((0.0, 4.0, 0.0, 0.0, 0.0), Placement(), 1.0, "today")
    own = own_limits(CEILINGS, PLAIN.aligned(short))
    fitted = own_pose(PARK.arm, CEILINGS, own)
    assert fitted[1] == pytest.approx(-95.5, abs=0.1)
    assert fitted[1] + fitted[2] == pytest.approx(PARK.lift + PARK.elbow)
    assert own_pose(PARK.arm, CEILINGS, CEILINGS) == PARK.arm


def test_a_resting_pose_outside_what_is_wanted_is_left_to_be_refused() -> None:
    outside = (0.0, -101.0, 0.0, 0.0, 0.0)
    assert own_pose(outside, CEILINGS, own_limits(CEILINGS, ALIGNED)) == outside
