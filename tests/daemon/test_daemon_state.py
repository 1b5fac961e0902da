"""The state folder, the settings of a start, and the status that is told."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from armlabd.arm.calibration import parse
from armlabd.arm.joints import HOME
from armlabd.arm.placement import Alignment, Placement
from armlabd.config import Config
from armlabd.daemon.main import Options, _adjusted, _calibration
from armlabd.daemon.settings import (
    StartError,
    calibration_text,
    core_settings,
    fitted,
    limits_of,
)
from armlabd.daemon.sim_process import SimProcess
from armlabd.daemon.state import (
    NOTE,
    FolderLock,
    StateError,
    forget_note,
    prepare,
    state_folder,
    write_note,
)
from armlabd.daemon.status import StatusBoard
from armlabd.motion.messages import CoreState
from armlabd.motion.settings import CoreSettings
from armlabd.sim.calibration import calibration_json

# --- the folder ---------------------------------------------------------------------------------


def test_where_the_state_lies(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    assert state_folder(None, False) == tmp_path / ".local/state/armlabd"
    monkeypatch.setenv("STATE_DIRECTORY", "/var/lib/armlabd:/var/lib/other")
    assert state_folder(None, False) == Path("/var/lib/armlabd")
    assert state_folder(None, True) == Path("/var/lib/armlabd/sim")
    assert state_folder(Path("/x"), True) == Path("/x/sim")
    monkeypatch.chdir(tmp_path)
    assert state_folder(Path("here"), False) == tmp_path / "here"


def test_a_new_folder_is_private(tmp_path: Path) -> None:
    folder = prepare(tmp_path / "a" / "b")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {p.name for p in folder.iterdir()} == {"runs", "audit"}
    assert prepare(folder) == folder


def test_the_longest_path_is_inside_and_one_more_is_not(tmp_path: Path) -> None:
    def folder_of(length: int) -> Path:
        return tmp_path / ("x" * (length - len(str(tmp_path)) - 1))

    longest = 107 - len("/control.sock")
    prepare(folder_of(longest))
    with pytest.raises(StateError, match=r"1 byte too long.*--state"):
        prepare(folder_of(longest + 1))


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match=r"cannot be made: .*--state"):
        prepare(tmp_path / "file" / "state")


def test_a_second_daemon_is_refused_until_the_first_has_gone(tmp_path: Path) -> None:
    first = FolderLock(tmp_path)
    with pytest.raises(StateError, match="Another armlabd runs with the state folder"):
        FolderLock(tmp_path)
    first.release()
    FolderLock(tmp_path).release()


def test_a_lock_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "daemon.lock").mkdir()
    with pytest.raises(StateError, match=r"daemon\.lock cannot be opened"):
        FolderLock(tmp_path)


def test_the_note_for_the_command_line_comes_and_goes(tmp_path: Path) -> None:
    write_note(tmp_path, "http://127.0.0.1:8765", True)
    note = json.loads((tmp_path / NOTE).read_text())
    assert note == {"url": "http://127.0.0.1:8765", "pid": os.getpid(), "simulated": True}
    forget_note(tmp_path)
    forget_note(tmp_path)
    assert list(tmp_path.iterdir()) == []


def full(path: Path, *_: Any) -> None:
    raise OSError(28, "No space left on device", str(path))


def test_case_62_a_note_that_cannot_be_written_ends_no_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("armlabd.daemon.state.write_atomic", full)
    write_note(tmp_path, "http://127.0.0.1:5", True)
    assert "the command line needs --url http://127.0.0.1:5" in caplog.text


def test_case_62_first_keys_on_a_full_disk_are_refused_or_at_least_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from armlabd.daemon.first_keys import first_keys
    from armlabd.gate.roles import KeyRing

    monkeypatch.setattr("armlabd.daemon.first_keys.write_atomic", full)
    ring = KeyRing(tmp_path / "keys.json", {})
    assert len(first_keys(ring, tmp_path)) == 2
    assert "keep the key that is shown" in caplog.text
    monkeypatch.setattr("armlabd.gate.keyfile.write_atomic", full)
    (tmp_path / "keys.json").unlink()
    with pytest.raises(StateError, match=r"No space left on device\. Free the disk"):
        first_keys(KeyRing(tmp_path / "keys.json", {}), tmp_path)


# --- settings -----------------------------------------------------------------------------------


def config(**tables: Any) -> Config:
    return Config.model_validate(tables)


def test_a_virtual_camera_with_a_real_arm_ends_the_start() -> None:
    with pytest.raises(StartError, match=r"virtual arm's camera.*--sim"):
        _adjusted(config(camera={"source": "sim"}), Options(simulated=False))
    assert (
        _adjusted(config(camera={"source": "sim"}), Options(simulated=True)).camera.source == "sim"
    )


def test_a_virtual_arm_has_its_own_camera_unless_another_is_named() -> None:
    assert _adjusted(config(), Options(simulated=True)).camera.source == "sim"
    assert _adjusted(config(), Options(simulated=False)).camera.source == "none"
    picture = config(camera={"source": "/a/picture.png"})
    assert _adjusted(picture, Options(simulated=True)).camera.source == "/a/picture.png"


def test_the_port_of_the_command_line_wins() -> None:
    assert _adjusted(config(http={"port": 1}), Options(port=0)).http.port == 0
    assert _adjusted(config(http={"port": 1}), Options()).http.port == 1


def test_the_core_is_told_the_settings_within_the_limits(tmp_path: Path) -> None:
    own = config(
        limits={"speed_dps": 20.0, "floor_m": 0.02},
        motion={"exit": "hold", "speed_dps": 45.0},
        stop={"action": "hold", "button": {"required": True}},
        workspace={"keep_out": ({"name": "lamp", "x": (0.3, 0.4), "y": (0.1, 0.2)},)},
    )
    told = core_settings(own, tmp_path, port="auto", calibration=None, simulated=False)
    assert (told.speed_dps, told.exit, told.stop_action) == (20.0, "hold", "hold")
    assert told.button_required
    assert told.calibration is None
    assert CoreSettings.from_json(told.to_json()).digest() == told.digest()
    limits = limits_of(own)
    assert (limits.speed_dps, limits.floor_m) == (20.0, 0.02)
    assert [box.name for box in limits.keep_out] == ["lamp"]


@pytest.mark.parametrize(
    "travel", [(-200.0, 110.0), (50.0, 50.0), (60.0, -60.0)], ids=["wider", "empty", "turned"]
)
def test_travel_that_does_not_fit_ends_the_start_with_a_sentence(travel: Any) -> None:
    with pytest.raises(StartError, match="shoulder_pan"):
        limits_of(config(limits={"shoulder_pan_deg": travel}))


@pytest.mark.parametrize(
    ("name", "angles", "words"),
    [
        ("home_pose", (0.0, 0.0, 60.0, 60.0, 0.0), "breaks the limit floor:"),
        ("view_pose", (120.0, -90.0, 60.0, 60.0, 0.0), "travel:shoulder_pan by 10 deg"),
        ("home_pose", (0.0, -98.0, 86.0, 75.0, 0.0), "less than 0.05 m."),
    ],
)
def test_a_pose_that_the_guard_would_refuse_ends_the_start(
    tmp_path: Path, name: str, angles: Any, words: str
) -> None:
    own = config(motion={name: angles})
    with pytest.raises(StartError) as caught:
        core_settings(own, tmp_path, port="auto", calibration=None, simulated=False)
    assert str(caught.value).startswith(f"[motion] {name} cannot be used: ")
    assert words in str(caught.value)


def test_a_park_pose_that_the_guard_would_refuse_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = config(limits={"floor_m": 0.02})
    core_settings(own, tmp_path, port="auto", calibration=None, simulated=False)
    assert "park_pose cannot be used (it breaks the limit floor:tool by" in caplog.text


def test_a_calibration_is_read_from_where_the_settings_say(tmp_path: Path) -> None:
    from armlabd.sim.calibration import calibration_json

    assert calibration_text(config(), tmp_path) is None
    (tmp_path / "calibration.json").write_text(calibration_json())
    assert calibration_text(config(), tmp_path) == calibration_json()
    other = tmp_path / "other.json"
    with pytest.raises(StartError, match=r"other\.json cannot be read"):
        calibration_text(config(arm={"calibration": str(other)}), tmp_path)
    other.write_text("{}")
    with pytest.raises(StartError, match=r"other\.json cannot be used"):
        calibration_text(config(arm={"calibration": str(other)}), tmp_path)


# --- the status ---------------------------------------------------------------------------------


class Part:
    """Any room that the board asks: attributes as given."""

    def __init__(self, **own: Any) -> None:
        self.__dict__.update(own)


def board(
    state: CoreState | None, required: bool = False, run: Any = None, alignment: Any = None
) -> dict[str, Any]:
    settings = config(stop={"button": {"required": required}})
    client, core = Part(snapshot=state), Part(pid=7, losses=0)
    eye = Part(status=lambda: {"state": "ready", "next": ""})
    runs = Part(active=run)
    models = Part(status=lambda: {"backend": "rules", "state": "warm", "next": ""})
    parts: Any = (settings, client, core, eye, runs, models)
    return StatusBoard(*parts, simulated=True, alignment=alignment).read()


def test_without_a_core_everything_counts_as_stopped() -> None:
    status = board(None)
    assert status["stopped"] is True
    assert status["stop"]["cause"] == "core_lost"
    assert (status["stop"]["written"], status["stop"]["confirmed"]) == (False, 0)
    assert status["arm"]["connected"] is False
    assert "Wait" in status["arm"]["next"]


def test_a_stop_is_told_with_its_cause_and_the_arm_is_read_meanwhile() -> None:
    stop = {"cause": "stop", "sentence": "Stopped by laptop.", "written": True, "confirmed": 6}
    status = board(CoreState(stopped=True, stop=stop, connected=True, pose=HOME, state="limp"))
    assert status["stop"] == stop
    assert status["arm"]["joints_deg"]["shoulder_lift"] == -90.0
    assert list(status["arm"]["joints_deg"]) == [
        "shoulder_pan",
        "shoulder_lift",
        "elbow_flex",
        "wrist_flex",
        "wrist_roll",
    ]


def test_a_free_arm_shows_no_stop_and_its_run() -> None:
    question = {"id": "run-000003-q1", "text": "Which one?", "options": []}
    run = Part(id="run-000003", state="waiting", question=question)
    status = board(CoreState(stopped=False, connected=True, pose=None), run=run)
    assert (status["stopped"], status["stop"]) == (False, None)
    assert status["arm"]["joints_deg"] is None
    assert status["run"] == {"id": "run-000003", "state": "waiting", "question": question}
    assert status["simulated"] is True
    json.dumps(status)


PROVEN = {"proven_at": "2026-11-30T12:00:00+0000", "where": "line GPIO5 of pinctrl-rp1"}


@pytest.mark.parametrize(
    ("button", "why", "line", "state", "words"),
    [
        ("missing", "No line is named.", {}, "missing", "No line"),
        ("broken", "Check it.", {}, "broken", "Check it."),
        ("pressed", "Release it.", PROVEN, "pressed", "Release it."),
        ("released", "", {}, "unproven", "armlabd doctor --press"),
        ("released", "", PROVEN, "released", ""),
    ],
)
def test_the_button_is_told_truthfully_with_what_to_do(
    button: str, why: str, line: dict[str, Any], state: str, words: str
) -> None:
    core = CoreState(button=button, button_why=why, button_line=line)
    told = board(core, required=True)["button"]
    assert (told["state"], told["required"]) == (state, True)
    assert words in told["next"]
    assert bool(told["next"]) == (state != "released")


@pytest.mark.parametrize(
    ("button", "possible"),
    [("none", True), ("released", True), ("pressed", False), ("broken", False), ("noisy", False)],
)
def test_whether_a_stop_can_be_cleared_is_told_with_what_comes_first(
    button: str, possible: bool
) -> None:
    why = "" if possible else f"It is {button}."
    stopped = CoreState(stopped=True, button=button, button_why=why)
    assert board(stopped)["clear"] == {"possible": possible, "next": why}
    assert board(CoreState(stopped=False, button=button))["clear"]["possible"] is False
    assert board(None)["clear"]["possible"] is False


def test_a_button_that_is_not_required_is_no_physical_stop_whatever_the_core_says() -> None:
    told = board(CoreState(button="released", button_line=PROVEN))["button"]
    assert told["state"] == "no physical stop"
    assert "Keep a hand" in told["next"]
    assert board(None, required=True)["button"]["state"] == "unknown"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, ("", "", True)),
        ({"board": "pi5"}, ("pinctrl-rp1", "GPIO5", True)),
        ({"board": "pi4", "line": "GPIO6"}, ("pinctrl-bcm2711", "GPIO6", True)),
        ({"board": "orin"}, ("tegra234-gpio", "PQ.05", False)),
        ({"board": "orin", "chip": "expander"}, ("expander", "PQ.05", True)),
        ({"chip": "own", "line": 0}, ("own", 0, True)),
        ({"board": "sim"}, ("sim", "", True)),
    ],
)
def test_the_core_is_told_the_line_of_the_board_or_the_named_one(
    tmp_path: Path, given: dict[str, Any], told: tuple[str, str | int, bool]
) -> None:
    settings = config(stop={"button": {"required": True, "release_s": 0.5, **given}})
    core = core_settings(settings, tmp_path, port="p", calibration=None, simulated=True)
    assert (core.button_chip, core.button_line, core.button_pull_up) == told
    assert core.button_release_s == 0.5
    assert CoreSettings.from_json(core.to_json()).button_line == core.button_line


def test_every_part_says_what_to_do_next() -> None:
    status = board(CoreState(state="absent", next="Connect the arm."))
    for part in ("arm", "camera", "planner", "button"):
        assert {"state", "next"} <= set(status[part])


# --- the house ----------------------------------------------------------------------------------


def test_the_first_start_makes_keys_and_keeps_the_operators_for_this_user(tmp_path: Path) -> None:
    from armlabd.daemon.first_keys import OPERATOR_KEY_FILE, first_keys
    from armlabd.gate.roles import KeyRing, Role

    ring = KeyRing(tmp_path / "keys.json", {})
    made = {key.role: key.text for key in first_keys(ring, tmp_path)}
    path = tmp_path / OPERATOR_KEY_FILE
    assert path.read_text().strip() == made[Role.OPERATOR]
    assert path.stat().st_mode & 0o777 == 0o600
    assert set(made) == {Role.OPERATOR, Role.AGENT}
    assert first_keys(ring, tmp_path) == ()
    assert path.read_text().strip() == made[Role.OPERATOR]


# --- an arm of its own --------------------------------------------------------------------------

ALIGNMENT = Alignment((0.0, 4.0, -1.0, 2.0, 0.0), Placement(z=-0.004), 1.5, "2026-11-30")


def test_every_room_is_told_the_travel_of_the_arm_that_is_there() -> None:
    calibration = parse(calibration_json()).aligned(ALIGNMENT)
    config = fitted(Config(), calibration)
    assert config.limits.shoulder_lift_deg == pytest.approx((-96.0, 100.0), abs=0.1)
    assert config.limits.floor_m == pytest.approx(0.016)
    low = config.limits.shoulder_lift_deg[0]
    assert low < config.motion.park_pose[1] < low + 1.0
    assert limits_of(config).travel_deg[1] == config.limits.shoulder_lift_deg
    assert fitted(Config(), None) == Config()


def test_an_arm_that_is_not_aligned_says_so_and_moves_all_the_same() -> None:
    state = CoreState(connected=True, state="ready", calibrated=True)
    told = board(state)["arm"]
    assert told["aligned"] is False
    assert told["next"] == "not aligned: armlabd calibrate --align"
    assert told["calibrated"] is True


def test_an_aligned_arm_says_how_well() -> None:
    state = CoreState(connected=True, state="ready", calibrated=True)
    told = board(state, alignment=ALIGNMENT)["arm"]
    assert (told["aligned"], told["next"]) == (True, "")
    assert told["alignment"]["residual_mm"] == 1.5
    assert told["alignment"]["zero_deg"]["shoulder_lift"] == 4.0


def test_the_virtual_arm_keeps_the_calibration_that_was_made_for_it(tmp_path: Path) -> None:
    sim = SimProcess(tmp_path)
    assert _calibration(Config(), tmp_path, sim) == calibration_json()
    text = parse(calibration_json()).aligned(ALIGNMENT).to_text()
    (tmp_path / "calibration.json").write_text(text)
    assert _calibration(Config(), tmp_path, sim) == text
    (tmp_path / "calibration.json").write_text("{")
    with pytest.raises(StartError, match="cannot be used"):
        _calibration(Config(), tmp_path, sim)
