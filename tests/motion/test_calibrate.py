"""The guided calibration on the virtual arm: a scripted person turns the limp joints."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripted_person import POSE, Act, Bench, Scripted, willing

from armlabd.arm.calibration import Calibration, calibration_of, parse
from armlabd.arm.joints import JOINT_NAMES
from armlabd.bus.errors import PortLost
from armlabd.motion import calibrate_bus
from armlabd.motion.calibrate import Task, calibrate
from armlabd.motion.calibrate_bus import CalibrateError, Change, check_plan, differences, plan_of
from armlabd.motion.calibrate_progress import FILE, Progress, Sweeping, Writing
from armlabd.sim import calibration as cal

OWN = calibration_of(json.loads(cal.calibration_json()))


def registers(bench: Bench) -> dict[int, dict[str, int]]:
    return bench.bus().registers()


def held(bench: Bench) -> Calibration:
    """What the servos hold, as a calibration."""
    now = registers(bench)
    joints = {
        name: {
            "id": id,
            "drive_mode": 0,
            "homing_offset": now[id]["homing_offset"],
            "range_min": now[id]["min_position_limit"],
            "range_max": now[id]["max_position_limit"],
        }
        for id, name in enumerate(JOINT_NAMES, 1)
    }
    return calibration_of(joints)


def test_a_kit_is_calibrated_from_nothing(tmp_path: Path) -> None:
    bench, progress = Bench.made().factory(), Progress(tmp_path)
    person = Scripted(bench.arm, willing)
    found = calibrate(bench.bus(), person, progress, fresh=False)
    for name in JOINT_NAMES[:5]:
        assert found.joints[name].homing_offset == pytest.approx(
            OWN.joints[name].homing_offset, abs=2
        )
        assert found.joints[name].range_min < OWN.joints[name].range_min
    assert held(bench) == found
    assert parse((tmp_path / "calibration.json").read_text()) == found
    assert not (tmp_path / FILE).exists()
    assert not any(servo.torque_on for servo in bench.arm.servos)
    assert all(servo.memory[55] == 1 for servo in bench.arm.servos)
    assert any("degrees so far" in line for line in person.shown)
    bench.arm.power_cycle()
    assert held(bench) == found  # it was written to stay
    bench.arm.put([10.0, -20.0, 30.0, 15.0, -40.0], 50.0, held=True)
    counts = bench.bus().sure_positions()
    assert found.from_raw(counts).arm == pytest.approx((10.0, -20.0, 30.0, 15.0, -40.0), abs=0.3)
    assert found.from_raw(counts).grip == pytest.approx(50.0, abs=0.5)


def test_case_04_a_calibration_leaves_no_torque_that_a_button_would_have_to_take(
    tmp_path: Path,
) -> None:
    """No core runs meanwhile, so the button is not read: nothing may be driven at any moment."""
    bench = Bench.made().factory()
    driven: set[bool] = set()

    def watched(person: Scripted, task: Task) -> Act:
        for word in willing(person, task):
            driven.add(any(servo.torque_on for servo in bench.arm.servos))
            yield word

    calibrate(bench.bus(), Scripted(bench.arm, watched), Progress(tmp_path), fresh=False)
    assert driven == {False}


def test_row_11_to_13_a_seam_inside_the_travel_is_swept_across(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every servo mounted so that its encoder's seam lies inside the travel of its joint.
    specs = tuple(replace(spec, homing_offset=1700 + 60 * spec.id) for spec in cal.SPECS)
    monkeypatch.setattr(cal, "SPECS", specs)
    bench = Bench.made().factory(0)
    found = calibrate(bench.bus(), Scripted(bench.arm, willing), Progress(tmp_path), fresh=False)
    for spec, name in zip(specs[:5], JOINT_NAMES, strict=False):
        assert found.joints[name].homing_offset == pytest.approx(spec.homing_offset, abs=2)
        middle = (found.joints[name].range_min + found.joints[name].range_max) / 2
        assert middle == pytest.approx(2047, abs=1.5)
    assert held(bench) == found


def test_nothing_is_written_before_the_person_says_so(tmp_path: Path) -> None:
    bench, progress = Bench.made().factory(), Progress(tmp_path)
    before = registers(bench)

    def unwilling(person: Scripted, task: Task) -> Act:
        if task.kind == "write":
            yield "no"
        yield from willing(person, task)

    with pytest.raises(CalibrateError, match=r"Nothing was written\. The sweep"):
        calibrate(bench.bus(), Scripted(bench.arm, unwilling), progress, fresh=False)
    assert registers(bench) == before
    assert not (tmp_path / "calibration.json").exists()
    # Next time nobody sweeps again.
    person = Scripted(bench.arm, willing)
    calibrate(bench.bus(), person, progress, fresh=False)
    assert [task.kind for task in person.asked] == ["write"]


def test_a_sweep_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    bench, progress = Bench.made().factory(), Progress(tmp_path)

    def leaves(person: Scripted, task: Task) -> Act:
        if task.name == "wrist_flex":
            return
        yield from willing(person, task)

    with pytest.raises(CalibrateError, match="input has ended"):
        calibrate(bench.bus(), Scripted(bench.arm, leaves), progress, fresh=False)
    earlier = progress.load()
    assert isinstance(earlier, Sweeping)
    assert list(earlier.joints) == list(JOINT_NAMES[:3])
    person = Scripted(bench.arm, willing)
    calibrate(bench.bus(), person, progress, fresh=False)
    swept = [task.name for task in person.asked if task.kind == "sweep"]
    assert swept == list(JOINT_NAMES[3:])


def test_the_sweep_of_another_arm_is_not_gone_on_with(tmp_path: Path) -> None:
    bench, progress = Bench.made().factory(), Progress(tmp_path)
    progress.save(Sweeping((1, 2, 3, 4, 5, 6), (0,) * 6, {}))
    person = Scripted(bench.arm, willing)
    calibrate(bench.bus(), person, progress, fresh=False)
    assert any("was of another arm" in text for text in person.said)


def test_half_a_sweep_is_refused_and_asked_for_again(tmp_path: Path) -> None:
    bench, tries = Bench.made().factory(), 0

    def lazy(person: Scripted, task: Task) -> Act:
        nonlocal tries
        if task.name == "shoulder_lift" and tries == 0:
            tries += 1
            yield from person.turn(1, 30.0, -60.0)
            yield ""
        yield from willing(person, task)

    person = Scripted(bench.arm, lazy)
    calibrate(bench.bus(), person, Progress(tmp_path), fresh=False)
    assert any("shoulder_lift was turned 90 degrees" in text for text in person.said)


def test_case_43_joints_are_told_apart_by_hand_and_none_is_driven_for_it(tmp_path: Path) -> None:
    bench, tries = Bench.made().factory(), 0
    driven: set[bool] = set()

    def mistaken(person: Scripted, task: Task) -> Act:
        nonlocal tries
        if task.name == "elbow_flex" and tries == 0:
            tries += 1
            for word in person.turn(3, 60.0, -20.0):
                driven.add(any(servo.torque_on for servo in bench.arm.servos))
                yield word
            yield ""
        yield from willing(person, task)

    person = Scripted(bench.arm, mistaken)
    calibrate(bench.bus(), person, Progress(tmp_path), fresh=False)
    (told,) = [text for text in person.said if "instead" in text]
    assert "elbow_flex was turned 0 degrees" in told
    assert "Servo 4 (wrist_flex) turned instead, by 80 degrees" in told
    assert "servos 3 and 4 have each other's id" in told
    assert driven == {False}


def test_a_joint_turned_too_fast_is_asked_for_again(tmp_path: Path) -> None:
    bench, tries = Bench.made().factory(), 0

    def hasty(person: Scripted, task: Task) -> Act:
        nonlocal tries
        if task.name == "wrist_roll" and tries == 0:
            tries += 1
            yield from person.turn(4, -160.0, 160.0, stride=120.0)
            yield ""
        yield from willing(person, task)

    person = Scripted(bench.arm, hasty)
    calibrate(bench.bus(), person, Progress(tmp_path), fresh=False)
    assert any("too fast" in text for text in person.said)


class Dies(Exception):
    """The process is killed here."""


@pytest.mark.parametrize("after", [0, 1, 7, 16])
def test_an_interrupted_write_is_finished_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    bench, progress = Bench.made().factory(), Progress(tmp_path)
    bus, written = bench.bus(), 0
    write = bus._master.write_eeprom

    def dying(*args: Any, **more: Any) -> bool:
        nonlocal written
        if written == after:
            raise Dies
        written += 1
        return write(*args, **more)

    monkeypatch.setattr(bus._master, "write_eeprom", dying)
    with pytest.raises(Dies):
        calibrate(bus, Scripted(bench.arm, willing), progress, fresh=False)
    assert not (tmp_path / "calibration.json").exists()
    left = progress.load()
    assert isinstance(left, Writing)
    person = Scripted(bench.arm, willing)
    found = calibrate(bench.bus(), person, progress, fresh=False)
    assert found == left.calibration == held(bench)
    assert any("interrupted while it was written" in text for text in person.said)
    assert progress.load() is None


def test_an_interrupted_write_of_another_arm_is_refused(tmp_path: Path) -> None:
    bench, progress = Bench.made().factory(), Progress(tmp_path)
    progress.save(Writing((Change(2, "homing_offset", 0, -212),), OWN))
    with pytest.raises(CalibrateError, match=r"neither the old 0 nor the new -212.*--fresh"):
        calibrate(bench.bus(), Scripted(bench.arm, willing), progress, fresh=False)
    found = calibrate(bench.bus(), Scripted(bench.arm, willing), progress, fresh=True)
    assert held(bench) == found


def test_an_unplugged_arm_is_finished_when_it_is_back(tmp_path: Path) -> None:
    bench, progress = Bench.made().factory(), Progress(tmp_path)

    def trips(person: Scripted, task: Task) -> Act:
        if task.kind == "write":
            yield ""
        yield from willing(person, task)

    person = Scripted(bench.arm, trips)
    say = person.say

    def pull(text: str) -> None:
        say(text)
        if text.startswith("written: elbow_flex: homing"):
            bench.cable.unplug()

    person.say = pull  # type: ignore[method-assign]
    with pytest.raises(PortLost):
        calibrate(bench.bus(), person, progress, fresh=False)
    bench.cable.plug()
    found = calibrate(bench.bus(), Scripted(bench.arm, willing), progress, fresh=False)
    assert held(bench) == found


def test_row_47_what_was_written_is_locked_and_survives_the_power(tmp_path: Path) -> None:
    bench = Bench.made().factory()
    changes = (Change(3, "homing_offset", 85, 331),)
    bench.bus().write(changes, lambda _: None)
    assert bench.arm.servos[2].memory[55] == 1
    bench.arm.power_cycle()
    assert registers(bench)[3]["homing_offset"] == 331


def test_a_servo_that_does_not_take_a_value_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench.made().factory()
    servo = bench.arm.servos[2]
    real = servo.write
    monkeypatch.setattr(
        servo, "write", lambda at, data: None if at == 31 else real(at, data), raising=True
    )
    with pytest.raises(CalibrateError, match=r"Servo 3 keeps 85 in homing_offset.*half written"):
        bench.bus().write((Change(3, "homing_offset", 85, 331),), lambda _: None)


def test_torque_that_stays_on_ends_the_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench.made()
    bus = bench.bus()
    monkeypatch.setattr(bus, "_torque", lambda id: 1 if id == 2 else 0)
    with pytest.raises(CalibrateError, match="torque of shoulder_lift cannot be switched off"):
        bus.make_limp()


def test_a_missing_servo_is_named_with_its_joint() -> None:
    bench = Bench.made()
    bench.arm.bus.faults.muted.add(4)
    with pytest.raises(CalibrateError, match=r"Servo 4 \(wrist_flex\) does not answer"):
        bench.bus().check_servos()


def test_a_servo_of_another_kind_is_named() -> None:
    bench = Bench.made()
    bench.arm.servos[5].memory[3:5] = (2825).to_bytes(2, "little")
    with pytest.raises(CalibrateError, match=r"servo 6 \(gripper\) is model 2825"):
        bench.bus().check_servos()


def test_row_09_a_servo_that_counts_several_turns_is_set_back() -> None:
    bench = Bench.made()
    now = registers(bench)
    now[4]["phase"] |= calibrate_bus.MULTI_TURN
    now[2]["operating_mode"] = 1
    assert set(plan_of(now, OWN)) == {
        Change(4, "phase", 28, 12),
        Change(2, "operating_mode", 1, 0),
    }


@pytest.mark.parametrize(
    "change",
    [
        Change(2, "homing_offset", 0, 2114),
        Change(2, "max_position_limit", 0, 4096),
        Change(2, "min_position_limit", 0, -1),
        Change(7, "homing_offset", 0, 1),
        Change(2, "torque_enable", 0, 1),
        Change(2, "id", 2, 3),
    ],
)
def test_case_46_a_plan_is_judged_whole_before_the_first_write(change: Change) -> None:
    with pytest.raises(CalibrateError, match="Nothing was changed"):
        check_plan((Change(1, "homing_offset", 0, 5), change))


def test_a_plan_does_not_write_a_register_twice() -> None:
    one = Change(1, "homing_offset", 0, 5)
    check_plan((one,))
    with pytest.raises(CalibrateError, match="twice"):
        check_plan((one, one))


def test_row_18_the_difference_is_told_register_by_register() -> None:
    bench = Bench.made()
    assert differences(registers(bench), OWN) == []
    bench.arm.servos[1].write(31, (100).to_bytes(2, "little"))
    assert differences(registers(bench), OWN) == [
        "shoulder_lift: homing_offset (register 31): servo 100, file -212"
    ]


@pytest.mark.parametrize("text", ["{", "[]", '{"phase": "other"}', '{"phase": "sweeping"}'])
def test_a_progress_file_that_cannot_be_read_says_what_to_do(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(CalibrateError, match="Start anew with --fresh"):
        Progress(tmp_path).load()


def test_row_19_the_path_is_told_and_what_lies_there_is_read_back(tmp_path: Path) -> None:
    bench, progress = Bench.made(), Progress(tmp_path / "new" / "folder")
    person = Scripted(bench.arm, willing)
    calibrate(bench.bus(), person, progress, fresh=False)
    assert str(progress.calibration_path) in person.said[-1]
    blocked = Progress(tmp_path / "file")
    (tmp_path / "file").write_text("")
    with pytest.raises(CalibrateError, match="cannot be written"):
        blocked.keep(OWN)


def test_the_pose_of_the_drawing_is_asked_for_first(tmp_path: Path) -> None:
    bench = Bench.made()
    person = Scripted(bench.arm, willing)
    calibrate(bench.bus(), person, Progress(tmp_path), fresh=False)
    assert "pose of the drawing" in person.said[0]
    assert POSE == [0.0] * 5


def test_an_offset_that_does_not_show_in_the_position_is_not_believed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench.made().factory()
    servo = bench.arm.servos[2]
    monkeypatch.setattr(type(servo), "homing_offset", property(lambda _: 85))
    with pytest.raises(CalibrateError, match="elbow_flex keeps reading by its old offset"):
        bench.bus().write((Change(3, "homing_offset", 85, 331),), lambda _: None)
