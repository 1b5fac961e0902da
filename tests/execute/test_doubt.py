"""A plan that takes hold of what a model saw otherwise is put to a person first."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from run_house import AGENT, RED, Scripted, ten_steps

from armlabd.execute.doubt import IT_IS, disputed_target, grips
from armlabd.execute.goal import MAX_ROUNDS
from armlabd.perceive.scene import Dispute, Scene, SceneObject
from armlabd.plan.plan import Plan, Step
from armlabd.verdict import Code

BLUE = SceneObject("blue block", 0.15, -0.05, 0.0, (0.0, 0.0, 9.0, 9.0), "colour")
ON_RED = Dispute(RED, "The colours see a red block, vlm sees none there.")
ON_BLUE = Dispute(BLUE, "The colours see a blue block, vlm says green block.")


def scene(*disputes: Dispute) -> Scene:
    return Scene((RED, BLUE), (), 1.0, disputed=disputes)


def grip_at(x: object, y: object) -> Plan:
    move = Step("move_to_pose", {"x": x, "y": y, "z": 0.03})
    return Plan((Step("get_status"), Step("open_gripper"), move, Step("close_gripper")))


def test_the_jaws_close_where_the_hand_was_sent_last() -> None:
    assert list(grips(ten_steps())) == [(0.22, 0.09)]
    assert list(grips(Plan((Step("close_gripper"),)))) == []
    assert list(grips(grip_at("0.2", None))) == []


@pytest.mark.parametrize(
    ("x", "found"),
    [(RED.x, True), (RED.x + 0.0299, True), (RED.x + 0.0301, False), (RED.x - 0.0301, False)],
)
def test_a_disputed_object_counts_when_the_jaws_close_on_it(x: float, found: bool) -> None:
    dispute = disputed_target(grip_at(x, RED.y), scene(ON_RED))
    assert dispute == (ON_RED if found else None)


def test_only_the_object_that_is_taken_is_asked_about() -> None:
    assert disputed_target(ten_steps(), scene(ON_BLUE)) is None
    assert disputed_target(ten_steps(), scene(ON_BLUE, ON_RED)) is ON_RED
    assert disputed_target(ten_steps(), None) is None


def test_what_a_person_was_sure_of_holds_for_that_object_at_that_place() -> None:
    near, far = replace(RED, x=RED.x + 0.009), replace(RED, x=RED.x + 0.011)
    assert disputed_target(ten_steps(), scene(ON_RED), (near,)) is None
    assert disputed_target(ten_steps(), scene(ON_RED), (far,)) is ON_RED
    assert disputed_target(ten_steps(), scene(ON_RED), (replace(RED, label="x"),)) is ON_RED


async def test_a_disputed_object_is_asked_about_before_anything_moves(make_house: Any) -> None:
    house = make_house(Scripted(ten_steps()))
    house.eye.disputed = (ON_RED,)
    run_id = await house.begin(goal="put the red block in the bin")
    question = await house.question(run_id)
    assert house.session.tools == ["look"]
    assert question["code"] == Code.AMBIGUOUS
    assert question["text"].startswith(ON_RED.sentence)
    assert "x 0.220, y 0.090" in question["text"]
    assert (await house.say(run_id, "the left one")).code is Code.OUT_OF_RANGE
    assert (await house.say(run_id, IT_IS)).ok
    run = await house.ended(run_id)
    assert run["result"] == "done"
    assert house.session.tools[:2] == ["look", "look"]  # the table may have changed meanwhile
    assert house.session.tools.count("close_gripper") == 1


async def test_look_again_asks_again_and_an_agreement_goes_on(make_house: Any) -> None:
    house = make_house(Scripted(ten_steps()))
    house.eye.disputed = (ON_RED,)
    run_id = await house.begin(goal="put the red block in the bin")
    await house.question(run_id)
    house.eye.disputed = ()
    assert (await house.say(run_id, "try again")).ok
    assert (await house.ended(run_id))["result"] == "done"


@pytest.mark.parametrize("answer", ["give up", "no"])
async def test_no_ends_the_run_asked_and_nothing_has_moved(make_house: Any, answer: str) -> None:
    house = make_house(Scripted(ten_steps()))
    house.eye.disputed = (ON_RED,)
    run_id = await house.begin(goal="put the red block in the bin")
    assert (await house.say(run_id, answer)).ok
    run = await house.ended(run_id)
    assert (run["result"], run["cause"]) == ("asked", "ambiguous")
    assert set(house.session.tools) == {"look"}


async def test_nobody_answers_and_nothing_has_moved(make_house: Any) -> None:
    house = make_house(Scripted(ten_steps()), answer_timeout_s=0.0)
    house.eye.disputed = (ON_RED,)
    run = await house.goal()
    assert (run["result"], run["cause"]) == ("asked", "answer_timeout")
    assert "close_gripper" not in house.session.tools


async def test_a_model_that_disputes_for_ever_ends_in_a_named_result(make_house: Any) -> None:
    house = make_house(Scripted(ten_steps()))
    house.eye.disputed = (ON_RED,)
    run_id = await house.begin(goal="put the red block in the bin")
    await house.say_each(run_id, "try again", MAX_ROUNDS)
    run = await house.ended(run_id)
    assert run["result"] == "asked"
    assert "After 12 rounds" in run["sentence"]


@pytest.mark.parametrize("how", ["cancel", "stop"])
async def test_a_run_ends_at_once_while_a_model_looks(make_house: Any, how: str) -> None:
    house = make_house(Scripted(ten_steps()))
    house.eye.waits = asyncio.Event()  # never set: a model that answers nothing
    run_id = await house.begin(goal="put the red block in the bin")
    while not house.eye.consulted:
        await asyncio.sleep(0)
    if how == "cancel":
        await house.runs.cancel(run_id, AGENT)
    else:
        house.runs.notify_stop()
    run = await house.ended(run_id)
    assert run["result"] == {"cancel": "cancelled", "stop": "stopped"}[how]
    assert "close_gripper" not in house.session.tools
