"""Skills: the ten steps with their figures, and plans written as calls of skills by name."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from plan_scenes import BIN, ONE_EACH, Scene, Seen, context, ending

from armlabd.plan.calls import plan_of_skills
from armlabd.plan.context import PlanContext
from armlabd.plan.listed import Listed
from armlabd.plan.plan import Plan
from armlabd.plan.question import Question
from armlabd.plan.rules import RulesPlanner
from armlabd.plan.skills import Grip, Spot, grasp_z, pick_and_place
from armlabd.plan.spots import free_spot, spot_beside
from armlabd.plan.text import MAX_CHARS, Coordinates, mended, tokens_of
from armlabd.plan.words import KNOWN
from armlabd.verdict import Code

PICK_RED = {"skill": "pick_up", "object": "red block"}
PUT_RED = {"skill": "pick_and_place", "object": "red block", "place": "bin"}
SAID = [*sorted(KNOWN), ",", ".", "x 0.2 y 0.1", "0.2"]


def test_pick_and_place_is_the_ten_steps_with_the_grasp_expected_at_step_five() -> None:
    grip = Grip("red block", 0.22, 0.089, 0.02, 30.0)
    steps = pick_and_place(grip, Spot("the bin", 0.20, -0.10, 0.05, 0.0), 45.0)
    assert [step.tool for step in steps] == [
        "get_status",
        "open_gripper",
        "move_to_pose",
        "move_to_pose",
        "close_gripper",
        "move_to_pose",
        "move_to_pose",
        "move_to_pose",
        "open_gripper",
        "go_home",
    ]
    assert [s.args["z"] for s in steps if "z" in s.args] == [0.07, 0.02, 0.07, 0.07, 0.05]
    assert steps[4].expect == {"holding_something": True}
    assert {s.args["percent"] for s in steps if s.tool == "open_gripper"} == {50.0}
    assert all(step.note for step in steps)


@pytest.mark.parametrize(
    ("height", "z"), [(0.03, 0.02), (0.0, 0.02), (0.031, 0.0205), (0.06, 0.035), (0.02, 0.02)]
)
def test_the_grip_is_a_little_over_the_middle_and_never_below_two_centimetres(
    height: float, z: float
) -> None:
    assert grasp_z(height) == pytest.approx(z)


@pytest.mark.parametrize(("yaw", "turns"), [(0.0, 0.0), (20.0, 20.0), (-40.0, -40.0), (44.0, 44.0)])
def test_the_jaws_open_square_to_a_face_of_the_block(yaw: float, turns: float) -> None:
    scene = Scene((Seen("red block", 0.20, 0.05, yaw),))
    plan = RulesPlanner().answer("pick up the red block", context(scene))
    assert isinstance(plan, Plan)
    (opened,) = {s.args["yaw_deg"] for s in plan.steps if s.tool == "move_to_pose"}
    assert -90.0 <= opened <= 90.0
    assert (opened - turns) % 90.0 == pytest.approx(0.0, abs=1e-6)


def test_slowly_means_slower_and_never_faster() -> None:
    def speeds(sentence: str, speed_dps: float) -> set[float]:
        plan = RulesPlanner().answer(sentence, context(ONE_EACH, speed_dps=speed_dps))
        assert isinstance(plan, Plan)
        return {s.args["speed_dps"] for s in plan.steps if s.tool == "move_to_pose"}

    assert speeds("put the red block in the bin", 45.0) == {45.0}
    assert speeds("put the red block in the bin slowly", 45.0) == {15.0}
    assert speeds("put the red block in the bin slowly", 10.0) == {10.0}


# --- calls


def of_calls(calls: list[Any], seen: Scene, **changes: object) -> Any:
    there = context(seen, **changes)
    return plan_of_skills(calls, Listed.of("g", there), there, "model", "g")


def test_a_plan_of_skills_becomes_the_same_steps_as_the_sentence() -> None:
    plan = of_calls([PUT_RED], ONE_EACH)
    spoken = RulesPlanner().answer("put the red block in the bin", context(ONE_EACH))
    assert isinstance(plan, Plan)
    assert isinstance(spoken, Plan)
    assert plan.steps == spoken.steps
    assert (plan.planner, plan.goal) == ("model", "g")


def test_skills_chain_on_the_table_the_earlier_ones_leave() -> None:
    calls = [
        {"skill": "pick_up", "object": "green block"},
        {"skill": "put_down", "place": "a free spot"},
        {"skill": "set_aside", "object": "red block"},
        {"skill": "go_home"},
    ]
    got = ending(of_calls(calls, ONE_EACH), ONE_EACH)
    assert re.fullmatch(r"pick green, put \S+ \S+, pick red, put \S+ \S+, home", got)


def test_a_name_is_the_very_object_and_the_very_place() -> None:
    """A place called "the bin, please" and a block called "it": words would read them otherwise."""
    seen = Scene((Seen("it", 0.22, 0.09), Seen("block", 0.20, 0.0), Seen("block", 0.20, 0.06)))
    there = PlanContext(seen, {"the bin, please": BIN, "Bin": (0.24, -0.05)})
    listed = Listed.of("g", there)
    assert list(listed.objects) == ["it", "block (right)", "block (left)"]
    for name, x, y in (
        ("it", 0.22, 0.09),
        ("block (right)", 0.20, 0.0),
        ("block (left)", 0.2, 0.06),
    ):
        for place, at in there.places.items():
            call = {"skill": "pick_and_place", "object": name, "place": place}
            plan = plan_of_skills([call], listed, there, "model", "g")
            assert isinstance(plan, Plan)
            moves = [step.args for step in plan.steps if step.tool == "move_to_pose"]
            assert (moves[0]["x"], moves[0]["y"]) == (x, y)
            assert math.dist((moves[-1]["x"], moves[-1]["y"]), at) < 0.04


@pytest.mark.parametrize(
    ("calls", "says"),
    [
        ([{"skill": "put_down", "place": "bin"}], "step 1: the hand holds nothing"),
        ([PICK_RED, PICK_RED], "step 2: the hand holds the red block already"),
        ([PICK_RED, {"skill": "pick_up", "object": "blue block"}], "step 2: the hand holds some"),
        ([PICK_RED, {"skill": "open"}], "step 2: the hand would drop"),
        ([PUT_RED, PUT_RED], "step 2: the red block lies at the bin already"),
        ([{**PUT_RED, "place": "beside red block"}], "step 1: the red block cannot be put beside"),
        (
            [PICK_RED, {"skill": "put_down", "place": "beside red block"}],
            "step 2: beside red block: the hand holds that one",
        ),
    ],
)
def test_calls_that_make_no_sense_after_one_another_are_told(calls: list[Any], says: str) -> None:
    answer = of_calls(calls, ONE_EACH)
    assert isinstance(answer, tuple)
    assert answer[0].startswith(says)


def test_what_is_held_may_be_placed_but_nothing_else_be_taken() -> None:
    assert ending(of_calls([PICK_RED, PUT_RED], ONE_EACH), ONE_EACH) == "pick red, put bin, home"
    full = of_calls([PICK_RED], ONE_EACH, holding=True)
    assert full == ("step 1: the hand holds something already; put that down first",)
    down = of_calls([{"skill": "put_down", "place": "bin"}], ONE_EACH, holding=True)
    assert isinstance(down, Plan)


def test_what_is_out_of_reach_is_a_question_and_the_answer_to_it_counts() -> None:
    seen = Scene((Seen("red block", 0.32, 0.20), Seen("blue block", 0.18, 0.05)))
    question = of_calls([PUT_RED], seen)
    assert isinstance(question, Question)
    assert (question.code, question.kind) == (Code.UNREACHABLE, "object:red block")
    other = of_calls([PUT_RED], seen, answers={question.kind: "the blue block"})
    assert ending(other, seen) == "pick blue, put bin, home"
    again = of_calls([PUT_RED], seen, answers={question.kind: "again"})
    assert isinstance(again, Question)


def test_where_something_lies_already_another_place_is_asked_and_taken() -> None:
    seen = Scene((Seen("red block", 0.22, 0.09), Seen("blue block", 0.18, -0.05)))
    call = [{**PUT_RED, "place": "corner"}]
    told = replace(context(seen), places={"corner": (0.18, -0.05)})
    question = plan_of_skills(call, Listed.of("", told), told, "model", "g")
    assert isinstance(question, Question)
    assert (question.code, question.kind) == (Code.UNKNOWN_PLACE, "place:corner")
    told = replace(told, answers={question.kind: "a free spot"})
    assert isinstance(plan_of_skills(call, Listed.of("", told), told, "model", "g"), Plan)


# --- words


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("blok", "block"),
        ("blcok", "block"),
        ("bloock", "block"),
        ("teh", "the"),
        ("gripepr", "gripper"),
        ("opne", "open"),
        ("clock", "clock"),
        ("book", "book"),
        ("xyzzy", "xyzzy"),
        ("bed", "bed"),
    ],
)
def test_one_slip_is_mended_and_another_word_is_left_alone(said: str, meant: str) -> None:
    assert mended(said, KNOWN) == meant


@pytest.mark.parametrize(
    ("text", "point"),
    [
        ("x 0.2 y 0.1", (0.2, 0.1, None)),
        ("X=0.2, Y=-0.1", (0.2, -0.1, None)),
        ("x: 20 cm, y: 10 cm", (0.2, 0.1, None)),
        ("(200, -50) mm", (0.2, -0.05, None)),
        ("x 0.2 and y 0.1 and z 0.05", (0.2, 0.1, 0.05)),
        ("y .1 x .2", (0.2, 0.1, None)),
        ("(0.2,0.1)", (0.2, 0.1, None)),
        ("[0.2; 0.1; 0.03]", (0.2, 0.1, 0.03)),
        ("x is 0.2 y is minus 0.1", (0.2, -0.1, None)),
        ("x 0.2m y 0.1m", (0.2, 0.1, None)),
    ],
)
def test_coordinates_are_read_in_the_ways_people_write_them(
    text: str, point: tuple[float, float, float | None]
) -> None:
    assert tokens_of(f"go to {text} please", KNOWN).points == (Coordinates(*point),)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40) | st.lists(st.sampled_from(SAID), max_size=9).map(" ".join))
def test_any_sentence_is_answered(text: str) -> None:
    answer = RulesPlanner().answer(text, context(ONE_EACH))
    if isinstance(answer, Plan):
        assert answer.steps[0].tool == "get_status"
    elif isinstance(answer, Question):
        assert answer.text


def test_a_goal_of_any_length_is_answered_and_a_very_long_one_not_understood() -> None:
    answer = RulesPlanner().answer("put the red block in the bin " * MAX_CHARS, context(ONE_EACH))
    assert isinstance(answer, Question)


@pytest.mark.parametrize("beside", [(0.20, 0.0), (0.15, -0.02), (0.26, -0.03)])
def test_a_free_spot_leaves_room_for_a_held_block_between_it_and_the_bins_walls(
    beside: tuple[float, float],
) -> None:
    there = context(Scene((Seen("green block", 0.23, 0.10), Seen("blue block", *beside))))
    blocks = [(seen.x, seen.y) for seen in there.scene.objects]
    for spot in (
        free_spot(blocks, there, "a free spot"),
        spot_beside(beside, blocks, there, "beside it"),
    ):
        assert spot is not None
        assert max(abs(spot.x - BIN[0]), abs(spot.y - BIN[1])) >= 0.085


def test_jaws_open_less_where_a_neighbour_stands_on_every_side() -> None:
    alone = Scene((Seen("green block", 0.1694, 0.0736, 12.9),))
    crowd = Scene(
        (*alone.objects, Seen("blue block", 0.2391, 0.0639), Seen("red block", 0.1565, -0.0042))
    )
    opened = []
    for scene in (alone, crowd):
        plan = RulesPlanner().answer("pick up the green block", context(scene))
        assert isinstance(plan, Plan)
        opened.append(plan.steps[1].args["percent"])
    assert opened == [50.0, 35.0]
