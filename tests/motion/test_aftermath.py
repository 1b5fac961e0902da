"""After the daemon: spare a core that answers, end a frozen one, release where there is none."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from armlabd.motion import aftermath, release

GOOD_END = {"SERVICE_RESULT": "success", "EXIT_CODE": "exited", "EXIT_STATUS": "0"}
CRASH = {"SERVICE_RESULT": "signal", "EXIT_CODE": "killed", "EXIT_STATUS": "KILL"}


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    calls: list[list[str]] = []
    monkeypatch.setattr(release, "main", calls.append)
    return calls


def run(folder: Path, environment: dict[str, str]) -> int:
    try:
        aftermath.main(["--state", str(folder)], environment)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def listener(folder: Path) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.bind(str(folder / aftermath.SOCKET))
    sock.listen(1)
    return sock


@pytest.mark.parametrize(
    ("changed", "orderly"),
    [
        ({}, True),
        ({"SERVICE_RESULT": "watchdog"}, False),
        ({"EXIT_STATUS": "1"}, False),
        ({"EXIT_CODE": "killed", "EXIT_STATUS": "TERM"}, False),
    ],
)
def test_only_an_end_in_order_leaves_the_arm_as_it_is(
    tmp_path: Path, released: list[list[str]], changed: dict[str, str], orderly: bool
) -> None:
    assert run(tmp_path, GOOD_END | changed) == 0
    assert (released == []) is orderly


def test_without_a_core_the_arm_is_released_on_the_port_it_was_on(
    tmp_path: Path, released: list[list[str]]
) -> None:
    (tmp_path / "core.json").write_text(json.dumps({"port": "/dev/ttyACM7", "baud": 500000}))
    run(tmp_path, CRASH)
    assert released == [["--state", str(tmp_path), "--port", "/dev/ttyACM7", "--baud", "500000"]]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"port": "/dev/x", "baud": "fast"}', "null"])
def test_settings_that_cannot_be_read_are_looked_for(
    tmp_path: Path, released: list[list[str]], text: str
) -> None:
    (tmp_path / "core.json").write_text(text)
    run(tmp_path, CRASH)
    assert released == [["--state", str(tmp_path), "--port", "auto", "--baud", "1000000"]]


def test_a_core_that_answers_is_left_to_hold_the_arm(
    tmp_path: Path, released: list[list[str]], capfd: pytest.CaptureFixture[str]
) -> None:
    with listener(tmp_path) as sock:

        def answer() -> None:
            peer, _ = sock.accept()
            with peer:
                peer.sendall(b'{"state":{}}\n')
                peer.recv(100)

        thread = threading.Thread(target=answer)
        thread.start()
        assert run(tmp_path, CRASH) == 0
        thread.join()
    assert released == []
    assert "holds the arm" in capfd.readouterr().out


def test_a_core_that_listens_and_says_nothing_is_ended_first(
    tmp_path: Path, released: list[list[str]]
) -> None:
    code = (
        "import socket,sys,time\n"
        "s=socket.socket(socket.AF_UNIX);s.bind(sys.argv[1]);s.listen(1)\n"
        "print('up',flush=True);time.sleep(60)\n"
    )
    path = str(tmp_path / aftermath.SOCKET)
    with subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE) as frozen:
        assert frozen.stdout is not None
        assert frozen.stdout.readline() == b"up\n"
        run(tmp_path, CRASH)
        assert frozen.wait(10) == -9
    assert len(released) == 1


@pytest.mark.parametrize("argv", [[], ["--state"], ["--state", ""], ["--port", "x"]])
def test_wrong_use_says_how(argv: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        aftermath.main(argv, {})
    assert end.value.code == 2
    assert "usage" in capfd.readouterr().out
