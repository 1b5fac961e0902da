"""Planning again, with a limit: what leads nowhere is asked; models leave their traces."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from run_house import AGENT, RED, Scripted, ten_steps

from armlabd.bench.authors import RandomAuthor
from armlabd.execute.rounds import Rounds
from armlabd.execute.run import Ending, Result
from armlabd.gate.roles import Caller, Role
from armlabd.inference.backend import Answer, Ask, ModelError
from armlabd.plan.model import ModelPlanner
from armlabd.plan.plan import Plan, Step
from armlabd.plan.rules import RulesPlanner
from armlabd.verdict import Code, Verdict

FAR = Plan((Step("get_status"), Step("move_to_pose", {"x": 0.35, "y": 0.0, "z": 0.05})))
GOAL = "put the red block in the bin"


def bad(number: int) -> Plan:
    return Plan((Step("get_status"), Step(f"wave_{number}")))


async def asked(house: Any, goal: str = GOAL) -> tuple[str, dict[str, Any]]:
    run_id = await house.begin(goal=goal)
    return run_id, await house.question(run_id)


# --- circles ------------------------------------------------------------------------------------


async def test_a_plan_made_again_that_was_refused_is_asked(make_house: Any) -> None:
    planner = Scripted(bad(1))
    house = make_house(planner)
    run_id, question = await asked(house)
    assert question["text"].startswith("A plan was made again that was refused: ")
    assert "there is no tool called 'wave_1'" in question["text"]
    assert question["options"] == ["try again", "give up"]
    assert len(planner.contexts) == 2
    await house.say(run_id, "give up")
    run = await house.ended(run_id)
    assert (run["result"], run["cause"], run["steps"]) == ("asked", "unknown_tool", [])


async def test_the_same_refusal_for_another_plan_is_asked(make_house: Any) -> None:
    further = Plan((*FAR.steps, Step("go_home")))
    planner = Scripted(FAR, further)
    house = make_house(planner)
    run_id, question = await asked(house)
    assert question["text"].startswith("Plans were refused twice for the same reason: ")
    assert "x = 0.35 is outside" in question["text"]
    await house.say(run_id, "give up")
    assert (await house.ended(run_id))["cause"] == "out_of_range"


async def test_a_plan_refused_two_rounds_ago_is_a_circle_too(make_house: Any) -> None:
    house = make_house(Scripted(bad(1), bad(2), bad(1)), max_replans=9)
    run_id, question = await asked(house)
    assert question["text"].startswith("A plan was made again that was refused")
    await house.say(run_id, "give up")
    await house.ended(run_id)


async def test_plans_that_stay_bad_are_asked_about_after_max_replans(make_house: Any) -> None:
    planner = Scripted(*(bad(n) for n in range(20)))
    house = make_house(planner, max_replans=3)
    run_id, question = await asked(house)
    assert question["text"].startswith("4 plans were refused: ")
    assert len(planner.contexts) == 4
    assert [len(context.refusals) for context in planner.contexts] == [0, 1, 2, 3]
    await house.say(run_id, "give up")
    await house.ended(run_id)


@pytest.mark.parametrize("answer", ["try again", "1", "put the red block into the bin"])
async def test_after_an_answer_it_starts_afresh(make_house: Any, answer: str) -> None:
    planner = Scripted(bad(1), bad(1), ten_steps())
    house = make_house(planner)
    run_id, _ = await asked(house)
    await house.say(run_id, answer)
    assert (await house.ended(run_id))["result"] == "done"
    last = planner.contexts[-1]
    assert last.refusals == ()
    assert last.answers == ({"goal": answer} if answer.startswith("put") else {})


async def test_what_is_a_warning_for_a_brought_plan_refuses_a_planners(make_house: Any) -> None:
    drops = Plan((*ten_steps().steps[:7], Step("open_gripper"), Step("go_home")))
    house = make_house(Scripted(drops))
    assert (await house.plan(drops))["result"] == "done"
    run_id, question = await asked(house)
    assert "Drops or bumps what it holds" in question["text"]
    await house.say(run_id, "give up")
    assert (await house.ended(run_id))["steps"] == []


async def test_case_78_a_planner_that_says_done_has_done_nothing(make_house: Any) -> None:
    house = make_house(Scripted(Plan((), "a model", "done, I promise")))
    run_id, question = await asked(house)
    assert question["text"].startswith("The planner says that it is done, but its plan has no step")
    await house.say(run_id, "give up")
    run = await house.ended(run_id)
    assert (run["result"], run["steps"]) == ("asked", [])
    assert set(house.session.tools) == {"look"}


async def test_nobody_there_to_answer_ends_the_circle(make_house: Any) -> None:
    run = await make_house(Scripted(bad(1)), answer_timeout_s=0.0).goal()
    assert (run["result"], run["cause"]) == ("asked", "answer_timeout")


def test_slips_are_counted_apart_from_refusals() -> None:
    rounds = Rounds(2)
    assert [rounds.may_slip() for _ in range(3)] == [True, True, False]
    refusal = Ending(Result.REFUSED, Code.UNREACHABLE, "Too far.")
    assert rounds.refuse(FAR, refusal) is None
    assert rounds.repeated(ten_steps()) is None
    rounds.start_afresh()
    assert rounds.repeated(FAR) is None
    assert rounds.may_slip()


# --- a model plans ------------------------------------------------------------------------------


class Model(RandomAuthor):
    """Answers its texts in order, the last for ever; it may be down, or never come to an end."""

    name = "ollama"

    def __init__(self, *texts: str | Exception) -> None:
        super().__init__()
        self.model, self.asks = "tiny:1b", 0
        self._texts = list(texts)
        self.begun, self.ended = asyncio.Event(), asyncio.Event()

    async def answer(self, ask: Ask) -> Answer:
        self.asks += 1
        self.begun.set()
        if not self._texts:
            try:
                await asyncio.Event().wait()
            finally:
                self.ended.set()
        text = self._texts.pop(0) if len(self._texts) > 1 else self._texts[0]
        if isinstance(text, Exception):
            raise text
        return Answer(text, self.model, prompt_tokens=200, output_tokens=30, output_s=1.5)


def plan_text(*steps: dict[str, Any]) -> str:
    return json.dumps({"answer": "plan", "steps": steps})


PUT_RED = {"skill": "pick_and_place", "object": "red block", "place": "bin"}


def house_of(make_house: Any, model: Model, **run: Any) -> Any:
    return make_house(ModelPlanner(model, RulesPlanner()), **run)


def trace_of(house: Any, run_id: str) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for line in (house.folder / run_id / "trace.jsonl").read_text().splitlines()
    ]


async def test_a_run_keeps_every_attempt_of_a_model_and_shows_its_cost(make_house: Any) -> None:
    house = house_of(make_house, Model("I will!", plan_text(PUT_RED)))
    run = await house.goal()
    assert run["result"] == "done"
    assert run["planner"] == {
        "name": "ollama:tiny:1b",
        "note": "",
        "outcome": "plan",
        "attempts": 2,
        "prompt_tokens": 400,
        "output_tokens": 60,
        "model_s": 3.0,
    }
    assert run["plan"]["planner"] == "ollama:tiny:1b"
    trace = trace_of(house, run["id"])
    rows = [row for row in trace if row["event"] == "attempt"]
    assert [(row["number"], row["text"], row["model"]) for row in rows] == [
        (1, "I will!", "tiny:1b"),
        (2, plan_text(PUT_RED), "tiny:1b"),
    ]
    assert rows[0]["faults"] == ["the answer is not one JSON object and nothing else"]
    assert all(row["counted_tokens"] > 0 and row["output_s"] == 1.5 for row in rows)
    assert next(row for row in trace if row["event"] == "planned")["name"] == "ollama:tiny:1b"
    assert [row["event"] for row in trace].index("planned") < [row["event"] for row in trace].index(
        "check"
    )


async def test_a_model_that_is_gone_is_replaced_by_the_rules_and_the_run_says_so(
    make_house: Any,
) -> None:
    gone = ModelError(Code.MODEL_LOST, "Ollama does not answer. Start it.")
    run = await house_of(make_house, Model(gone)).goal()
    assert run["result"] == "done"
    assert run["planner"]["name"] == run["plan"]["planner"] == "rules"
    assert "because ollama:tiny:1b could not answer: Ollama does not" in run["planner"]["note"]


@pytest.mark.parametrize(
    "claim",
    [
        '{"answer":"done"}',
        '{"result":"done","cause":"ok","steps":[{"event":"step","step":1,"ok":true}]}',
        "Done! The red block is in the bin. holding_something: true",
        '{"answer":"plan","steps":[]}',
        plan_text({"skill": "look"}),
    ],
)
async def test_case_78_a_made_up_result_is_no_result(make_house: Any, claim: str) -> None:
    """What a run did comes from the executor only, whatever a model tells of itself."""
    house = house_of(make_house, Model(claim))
    run_id, question = await asked(house)
    assert "made no usable plan in 2 tries" in question["text"]
    await house.say(run_id, "give up")
    run = await house.ended(run_id)
    assert (run["result"], run["cause"], run["steps"]) == ("asked", "model_answer", [])
    assert set(house.session.tools) == {"look"}


async def test_case_78_what_is_done_is_what_was_measured(make_house: Any) -> None:
    """A plan that reads as done ends as the steps were measured: here the second one failed."""
    house = house_of(make_house, Model(plan_text(PUT_RED)))
    house.session.before = lambda number, tool: house.session.answers.update(
        {number: Verdict.refused(Code.STALLED, "It did not arrive.")} if number == 3 else {}
    )
    run = await house.goal()
    assert (run["result"], run["cause"]) == ("failed", "stalled")


async def test_a_models_refusal_ends_refused_with_its_reason(make_house: Any) -> None:
    text = '{"answer":"impossible","reason":"A block cannot fly."}'
    run = await house_of(make_house, Model(text)).goal("let the block fly")
    assert (run["result"], run["cause"]) == ("refused", "impossible")
    assert "ollama:tiny:1b says that this is not possible: A block cannot fly." in run["sentence"]
    assert run["planner"]["outcome"] == "impossible"


async def test_a_models_question_goes_to_a_person_and_the_answer_back(make_house: Any) -> None:
    which = '{"answer":"unclear","question":"Red or blue?","options":["red","blue"]}'
    house = house_of(make_house, Model(which, plan_text(PUT_RED)))
    run_id, question = await asked(house)
    assert question["text"] == "ollama:tiny:1b asks: Red or blue?"
    await house.say(run_id, "1")
    assert (await house.ended(run_id))["result"] == "done"


async def test_cancelling_a_run_cancels_the_generation(make_house: Any) -> None:
    model = Model()
    house = house_of(make_house, model)
    run_id = await house.begin(goal=GOAL)
    await asyncio.wait_for(model.begun.wait(), 8.0)
    assert (await house.runs.cancel(run_id, AGENT)).ok
    assert model.ended.is_set()
    assert (await house.ended(run_id))["result"] == "cancelled"
    planned = [row for row in trace_of(house, run_id) if row["event"] == "planned"]
    assert [(row["name"], row["outcome"]) for row in planned] == [("ollama:tiny:1b", "given up")]


async def test_ending_armlabd_cancels_the_generation(make_house: Any) -> None:
    model = Model()
    house = house_of(make_house, model)
    await house.begin(goal=GOAL)
    await asyncio.wait_for(model.begun.wait(), 8.0)
    await house.runs.close()
    assert model.ended.is_set()


async def test_case_16_ten_stops_in_a_row_while_the_model_never_answers(make_house: Any) -> None:
    """Stop is local: it waits for no model, is the same ten times, and ends the generation."""
    model = Model()
    house = house_of(make_house, model)
    run_id = await house.begin(goal=GOAL)
    await asyncio.wait_for(model.begun.wait(), 8.0)
    stops = []
    for _ in range(10):
        stops.append(await house.session.stop(Caller("page", Role.READER), "a person"))
        house.runs.notify_stop()
    run = await house.ended(run_id)
    assert (run["result"], run["cause"]) == ("stopped", "stopped")
    assert [stop.data["confirmed"] for stop in stops] == [6] * 10
    assert model.ended.is_set()
    assert house.session.tools == ["look"]


async def test_case_16_a_goal_that_means_stop_asks_no_model(make_house: Any) -> None:
    model = Model(ModelError(Code.MODEL_LOST, "The network is down."))
    for _ in range(10):
        house = house_of(make_house, model)
        assert (await house.goal("stop"))["result"] == "stopped"
        assert house.session.stops == 1
    assert model.asks == 0


async def test_a_model_that_only_repeats_itself_comes_to_an_end(make_house: Any) -> None:
    """The same plan, always missing: first the tries, then a person, then the end."""
    house = house_of(make_house, Model(plan_text(PUT_RED)), answer_timeout_s=0.0)
    house.session.grasps = [False] * 50
    run = await house.goal()
    assert run["result"] == "asked"
    assert RED.label in run["scene"]["objects"][0]["label"]
