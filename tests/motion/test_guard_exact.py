"""The guard to the last digit: its ends are inside, and a fault says the very point and figure.

Each of these was a change to the guard that no other test noticed (scripts/test --mutation).
"""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan, nextafter

import pytest
from test_guard import FREE

from armlabd.arm.joints import HOME, JOINT_NAMES, ZERO, Pose
from armlabd.arm.path import Program
from armlabd.motion import guard
from armlabd.motion.fence import KEEP, Depth, violation
from armlabd.motion.guard import Fault, LastLook, Rates, check_program
from armlabd.verdict import Code

DT = 0.01


def at(index: int, value: float) -> Pose:
    """Zero, but for one joint: differences from zero are exact."""
    return Pose(*(value if number == index else 0.0 for number in range(6)))


def fault_of(found: Fault | None) -> Fault:
    assert isinstance(found, Fault)
    return found


def depth(name: str, deep: float, unit: str) -> tuple[Depth, ...]:
    return (Depth(name, deep, 0.0, 0.0, unit),)


@pytest.mark.parametrize("index", range(6))
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_ends_of_step_and_bend_are_inside(index: int, sign: float) -> None:
    rates = Rates(FREE, DT)
    step, bend = rates.steps[index], rates.bends[index]
    before = at(index, -sign * step)
    assert rates.check(3, before, ZERO, at(index, sign * step)) is None
    assert rates.check(3, ZERO, ZERO, at(index, sign * bend)) is None
    sudden = fault_of(rates.check(3, ZERO, ZERO, at(index, sign * nextafter(bend, inf))))
    assert (sudden.point, sudden.limit) == (3, f"acceleration:{JOINT_NAMES[index]}")
    assert sudden.value == pytest.approx(bend / DT**2)
    unit = "%/s2" if index == 5 else "deg/s2"
    assert sudden.sentence.count(f" {unit}") == 2
    fast = fault_of(rates.check(3, before, ZERO, at(index, sign * nextafter(step, inf))))
    assert (fast.point, fast.limit) == (4, f"speed:{JOINT_NAMES[index]}")


@pytest.mark.parametrize("index", range(6))
def test_the_end_of_a_sent_step_is_inside(index: int) -> None:
    rates = Rates(FREE, DT)
    most = rates.steps[index] + KEEP
    assert rates.check_step(7, ZERO, at(index, most)) is None
    fast = fault_of(rates.check_step(7, ZERO, at(index, nextafter(most, inf))))
    assert (fast.code, fast.point) == (Code.TOO_FAST, 7)
    assert fast.value == pytest.approx(most / DT)


def test_what_sag_explains_is_no_reason_to_go_slowly() -> None:
    rates = Rates(FREE, DT)
    quick = at(0, 0.5)
    for deep, unit in ((guard.SLACK_DEG, "deg"), (guard.SLACK_M, "m")):
        assert rates.check_slow(5, ZERO, quick, depth("travel:x", deep, unit)) is None
        more = depth("travel:x", nextafter(deep, inf), unit)
        assert fault_of(rates.check_slow(5, ZERO, quick, more)).point == 5


def test_a_program_may_end_outside_by_what_sag_explains() -> None:
    for deep, unit in ((guard.SLACK_DEG, "deg"), (guard.SLACK_M, "m")):
        slack = depth("travel:x", deep, unit)
        more = depth("travel:x", nextafter(deep, inf), unit)
        assert guard._check_end(9, slack, slack) is None
        assert fault_of(guard._check_end(9, more, more)).point == 9


def test_an_empty_program_is_refused_with_its_figures() -> None:
    fault = fault_of(check_program(Program(()), FREE, HOME))
    assert (fault.code, fault.point, fault.limit) == (Code.BAD_PROGRAM, 0, "length")
    assert (fault.value, fault.allowed) == (0, 1)


def test_a_start_elsewhere_is_a_fault_of_point_zero() -> None:
    fault = fault_of(check_program(Program((HOME, HOME)), FREE, HOME._replace(pan=4.0)))
    assert (fault.code, fault.point, fault.limit) == (Code.OLD_STATE, 0, "start:shoulder_pan")


def test_facts_are_rounded_to_five_places() -> None:
    facts = Fault(Code.TOO_FAST, "", 1, "speed:x", 1.123456789, 2.987654321).facts()
    assert (facts["value"], facts["allowed"]) == (1.12346, 2.98765)


def test_noise_in_metres_is_a_millimetre() -> None:
    """Below the floor: deeper by less than 1 mm is noise, by more the arm has sunk."""
    start = HOME
    floor = min(violation_z(start)) + 0.02
    limits = replace(FREE, floor_m=floor, tip_floor_m=floor)
    standing = {d.name: d.depth for d in violation(start, limits)}
    assert standing
    codes = set()
    for tenths in range(1, 30):
        first = HOME._replace(lift=HOME.lift + 0.1 * tenths)
        deeper = max(d.depth - standing.get(d.name, 0.0) for d in violation(first, limits))
        fault = fault_of(check_program(Program((first, first)), limits, start))
        sunk = fault.code is Code.OLD_STATE
        if abs(deeper - guard.NOISE_M) > 2e-4:
            assert sunk is (deeper > guard.NOISE_M), (tenths, deeper)
        codes.add(sunk)
    assert codes == {True, False}


def violation_z(pose: Pose) -> list[float]:
    """Heights that the floor is compared with, from the faults of a floor far above."""
    high = replace(FREE, floor_m=1.0, tip_floor_m=1.0)
    return [d.value for d in violation(pose, high) if d.name.startswith("floor:")]


def test_the_slow_pace_outside_is_charged_to_the_very_point() -> None:
    pans = (115.0, 114.98, 114.94, 114.88, 114.8, 114.7, 114.58, 114.44, 114.30)
    points = tuple(HOME._replace(pan=pan) for pan in pans)
    fault = fault_of(check_program(Program(points), FREE, points[0]))
    assert (fault.code, fault.limit) == (Code.TOO_FAST, "speed:shoulder_pan")
    assert "while outside a limit" in fault.sentence
    assert fault.point == 6  # from 114.7 to 114.58: 12 deg/s


def test_the_last_look_says_what_is_wrong_and_names_point_zero() -> None:
    look = LastLook(FREE, DT)
    look.pin(HOME._replace(pan=115.0))
    nothing = fault_of(look.check(HOME._replace(pan=nan)))
    assert (nothing.code, nothing.point) == (Code.BAD_PROGRAM, 0)
    fast = fault_of(look.check(HOME._replace(pan=114.0)))
    assert (fast.code, fast.point) == (Code.TOO_FAST, 0)
    slow = fault_of(look.check(HOME._replace(pan=114.8)))
    assert (slow.code, slow.point) == (Code.TOO_FAST, 0)
    assert "while outside a limit" in slow.sentence
    assert look.check(HOME._replace(pan=114.95)) is None
