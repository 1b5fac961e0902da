"""The figures and sentences behind the fault states, each limit at its ends."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.arm.joints import Pose
from armlabd.bus.registers import Feedback
from armlabd.motion import inspection, thresholds
from armlabd.motion.chain import ALL_SILENT, broken_after, missing_sentence, silence_sentence
from armlabd.motion.health import (
    BIT_STATES,
    STATES,
    Facts,
    bits_trouble,
    code_of,
    heat_trouble,
    settings_trouble,
    supply_range_v,
    supply_trouble,
)
from armlabd.motion.inspection import Inspection, brown_out_sentence, changed, started_anew
from armlabd.motion.jumps import Jumps
from armlabd.motion.measured import Measured
from armlabd.motion.stall import Stall
from armlabd.motion.supply import Supply
from armlabd.motion.thresholds import share_left, supply_class
from armlabd.sim.servo import VirtualServo
from armlabd.verdict import Code

FACTS = Facts(777, "3.10", 140, 40, 12, 0, 0, 4095, 0, False)
HOME = (2048,) * 6


def feedback(**values: int) -> Feedback:
    given = {"position": 2048, "velocity": 0, "load": 0, "voltage": 120, "temperature": 30,
             "moving": 0, "status": 0, "current": 0}  # fmt: skip
    return Feedback(**{**given, **values})


# --- figures with reasons -------------------------------------------------------------------------


def test_every_threshold_says_why() -> None:
    found = [x for x in vars(thresholds).values() if isinstance(x, thresholds.Threshold)]
    assert len(found) >= 10
    assert all(len(threshold.why) > 20 and threshold.unit for threshold in found)


@pytest.mark.parametrize(
    ("celsius", "share"),
    [(0, 1.0), (54.9, 1.0), (55, 1.0), (56, 0.95), (60, 0.75), (65, 0.5), (66, 0.5), (200, 0.5)],
)
def test_the_share_falls_from_one_at_55_to_the_least_at_65(celsius: float, share: float) -> None:
    assert share_left(celsius, 0.5) == pytest.approx(share)


@pytest.mark.parametrize(
    ("register", "name"), [(0, "7.4 V"), (80, "7.4 V"), (99, "7.4 V"), (100, "12 V"), (255, "12 V")]
)
def test_register_14_tells_the_class(register: int, name: str) -> None:
    assert supply_class(register).name == name


@pytest.mark.parametrize(
    ("highest", "lowest", "expected"),
    [(140, 40, (9.0, 14.0)), (150, 100, (10.0, 14.0)), (80, 40, (4.5, 8.0)), (90, 50, (5.0, 8.4))],
)
def test_the_narrower_of_class_and_registers_counts(
    highest: int, lowest: int, expected: tuple[float, float]
) -> None:
    facts = FACTS._replace(voltage_max=highest, voltage_min=lowest)
    assert supply_range_v(facts) == expected
    for volts, fits in ((expected[0], True), (expected[1], True), (expected[0] - 0.1, False),
                        (expected[1] + 0.1, False)):  # fmt: skip
        assert (supply_trouble(1, facts, round(volts * 10)) is None) is fits


# --- states ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("bit", BIT_STATES)
def test_every_error_bit_has_a_state_with_a_next_step(bit: int) -> None:
    trouble = bits_trouble(4, bit)
    assert trouble is not None
    assert "Servo 4 (wrist_flex)" in trouble.sentence
    assert len(STATES[trouble.state]) > 20
    assert code_of(trouble.state) is Code.SERVO_FAULT
    assert bits_trouble(4, 0) is None


def test_of_several_error_bits_the_gravest_is_the_state_and_all_are_named() -> None:
    trouble = bits_trouble(1, 0x25)
    assert trouble is not None
    assert trouble.state == "overload"
    assert "voltage, temperature, overload" in trouble.sentence


@pytest.mark.parametrize(("celsius", "hot"), [(64, False), (65, True), (66, True)])
def test_65_degrees_are_too_hot(celsius: int, hot: bool) -> None:
    assert (heat_trouble(2, celsius, 65) is not None) is hot


def test_states_are_refused_with_the_code_of_their_kind() -> None:
    assert code_of("calibration_differs") is Code.NOT_CALIBRATED
    assert code_of("servos_missing") is Code.NO_ARM
    assert code_of("multi_turn") is Code.SERVO_FAULT


# --- the chain ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ((), "None of the six servos answers"),
        ((1, 2, 4, 5, 6), "Servo 3 (elbow_flex), third from the base, does not answer"),
        ((1, 2, 3, 4, 5), "Servo 6 (gripper), sixth from the base, does not answer"),
        ((1, 2, 3), "Servos 4 to 6 do not answer; found: 1, 2, 3. Look at the cable after servo 3"),
        ((1,), "the cable after servo 1 (shoulder_pan), first from the base"),
        ((1, 3, 5, 6), "Servos 2 (shoulder_lift), 4 (wrist_flex) do not answer"),
        ((2, 3, 4, 5, 6), "Servo 1 (shoulder_pan), first from the base"),
        ((3, 4, 5, 6), "Servos 1 (shoulder_pan), 2 (shoulder_lift) do not answer"),
    ],
)
def test_who_is_missing_is_named_with_the_place_to_look_at(
    found: tuple[int, ...], words: str
) -> None:
    assert words in missing_sentence(found)


@pytest.mark.parametrize(
    ("missing", "after"),
    [([5, 6], 4), ([2, 3, 4, 5, 6], 1), ([6], None), ([4, 5], None), ([1, 2, 3, 4, 5, 6], None)],
)
def test_a_broken_cable_is_one_behind_which_all_are_missing(
    missing: list[int], after: int | None
) -> None:
    assert broken_after(missing) == after


def test_silence_tells_mute_from_damaged_from_lossy() -> None:
    every = dict.fromkeys(range(1, 7), 10)
    assert silence_sentence(every, 10) == (ALL_SILENT, (1, 2, 3, 4, 5, 6))
    sentence, silent = silence_sentence({3: 10, 1: 2}, 10)
    assert silent == (3,)
    assert "third from the base" in sentence
    sentence, silent = silence_sentence({3: 10}, 10, damaged=[3])
    assert silent == ()
    assert "Everything that Servo 3 (elbow_flex) said in 10 cycles" in sentence
    sentence, silent = silence_sentence({3: 9, 1: 2}, 10)
    assert silent == ()
    assert "servo 1 2 times, servo 3 9 times" in sentence


# --- positions ------------------------------------------------------------------------------------


def moved(steps: int, place: int = 0) -> tuple[int, ...]:
    counts = list(HOME)
    counts[place] += steps
    return tuple(counts)


@pytest.mark.parametrize(
    ("steps", "believed"), [(115, True), (116, True), (117, False), (-116, True), (-117, False)]
)
def test_a_joint_can_go_600_degrees_a_second_and_not_more(steps: int, believed: bool) -> None:
    jumps = Jumps()
    assert jumps.believes(HOME, 0.0)
    assert jumps.believes(moved(steps), 0.01) is believed
    assert jumps.count == (not believed)


def test_the_fifth_reading_of_a_jump_is_a_fault_and_names_the_joint() -> None:
    jumps = Jumps()
    jumps.believes(HOME, 10.0)
    for count in range(1, 6):
        assert jumps.fault is None
        assert not jumps.believes(moved(400, 2), 10.0 + count / 100)
    assert jumps.fault == 2
    assert jumps.steps == 400
    jumps.forget()
    assert jumps.fault is None
    assert jumps.believes(moved(400, 2), 10.06)


def test_a_reading_that_is_back_ends_the_suspicion() -> None:
    jumps = Jumps()
    jumps.believes(HOME, 10.0)
    for count in range(1, 5):
        jumps.believes(moved(400), 10.0 + count / 100)
    assert jumps.believes(HOME, 10.05)
    assert jumps.in_a_row == 0


def test_a_limp_arm_is_believed_when_it_shows_the_new_place_twice() -> None:
    jumps = Jumps()
    jumps.believes(HOME, 10.0, limp=True)
    assert not jumps.believes(moved(700), 10.01, limp=True)
    assert jumps.believes(moved(720), 10.02, limp=True)
    assert not jumps.believes(moved(-300), 10.03, limp=True)
    assert not jumps.believes(moved(1500), 10.04, limp=True), "two different places"


def test_the_seam_is_no_jump_and_after_a_gap_anything_goes() -> None:
    jumps = Jumps()
    jumps.believes((4090, *HOME[1:]), 10.0)
    assert jumps.believes((5, *HOME[1:]), 10.01)
    assert jumps.believes((2000, *HOME[1:]), 10.6)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-68, 68), min_size=1, max_size=30))
def test_no_motion_within_the_speed_is_ever_a_jump(steps: list[int]) -> None:
    jumps, place = Jumps(), 2048
    jumps.believes(HOME, 0.0)
    for count, step in enumerate(steps, 1):
        place = (place + step) % 4096
        assert jumps.believes((place, *HOME[1:]), count / 100)


# --- stall ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behind_deg", "load", "current", "velocity", "stalls"),
    [
        (4.0, 0, 250, 0, True), (4.0, 0, 249, 0, False), (4.0, 0, -250, 0, True),
        (4.0, 600, 0, 0, True), (4.0, 599, 0, 0, False), (4.0, -600, 0, 0, True),
        (4.0, 600, 250, 20, False), (4.0, 600, 250, 19, True), (3.0, 1000, 400, 0, False),
        (8.0, 0, 0, 500, False), (8.1, 0, 0, 500, True),
    ],
)  # fmt: skip
def test_a_stall_is_load_or_current_without_motion_or_far_behind_for_a_time(
    behind_deg: float, load: int, current: int, velocity: int, stalls: bool
) -> None:
    measured, stall = Measured(), Stall()
    sick = feedback(load=load, current=current, velocity=velocity)
    measured.take({id: (sick, 0.0) for id in range(1, 7)}, None)
    measured.pose = Pose(0.0, 0.0, 0.0, 0.0, 0.0, 50.0)
    goal = Pose(behind_deg, 0.0, 0.0, 0.0, 0.0, 50.0)
    assert stall.look(goal, measured, 0.0, True) is None
    assert stall.look(goal, measured, 0.25, True) is None, "a spike"
    sentence = stall.look(goal, measured, 0.3125, True)
    assert (sentence is not None) is stalls
    if sentence is not None:
        assert "shoulder_pan does not follow" in sentence


# --- registers in use -----------------------------------------------------------------------------


def test_an_inspection_reads_what_the_servo_holds() -> None:
    servo = VirtualServo(3)
    for address, data in ((31, b"\x55\x08"), (9, b"\x0a\x00"), (41, b"\xfe"), (46, b"\x00\x04"),
                          (55, b"\x00"), (40, b"\x01")):  # fmt: skip
        servo.write(address, data)
    seen = inspection.decode(servo.read(inspection.ADDRESS, inspection.COUNT))
    assert seen == Inspection(10, 4095, 12, -85, 0, 1, 254, 1024, 1000, 0)
    assert not started_anew(seen)
    servo.power_up()
    assert started_anew(inspection.decode(servo.read(inspection.ADDRESS, inspection.COUNT)))


@pytest.mark.parametrize(
    ("field", "value", "state"),
    [
        ("phase", 28, "multi_turn"),
        ("mode", 1, "wrong_mode"),
        ("lock", 0, None),
        ("torque", 0, None),
    ],
)
def test_a_setting_that_changed_in_use_is_a_trouble(
    field: str, value: int, state: str | None
) -> None:
    seen = Inspection(0, 4095, 12, 0, 0, 1, 254, 1024, 1000, 1)._replace(**{field: value})
    trouble = changed(3, seen, FACTS, None)
    assert (trouble and trouble.state) == state
    assert settings_trouble(3, FACTS, None) is None


def test_a_restart_names_one_some_or_all() -> None:
    assert brown_out_sentence([2]).startswith("Servo 2 (shoulder_lift) started anew")
    assert "Servo 2 (shoulder_lift), Servo 5" in brown_out_sentence([2, 5])
    assert brown_out_sentence([1, 2, 3, 4, 5, 6]).startswith("All servos started anew")


# --- the supply over time -------------------------------------------------------------------------


def test_the_lowest_voltage_is_that_of_the_motion_and_told_once_from_a_tenth_on() -> None:
    supply, motion = Supply(), object()
    supply.note({1: feedback(voltage=120), 2: feedback(voltage=121)}, None)
    assert supply.rest_v == 12.0
    assert supply.note({1: feedback(voltage=108)}, motion) == ""
    assert "from 12.0 to 10.7 V" in supply.note({1: feedback(voltage=107)}, motion)
    assert supply.note({1: feedback(voltage=100)}, motion) == ""
    assert (supply.lowest_v, "10.0 V" in supply.sag) == (10.0, True)
    supply.note({1: feedback(voltage=119)}, object())
    assert (supply.lowest_v, supply.sag) == (11.9, "")
