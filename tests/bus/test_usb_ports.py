"""Ports by USB identity, on a fake /dev and /sys."""

from __future__ import annotations

import errno
import fcntl
import grp
import os
import pwd
import sys
import termios
from pathlib import Path

import pytest
import serial

sys.path.insert(0, str(Path(__file__).parent))

from usbtree import CH340, FTDI, UsbTree

from armlabd.bus import holder
from armlabd.bus.errors import PortError, PortKind, PortLost
from armlabd.bus.port import SerialPort
from armlabd.bus.ports import PortProblem, Seen, find_port
from armlabd.bus.usb import board_of, boards, portless
from armlabd.clock import SystemClock


@pytest.fixture
def usb(tmp_path: Path) -> UsbTree:
    return UsbTree(tmp_path)


def find(usb: UsbTree, wanted: str, seen: Seen | None = None) -> str | PortProblem:
    return find_port(wanted, usb.dev, usb.sys, seen)


def problem(usb: UsbTree, wanted: str, seen: Seen | None = None) -> PortProblem:
    found = find(usb, wanted, seen)
    assert isinstance(found, PortProblem), found
    return found


def test_a_board_is_known_by_serial_number_driver_and_plug(usb: UsbTree) -> None:
    path = usb.plug()
    board = board_of(path, usb.dev, usb.sys)
    assert board is not None
    assert board.identity == "usb:5A680135"
    assert (board.plug, board.driver, board.vendor, board.product) == (
        "1-1.2:1.0",
        "cdc_acm",
        "1a86",
        "55d3",
    )
    assert "USB Single Serial (1a86:55d3, usb:5A680135)" in board.words


@pytest.mark.parametrize("tty", ["ttyACM7", "ttyUSB0", "ttyCH343USB0"])
def test_row_41_every_driver_s_name_is_followed_to_its_board(usb: UsbTree, tty: str) -> None:
    path = usb.plug(tty)
    assert [board.path for board in boards(usb.dev, usb.sys)] == [path]
    assert find(usb, "usb:5A680135") == path
    assert find(usb, "usb-path:1-1.2:1.0") == path
    assert find(usb, "usb-path:1-1.2") == path
    assert find(usb, "auto") == path


def test_without_a_serial_number_the_plug_is_the_identity(usb: UsbTree) -> None:
    usb.plug("ttyUSB0", "", kind=CH340, driver="ch341-uart")
    assert boards(usb.dev, usb.sys)[0].identity == "usb-path:1-1.2:1.0"


def test_boards_that_share_a_serial_number_are_told_apart_by_plug(usb: UsbTree) -> None:
    usb.plug("ttyACM0", "SAME", "1-1.1")
    usb.plug("ttyACM1", "SAME", "1-1.2")
    identities = [board.identity for board in boards(usb.dev, usb.sys)]
    assert identities == ["usb-path:1-1.1:1.0", "usb-path:1-1.2:1.0"]
    assert problem(usb, "usb:SAME").kind is PortKind.MISSING
    assert find(usb, "usb-path:1-1.2") == f"{usb.dev}/ttyACM1"


def test_a_board_with_two_ports_needs_the_one_named(usb: UsbTree) -> None:
    usb.plug("ttyUSB0", "TWO", "1-1", FTDI, interface="1.0")
    usb.plug("ttyUSB1", "TWO", "1-1", FTDI, interface="1.1")
    told = problem(usb, "usb-path:1-1")
    assert told.kind is PortKind.AMBIGUOUS
    assert '"usb-path:1-1:1.0" or "usb-path:1-1:1.1"' in told.sentence
    assert find(usb, "usb-path:1-1:1.1") == f"{usb.dev}/ttyUSB1"


def test_a_link_leads_to_its_board_and_a_uart_has_none(usb: UsbTree) -> None:
    usb.plug(by_id=True)
    by_id = find(usb, "auto")
    assert isinstance(by_id, str)
    assert "serial/by-id" in by_id
    board = board_of(by_id, usb.dev, usb.sys)
    assert board is not None
    assert board.path == f"{usb.dev}/ttyACM0"
    assert board_of("/dev/null", usb.dev, usb.sys) is None


def test_an_identity_that_is_not_there_names_what_is(usb: UsbTree) -> None:
    assert "No other one is there" in problem(usb, "usb:GONE").sentence
    usb.plug()
    told = problem(usb, "usb:GONE")
    assert told.kind is PortKind.MISSING
    assert "usb:GONE is not plugged in" in told.sentence
    assert f"usb:5A680135) at {usb.dev}/ttyACM0" in told.sentence


def test_names_that_only_look_like_ports_are_none(usb: UsbTree) -> None:
    for name in ("5", "ttyACM", "ttyACMx", "ttyS0", "xttyUSB0"):
        (Path(usb.dev) / name).write_bytes(b"")
    assert problem(usb, "auto").candidates == ()
    assert boards(usb.dev, usb.sys) == ()


def test_several_boards_are_offered_by_identity(usb: UsbTree) -> None:
    usb.plug("ttyACM0", "ONE", "1-1.1")
    usb.plug("ttyACM1", "TWO", "1-1.2")
    told = problem(usb, "auto")
    assert told.kind is PortKind.AMBIGUOUS
    assert 'best as "usb:ONE" or "usb:TWO"' in told.sentence


# --- the board of this arm


@pytest.mark.parametrize("wanted", ["auto", "{dev}/ttyACM0"])
def test_case_24_a_remembered_board_is_found_under_another_name(usb: UsbTree, wanted: str) -> None:
    wanted = wanted.format(dev=usb.dev)
    seen = Seen(wanted, "usb:MINE")
    path = usb.plug("ttyACM0", "MINE")
    assert find(usb, wanted, seen) == path
    usb.unplug()
    usb.plug("ttyACM1", "MINE")
    assert find(usb, wanted, seen) == f"{usb.dev}/ttyACM1"


@pytest.mark.parametrize("wanted", ["auto", "{dev}/ttyACM0"])
def test_another_arm_s_board_is_not_taken_silently(usb: UsbTree, wanted: str) -> None:
    wanted = wanted.format(dev=usb.dev)
    usb.plug("ttyACM0", "OTHER")
    told = problem(usb, wanted, Seen(wanted, "usb:MINE"))
    assert told.kind is PortKind.OTHER
    assert "Another arm may hang on it" in told.sentence
    assert 'port = "usb:OTHER"' in told.sentence
    assert find(usb, "usb:OTHER", Seen(wanted, "usb:MINE")) == f"{usb.dev}/ttyACM0"
    assert find(usb, f"{usb.dev}/ttyACM0", Seen("else", "usb:MINE")) == f"{usb.dev}/ttyACM0"


def test_a_swapped_name_is_followed_to_the_right_board(usb: UsbTree) -> None:
    usb.plug("ttyACM0", "OTHER", "1-1.1")
    usb.plug("ttyACM1", "MINE", "1-1.2")
    path = f"{usb.dev}/ttyACM0"
    assert find(usb, path, Seen(path, "usb:MINE")) == f"{usb.dev}/ttyACM1"
    assert find(usb, "auto", Seen("auto", "usb:MINE")) == f"{usb.dev}/ttyACM1"


def test_the_configured_name_is_kept_while_it_leads_to_the_board(usb: UsbTree) -> None:
    usb.plug("ttyACM0", "MINE", by_id=True)
    link = f"{usb.dev}/serial/by-id/usb-1a86_MINE-if00"
    assert find(usb, link, Seen(link, "usb:MINE")) == link


def test_the_remembered_board_gone_and_none_else_says_plug_in(usb: UsbTree) -> None:
    told = problem(usb, "auto", Seen("auto", "usb:MINE"))
    assert told.kind is PortKind.MISSING
    assert "usb:MINE is not plugged in" in told.sentence


# --- no port at all


def test_row_40_a_board_without_a_port_names_the_driver_it_lacks(usb: UsbTree) -> None:
    usb.plug(None)
    assert [board.driver for board in portless(usb.dev, usb.sys)] == ["cdc_acm"]
    told = problem(usb, "auto")
    assert "1a86:55d3) is plugged in at 1-1.2 but has no port" in told.sentence
    assert "sudo modprobe cdc_acm" in told.sentence


def test_row_37_a_board_taken_by_brltty_is_told_with_the_remedy(usb: UsbTree) -> None:
    usb.plug(None, kind=CH340)
    told = problem(usb, "auto")
    assert "sudo modprobe ch341" in told.sentence
    assert "systemctl mask --now brltty" in told.sentence


def test_a_board_with_a_port_or_of_another_kind_lacks_nothing(usb: UsbTree) -> None:
    usb.plug()
    usb.plug(None, plug="1-4", kind=("046d", "c31c", "Keyboard"))
    assert portless(usb.dev, usb.sys) == ()


# --- who has it


def test_row_42_the_holder_of_a_busy_port_is_named_with_its_process(usb: UsbTree) -> None:
    path = usb.plug()
    usb.process(4711, "python3", "/dev/null", path)
    usb.process(4712, "bash", "/dev/null")
    usb.process(os.getpid(), "ourselves", path)
    assert holder.holders(path, usb.proc) == (holder.Holder(4711, "python3"),)
    assert "python3 (process 4711). End that program" in holder.busy(path, usb.proc)


def test_a_holder_that_may_not_be_seen_is_told_as_such(usb: UsbTree) -> None:
    path = usb.plug()
    assert "sudo armlabd doctor names it" in holder.busy(path, usb.proc)


def test_the_real_holder_is_found_in_the_real_proc(tmp_path: Path) -> None:
    path = tmp_path / "port"
    path.write_bytes(b"")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        held = os.open(path, os.O_RDONLY)
        os.read(reading, 1)
        os._exit(held & 0)
    os.close(reading)
    try:
        while not holder.holders(str(path)):
            assert os.waitpid(child, os.WNOHANG) == (0, 0)
        assert [one.pid for one in holder.holders(str(path))] == [child]
    finally:
        os.close(writing)
        os.waitpid(child, 0)


# --- who may


def test_row_38_a_user_outside_the_group_is_told_group_command_and_login(tmp_path: Path) -> None:
    port = tmp_path / "port"
    port.write_bytes(b"")
    port.chmod(0o660)
    group = grp.getgrgid(os.getgid() or 20)
    os.chown(port, -1, group.gr_gid) if os.geteuid() == 0 else None
    found = holder.access(str(port), "somebody", (99999,))
    assert found.remedy[0] == f"sudo usermod -aG {found.group} somebody"
    assert "Log out and in again" in found.remedy[1]


def test_a_member_whose_session_is_older_only_needs_a_new_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = tmp_path / "port"
    port.write_bytes(b"")
    port.chmod(0o660)
    entry = grp.struct_group(("dialout", "x", os.stat(port).st_gid, ["pi"]))
    monkeypatch.setattr(grp, "getgrgid", lambda _: entry)
    found = holder.access(str(port), "pi", (99999,))
    assert (found.member, found.active) == (True, False)
    assert len(found.remedy) == 1
    assert holder.access(str(port), "pi", (entry.gr_gid,)).remedy == ()


def test_case_36_a_port_its_group_may_not_use_needs_a_rule_and_never_0666(tmp_path: Path) -> None:
    port = tmp_path / "port"
    port.write_bytes(b"")
    port.chmod(0o600)
    steps = holder.access(str(port), "pi", ()).remedy
    assert "/etc/udev/rules.d/60-armlabd.rules" in steps[0]
    assert 'MODE="0660"' in steps[0]
    assert "sudo usermod -aG dialout pi" in steps
    assert not any("666" in step for step in steps)


def test_a_user_without_a_name_is_a_number() -> None:
    assert holder.user_name(os.geteuid()) == pwd.getpwuid(os.geteuid()).pw_name
    assert holder.user_name(4_000_000) == "4000000"


# --- opening


def test_row_34_a_rate_that_the_driver_refuses_is_told_with_driver_and_rate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise termios.error(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(serial, "Serial", refuse)
    monkeypatch.setattr("armlabd.bus.port.tty_name", lambda _: "ttyUSB0")
    monkeypatch.setattr("armlabd.bus.port.driver_of", lambda _: "ch341-uart")
    with pytest.raises(PortError) as caught:
        SerialPort("/dev/null", 1_000_000, SystemClock())
    assert caught.value.kind is PortKind.BAD
    assert "The driver ch341-uart of /dev/null refuses 1000000 baud" in caught.value.sentence


def test_case_39_a_port_that_fails_to_open_leaves_nothing_open_behind() -> None:
    master, follower = os.openpty()
    path = os.ttyname(follower)
    fcntl.flock(follower, fcntl.LOCK_EX)
    try:
        before = os.listdir("/proc/self/fd")
        for _ in range(20):
            with pytest.raises(PortError) as caught:
                SerialPort(path, 1_000_000, SystemClock())
            assert caught.value.kind is PortKind.BUSY
        assert len(os.listdir("/proc/self/fd")) == len(before)
        fcntl.flock(follower, fcntl.LOCK_UN)
        SerialPort(path, 1_000_000, SystemClock()).close()
        assert len(os.listdir("/proc/self/fd")) == len(before)
    finally:
        os.close(master)
        os.close(follower)


def test_row_48_a_port_that_comes_back_is_opened_anew_by_identity(
    usb: UsbTree, tmp_path: Path
) -> None:
    old_master, old = os.openpty()
    usb.plug("ttyACM0", "MINE", node=Path(os.ttyname(old)))
    seen = Seen("auto", "usb:MINE")
    found = find(usb, "auto", seen)
    assert isinstance(found, str)
    port = SerialPort(found, 1_000_000, SystemClock())
    os.close(old)
    os.close(old_master)
    with pytest.raises(PortLost):
        port.write(b"x")
    port.close()
    usb.unplug()
    new_master, new = os.openpty()
    try:
        usb.plug("ttyACM1", "MINE", node=Path(os.ttyname(new)))
        found = find(usb, "auto", seen)
        assert isinstance(found, str)
        again = SerialPort(found, 1_000_000, SystemClock())
        again.write(b"hello")
        assert os.read(new_master, 10) == b"hello"
        again.close()
    finally:
        os.close(new)
        os.close(new_master)
