"""A board that comes up without arm, camera, calibration, model or network, or on a bad disk.

Each lack is a state with a name and what to do next; what is attached or mended later is picked up.
The disk is a file system of its own, so these tests need root.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import FAST, OPERATOR_KEY, RealArm, wait_until

from armlabd.sim.calibration import calibration_json

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system: run it as root"),
]
LONG_S = 30.0


def system(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


class BoardWithDisk(RealArm):
    """A daemon for a real port, which leads to a virtual arm, and a disk of 4 MiB."""

    def __init__(self, base: Path) -> None:
        super().__init__(base, f'{FAST}[arm]\nport = "{base}/port"\n', simulated=False)
        self.world_folder = base / "world"

    def plug(self) -> None:
        (self.base / "port").symlink_to((self.world_folder / "bus").resolve())

    def pids(self) -> dict[int, str]:
        """Without the virtual arm: a power cut of the board leaves the servos alone."""
        return {pid: words for pid, words in super().pids().items() if "armlabd.sim" not in words}

    def fill(self) -> None:
        """Not one more block fits."""
        with (self.state / "big").open("wb", buffering=0) as big:
            try:
                while big.write(b"\0" * 4096):
                    pass
            except OSError:
                return

    # A machine full of other work may keep the virtual arm from answering for a while: what counts
    # is what is said once it answers.

    def moves_nothing(self) -> None:
        """A motion is refused for the disk, or for a stop; a stop itself is confirmed."""
        refused = ("disk", "stopped", "cannot_clear")

        def said() -> bool:
            answer = self.call("open_gripper", percent=30)
            assert not answer.ok, answer
            return answer.body["code"] in refused

        wait_until(said, "a refusal for the disk", LONG_S)
        stop = lambda: self.client.request("POST", "/stop", {}).body["confirmed"] == 6  # noqa: E731
        wait_until(stop, "a confirmed stop", LONG_S)

    def moves_again(self) -> None:
        """Cleared, and the arm moves."""

        def moved() -> bool:
            cleared = self.client.request("POST", "/stop/clear", {}).ok
            return cleared and self.call("open_gripper", percent=30).ok

        wait_until(moved, "a motion", LONG_S)

    def remount(self, how: str) -> None:
        system("mount", "-o", f"remount,{how}", self.state)


@pytest.fixture
def board() -> Iterator[BoardWithDisk]:
    with tempfile.TemporaryDirectory(prefix="arm-") as name:
        one = BoardWithDisk(Path(name))
        one.world_folder.mkdir()
        one.state.mkdir()
        try:
            system("mount", "-t", "tmpfs", "-o", "size=4m", "armlabd-test", one.state)
        except subprocess.CalledProcessError:
            pytest.skip("no file system can be mounted here")
        command = [sys.executable, "-m", "armlabd.sim", "--state", str(one.world_folder)]
        command += ["--orphan-s", "120", "--realtime"]
        world = subprocess.Popen(
            [*command, "--orphan-s", "120", "--realtime"], stdout=subprocess.DEVNULL
        )
        try:
            wait_until((one.world_folder / "control.sock").exists, "the virtual arm")
            yield one
        finally:
            world.terminate()
            world.wait(20)
            one.kill_all()
            system("umount", "-l", one.state)


def test_a_bare_board_comes_up_names_what_is_missing_and_picks_it_up(
    board: BoardWithDisk,
) -> None:
    board.start(wait_arm=False)
    wait_until(lambda: board.status()["arm"]["next"], "the first look for the arm")
    status = board.status()
    assert board.client.request("GET", "/healthz").ok
    for part in ("arm", "camera"):
        assert status[part]["state"] not in ("ready", "ok"), status[part]
        assert status[part]["next"], "each says what to do"
    assert status["network"]["state"] == "this board only"
    assert status["planner"]["state"] == "warm", "the rules need no model"
    assert status["starts"]["starts"] == 1
    assert board.client.request("POST", "/stop", {}).status == 200
    board.plug()
    wait_until(lambda: board.status()["arm"]["connected"], "the arm that came later")
    refused = board.call("go_home")
    assert refused.body["code"] in ("stopped", "not_calibrated")
    board.end()


def test_case_62_on_a_full_disk_it_comes_up_stops_and_goes_on_once_there_is_room(
    board: BoardWithDisk,
) -> None:
    (board.state / "calibration.json").write_text(calibration_json())
    board.plug()
    board.start()
    board.clear()
    board.end()
    board.fill()
    board.start()
    status = board.status()
    assert status["disk"]["state"] == "full"
    assert "sudo du" in status["disk"]["next"]
    board.moves_nothing()
    (board.state / "big").unlink()
    wait_until(lambda: board.status()["disk"]["state"] != "full", "room on the disk", LONG_S)
    board.moves_again()
    board.end()


def test_case_62_on_a_read_only_disk_it_comes_up_stops_and_goes_on_once_mended(
    board: BoardWithDisk,
) -> None:
    (board.state / "calibration.json").write_text(calibration_json())
    board.plug()
    board.start()
    board.clear()
    board.kill_all()  # the power goes at rest
    board.remount("ro")
    board.start()
    status = board.status()
    assert status["disk"]["state"] == "read_only"
    assert "remount,rw" in status["disk"]["next"]
    board.moves_nothing()
    assert cli(board, "status").startswith("real arm")
    assert "6" in cli(board, "stop"), "the command line finds a daemon that left no note on disk"
    assert not board.client.request("POST", "/stop/clear", {}).ok, "a clear is not forgotten"
    board.remount("rw")
    wait_until(lambda: board.status()["disk"]["state"] != "read_only", "a disk that was mended")
    board.moves_again()
    assert json.loads((board.state / "stop.json").read_text())["stopped"] is False
    board.end()


def cli(board: BoardWithDisk, word: str) -> str:
    command = [sys.executable, "-m", "armlabd", word, "--state", str(board.state)]
    environment = {**os.environ, "ARM_OPERATOR_KEY": OPERATOR_KEY}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return done.stdout
