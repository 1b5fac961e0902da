"""Skills: the ten steps with their figures, and plans written as calls of skills by name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from plan_scenes import ONE_EACH, TWO_RED, Scene, Seen, context, ending

from armlabd.plan.calls import MAX_CALLS, SKILLS, plan_calls
from armlabd.plan.plan import Plan
from armlabd.plan.question import Question
from armlabd.plan.rules import RulesPlanner
from armlabd.plan.skills import Grip, Spot, grasp_z, pick_and_place
from armlabd.plan.text import MAX_CHARS, Coordinates, mended, tokens_of
from armlabd.plan.words import KNOWN

OBJECTS = st.sampled_from(["red block", "it", "x", "0.2 0.1"])
PLACES = st.sampled_from(["bin", "there", "x 0.2 y 0.1"])
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


def test_a_plan_of_skills_becomes_the_same_steps_as_the_sentence() -> None:
    call = {"skill": "pick_and_place", "object": "red block", "place": "bin"}
    plan = plan_calls([call], context(ONE_EACH), "model", "g")
    spoken = RulesPlanner().answer("put the red block in the bin", context(ONE_EACH))
    assert isinstance(plan, Plan)
    assert isinstance(spoken, Plan)
    assert plan.steps == spoken.steps
    assert (plan.planner, plan.goal) == ("model", "g")


def test_skills_chain_on_the_table_the_earlier_ones_leave() -> None:
    calls = [
        {"skill": "pick_up", "object": "green block"},
        {"skill": "put_down", "place": "x 0.25 y 0.03"},
        {"skill": "set_aside", "object": "red block"},
        {"skill": "go_home"},
    ]
    got = ending(plan_calls(calls, context(ONE_EACH), "model"), ONE_EACH)  # type: ignore[arg-type]
    assert got.startswith("pick green, put 0.25 0.03, pick red, put ")


def test_what_a_name_leaves_open_is_asked() -> None:
    call = {"skill": "pick_up", "object": "red block"}
    answer = plan_calls([call], context(TWO_RED), "model")
    assert isinstance(answer, Question)


@pytest.mark.parametrize(
    "calls",
    [
        None,
        [],
        {},
        [1],
        [{"skill": "fly"}],
        [{"skill": "go_home", "object": "x"}],
        [{"skill": "pick_up"}],
        [{"skill": "pick_up", "object": 3}],
        [{"skill": "pick_up", "object": ""}],
        [{"skill": ["go_home"]}],
        [{"skill": "go_home"}] * (MAX_CALLS + 1),
    ],
)
def test_calls_of_the_wrong_form_are_problems(calls: object) -> None:
    answer = plan_calls(calls, context(ONE_EACH), "model")
    assert isinstance(answer, tuple)
    assert answer


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"skill": st.sampled_from(sorted(SKILLS))},
            optional={
                "object": st.sampled_from(["red block", "it", "x", "0.2 0.1"])
                | st.text(max_size=5),
                "place": st.sampled_from(["bin", "there", "x 0.2 y 0.1"]) | st.text(max_size=5),
            },
        ),
        max_size=3,
    )
)
def test_any_calls_are_answered(calls: list[dict[str, str]]) -> None:
    answer = plan_calls(calls, context(ONE_EACH), "model")
    assert isinstance(answer, Plan | Question) or answer


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
