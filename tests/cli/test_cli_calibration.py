"""`armlabd calibrate` and `armlabd calibration` on a virtual arm behind a real port."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from armlabd.arm.calibration import parse
from armlabd.cli.keyboard import Keyboard
from armlabd.cli.lerobot_files import find
from armlabd.cli.main import main
from armlabd.daemon.state import FolderLock
from armlabd.motion.calibrate import Task
from armlabd.motion.calibrate_bus import CalibrateError
from armlabd.sim.calibration import calibration_json

OWN = json.loads(calibration_json())


@pytest.fixture
def base() -> Iterator[Path]:
    """A state folder with a virtual arm that runs in its `sim`."""
    folder = Path(tempfile.mkdtemp(prefix="armlabd-"))
    sim = subprocess.Popen(
        [sys.executable, "-m", "armlabd.sim", "--state", str(folder / "sim"), "--hidden-errors"],
        stdout=subprocess.PIPE,
    )
    assert sim.stdout is not None
    assert sim.stdout.readline().startswith(b"{")
    yield folder
    sim.send_signal(signal.SIGTERM)
    sim.wait(10)
    sim.stdout.close()
    shutil.rmtree(folder)


def run(base: Path, *words: str) -> int:
    return main([*words, "--sim", "--state", str(base)])


def written(base: Path, values: dict[str, Any], name: str = "mine.json") -> str:
    path = base / name
    path.write_text(json.dumps(values))
    return str(path)


def changed(**fields: int) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(calibration_json())
    values["elbow_flex"].update(fields)
    return values


@pytest.mark.real
def test_align_then_show(base: Path, capsys: Any) -> None:
    assert run(base, "calibrate", "--align", "--stand-in") == 0
    told = capsys.readouterr().out
    assert "mm at the worst touch" in told
    found = parse((base / "sim/calibration.json").read_text())
    assert found.alignment is not None
    assert found.alignment.residual_mm < 5.0
    assert max(map(abs, found.zero_deg)) > 1.0
    assert run(base, "calibration", "show", "--servos") == 0
    told = capsys.readouterr().out
    assert "hold exactly this calibration" in told
    assert "aligned on" in told


@pytest.mark.real
def test_case_48_import_shows_the_difference_and_leaves_a_choice_of_three(
    base: Path, capsys: Any
) -> None:
    file = written(base, changed(range_max=3100))
    assert run(base, "calibration", "import", file) == 1
    told = capsys.readouterr()
    assert "elbow_flex: range_max (register 11): servo 3151, file 3100" in told.out
    assert "--take-from-servos keeps" in told.err
    assert not (base / "sim/calibration.json").exists()
    assert run(base, "calibration", "import", file, "--keep-servos") == 0
    assert not (base / "sim/calibration.json").exists()
    assert run(base, "calibration", "import", file, "--take-from-servos") == 0
    assert parse((base / "sim/calibration.json").read_text()).as_lerobot() == OWN
    assert run(base, "calibration", "import", file, "--write-to-servos") == 0
    kept = parse((base / "sim/calibration.json").read_text())
    assert kept.joints["elbow_flex"].range_max == 3100
    capsys.readouterr()
    assert run(base, "calibration", "show", "--servos") == 0


@pytest.mark.real
def test_another_arms_file_and_a_broken_one_write_nothing(base: Path, capsys: Any) -> None:
    other = {name: {**v, "homing_offset": v["homing_offset"] + 100} for name, v in OWN.items()}
    assert run(base, "calibration", "import", written(base, other), "--write-to-servos") == 1
    assert "of another arm" in capsys.readouterr().err
    broken = written(base, changed(range_min=-1))
    assert run(base, "calibration", "import", broken, "--write-to-servos") == 1
    assert "multi-turn" in capsys.readouterr().err
    assert run(base, "calibration", "import", written(base, OWN)) == 0
    assert "hold exactly this calibration" in capsys.readouterr().out
    assert run(base, "calibration", "import", written(base, other), "--same-arm") == 1


@pytest.mark.real
def test_an_arm_in_the_hands_of_a_daemon_is_not_taken(base: Path, capsys: Any) -> None:
    lock = FolderLock(base / "sim")
    try:
        assert run(base, "calibrate") == 1
    finally:
        lock.release()
    told = capsys.readouterr().err
    assert "systemctl stop armlabd" in told


def test_a_stand_in_moves_no_real_arm(tmp_path: Path, capsys: Any) -> None:
    assert main(["calibrate", "--stand-in", "--state", str(tmp_path)]) == 2
    assert "virtual arm only" in capsys.readouterr().err


def test_an_arm_that_is_not_calibrated_says_what_to_do(tmp_path: Path, capsys: Any) -> None:
    assert main(["calibration", "show", "--state", str(tmp_path)]) == 1
    assert "Run armlabd calibrate" in capsys.readouterr().err


def test_only_one_choice_at_a_time() -> None:
    with pytest.raises(SystemExit):
        main(["calibration", "import", "x.json", "--keep-servos", "--write-to-servos"])


# --- LeRobot's folders ----------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["so_follower", "so101_follower", "so100_follower"])
def test_row_19_files_are_found_under_old_and_new_folder_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    for name in ("HF_LEROBOT_CALIBRATION", "HF_LEROBOT_HOME", "HF_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    home = tmp_path / ".cache/huggingface/lerobot/calibration"
    file = home / "robots" / folder / "my_arm.json"
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    assert find("my_arm") == file
    assert find(str(file)) == file
    assert find(str(file.parent)) == file
    with pytest.raises(CalibrateError, match=r"my_arm\.json"):
        find("other")
    monkeypatch.setenv("HF_HOME", str(tmp_path / ".cache/huggingface"))
    assert find("my_arm") == file
    monkeypatch.setenv("HF_LEROBOT_HOME", str(home.parent))
    assert find("my_arm") == file
    monkeypatch.setenv("HF_LEROBOT_CALIBRATION", str(home))
    assert find("my_arm") == file


def test_two_files_of_one_name_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_LEROBOT_CALIBRATION", str(tmp_path))
    for folder in ("so_follower", "so101_follower"):
        (tmp_path / "robots" / folder).mkdir(parents=True)
        (tmp_path / "robots" / folder / "arm.json").write_text("{}")
    with pytest.raises(CalibrateError, match="fits 2 files"):
        find("arm")


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(CalibrateError, match="no calibration file"):
        find(str(tmp_path))


# --- the keyboard ---------------------------------------------------------------------------------


def test_lines_come_one_by_one_also_when_typed_ahead(capsys: Any) -> None:
    there, here = os.pipe()
    keyboard = Keyboard(there)
    try:
        keyboard.ask("Do it.", Task("pose"))
        assert keyboard.entered() is None
        os.write(here, b"\nno\r\nhal")
        assert keyboard.entered() == ""
        assert keyboard.entered() == "no"
        assert keyboard.entered() is None
        os.close(here)
        with pytest.raises(CalibrateError, match="go on from there"):
            keyboard.entered()
    finally:
        os.close(there)
    assert "> Do it." in capsys.readouterr().out
