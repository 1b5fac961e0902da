"""The virtual arm as a real process on a real pty: one start, one round trip of everything."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from armlabd.bus import frames
from armlabd.bus.master import Master
from armlabd.bus.port import SerialPort
from armlabd.clock import SystemClock

PATIENCE_S = 20.0


class Running:
    def __init__(self, state: Path, *extra: str) -> None:
        command = [sys.executable, "-m", "armlabd.sim", "--state", str(state), *extra]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.where: dict[str, Any] = json.loads(self.process.stdout.readline())

    def say(self, *lines: str) -> list[dict[str, Any]]:
        with socket.socket(socket.AF_UNIX) as channel:
            channel.settimeout(PATIENCE_S)
            channel.connect(self.where["control"])
            with channel.makefile("rwb") as stream:
                stream.write("".join(line + "\n" for line in lines).encode())
                stream.flush()
                return [json.loads(stream.readline()) for _ in lines]

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    arm = Running(tmp_path)
    yield arm
    arm.end()


def exchange(port: int, request: bytes, count: int) -> bytes:
    os.write(port, request)
    data = b""
    while len(data) < count and select.select([port], [], [], PATIENCE_S)[0]:
        part = os.read(port, 4096)
        if not part:
            break
        data += part
    return data


@pytest.mark.real
def test_the_product_reads_and_moves_the_arm_over_a_real_pty(running: Running) -> None:
    port = SerialPort(running.where["port"], 1_000_000, SystemClock())
    try:
        master = Master(port, SystemClock())
        assert set(master.read_block(range(1, 7)).servos) == {1, 2, 3, 4, 5, 6}
        master.write(1, "torque_enable", 1)
    finally:
        port.close()
    state, stamps, frame = running.say("state", "frames kind=torque_on", "frame")
    assert state["torque"] == [True] + [False] * 5
    assert [stamp["ids"] for stamp in stamps["frames"]] == [[1]]
    assert frame["ok"]
    assert (frame["width"], frame["height"]) == (640, 480)


@pytest.mark.real
def test_unplug_and_replug_leave_a_working_port_behind_the_same_name(running: Running) -> None:
    port = Path(running.where["port"])
    handle = os.open(port, os.O_RDWR | os.O_NOCTTY)
    running.say("unplug")
    assert not port.is_symlink()
    assert select.select([handle], [], [], PATIENCE_S)[0]
    os.close(handle)
    running.say("replug")
    handle = os.open(port, os.O_RDWR | os.O_NOCTTY)
    try:
        assert exchange(handle, frames.ping(4), 6).hex() == "ffff040200f9"
    finally:
        os.close(handle)


@pytest.mark.real
def test_a_second_arm_in_the_same_folder_is_refused(running: Running) -> None:
    folder = str(Path(running.where["port"]).parent)
    second = subprocess.run(
        [sys.executable, "-m", "armlabd.sim", "--state", folder],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert second.returncode == 3
    assert "already runs" in second.stderr
    assert running.say("state")[0]["ok"]


@pytest.mark.real
def test_sigterm_ends_it_and_leaves_nothing_behind(tmp_path: Path) -> None:
    arm = Running(tmp_path)
    assert arm.end() == 0
    assert [path.name for path in tmp_path.iterdir()] == ["sim.lock"]


@pytest.mark.real
def test_an_arm_that_nobody_needs_ends_by_itself(tmp_path: Path) -> None:
    arm = Running(tmp_path, "--orphan-s", "0.2")
    assert arm.process.wait(PATIENCE_S) == 0
    arm.end()


def test_wrong_blocks_end_the_start_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from armlabd.sim.__main__ import main

    assert main(["--state", str(tmp_path), "--blocks", '[{"label": "red block", "x": 9}]']) == 2
    assert "`x` must lie within" in capsys.readouterr().err
