"""Everyday sentences and what must come of them: a plan, a question, or a stop."""

from __future__ import annotations

import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from plan_scenes import SCENES, context, ending

from armlabd.plan.rules import RulesPlanner

ROWS = [
    tuple(part.strip() for part in line.split("|"))
    for line in Path(__file__).with_name("sentences.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]


@pytest.mark.parametrize(("scene", "sentence", "wanted"), ROWS, ids=[row[1] for row in ROWS])
def test_a_sentence_ends_as_the_table_says(scene: str, sentence: str, wanted: str) -> None:
    holding = scene.endswith("+")
    seen = SCENES[scene.removesuffix("+")]
    answer = RulesPlanner().answer(sentence, context(seen, holding=holding))
    got = ending(answer, seen)
    assert fnmatch(got, wanted), got


def test_the_table_is_long_enough_to_mean_something() -> None:
    assert len(ROWS) >= 120
    assert len({(row[0], row[1]) for row in ROWS}) == len(ROWS)
