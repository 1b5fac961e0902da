"""Doctor: adapter, other programs, driver, rights."""

from __future__ import annotations

import grp
import os

import pytest
from patient import Patient
from usbtree import CH340, FTDI

from armlabd.doctor.subject import User

BRLTTY = 'ENV{PRODUCT}=="1a86/7523/*", ENV{BRLTTY_BRAILLE_DRIVER}="bm"\n'
MM_DATA = "E:ID_MM_DEVICE_IGNORE=1\n"


def test_no_adapter_is_the_first_finding_and_what_hangs_on_it_is_not_blamed(
    patient: Patient,
) -> None:
    patient.usb.unplug()
    report = patient.report()
    assert [check.name for check in report.findings] == ["adapter"]
    assert "Plug the arm's USB board in" in report.lines()[-1]
    skipped = {check.name for check in report.checks if check.state == "skipped"}
    assert {"driver", "group", "permissions", "port", "servos", "voltage"} <= skipped
    assert patient.check("calibration").state == "ok"


def test_row_40_a_board_without_a_driver_is_told_with_modprobe(patient: Patient) -> None:
    patient.usb.unplug()
    patient.usb.plug(None, kind=CH340)
    assert patient.finding("adapter").remedy[0] == "sudo modprobe ch341"


def test_row_37_a_board_that_brltty_took_is_given_back_first(patient: Patient) -> None:
    patient.usb.unplug()
    patient.usb.plug(None, kind=CH340)
    patient.usb.process(300, "brltty")
    assert "systemctl mask --now brltty" in patient.finding("adapter").remedy[0]


def test_case_33_a_brltty_rule_for_our_kind_of_board_is_found(patient: Patient) -> None:
    patient.usb.unplug()
    patient.usb.plug("ttyUSB0", kind=CH340, driver="ch341-uart")
    patient.write("lib/udev/rules.d/85-brltty.rules", BRLTTY)
    told = patient.finding("brltty")
    assert "1a86:7523" in told.sentence
    assert "85-brltty.rules" in told.remedy[1]
    assert "mask --now brltty.service brltty-udev.service" in told.remedy[0]


@pytest.mark.parametrize("how", ["masked", "comment", "other board"])
def test_case_33_a_brltty_rule_that_does_not_bite_is_no_finding(patient: Patient, how: str) -> None:
    patient.write("lib/udev/rules.d/85-brltty.rules", BRLTTY)
    if how != "other board":
        patient.usb.unplug()
        patient.usb.plug("ttyUSB0", kind=CH340, driver="ch341-uart")
    if how == "masked":
        (patient.usb.root / "etc/udev/rules.d/85-brltty.rules").symlink_to("/dev/null")
    if how == "comment":
        patient.write("lib/udev/rules.d/85-brltty.rules", f"# {BRLTTY}")
    assert patient.check("brltty").state == "ok"


def numbered(patient: Patient, tty: str = "", device: str = "") -> None:
    """udev's data of the port and of the board."""
    patient.write("sys/class/tty/ttyACM0/dev", "166:0\n")
    patient.write("sys/bus/usb/devices/1-1.2/dev", "189:5\n")
    patient.write("run/udev/data/c166:0", tty)
    patient.write("run/udev/data/c189:5", device)


@pytest.mark.parametrize(
    ("tty", "device", "missing"),
    [
        ("", "", {"ID_MM_DEVICE_IGNORE", "ID_MM_PORT_IGNORE"}),
        (MM_DATA, "", {"ID_MM_PORT_IGNORE"}),
        ("", MM_DATA, {"ID_MM_PORT_IGNORE"}),
        ("E:ID_MM_PORT_IGNORE=1\n", "", {"ID_MM_DEVICE_IGNORE"}),
        ("E:ID_MM_PORT_IGNORE=1\n", MM_DATA, set()),
        (f"{MM_DATA}E:ID_MM_PORT_IGNORE=1\n", "", set()),
        ("E:ID_MM_PORT_IGNORE=0\n", MM_DATA, {"ID_MM_PORT_IGNORE"}),
    ],
)
def test_case_35_modem_manager_needs_both_tags(
    patient: Patient, tty: str, device: str, missing: set[str]
) -> None:
    patient.usb.process(301, "ModemManager")
    numbered(patient, tty, device)
    if not missing:
        assert patient.check("ModemManager").state == "ok"
        return
    told = patient.finding("ModemManager")
    named = {tag for tag in ("ID_MM_DEVICE_IGNORE", "ID_MM_PORT_IGNORE") if tag in told.sentence}
    assert named == missing
    assert 'ENV{ID_MM_DEVICE_IGNORE}="1", ENV{ID_MM_PORT_IGNORE}="1"' in told.remedy[0]
    assert 'ATTRS{idVendor}=="1a86"' in told.remedy[0]


def test_case_35_without_modem_manager_no_tag_is_needed(patient: Patient) -> None:
    numbered(patient)
    assert patient.check("ModemManager").state == "ok"


@pytest.mark.parametrize(
    ("latency", "state"), [(16, "finding"), (2, "finding"), (1, "ok"), (0, "ok")]
)
def test_an_ftdi_board_that_holds_answers_back_is_told(
    patient: Patient, latency: int, state: str
) -> None:
    patient.usb.unplug()
    path = patient.usb.plug("ttyUSB0", kind=FTDI, driver="ftdi_sio")
    os.chmod(path, 0o660)
    patient.write("sys/class/tty/ttyUSB0/device/latency_timer", f"{latency}\n")
    check = patient.check("driver")
    assert check.state == state
    if state == "finding":
        assert check.remedy[0].endswith("/sys/bus/usb-serial/devices/ttyUSB0/latency_timer")


def test_row_38_a_user_outside_the_group_is_told_the_group_s_name(patient: Patient) -> None:
    group = grp.getgrgid(os.stat(patient.port).st_gid).gr_name
    patient.change(user=User("pi", 1000, (99_999,)))
    if group == "root":  # what no user should be put into
        assert "60-armlabd.rules" in patient.finding("group").remedy[0]
    else:
        assert patient.finding("group").remedy[0] == f"sudo usermod -aG {group} pi"
    assert "Log out and in again" in patient.finding("group").remedy[-1]
    assert patient.check("servos").state == "skipped"


def test_case_36_a_port_open_to_everybody_is_a_finding(patient: Patient) -> None:
    patient.port.chmod(0o666)
    told = patient.finding("permissions")
    assert told.remedy[0] == f"sudo chmod 660 {patient.port}"
    assert "every program" in told.sentence


def test_row_42_whoever_holds_the_port_is_named_and_the_port_is_left_alone(
    patient: Patient,
) -> None:
    before = patient.opened
    patient.usb.process(4711, "lerobot", str(patient.port))
    told = patient.finding("port")
    assert "lerobot (process 4711)" in told.sentence
    assert told.remedy == ("End lerobot: kill 4711",)
    assert patient.opened == before


def test_several_boards_and_another_board_say_what_to_write(patient: Patient) -> None:
    (patient.state / "adapter.json").write_text('{"wanted": "auto", "identity": "usb:MINE"}')
    told = patient.finding("adapter")
    assert 'port = "usb:5A680135"' in told.sentence
    patient.change(config=patient.config(arm={"port": "usb:5A680135"}))
    assert patient.check("adapter").state == "ok"
