from __future__ import annotations

import errno
import fcntl
import os
import pwd
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
import serial

from armlabd.bus import port as port_module
from armlabd.bus.errors import Cause, NoAnswer, NotWritten, PortError, PortKind, PortLost
from armlabd.bus.port import PortProblem, SerialPort, find_port
from armlabd.clock import SystemClock

SOON_S = 30.0  # a bound against hanging, never waited for


class Pty:
    """A pseudo-terminal whose master side plays the servos."""

    def __init__(self) -> None:
        self.master, follower = os.openpty()
        self.path = os.ttyname(follower)
        self._follower: int | None = follower

    def unplug(self) -> None:
        """Close our ends: what is left of an unplugged board."""
        if self._follower is not None:
            os.close(self._follower)
            os.close(self.master)
            self._follower = None


@pytest.fixture
def pty() -> Iterator[Pty]:
    made = Pty()
    yield made
    made.unplug()


@pytest.fixture
def port(pty: Pty) -> Iterator[SerialPort]:
    opened = SerialPort(pty.path, 1_000_000, SystemClock())
    yield opened
    opened.close()


def soon() -> float:
    return SystemClock().monotonic() + SOON_S


def test_bytes_go_out_and_come_in(pty: Pty, port: SerialPort) -> None:
    port.write(b"\xff\xff\x01\x02\x01\xfb")
    assert os.read(pty.master, 100) == b"\xff\xff\x01\x02\x01\xfb"
    os.write(pty.master, b"\x00\x0a\x0d\x11\x13\xff")
    assert port.read(soon()) == b"\x00\x0a\x0d\x11\x13\xff"


def test_nothing_there_is_empty_and_a_past_deadline_still_reads(pty: Pty, port: SerialPort) -> None:
    assert port.read(0.0) == b""
    os.write(pty.master, b"abc")
    assert port.read(0.0) == b"abc"


def test_input_is_emptied_and_counted(pty: Pty, port: SerialPort) -> None:
    os.write(pty.master, b"stale")
    assert port.discard_input() == 5
    assert port.discard_input() == 0
    assert port.read(0.0) == b""


@pytest.mark.parametrize("call", ["read", "write", "discard_input"])
def test_row_48_an_unplugged_port_is_lost_for_every_call(
    pty: Pty, port: SerialPort, call: str
) -> None:
    pty.unplug()
    for _ in range(2):
        with pytest.raises(PortLost) as caught:
            {
                "read": lambda: port.read(soon()),
                "write": lambda: port.write(b"x"),
                "discard_input": port.discard_input,
            }[call]()
        assert caught.value.kind is PortKind.LOST
        assert f"{pty.path} is lost" in caught.value.sentence
        assert "Check that the USB board is plugged in" in str(caught.value)
    assert isinstance(caught.value, OSError)


def test_a_port_that_takes_no_bytes_is_lost(port: SerialPort) -> None:
    with pytest.raises(PortLost, match="takes no more bytes"):
        port.write(bytes(400_000))


def test_a_closed_port_is_lost_and_closing_twice_is_fine(port: SerialPort) -> None:
    port.close()
    port.close()
    with pytest.raises(PortLost, match="it is closed"):
        port.read(0.0)
    with pytest.raises(PortLost, match="it is closed"):
        port.write(b"x")


def test_row_42_a_second_open_is_refused_and_says_who_might_have_it(
    pty: Pty, port: SerialPort
) -> None:
    with pytest.raises(PortError) as caught:
        SerialPort(pty.path, 1_000_000, SystemClock())
    assert caught.value.kind is PortKind.BUSY
    assert "in use by another program. End that program" in caught.value.sentence


def test_case_35_the_port_is_opened_exclusively_and_can_be_opened_again_after_close(
    pty: Pty, port: SerialPort
) -> None:
    other = os.open(pty.path, os.O_RDWR | os.O_NOCTTY)
    try:
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        port.close()
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(other)
    SerialPort(pty.path, 1_000_000, SystemClock()).close()


def errno_of_open_without_root(path: str) -> int:
    """Open `path` in a child of an ordinary user; TIOCEXCL does not keep out root."""
    child = os.fork()
    if child == 0:
        code = 0
        try:
            if os.geteuid() == 0:
                os.setuid(pwd.getpwnam("nobody").pw_uid)
            os.open(path, os.O_RDWR | os.O_NOCTTY)
        except OSError as error:
            code = error.errno or 255
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_program_that_takes_no_lock_is_kept_out_too(pty: Pty, port: SerialPort) -> None:
    os.chmod(pty.path, 0o666)
    assert errno_of_open_without_root(pty.path) == errno.EBUSY
    port.close()
    assert errno_of_open_without_root(pty.path) == 0


def test_a_missing_port_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(PortError) as caught:
        SerialPort(str(tmp_path / "bus"), 1_000_000, SystemClock())
    assert caught.value.kind is PortKind.MISSING
    assert "There is no serial port" in caught.value.sentence
    assert "[arm] port in config.toml" in caught.value.sentence


def test_a_file_is_no_serial_port(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(PortError) as caught:
        SerialPort(str(tmp_path / "file"), 1_000_000, SystemClock())
    assert caught.value.kind is PortKind.BAD
    assert "cannot be used as a serial port" in caught.value.sentence


@pytest.mark.parametrize(
    ("raised", "kind", "words"),
    [
        (serial.SerialException(errno.EACCES, "no"), PortKind.DENIED, "sudo usermod -aG dialout"),
        (serial.SerialException(errno.EBUSY, "no"), PortKind.BUSY, "in use by another program"),
        (serial.SerialException(errno.ENOENT, "no"), PortKind.MISSING, "There is no serial port"),
        (termios.error(errno.EINVAL, "Invalid"), PortKind.BAD, "refuses 1000000 baud"),
        (ValueError("custom baud"), PortKind.BAD, "Set [arm] baud to the servos' rate"),
        (serial.SerialException("odd"), PortKind.BAD, "cannot be used as a serial port"),
    ],
)
def test_every_way_an_open_fails_has_a_kind_and_a_remedy(
    pty: Pty, monkeypatch: pytest.MonkeyPatch, raised: Exception, kind: PortKind, words: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr(serial, "Serial", refuse)
    with pytest.raises(PortError) as caught:
        SerialPort(pty.path, 1_000_000, SystemClock())
    assert caught.value.kind is kind
    assert words in caught.value.sentence


def test_a_pty_without_modem_lines_or_low_latency_opens_all_the_same(port: SerialPort) -> None:
    assert port.low_latency is False


def test_the_wait_for_a_byte_takes_next_to_no_processor_time(port: SerialPort) -> None:
    clock, waits = SystemClock(), 20
    spent, began = os.times(), clock.monotonic()
    for _ in range(waits):
        port.read(clock.monotonic() + 0.01)
    used = sum(os.times()[:2]) - sum(spent[:2])
    assert used < (clock.monotonic() - began) / 2


# --- finding it


def devices(folder: Path, *names: str) -> str:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    return str(folder)


def test_auto_takes_the_only_port_and_prefers_its_usb_identity(tmp_path: Path) -> None:
    dev = devices(tmp_path, "ttyACM0")
    assert find_port("auto", dev) == f"{dev}/ttyACM0"
    devices(tmp_path, "serial/by-id/usb-1a86_USB_Single_Serial-if00")
    assert find_port("auto", dev) == f"{dev}/serial/by-id/usb-1a86_USB_Single_Serial-if00"


def test_row_41_auto_knows_every_name_the_drivers_give(tmp_path: Path) -> None:
    for name in ("ttyUSB3", "ttyCH343USB0"):
        dev = devices(tmp_path / name, name)
        assert find_port("auto", dev) == f"{dev}/{name}"


def test_auto_does_not_guess_between_two(tmp_path: Path) -> None:
    found = find_port("auto", devices(tmp_path, "ttyACM0", "ttyUSB0"))
    assert isinstance(found, PortProblem)
    assert found.kind is PortKind.AMBIGUOUS
    assert len(found.candidates) == 2
    assert all(path in found.sentence for path in found.candidates)
    assert "[arm] port" in found.sentence


def test_rows_37_and_40_no_port_names_driver_and_brltty(tmp_path: Path) -> None:
    found = find_port("auto", str(tmp_path))
    assert isinstance(found, PortProblem)
    assert found.kind is PortKind.MISSING
    assert "lsusb" in found.sentence
    assert "brltty" in found.sentence


def test_a_named_port_is_taken_or_missing_with_the_others_named(tmp_path: Path) -> None:
    dev = devices(tmp_path, "ttyACM0")
    assert find_port(f"{dev}/ttyACM0", dev) == f"{dev}/ttyACM0"
    found = find_port(f"{dev}/ttyACM1", dev)
    assert isinstance(found, PortProblem)
    assert found.kind is PortKind.MISSING
    assert f"Ports that are there: {dev}/ttyACM0" in found.sentence


def test_a_link_to_nothing_is_missing(tmp_path: Path) -> None:
    (tmp_path / "bus").symlink_to(tmp_path / "gone")
    assert isinstance(find_port(str(tmp_path / "bus"), str(tmp_path)), PortProblem)


# --- sentences of the other errors


@pytest.mark.parametrize("cause", list(Cause))
def test_every_cause_has_words_for_people(cause: Cause) -> None:
    sentence = NoAnswer({3: cause}).sentence
    assert sentence.startswith("Servo 3 ")
    assert "Check the servo's power and the cable" in sentence


def test_two_silent_servos_are_both_named() -> None:
    error = NoAnswer({3: Cause.SILENT, 5: Cause.CHECKSUM})
    assert "Servo 3 did not answer; servo 5 answered with a wrong checksum." in str(error)


def test_a_setting_that_does_not_hold_says_what_is_there() -> None:
    assert "keeps 0 in lock instead of 1" in str(NotWritten(2, "lock", 1, 0))


def test_importing_the_bus_does_not_import_pyserial() -> None:
    script = "import sys, armlabd.bus.master, armlabd.bus.port; print('serial' in sys.modules)"
    root = Path(port_module.__file__).parents[2]
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=root
    )
    assert ran.stdout.strip() == "False"
