"""A model plans: what is of use is taken, what is not is told back once and then asked."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from authors import Scripted
from plan_scenes import ONE_EACH, context, ending

from armlabd.inference.backend import Answer, Ask, Finish, ModelError
from armlabd.plan.model import TRIES, ModelPlanner
from armlabd.plan.plan import Plan
from armlabd.plan.planner import NotPossible, Planned
from armlabd.plan.question import Question, Stop
from armlabd.plan.rules import RulesPlanner
from armlabd.verdict import Code

GOAL = "put the red block in the bin"
PUT_RED = {"skill": "pick_and_place", "object": "red block", "place": "bin"}


def plan_of(*steps: dict[str, Any]) -> str:
    return json.dumps({"answer": "plan", "steps": steps})


async def planned(author: Scripted, goal: str = GOAL, **changes: Any) -> Planned:
    return await ModelPlanner(author, RulesPlanner()).plan(goal, context(ONE_EACH, **changes))


async def test_a_good_answer_becomes_a_plan_with_its_cost_kept() -> None:
    text = plan_of(PUT_RED)
    author = Scripted(Answer(text, "m", prompt_tokens=300, output_tokens=40, output_s=1.23456))
    got = await planned(author)
    assert ending(got.outcome, ONE_EACH) == "pick red, put bin, home"  # type: ignore[arg-type]
    assert isinstance(got.outcome, Plan)
    assert (got.planner, got.outcome.planner, got.note) == ("author:scripted",) * 2 + ("",)
    (attempt,) = got.attempts
    shown = attempt.to_dict()
    assert (shown["text"], shown["prompt_tokens"], shown["output_s"]) == (text, 300, 1.235)
    assert (shown["faults"], shown["examples"]) == ([], 2)
    assert shown["counted_tokens"] > 300


async def test_an_answer_of_no_use_is_told_why_once_and_then_a_person_is_asked() -> None:
    author = Scripted('{"answer":"done"}')
    got = await planned(author)
    assert isinstance(got.outcome, Question)
    assert (got.outcome.code, got.outcome.kind) == (Code.MODEL_ANSWER, "goal")
    assert len(author.asks) == len(got.attempts) == TRIES
    assert "was refused" not in author.asks[0].prompt
    assert 'Your last answer was refused: "the answer must be an object' in author.asks[1].prompt
    assert "made no usable plan in 2 tries" in got.outcome.text


async def test_a_repaired_answer_is_taken() -> None:
    moon = {**PUT_RED, "object": "moon"}
    got = await planned(Scripted(plan_of(moon), plan_of(PUT_RED)))
    assert isinstance(got.outcome, Plan)
    assert [bool(attempt.faults) for attempt in got.attempts] == [True, False]


async def test_a_cut_answer_is_no_answer_even_if_it_could_be_read() -> None:
    cut = Answer(plan_of(PUT_RED), "m", Finish.LENGTH, output_tokens=512)
    got = await planned(Scripted(cut, plan_of(PUT_RED)))
    assert got.attempts[0].faults == ("the answer was cut after 512 tokens; write a shorter one",)
    assert isinstance(got.outcome, Plan)


async def test_not_possible_and_not_clear_are_answers() -> None:
    no = await planned(Scripted('{"answer":"impossible","reason":"I  have\\nno legs"}'))
    assert no.outcome == NotPossible("I have no legs")
    which = '{"answer":"unclear","question":"Which one?","options":["red"," ","red","blue"]}'
    asked = (await planned(Scripted(which))).outcome
    assert isinstance(asked, Question)
    assert (asked.text, asked.options) == ("author:scripted asks: Which one?", ("red", "blue"))


async def test_a_models_question_is_answered_in_the_next_prompt_and_not_asked_again() -> None:
    which = '{"answer":"unclear","question":"Which one?","options":[]}'
    asked = (await planned(Scripted(which))).outcome
    assert isinstance(asked, Question)
    author = Scripted(which, plan_of(PUT_RED))
    got = await planned(author, answers={asked.kind: "the red one"})
    assert 'Asked about "Which one?" a person answered "the red one"' in author.asks[0].prompt
    assert got.attempts[0].faults == ("this was asked already and answered: the red one",)
    assert isinstance(got.outcome, Plan)


async def test_a_goal_said_in_other_words_takes_the_place_of_the_first() -> None:
    author = Scripted(plan_of({"skill": "go_home"}))
    await planned(author, "tidy up", answers={"goal": "go home"})
    assert 'Goal: "go home"' in author.asks[0].prompt
    assert "tidy" not in author.asks[0].prompt


@pytest.mark.parametrize(
    "code", [Code.NO_MODEL, Code.MODEL_MEMORY, Code.MODEL_LOST, Code.MODEL_TIMEOUT]
)
async def test_a_model_that_cannot_answer_is_replaced_by_the_rules_and_that_is_said(
    code: Code,
) -> None:
    got = await planned(Scripted(ModelError(code, "It is gone. Start it.")))
    assert isinstance(got.outcome, Plan)
    assert (got.planner, got.outcome.planner) == ("rules", "rules")
    assert got.note == (
        "Planned by the rules, because author:scripted could not answer: It is gone. Start it."
    )
    assert [attempt.faults for attempt in got.attempts] == [("It is gone. Start it.",)]


async def test_a_model_lost_in_the_repair_round_leaves_both_attempts() -> None:
    got = await planned(Scripted("prose", ModelError(Code.MODEL_LOST, "Killed.")))
    assert got.planner == "rules"
    assert len(got.attempts) == 2


async def test_an_answer_that_the_backend_finds_unusable_is_an_attempt() -> None:
    empty = ModelError(Code.MODEL_ANSWER, "It only thought.")
    got = await planned(Scripted(empty, plan_of(PUT_RED)))
    assert isinstance(got.outcome, Plan)
    assert got.attempts[0].faults == ("It only thought.",)


@pytest.mark.parametrize("answers", [{}, {"goal": "stop"}, {"which:red block": "stop!"}])
async def test_stop_is_decided_before_any_model(answers: dict[str, str]) -> None:
    author = Scripted(plan_of(PUT_RED))
    goal = GOAL if answers else "please stop now"
    assert isinstance((await planned(author, goal, answers=answers)).outcome, Stop)
    assert author.asks == []


async def test_a_plan_that_changes_nothing_is_no_plan_unless_looking_was_asked() -> None:
    look = plan_of({"skill": "look"})
    got = await planned(Scripted(look))
    assert isinstance(got.outcome, Question)
    assert got.attempts[0].faults == ("nothing on the table would change by these steps",)
    assert isinstance((await planned(Scripted(look), "what do you see?")).outcome, Plan)


@pytest.mark.parametrize(
    ("goal", "needs"),
    [("go home", False), ("stop", False), ("open the gripper", False), (GOAL, True), ("olé", True)],
)
def test_what_can_be_done_blind_needs_no_look(goal: str, needs: bool) -> None:
    assert ModelPlanner(Scripted(""), RulesPlanner()).needs_scene(goal) is needs


# --- ends that come from outside ----------------------------------------------------------------


class Slow(Scripted):
    """A backend that generates until it is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.cancelled = asyncio.Event(), False

    async def answer(self, ask: Ask) -> Answer:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        raise AssertionError


async def test_cancelling_ends_the_generation_and_is_passed_on() -> None:
    author = Slow()
    task = asyncio.create_task(planned(author))
    await author.begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert author.cancelled


async def test_a_planner_put_away_ends_the_generation_and_the_rules_go_on() -> None:
    author = Slow()
    planner = ModelPlanner(author, RulesPlanner())
    task = asyncio.create_task(planner.plan(GOAL, context(ONE_EACH)))
    await author.begun.wait()
    await planner.close()
    got = await task
    assert author.cancelled
    assert isinstance(got.outcome, Plan)
    assert "was put away while it answered" in got.note
