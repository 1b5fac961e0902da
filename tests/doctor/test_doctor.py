"""Doctor: servos, files, house; reads only, tells the first thing first."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from patient import Patient

from armlabd.bus.errors import PortError, PortKind
from armlabd.bus.frames import Instruction
from armlabd.bus.port import Transport
from armlabd.cli.main import main
from armlabd.clock import Clock
from armlabd.doctor.board import disk_check, starts_check
from armlabd.doctor.subject import ask_core, daemon_pid
from armlabd.record.space import MIB
from armlabd.sim.calibration import calibration_json

CHECKS = (
    "adapter brltty ModemManager driver group permissions port servos model_and_firmware voltage "
    "temperature calibration alignment daemon button stop disk starts keys camera markers model "
    "clock"
)


def test_a_healthy_arm_has_every_check_ok_and_exit_zero_words(patient: Patient) -> None:
    report = patient.report()
    assert [check.name.replace(" ", "_") for check in report.checks] == CHECKS.split()
    assert {check.state for check in report.checks} == {"ok"}
    assert report.healthy
    assert report.lines()[-1] == "Nothing is wrong."
    told = json.loads(json.dumps(report.as_dict()))
    assert (told["ok"], told["findings"], told["first"]) == (True, 0, None)


def test_nothing_but_pings_and_reads_goes_out_and_nothing_moves(patient: Patient) -> None:
    before = [bytes(servo.memory[:56]) for servo in patient.arm.servos]
    patient.arm.bus.faults.muted.update({2, 3})
    patient.report()
    patient.arm.bus.faults.muted.update(range(7))
    patient.report()
    assert patient.sent <= {Instruction.PING, Instruction.READ, Instruction.SYNC_READ}
    assert [bytes(servo.memory[:56]) for servo in patient.arm.servos] == before
    assert not any(servo.torque_on for servo in patient.arm.servos)


def test_case_38_no_servo_answers_power_comes_first_then_the_cable(patient: Patient) -> None:
    patient.arm.bus.faults.frozen = True
    told = patient.finding("servos")
    assert "supply" in told.remedy[0]
    assert "cable" in told.remedy[1]
    assert patient.check("voltage").state == "skipped"


def test_a_missing_servo_is_named_with_the_cable_before_it(patient: Patient) -> None:
    patient.arm.bus.faults.muted.add(4)
    told = patient.finding("servos")
    assert "4 (wrist_flex)" in told.sentence
    assert "between servo 3 and servo 4 (wrist_flex)" in told.remedy[1]


def test_case_38_servos_missing_at_a_low_voltage_blame_the_supply(patient: Patient) -> None:
    patient.arm.set_supply(50)
    patient.arm.bus.faults.muted.add(6)
    assert "power supply is off, missing or too weak" in patient.finding("servos").sentence


def test_another_id_on_the_bus_is_told(patient: Patient) -> None:
    patient.arm.servos[5].memory[5] = 9
    told = patient.finding("servos")
    assert "6 (gripper)" in told.sentence
    assert "Unexpected ids on the bus: 9" in told.sentence


def test_a_servo_that_gives_way_is_told_with_its_cause(patient: Patient) -> None:
    patient.arm.servos[1].trip(0x20)
    assert "shoulder_lift" in patient.finding("servos").sentence
    assert patient.check("voltage").state == "ok"


def test_unlocked_settings_are_told(patient: Patient) -> None:
    patient.arm.servos[1].memory[55] = 0
    assert "settings of servo 2 are unlocked" in patient.finding("servos").sentence


def test_another_model_several_firmwares_and_modes(patient: Patient) -> None:
    patient.arm.servos[0].memory[1] ^= 1
    assert "They differ" in patient.check("model and firmware").sentence
    patient.arm.servos[2].memory[33] = 3
    assert "elbow_flex" in patient.finding("model and firmware").sentence
    patient.arm.servos[1].memory[3] ^= 1
    assert "shoulder_lift" in patient.finding("model and firmware").sentence


def test_case_40_a_supply_that_does_not_fit_is_told_with_its_voltage(patient: Patient) -> None:
    for servo in patient.arm.servos:
        servo.memory[14] = 80
    assert "12.0 V" in patient.finding("voltage").sentence


def test_a_hot_servo_is_named(patient: Patient) -> None:
    patient.arm.servos[5].motor.temperature_c = 66.0
    told = patient.finding("temperature")
    assert "servo 6 (gripper) with 66" in told.sentence


def test_a_stranger_on_the_port_is_told(patient: Patient) -> None:
    def modem(path: str, baud: int, clock: Clock) -> Transport:
        transport = patient._open(path, baud, clock)
        patient.arm.bus.faults.muted.update(range(7))
        waiting = [b""]

        def write(data: bytes) -> None:
            waiting[0] = b"\r\nOK\r\n" if data.endswith(b"\r") else b""

        def read(deadline_s: float) -> bytes:
            patient.clock.advance_to(max(deadline_s, patient.clock.monotonic()))
            found, waiting[0] = waiting[0], b""
            return found

        transport.write, transport.read = write, read  # type: ignore[method-assign]
        return transport

    patient.change(open_port=modem)
    assert "A modem or phone" in patient.finding("servos").sentence


def test_a_port_that_cannot_be_opened_is_told_and_one_that_goes_too(patient: Patient) -> None:
    def refuse(path: str, baud: int, clock: Clock) -> Transport:
        raise PortError(PortKind.BAD, "The driver refuses 1000000 baud.")

    patient.change(open_port=refuse)
    assert "refuses 1000000 baud" in patient.finding("servos").sentence

    def gone(path: str, baud: int, clock: Clock) -> Transport:
        transport = patient._open(path, baud, clock)
        patient.cable.unplug()
        return transport

    patient.change(open_port=gone)
    assert patient.finding("servos").sentence


# --- calibration and alignment


def test_a_calibration_that_is_missing_broken_or_another_arm_s(patient: Patient) -> None:
    path = patient.state / "calibration.json"
    path.write_text(calibration_json())
    assert patient.check("calibration").state == "ok"
    assert "armlabd calibrate --align" in patient.finding("alignment").remedy
    patient.arm.servos[3].memory[31] ^= 4
    assert "wrist_flex holds" in patient.finding("calibration").sentence
    path.write_text("{}")
    assert patient.finding("calibration").remedy[0] == "armlabd calibrate"
    path.unlink()
    assert str(path) in patient.finding("calibration").sentence
    assert patient.check("alignment").state == "skipped"


# --- house


def test_a_stop_is_told_with_its_cause(patient: Patient) -> None:
    (patient.state / "stop.json").unlink()
    told = patient.finding("stop")
    assert told.remedy[-1] == "armlabd clear-stop"
    assert "armlabd run" in told.remedy[0]


@pytest.mark.parametrize("name", ["keys.json", "operator.key"])
def test_a_key_file_that_others_can_read_is_told(patient: Patient, name: str) -> None:
    path = patient.state / name
    path.touch()
    path.chmod(0o644)
    told = patient.finding("keys")
    assert told.remedy[0] == f"chmod 600 {path}"


def test_keys_without_an_operator_or_broken_are_told(patient: Patient) -> None:
    path = patient.state / "keys.json"
    keys = json.loads(path.read_text())
    for key in keys["keys"]:
        key["revoked"] = key["role"] == "operator"
    path.write_text(json.dumps(keys))
    assert "nobody can clear a stop" in patient.finding("keys").sentence
    path.write_text("{")
    assert "No key was accepted" in patient.finding("keys").sentence
    path.unlink()
    assert patient.check("keys").state == "ok"


def test_a_clock_that_nobody_sets_is_told_last(patient: Patient) -> None:
    (patient.usb.root / "run/systemd/timesync/synchronized").unlink()
    assert patient.finding("clock")
    assert patient.report().checks[-1].name == "clock"
    patient.change(synced=lambda: True)
    assert patient.check("clock").state == "ok"


def test_a_full_disk_and_one_that_cannot_be_written_are_told(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = disk_check(patient.subject)
    assert real.state == "ok"
    monkeypatch.setattr("armlabd.doctor.board._write_trouble", lambda _: "Read-only file system")
    assert "Read-only file system" in disk_check(patient.subject).sentence
    assert disk_check(patient.subject).remedy[0].startswith("sudo chown -R pi")

    class Full:
        f_bavail, f_frsize, f_flag, f_files, f_favail = 199, MIB, 0, 9, 9

    monkeypatch.setattr("armlabd.doctor.board.os.statvfs", lambda _: Full)
    told = patient.finding("disk")
    assert "Only 199 MiB" in told.sentence
    assert not list(patient.state.glob(".doctor-*"))
    Full.f_bavail, Full.f_flag = 500, os.ST_RDONLY
    told = patient.finding("disk")
    assert "is read-only: nothing moves" in told.sentence
    assert told.remedy[0] == "See why: dmesg | tail"


def test_a_camera_that_fails_is_told_and_let_go(patient: Patient) -> None:
    assert patient.camera.closed == 1
    patient.camera.complaint = "The camera is busy."
    assert patient.finding("camera").sentence == "The camera is busy."
    assert patient.camera.closed == 2
    patient.change(config=patient.config(camera={"source": "none"}))
    assert "[camera] source" in patient.finding("camera").remedy[0]


# --- a core or a daemon that runs


def core(**parts: Any) -> dict[str, Any]:
    servos = {
        name: {"temperature_c": 30, "voltage_v": 12.0}
        for name in ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "gripper")
    }
    counters = {"extra": [], "firmware": ["3.10"]}
    basis = {"connected": True, "state": "ready", "next": "", "stopped": False, "pid": 77}
    return {**basis, "servos": servos, "counters": counters, **parts}


def test_a_running_core_is_asked_and_its_port_left_alone(patient: Patient) -> None:
    patient.usb.process(77, "python3", str(patient.port))
    patient.change(core=core())
    before = patient.opened
    report = patient.report()
    assert [check.name for check in report.findings] == ["daemon"]
    assert "parks and leaves by itself" in report.findings[0].sentence
    assert patient.opened == before
    assert "process 77" in patient.check("port").sentence


@pytest.mark.parametrize(
    ("parts", "name", "words"),
    [
        ({"connected": False, "next": "Plug in."}, "servos", "not connected. Plug in."),
        ({"state": "servos_missing", "next": "Look."}, "servos", "servos_missing. Look."),
        ({"counters": {"extra": [9]}}, "servos", "id 9"),
        ({"state": "wrong_mode", "next": "Mode."}, "model and firmware", "Mode."),
        ({"state": "voltage", "next": "Volts."}, "voltage", "Volts."),
        ({"state": "calibration_differs", "next": "Differs."}, "calibration", "Differs."),
        ({"stopped": True, "stop": {"sentence": "Asked."}}, "stop", "stopped. Asked."),
        (
            {"servos": {"gripper": {"temperature_c": 65, "voltage_v": 12.0}}},
            "temperature",
            "servo 6 (gripper) with 65",
        ),
    ],
)
def test_what_a_core_tells_is_judged_alike(
    patient: Patient, parts: dict[str, Any], name: str, words: str
) -> None:
    patient.change(core=core(**parts))
    assert words in patient.finding(name).sentence


def test_a_daemon_without_its_core_is_told(patient: Patient) -> None:
    patient.usb.process(88, "armlabd")
    (patient.state / "daemon.json").write_text('{"pid": 88, "url": "http://127.0.0.1:1"}')
    assert daemon_pid(patient.state, patient.usb.proc) == 88
    assert "does not answer" in patient.finding("daemon").sentence
    patient.change(core=core())
    assert patient.check("daemon").state == "ok"
    closed = patient.camera.closed
    assert "ARM_OPERATOR_KEY" in patient.check("camera").sentence
    assert patient.camera.closed == closed, "the daemon's camera was not opened beside it"


@pytest.mark.parametrize(
    ("camera_status", "state"),
    [
        ({"state": "ready", "source": "sim"}, "ok"),
        ({"state": "not_used_yet", "source": "sim"}, "ok"),
        ({"state": "failed", "next": "Unplug it."}, "finding"),
    ],
)
def test_a_daemon_s_camera_is_not_opened_beside_it(
    patient: Patient, camera_status: dict[str, str], state: str
) -> None:
    patient.change(status={"camera": camera_status})
    assert patient.check("camera").state == state
    assert patient.camera.closed == 1


def test_nobody_at_the_core_s_socket_is_none(tmp_path: Path) -> None:
    assert ask_core(tmp_path) is None


# --- the virtual arm, and the command


def test_the_virtual_arm_needs_no_adapter(patient: Patient) -> None:
    patient.change(simulated=True)
    assert "armlabd run --sim" in patient.finding("adapter").remedy[0]
    (patient.state / "bus").symlink_to("/dev/null")
    report = patient.report()
    assert report.checks[0].state == "ok"
    assert report.checks[1].name == "servos"


def test_the_command_says_findings_by_exit_code_and_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["doctor", "--sim", "--state", str(tmp_path)]
    assert main([*where, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["first"] == "adapter"
    assert main(where) == 1
    spoken = capsys.readouterr().out.splitlines()
    assert spoken[0].startswith("armlabd doctor: virtual arm")
    assert "Begin with adapter" in spoken[-1]


def test_settings_that_cannot_be_used_end_the_command_with_2(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[arm]\nport = 7\n")
    assert main(["doctor", "--config", str(path), "--state", str(tmp_path)]) == 2


# --- the model ----------------------------------------------------------------------------------


def test_a_model_that_fails_is_a_finding_with_the_daemons_own_words(patient: Patient) -> None:
    planner = {"backend": "ollama", "model": "one:1b", "state": "warm", "detail": ""}
    patient.change(status={"planner": planner})
    assert patient.check("model").sentence == "ollama one:1b plans (warm)."
    gone = "No Ollama answers. Start it."
    patient.change(status={"planner": {**planner, "state": "failed", "detail": gone}})
    assert gone in patient.finding("model").sentence
    assert patient.finding("model").remedy == ("armlabd models list",)
    patient.change(status={"planner": {"backend": "rules", "model": "", "state": "warm"}})
    assert "by rules" in patient.check("model").sentence


def test_without_a_daemon_the_settings_tell_which_model_is_meant(patient: Patient) -> None:
    assert "None is needed" in patient.check("model").sentence
    patient.change(config=patient.config(planner={"ollama": {"model": "one:1b"}}))
    assert "The settings name one:1b" in patient.check("model").sentence


def test_case_60_power_cuts_and_crashes_are_told_and_many_are_a_finding(patient: Patient) -> None:
    record = {"starts": 60, "power_cuts": 50, "crashes": 1, "running": True, "boot_id": "b"}
    path = patient.state / "starts.json"
    path.write_text(json.dumps({**record, "ran_s": 9}))
    assert starts_check(patient.subject).sentence == (
        "60 in all; the power was cut 50 times, the daemon crashed once."
    )
    assert patient.check("starts").state == "ok"
    path.write_text(json.dumps({**record, "ran_s": 9, "power_cuts": 51}))
    assert "sudo poweroff" in patient.finding("starts").remedy[0]
    path.write_text("{")
    assert "sets starts.json aside" in patient.finding("starts").remedy[0]
