"""The form of a plan: what parses, what is reported, and that nothing raises."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.plan.parse import MAX_DEPTH, MAX_PROBLEMS, MAX_TEXT, parse_plan
from armlabd.plan.plan import Plan, Step
from armlabd.verdict import Code, Problem

STATUS = {"tool": "get_status"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["steps", "tool", "args", "note", "expect", "x"]) | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def problems(obj: object, **options: int) -> tuple[Problem, ...]:
    found = parse_plan(obj, **options)
    assert isinstance(found, tuple), found
    assert found, "neither a plan nor a problem"
    return found


def sentences(obj: object) -> str:
    return "\n".join(problem.sentence for problem in problems(obj))


def test_a_plan_parses_with_every_key_and_comes_back_as_the_same_json() -> None:
    step = {
        "tool": "close_gripper",
        "args": {},
        "note": "grip",
        "expect": {"holding_something": True},
    }
    plan = parse_plan({"steps": [step], "goal": "g"}, planner="p")
    assert isinstance(plan, Plan)
    assert plan.to_dict() == {"steps": [step], "planner": "p", "goal": "g"}
    assert parse_plan(json.loads(json.dumps(plan.to_dict())), planner="p") == plan


def test_arguments_note_and_expect_may_be_left_out() -> None:
    assert parse_plan({"steps": [STATUS]}) == Plan((Step("get_status"),))


def test_a_plan_is_signed_by_whoever_made_it_not_by_its_own_claim() -> None:
    plan = parse_plan({"steps": [STATUS], "planner": "rules"}, planner="http")
    assert isinstance(plan, Plan)
    assert plan.planner == "http"


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        (None, "got nothing"),
        ([STATUS], "got a list"),
        ("steps", "got text"),
        (3, "got a number"),
        ({}, "there is none"),
        ({"steps": {}}, "it is an object"),
        ({"steps": []}, "no steps"),
        ({"steps": [1]}, "step 1: a step is an object"),
        ({"steps": [STATUS, {"args": {}}]}, 'step 2: "tool" must name a tool'),
        ({"steps": [{"tool": ""}]}, 'step 1: "tool" must name a tool'),
        ({"steps": [{"tool": True}]}, "got true or false"),
        ({"steps": [{"tool": "look", "args": [1]}]}, '"args" must be an object'),
        ({"steps": [{"tool": "look", "args": None}]}, '"args" must be an object'),
        ({"steps": [{"tool": "look", "expect": True}]}, '"expect" must be an object'),
        ({"steps": [{"tool": "look", "note": 1}]}, '"note" must be text'),
        ({"steps": [{"tool": "look", "x": 1}]}, "'x' is no key"),
        ({"steps": [STATUS], "speed": 1}, "'speed' is no key"),
        ({"steps": [{"tool": "look", "note": "n" * (MAX_TEXT + 1)}]}, "longer than"),
    ],
)
def test_each_fault_of_form_is_named(obj: object, says: str) -> None:
    assert says in sentences(obj)


def test_all_faults_are_reported_at_once() -> None:
    found = problems({"steps": [1, {"tool": 2, "args": 3}, {"tool": "look", "z": 0}]})
    assert [p.sentence.split(":")[0] for p in found] == ["step 1", "step 2", "step 2", "step 3"]
    assert {p.code for p in found} == {Code.BAD_PLAN}


def test_the_list_of_faults_is_bounded() -> None:
    assert len(problems({"steps": [1] * 150})) == MAX_PROBLEMS


def test_the_longest_plan_is_allowed_and_one_step_more_is_not() -> None:
    assert isinstance(parse_plan({"steps": [STATUS] * 7}, max_steps=7), Plan)
    (problem,) = problems({"steps": [STATUS] * 8}, max_steps=7)
    assert problem.code is Code.TOO_LONG


def test_nesting_of_any_depth_is_a_problem_and_no_exception() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    assert f"more than {MAX_DEPTH} levels" in sentences({"steps": [{"tool": "x", "args": deep}]})


def test_case_78_a_plan_that_claims_done_without_steps_is_no_plan() -> None:
    found = problems({"steps": [], "goal": "done", "planner": "done"})
    assert found[0].code is Code.BAD_PLAN
    assert "done" in sentences({"result": "done"}) or "is no key" in sentences({"result": "done"})


@settings(max_examples=150)
@given(JSON)
def test_any_json_gives_a_plan_or_problems(obj: object) -> None:
    found = parse_plan(obj)
    assert isinstance(found, Plan) or (found and all(p.sentence for p in found))


def test_a_check_becomes_the_expect_of_the_close_before_it() -> None:
    check = Step("check", {"field": "holding_something", "equals": True})
    plan = Plan((Step("get_status"), Step("close_gripper"), check, Step("go_home")))
    assert plan.folded().steps == (
        Step("get_status"),
        Step("close_gripper", expect={"holding_something": True}),
        Step("go_home"),
    )
