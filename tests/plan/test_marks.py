"""The sign that marks coordinates inside the planner cannot come from a sentence."""

from __future__ import annotations

import pytest

from armlabd.perceive.scene import Scene
from armlabd.plan.context import PlanContext
from armlabd.plan.plan import Plan
from armlabd.plan.question import Question
from armlabd.plan.rules import RulesPlanner

EMPTY = PlanContext(Scene((), (), 0.0))


@pytest.mark.parametrize("text", ["@", "@7", "put it @", "put the red block @9", "x @0 y @1", "@@"])
def test_a_sign_in_a_sentence_is_no_coordinate(text: str) -> None:
    assert isinstance(RulesPlanner().answer(text, EMPTY), Plan | Question)
