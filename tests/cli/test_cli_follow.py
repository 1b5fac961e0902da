"""Following a run on the terminal, and what is shown of the arm."""

from __future__ import annotations

import json
from typing import Any

import pytest

from armlabd.cli import goals, show
from armlabd.cli.client import (
    Answer,
)
from armlabd.cli.main import main


def run_at(state: str, **more: Any) -> Answer:
    body: dict[str, Any] = {
        "id": "run-000001",
        "state": state,
        "result": None,
        "cause": None,
        "sentence": None,
        "question": None,
        "scene": None,
        "plan": None,
        "checks": None,
        "steps": [],
    }
    return Answer(200, {**body, **more})


STEP = {"event": "step", "step": 1, "tool": "get_status", "ok": True, "sentence": "", "note": "n"}
QUESTION = {"id": "run-000001-q1", "text": "Which one?", "options": ["left", "right"]}
PLAN = {
    "steps": [
        {"tool": "move_to_pose", "args": {"x": 0.2, "y": True, "z": "low"}, "note": ""},
        {"tool": "check", "args": {"field": "holding_something", "equals": True}},
    ]
}
CHECKS = {"outcome": "Valid plan", "faults": [], "warnings": []}
SCENE = {
    "objects": [{"label": "red block", "x": 0.2, "y": 0.1, "yaw_deg": 0.0, "source": "colour"}],
    "rejected": [{"label": "blue block", "reasons": ["not the size of a block"]}],
    "ambiguous": [{"label": "red block", "candidates": [1, 2]}],
    "disputed": [{"label": "red block", "reason": "vlm sees none there."}],
    "notes": ["vlm was slow."],
}


def test_a_run_is_shown_stage_by_stage_and_nothing_twice(daemon: Any, capsys: Any) -> None:
    daemon.answers = [
        run_at("perceiving"),
        run_at("planning", scene=SCENE),
        Answer(429, {}),
        run_at("executing", scene=SCENE, plan=PLAN, checks=CHECKS, steps=[STEP]),
        run_at("waiting", scene=SCENE, plan=PLAN, checks=CHECKS, steps=[STEP], question=QUESTION),
        run_at("ended", steps=[STEP], result="done", cause="ok", sentence="Done: 1 steps."),
    ]
    slept: list[float] = []
    assert goals.follow(daemon, "run-000001", sleep=slept.append) == 0  # type: ignore[arg-type]
    said = capsys.readouterr().out
    for part in (
        "accepted  red block",
        "not the size of a block",
        "there are 2 of them",
        "x=0.2 y=True z=low",
        "field=holding_something equals=True",
        "step  1 ok  get_status",
        "question: Which one?",
        "1  left",
        "armlabd answer TEXT",
        "run-000001: done. Done: 1 steps.",
    ):
        assert said.count(part) == 1, part
    assert slept == [0.2, 0.2, 1.0, 0.2, 0.2]


@pytest.mark.parametrize("result", ["refused", "asked", "stopped", "failed", "cancelled"])
def test_every_end_but_done_is_1(daemon: Any, capsys: Any, result: str) -> None:
    daemon.answers = [run_at("ended", result=result, cause="why", sentence="Because.")]
    assert goals.follow(daemon, "run-000001") == 1  # type: ignore[arg-type]
    assert f"run-000001: {result} (why): Because." in capsys.readouterr().err


def test_as_json_only_the_end_is_printed(daemon: Any, capsys: Any) -> None:
    daemon.answers = [
        Answer(202, {"id": "run-000001"}),
        run_at("ended", result="done", cause="ok", sentence=""),
    ]
    assert main(["goal", "go home", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"] == "done"


def test_ctrl_c_says_that_the_run_goes_on(daemon: Any, capsys: Any, monkeypatch: Any) -> None:
    def interrupted(*_: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(goals, "follow", interrupted)
    daemon.answers = [Answer(202, {"id": "run-000001"})]
    assert main(["goal", "go home"]) == 1
    assert "run-000001 goes on" in capsys.readouterr().err


def test_what_others_wrote_cannot_steer_the_terminal(capsys: Any) -> None:
    show.say("red\x1b[2J \ud800 [bold]x")
    assert capsys.readouterr().out == "red?[2J ? [bold]x\n"


def test_a_stopped_arm_is_shown_with_what_to_do_next(capsys: Any) -> None:
    status = {
        "simulated": True,
        "stopped": True,
        "stop": {"sentence": "The button was pressed."},
        "arm": {"state": "limp", "next": "Clear the stop.", "joints_deg": None},
        "camera": {"state": "not_used_yet", "next": ""},
        "planner": {"state": "warm", "next": ""},
        "button": {"state": "no physical stop", "next": "Keep a hand on the switch."},
        "run": None,
    }
    text = "\n".join(line for line, _ in show.status_lines(status))
    assert "STOPPED: The button was pressed." in text
    assert "armlabd clear-stop" in text
    assert "button: no physical stop" in text
    assert "camera: not used yet" in text


def test_what_a_model_saw_otherwise_is_shown_with_the_scene() -> None:
    lines = [line.strip() for line, _ in show.scene_lines(SCENE)]
    assert lines[-2:] == ["disputed  red block    vlm sees none there.", "vlm was slow."]


def test_a_model_that_looks_too_is_shown_with_what_keeps_it_from_looking() -> None:
    looker = {"model": "vlm", "boxes": "none", "state": "resting", "next": "Start the server."}
    status = {
        "simulated": True,
        "stopped": False,
        "stop": None,
        "arm": {"state": "limp", "next": "", "joints_deg": None},
        "camera": {"state": "ready", "next": "", "model": looker},
        "planner": {"state": "warm", "next": ""},
        "button": {"state": "no physical stop", "next": ""},
        "run": None,
    }
    text = "\n".join(line for line, _ in show.status_lines(status))
    assert "seeing model: resting  next: Start the server." in text


def test_what_a_step_expects_is_shown_in_words() -> None:
    step = {"tool": "close_gripper", "args": {}, "expect": {"holding_something": True}}
    (line,) = show.plan_lines({"steps": [step]})
    assert line.endswith("expect holding_something true")


def test_an_open_question_is_shown_with_its_options_and_how_to_answer() -> None:
    asked = {"id": "run-000001-q1", "text": "Which one?", "options": ["the left", "the right"]}
    lines = [line.strip() for line, _ in show.question_lines(asked)]
    assert lines[:3] == ["question: Which one?", "1  the left", "2  the right"]
    assert "armlabd answer" in lines[3]
    assert show.question_lines(None) == []
