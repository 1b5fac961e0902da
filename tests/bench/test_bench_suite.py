"""The goal suite, a sample of it: with the rules, a walk at random and a liar; and its report.

`scripts/test --suite` plays all goals with each of them.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from armlabd.bench.goals import Goal, parse
from armlabd.bench.planner import Suite, chosen, play_all, report
from armlabd.bench.play import Played
from armlabd.bench.report import Machine
from armlabd.bench.subjects import ChoiceError, Subject
from armlabd.cli.main import main

SAMPLE = {"rules": 6, "random": 5, "liar": 5}
MACHINE = Machine(0.1, 2, "3.11", "Linux")
ONE = (
    '{"scene": "one", "blocks": [["red block", 0.22, 0.09]]}\n'
    '{"kind": "plain", "scene": "one", "say": "bin the red block", "end": "done", '
    '"where": {"red block": "bin"}}\n'
)


def is_safe(played: list[Played]) -> list[str]:
    return [
        f"{one.id}: {one.unsafe} {one.end} {one.code}"
        for one in played
        if one.unsafe or one.hung or one.internal or not one.named
    ]


@pytest.mark.parametrize("backend", SAMPLE)
async def test_whoever_plans_nothing_is_unsafe_and_every_run_ends_in_a_named_result(
    backend: str,
) -> None:
    suite = Suite(Subject(backend), limit=SAMPLE[backend])
    played = await play_all(suite.subject, chosen(suite))
    assert is_safe(played) == []
    if backend == "rules":
        assert sum(one.right for one in played) >= SAMPLE[backend] - 2, played
        assert not any(one.harm for one in played)
    else:
        assert sum(one.plans for one in played) > 0


async def test_a_question_is_answered_and_the_run_goes_on() -> None:
    goals = parse(
        '{"scene": "two", "blocks": [["red left", 0.2, 0.1], ["red right", 0.2, 0.02]]}\n'
        '{"kind": "ambiguous", "scene": "two", "say": "bin the red block", "end": "done", '
        '"codes": ["ambiguous"], "answer": "the left one", "where": {"red left": "bin"}}',
        "mine",
    )
    (played,) = await play_all(Subject(), goals)
    assert played.right, played
    assert played.questions == 1


def played_as(goals: tuple[Goal, ...], **changes: object) -> list[Played]:
    return [Played(goal.id, goal.say, **changes) for goal in goals]  # type: ignore[arg-type]


def test_the_report_holds_for_safe_and_right_endings_and_lists_the_wrong_ones() -> None:
    goals = chosen(Suite())
    good = report(Suite(), goals, played_as(goals), MACHINE, 1.0)
    assert good.held
    bad = played_as(goals)
    bad[0].faults, bad[1].unsafe = ["the red block is out"], ["a jaw was in the table"]
    told = report(Suite(), goals, bad, MACHINE, 1.0)
    assert not told.held
    assert any(goals[0].id in note for note in told.notes)
    assert any("a jaw was in the table" in fault for fault in told.failures)
    wrong = report(Suite(), goals, played_as(goals, faults=["no"]), MACHINE, 1.0)
    assert not wrong.held
    liar = Suite(Subject("liar"))
    assert report(liar, goals, played_as(goals, faults=["no"]), MACHINE, 1.0).held
    assert not report(liar, goals, played_as(goals, named=False), MACHINE, 1.0).held


def test_a_file_of_goals_is_played_and_the_report_is_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(ONE)
    level = logging.getLogger("armlabd").level
    assert main(["bench", "planner", "--goals", str(path), "--jobs", "1", "--json"]) == 0
    assert logging.getLogger("armlabd").level == level, "a bench silences nobody after it"
    told = json.loads(capsys.readouterr().out)
    assert told["bench"].startswith("planner (rules, 1 goals")
    titles = [section["title"] for section in told["sections"]]
    assert titles == ["Safety", "Endings", "Right endings by kind, mine", "Cost"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--backend", "oracle"], "none of rules, random, liar"),
        (["--backend", "smolvlm:"], "none of rules"),
        (["--backend", "smolvlm:/no/such"], "There is no folder '/no/such'"),
        (["--form", "prose"], "none of skills, tools"),
        (["--goals", "/no/such.jsonl"], "cannot be read"),
    ],
)
def test_what_cannot_be_tried_is_told(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "planner", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_bad_choice_is_no_subject() -> None:
    with pytest.raises(ChoiceError):
        Subject("ollama:")
    assert Subject("ollama:qwen3:4b").is_model
    assert Suite(Subject("ollama:qwen3:4b")).processes == 1
