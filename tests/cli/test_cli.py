"""The command line: exit codes, parsing, and the sentences a person reads."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from armlabd.cli import local_stop
from armlabd.cli.client import (
    Answer,
    Unreachable,
    WrongUse,
)
from armlabd.cli.commands import COMMANDS, arguments, read_plan
from armlabd.cli.main import main, parser
from armlabd.motion.messages import StopResult


def refused(code: str = "stopped", status: int = 409) -> Answer:
    return Answer(status, {"ok": False, "code": code, "error": "The arm is stopped. Wait."})


# --- exit codes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "body"),
    [
        (["call", "go_home"], {"ok": True}),
        (["stop"], {"ok": True, "message": "Stopped.", "written": True, "confirmed": 6, "of": 6}),
        (["clear-stop"], {"ok": True, "message": "The stop is cleared."}),
        (["answer", "1", "--question", "run-000001-q1"], {"ok": True, "message": "Answered."}),
        (["goal", "go home", "--no-wait"], {"id": "run-000001", "url": "/runs/run-000001"}),
        (["runs"], {"runs": []}),
        (["cancel", "run-000001"], {"ok": True, "result": "cancelled", "sentence": "Cancelled."}),
    ],
    ids=lambda value: str(value)[:24],
)
def test_done_is_0_and_refused_is_1(
    daemon: Any, capsys: Any, words: list[str], body: dict[str, Any], monkeypatch: Any
) -> None:
    monkeypatch.setattr(local_stop, "stop_core", lambda state: None)
    daemon.answers = [Answer(200, body), refused()]
    assert main(words) == 0
    assert capsys.readouterr().out.strip()
    assert main(words) == 1
    assert "refused (stopped): The arm is stopped. Wait." in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["wave"],
        ["goal"],
        ["run", "--port", "70000"],
        ["run", "--port", "-1"],
        ["run", "--port", "x"],
        ["audit", "tail", "-n", "0"],
        ["keys", "add", "x", "--role", "king"],
        ["bench", "luck"],
    ],
    ids=str,
)
def test_wrong_use_is_2(words: list[str], capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "usage: armlabd" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["call", "move_to_pose", "x"], "'x' is no argument"),
        (["call", "move_to_pose", "x=0.2", "x=0.3"], "x is given twice"),
        (["check", "/nowhere/plan.json"], "cannot be read"),
        (["status", "--url", "arm"], "'arm' is no address"),
        (["status", "--url", "file:///etc/passwd"], "is no address"),
        (["status", "--key", "ключ"], "characters that no key has"),
        (["status", "--key", "a\nb"], "characters that no key has"),
    ],
    ids=str,
)
def test_wrong_use_that_only_shows_later_is_2_as_well(
    words: list[str], part: str, capsys: Any
) -> None:
    assert main(words) == 2
    assert part in capsys.readouterr().err


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.parametrize(
    "words",
    [["status"], ["stop"], ["clear-stop"], ["goal", "go home"], ["call", "go_home"], ["runs"]],
    ids=str,
)
def test_no_daemon_is_3_with_what_to_do(words: list[str], capsys: Any) -> None:
    url = f"http://127.0.0.1:{closed_port()}"
    assert main([*words, "--url", url]) == 3
    said = capsys.readouterr().err
    assert f"No armlabd answers at {url} (Connection refused)" in said
    assert "armlabd run" in said


def test_every_command_of_the_parser_has_a_function() -> None:
    actions = [a for a in parser()._actions if a.dest == "command"]
    assert set(actions[0].choices or ()) == set(COMMANDS)


# --- stop ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "first",
    [
        Unreachable("no daemon"),
        Answer(401, {"ok": False, "code": "bad_key", "error": "The key is wrong."}),
        Answer(200, {"ok": True, "message": "unreachable", "written": False, "confirmed": 0}),
    ],
    ids=["no daemon", "wrong key", "daemon without core"],
)
@pytest.mark.parametrize(("confirmed", "code"), [(6, 0), (5, 1)])
def test_a_stop_on_the_board_goes_to_the_core_where_the_daemon_does_not_stop_it(
    daemon: Any, monkeypatch: Any, capsys: Any, first: Any, confirmed: int, code: int
) -> None:
    said = StopResult(True, confirmed, 6, f"{confirmed} of 6 confirmed.")
    monkeypatch.setattr(local_stop, "stop_core", lambda state: said)
    daemon.answers = [first]
    assert main(["stop"]) == code
    assert said.sentence in capsys.readouterr().out


def test_a_stop_that_nobody_confirmed_is_1(daemon: Any, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr(local_stop, "stop_core", lambda state: None)
    body = {"ok": True, "message": "Cut the power.", "written": False, "confirmed": 0, "of": 6}
    daemon.answers = [Answer(200, body)]
    assert main(["stop"]) == 1
    assert "Cut the power." in capsys.readouterr().out


def test_no_core_socket_means_no_core(tmp_path: Path) -> None:
    assert local_stop.stop_core(tmp_path) is None
    (tmp_path / "core.sock").touch()  # a name left behind by a core that is gone
    assert local_stop.stop_core(tmp_path) is None


# --- arguments and files ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "name", "value"),
    [
        ("x=0.2", "x", 0.2),
        ("x=-1", "x", -1),
        ("x=true", "x", True),
        ("x=null", "x", None),
        ("x=abc", "x", "abc"),
        ("x=", "x", ""),
        ("x=a=b", "x", "a=b"),
        ('x="1"', "x", "1"),
    ],
)
def test_name_and_value(word: str, name: str, value: object) -> None:
    assert arguments([word]) == {name: value}


@pytest.mark.parametrize("word", ["x", "=1", ""])
def test_what_is_no_argument(word: str) -> None:
    with pytest.raises(WrongUse, match="name=value"):
        arguments([word])


def test_plan_files(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text('[{"tool": "get_status"}]')
    assert read_plan(path) == {"steps": [{"tool": "get_status"}]}
    path.write_text('{"steps": []}')
    assert read_plan(path) == {"steps": []}
    for text, part in (("{", "is no JSON"), ("7", "must hold"), ("[" * 100_000, "is no JSON")):
        path.write_text(text)
        with pytest.raises(WrongUse, match=part):
            read_plan(path)


def test_check_shows_every_fault_and_is_1(daemon: Any, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "plan.json"
    path.write_text("[]")
    fault = {"step": 2, "rule": "R6", "code": "unreachable", "sentence": "step 2: too far"}
    daemon.answers = [
        Answer(200, {"outcome": "Out of reach", "faults": [fault], "warnings": []}),
        Answer(200, {"outcome": "Valid plan", "faults": [], "warnings": []}),
    ]
    assert main(["check", str(path)]) == 1
    assert "fault R6: step 2: too far" in capsys.readouterr().out
    assert main(["check", str(path)]) == 0


def test_keys_are_made_listed_and_revoked(tmp_path: Path, capsys: Any) -> None:
    state = ["--state", str(tmp_path)]
    assert main(["keys", *state, "add", "laptop", "--role", "agent"]) == 0
    text = capsys.readouterr().out.strip().split()[-1]
    assert text not in (tmp_path / "keys.json").read_text()
    assert main(["keys", *state, "add", "laptop"]) == 1
    assert "already a key named 'laptop'" in capsys.readouterr().err
    assert main(["keys", *state, "list"]) == 0
    assert capsys.readouterr().out.split()[:3] == ["laptop", "agent", "valid"]
    assert main(["keys", *state, "revoke", "laptop"]) == 0
    assert main(["keys", *state, "revoke", "laptop"]) == 1
    assert "no valid key named 'laptop'" in capsys.readouterr().err
    assert main(["keys", *state, "list"]) == 0
    assert "revoked" in capsys.readouterr().out


def test_a_broken_key_file_is_left_as_it_is(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "keys.json").write_text("{")
    assert main(["keys", "--state", str(tmp_path), "add", "x"]) == 1
    assert "left as it is" in capsys.readouterr().err
    assert (tmp_path / "keys.json").read_text() == "{"


def test_the_audits_end(tmp_path: Path, capsys: Any) -> None:
    from armlabd.clock import VirtualClock
    from armlabd.record.audit import Audit

    audit = Audit(tmp_path / "sim" / "audit", VirtualClock())
    for n in range(5):
        audit.write({"tool": f"tool-{n}"})
    words = ["audit", "tail", "-n", "2", "--state", str(tmp_path)]
    assert main([*words, "--sim"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["tool"] for row in rows] == ["tool-3", "tool-4"]
    assert main(words) == 0  # the real arm's audit is another one
    assert capsys.readouterr().out == ""


# --- answering ----------------------------------------------------------------------------------


def test_the_one_open_question_is_answered(daemon: Any) -> None:
    daemon.answers = [Answer(200, {"questions": [{"id": "run-000001-q1"}]}), Answer(200, {})]
    assert main(["answer", "left"]) == 0
    assert daemon.asked[1] == ("POST", "/questions/run-000001-q1", {"answer": "left"})


@pytest.mark.parametrize(
    ("open_", "part"),
    [([], "No question is open"), ([{"id": "a"}, {"id": "b"}], "--question: a, b")],
)
def test_which_question_is_meant(daemon: Any, capsys: Any, open_: Any, part: str) -> None:
    daemon.answers = [Answer(200, {"questions": open_})]
    assert main(["answer", "left"]) == 1
    assert part in capsys.readouterr().err


def test_cancel_finds_the_run_that_goes_on(daemon: Any, capsys: Any) -> None:
    daemon.answers = [
        Answer(200, {"run": {"id": "run-000007", "state": "waiting"}}),
        Answer(200, {"result": "cancelled", "sentence": "The run was cancelled."}),
        Answer(200, {"run": None}),
    ]
    assert main(["cancel"]) == 0
    assert daemon.asked[1][:2] == ("DELETE", "/runs/run-000007")
    assert "run-000007: cancelled. The run was cancelled." in capsys.readouterr().out
    assert main(["cancel"]) == 1


def test_a_reader_that_leaves_early_is_no_fault(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)  # as `| head` does when it has seen enough
    command = [sys.executable, "-m", "armlabd", "keys", "--state", str(tmp_path), "add", "one"]
    ended = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (0, b"")
