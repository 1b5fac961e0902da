"""Goals as a file: our own are whole, and a bad line is told with its number and field."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from armlabd.bench.goals import End, GoalsError, load, parse
from armlabd.bench.planner import Suite, chosen, own_goals

SCENE = '{"scene": "pair", "draw": ["red a", "red b"], "left_to_right": ["red a", "red b"]}'
GOAL: dict[str, Any] = {"kind": "plain", "scene": "pair", "say": "bin it", "end": "done"}
KINDS = {
    *("plain", "paraphrased", "misspelt", "two-step", "absent", "ambiguous", "impossible"),
    *("out of reach", "injection", "language", "stop", "everyday"),
}


def test_our_own_goals_are_enough_and_of_every_kind() -> None:
    goals = own_goals()
    assert len(goals) >= 150
    assert {goal.kind for goal in goals} == KINDS
    assert len({goal.id for goal in goals}) == len(goals)
    parts = Counter(goal.part for goal in goals)
    assert parts["held_out"] >= 60


def test_drawn_blocks_have_room_and_keep_their_order() -> None:
    for goal in own_goals():
        for a, b in itertools.combinations(goal.blocks, 2):
            assert math.dist((a.x, a.y), (b.x, b.y)) > 0.035, goal.id
    for number in range(30):
        (goal,) = parse(f"{SCENE}\n{json.dumps({**GOAL, 'say': f'bin {number}'})}", "mine")
        left, right = goal.blocks
        assert left.y > right.y
        assert (
            goal.blocks
            == parse(f"{SCENE}\n{json.dumps({**GOAL, 'say': f'bin {number}'})}", "mine")[0].blocks
        )


def test_a_goal_is_read_as_it_is_written() -> None:
    row = {
        **GOAL,
        "end": ["asked", "done"],
        "where": {"red a": [0.2, 0.1]},
        "any": {"count": 1, "of": ["red a", "red b"], "where": "bin"},
        "codes": ["ambiguous"],
        "answer": "the left one",
        "knowledge": True,
    }
    (goal,) = parse(f"# mine\n\n{SCENE}\n{json.dumps(row)}\n", "mine")
    assert goal.id == "mine/plain-1"
    assert goal.ends == (End.ASKED, End.DONE)
    assert goal.where == {"red a": (0.2, 0.1)}
    assert goal.any is not None
    assert goal.any.count == 1
    assert (goal.answer, goal.knowledge) == ("the left one", True)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 2, the line: no JSON"),
        ("[1]", "line 2, the line: a scene or a goal is a JSON object"),
        (" " * 4001 + "{}", "line 2, the line: longer than 4000"),
        ({"say": ""}, "line 2, say: a text of 1 to 2000"),
        ({"scene": "moon"}, "line 2, scene: 'moon' is not named above"),
        ({"end": "won"}, "line 2, end: one or a list of done, asked"),
        ({"end": []}, "line 2, end:"),
        ({"colour": 1}, "line 2, colour: no such field"),
        ({"where": {"blue": "bin"}}, "line 2, where: ['blue'] are not in the scene"),
        ({"where": {"red a": "moon"}}, "line 2, where: 'moon' is none of bin, held"),
        ({"where": {"red a": [0.2, True]}}, "line 2, where:"),
        ({"where": {"red a": "beside red c"}}, "line 2, where:"),
        ({"any": {"count": 3, "of": ["red a"], "where": "bin"}}, "line 2, any: count is 1 to 1"),
        ({"arm": "bin"}, "line 2, arm: 'bin' is none of home"),
        ({"codes": ["nope"]}, "line 2, codes: there is no cause 'nope'"),
        ({"knowledge": "yes"}, "line 2, knowledge: true or false"),
        ({"says": "red"}, "line 2, says: a list of texts"),
        ('{"scene": "pair", "blocks": []}', "line 2, scene: 'pair' is there already"),
        ('{"scene": "b"}', 'line 2, scene: it needs either "blocks" or "draw"'),
        ('{"scene": "b", "blocks": [["pink", 0, 0]]}', "line 2, blocks: A block's label"),
        ('{"scene": "b", "blocks": [["red", 9, 0]]}', "line 2, blocks: x must be"),
        (
            '{"scene": "b", "blocks": [["red", 0.2, 0.1], ["red", 0.2, 0]]}',
            "line 2, blocks: ['red'] twice",
        ),
        ('{"scene": "b", "draw": ["red"], "near_to_far": ["blue"]}', "line 2, near_to_far:"),
        (
            json.dumps({"scene": "b", "draw": [f"red {k}" for k in range(40)]}),
            "line 2, draw: at most 6 labels",
        ),
    ],
)
def test_a_bad_line_is_told_with_its_number_and_field(
    line: str | dict[str, Any], words: str
) -> None:
    text = line if isinstance(line, str) else json.dumps({**GOAL, **line})
    with pytest.raises(GoalsError) as caught:
        parse(f"{SCENE}\n{text}", "mine")
    assert caught.value.faults[0].startswith(words), caught.value.faults


def test_all_faults_are_told_at_once_and_an_empty_file_is_one() -> None:
    with pytest.raises(GoalsError) as caught:
        parse("{\n{\n", "mine")
    assert [fault[:6] for fault in caught.value.faults] == ["line 1", "line 2"]
    with pytest.raises(GoalsError, match="there is no goal"):
        parse("# nothing\n", "mine")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(GoalsError, match="cannot be read: No such file"):
        load(tmp_path / "goals.jsonl")
    (tmp_path / "goals.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(GoalsError, match="no text in UTF-8"):
        load(tmp_path / "goals.jsonl")


def test_a_limit_takes_goals_of_every_kind() -> None:
    few = chosen(Suite(limit=60))
    assert len(few) == 60
    assert {goal.kind for goal in few} >= KINDS - {"stop", "everyday"}
