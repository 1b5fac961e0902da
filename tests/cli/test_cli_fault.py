"""`armlabd fault`: words go to the virtual arm, its answer comes back, and nothing else happens."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from armlabd.cli.main import main
from armlabd.sim.arm import EmptyWorld, VirtualArm
from armlabd.sim.commands import Commands, parse_line
from armlabd.sim.control import as_line
from armlabd.sim.fault_commands import FAULTS


class Cable:
    def plug(self) -> None:
        return None

    def unplug(self) -> None:
        return None


@pytest.fixture
def arm(tmp_path: Path) -> Iterator[VirtualArm]:
    """A virtual arm whose control socket answers one line."""
    folder = tmp_path / "state" / "sim"
    folder.mkdir(parents=True)
    one = VirtualArm(EmptyWorld())
    commands = Commands(one, Cable(), lambda: None)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(folder / "control.sock"))
    listener.listen(1)
    listener.settimeout(10.0)

    def serve() -> None:
        try:
            channel, _ = listener.accept()
        except OSError:
            return
        with channel, channel.makefile("rb") as lines:
            channel.sendall(as_line(commands.handle(parse_line(lines.readline().decode()))))

    thread = threading.Thread(target=serve)
    thread.start()
    yield one
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(10.0)


def test_a_fault_is_typed_and_in_force(arm: VirtualArm, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fault", "mute", "id=3"]) == 0
    assert arm.bus.faults.muted == {3}
    assert "fault healthy" in capsys.readouterr().out


def test_a_wrong_fault_is_refused_in_the_arms_own_words(
    arm: VirtualArm, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fault", "heat", "id=9"]) == 1
    assert "There is no servo 9" in capsys.readouterr().err


def test_without_words_every_fault_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fault"]) == 0
    told = capsys.readouterr().out
    assert all(name in told for name in FAULTS)


def test_without_a_virtual_arm_the_answer_says_how_to_start_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["fault", "noise", "--state", str(tmp_path)]) == 3
    assert "armlabd run --sim" in capsys.readouterr().err
