from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.arm.calibration import MAX_COUNT, MAX_OFFSET, JointCalibration
from armlabd.arm.joints import DEGREES_PER_STEP
from armlabd.arm.sweep import (
    FULL_TURN,
    LEAP,
    STILL_DEG,
    TURNED_DEG,
    Sweep,
    SweepError,
    encoder,
    expected_deg,
    joint_from,
    offset_for,
    step_between,
    turned_instead,
)

LIFT = round(200 / DEGREES_PER_STEP)


def turned(start: int, *ends: int, stride: int = 100) -> Sweep:
    """A sweep from an encoder count to each end in turn, read every `stride` counts."""
    sweep = Sweep.starting(start % 4096)
    for a, b in itertools.pairwise((start, *ends)):
        step = stride if b > a else -stride
        for count in (*range(a, b, step), b):
            sweep.see(count % 4096)
    return sweep


def whole(name: str, middle: int, span: int, held: int | None = None) -> JointCalibration:
    low = middle - span // 2
    start = middle if held is None else held
    return joint_from(name, start % 4096, turned(start, low, low + span))


def test_a_plain_sweep_has_its_middle_at_2047() -> None:
    joint = whole("shoulder_lift", 2047, LIFT)
    assert joint == JointCalibration(2, 0, 0, 2047 - LIFT // 2, 2047 - LIFT // 2 + LIFT)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 4095), st.sampled_from(["shoulder_pan", "elbow_flex", "wrist_roll"]))
def test_the_seam_is_never_inside_the_travel(middle: int, name: str) -> None:
    span = round(expected_deg(name)[0] / DEGREES_PER_STEP) + 200
    joint = whole(name, middle, span)
    assert abs(joint.homing_offset) <= MAX_OFFSET
    assert 0 <= joint.range_min < joint.range_max <= MAX_COUNT
    assert joint.range_max - joint.range_min == span
    # What the servo reads at the ends is what the file says, and it reads on without a jump.
    low = middle - span // 2
    reads = [(low + k - joint.homing_offset) % 4096 for k in range(span + 1)]
    assert (reads[0], reads[-1]) == (joint.range_min, joint.range_max)
    assert all(b - a == 1 for a, b in itertools.pairwise(reads))


def test_case_46_a_servo_mounted_off_by_half_a_turn_still_gets_an_offset_it_can_hold() -> None:
    # lerobot#1296: the middle at encoder 2114 + 2047 asked for offset 2114, which no servo takes.
    joint = whole("elbow_flex", 2114 + 2047, 2200)
    assert joint.homing_offset == 2114 - 4096
    assert joint.range_min + 1100 == 2047


def test_row_09_and_10_half_a_turn_exactly_reads_one_count_off() -> None:
    # Offset 2048 cannot be said with eleven bits and a sign.
    assert offset_for(2047 + 2048) == -2047
    joint = whole("wrist_flex", 2047 + 2048, 2161)
    assert joint.homing_offset == -2047
    low = 2047 + 2048 - 2161 // 2
    assert (low + 2047) % 4096 == joint.range_min


def test_row_11_and_13_a_sweep_across_the_encoder_seam_is_one_travel() -> None:
    joint = whole("shoulder_lift", 10, LIFT)
    assert joint.range_max - joint.range_min == LIFT
    assert encoder(joint.range_min, joint.homing_offset) == (10 - LIFT // 2) % 4096


def test_row_14_the_roll_has_ends_and_keeps_them() -> None:
    joint = whole("wrist_roll", 900, 3849)
    assert (joint.range_min, joint.range_max) == (2047 - 1924, 2047 - 1924 + 3849)


@pytest.mark.parametrize(("span", "full"), [(FULL_TURN - 1, False), (FULL_TURN, True)])
def test_a_joint_that_turns_fully_is_known_by_its_span(span: int, full: bool) -> None:
    sweep = turned(500, 500 - span // 2, 500 - span // 2 + span)
    if full:
        joint = joint_from("wrist_roll", 500, sweep)
        assert (joint.range_min, joint.range_max, joint.homing_offset) == (0, 4095, 500 - 2047)
        with pytest.raises(SweepError, match="only wrist_roll can"):
            joint_from("elbow_flex", 500, sweep)
    else:
        with pytest.raises(SweepError, match="by the drawing 256 to 384"):
            joint_from("wrist_roll", 500, Sweep(500, 0, 2000))
        assert sweep.span == span


def test_turning_on_beyond_a_full_turn_is_still_a_full_turn() -> None:
    joint = joint_from("wrist_roll", 500, turned(500, 500 + 9000, 500))
    assert (joint.range_min, joint.range_max) == (0, 4095)


@pytest.mark.parametrize("name", ["shoulder_pan", "shoulder_lift", "wrist_flex", "gripper"])
def test_the_travel_must_be_about_the_drawings(name: str) -> None:
    low, high = (round(deg / DEGREES_PER_STEP) for deg in expected_deg(name))
    for span, good in ((low + 2, True), (low - 2, False), (high - 2, True), (high + 2, False)):
        start = 2000 - span // 2 if name == "gripper" else 2000
        sweep = turned(start, 2000 - span // 2, 2000 - span // 2 + span)
        if good:
            joint_from(name, start, sweep)
        else:
            with pytest.raises(SweepError, match=f"{name} was turned"):
                joint_from(name, start, sweep)


def test_a_joint_that_was_not_moved_is_refused() -> None:
    with pytest.raises(SweepError, match="turned 0 degrees"):
        joint_from("elbow_flex", 2000, Sweep.starting(2000))


def test_half_a_sweep_shows_by_the_pose_held_at_the_start() -> None:
    whole("shoulder_pan", 2000, 2500, held=2000 + 390)
    with pytest.raises(SweepError, match=r"36 degrees from the pose"):
        whole("shoulder_pan", 2000, 2500, held=2000 + 410)


def test_readings_too_far_apart_are_not_believed() -> None:
    sweep = Sweep.starting(0)
    sweep.see(LEAP)
    assert sweep.leaps == 0
    sweep.see(2 * LEAP + 1)
    with pytest.raises(SweepError, match="too fast"):
        joint_from("elbow_flex", 0, sweep)


def test_the_jaws_say_by_their_start_which_end_is_shut() -> None:
    assert whole("gripper", 1500, 1300, held=1500 - 640).drive_mode == 0
    assert whole("gripper", 1500, 1300, held=1500 + 640).drive_mode == 1
    with pytest.raises(SweepError, match="neither shut nor open"):
        whole("gripper", 1500, 1300, held=1500)


@given(st.integers(0, 4095), st.integers(-2047, 2047))
def test_the_shorter_way_and_the_encoders_count(count: int, step: int) -> None:
    assert step_between(count, (count + step) % 4096) == step
    assert encoder((count - step) % 4096, step) == count


STILL, TURNED = (round(degrees / DEGREES_PER_STEP) for degrees in (STILL_DEG, TURNED_DEG))


@pytest.mark.parametrize(
    ("own", "other", "told"),
    [
        (0, TURNED + 1, True),
        (STILL - 1, TURNED + 1, True),
        (STILL + 1, TURNED + 1, False),
        (0, TURNED - 1, False),
        (STILL - 1, 2000, True),
        (2000, 3000, False),
    ],
)
def test_a_servo_that_turned_while_the_one_in_question_stood_still_is_named(
    own: int, other: int, told: bool
) -> None:
    sweeps = [turned(0, 100) for _ in range(6)]
    sweeps[1], sweeps[4] = turned(0, own), turned(4000, 4000 + other)
    remark = turned_instead("shoulder_lift", sweeps)
    assert ("Servo 5 (wrist_roll) turned instead" in remark) is told
    assert bool(remark) is told
    assert told is ("servos 2 and 5 have each other's id" in remark)
