"""`armlabd calibration`: a file is checked before it is kept, and no servo is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from armlabd.arm.calibration import parse
from armlabd.cli.main import main
from armlabd.sim.calibration import calibration_json


@pytest.fixture
def lerobot(tmp_path: Path) -> Path:
    path = tmp_path / "follower.json"
    path.write_text(json.dumps(parse(calibration_json()).as_lerobot()))
    return path


def test_a_lerobot_file_is_taken_over_and_shown(tmp_path: Path, lerobot: Path, capsys: Any) -> None:
    state = tmp_path / "state"
    assert main(["calibration", "--state", str(state), "import", str(lerobot)]) == 0
    kept = parse((state / "calibration.json").read_text())
    assert kept == parse(lerobot.read_text())
    assert "Start armlabd again" in capsys.readouterr().out
    assert main(["calibration", "--state", str(state), "show"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(kept.joints)
    assert lines[0].endswith("deg")
    assert lines[5].endswith("travel +0 to +100 %")


def test_a_file_that_cannot_be_used_leaves_the_kept_one(
    tmp_path: Path, lerobot: Path, capsys: Any
) -> None:
    assert main(["calibration", "--state", str(tmp_path), "import", str(lerobot)]) == 0
    before = (tmp_path / "calibration.json").read_bytes()
    for text, words in (("{", "not JSON"), ("{}", "cannot be used")):
        lerobot.write_text(text)
        assert main(["calibration", "--state", str(tmp_path), "import", str(lerobot)]) == 1
        assert words in capsys.readouterr().err
    assert main(["calibration", "--state", str(tmp_path), "import", "/no/such"]) == 2
    assert "No such file" in capsys.readouterr().err
    assert (tmp_path / "calibration.json").read_bytes() == before


def test_without_a_calibration_showing_it_says_how_to_get_one(tmp_path: Path, capsys: Any) -> None:
    assert main(["calibration", "--state", str(tmp_path), "show"]) == 1
    assert "armlabd calibration import" in capsys.readouterr().err
