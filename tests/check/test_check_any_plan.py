"""Whatever a model writes, the checker answers: no exception, an outcome, faults that name it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.arm.joints import HOME
from armlabd.arm.limits import CEILINGS
from armlabd.check.checker import OUTCOMES, CheckContext, check_plan
from armlabd.check.report import VALID
from armlabd.config import Config
from armlabd.gate.moves import MoveSettings
from armlabd.gate.tools import tool_table
from armlabd.plan.parse import parse_plan
from armlabd.plan.plan import Plan

CONFIG = Config()
RULES = CheckContext(tool_table(CONFIG))
REACH = CheckContext(tool_table(CONFIG), HOME, settings=MoveSettings.of(CONFIG, CEILINGS))
TOOLS = st.sampled_from([*tool_table(CONFIG), "check", "wave"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.floats(0.0, 0.3)
    | st.text(max_size=3)
)
NAMES = st.sampled_from(
    ["x", "y", "z", "speed_dps", "yaw_deg", "percent", "field", "equals", "holding_something"]
)
WILD = st.fixed_dictionaries(
    {"tool": TOOLS | st.text(max_size=4)},
    optional={
        "args": st.dictionaries(NAMES | st.text(max_size=2), SCALARS, max_size=5),
        "expect": st.none() | st.dictionaries(NAMES, SCALARS, max_size=2),
        "note": st.text(max_size=3),
    },
)
TAME = st.fixed_dictionaries(
    {
        "tool": st.just("move_to_pose"),
        "args": st.fixed_dictionaries(
            {"x": st.floats(0.1, 0.28), "y": st.floats(-0.15, 0.15), "z": st.floats(0.02, 0.07)}
        ),
    }
) | st.sampled_from(
    [
        {"tool": "get_status"},
        {"tool": "open_gripper", "args": {"percent": 50}},
        {"tool": "close_gripper", "expect": {"holding_something": True}},
        {"tool": "go_home"},
        {"tool": "look"},
    ]
)


def assert_answered(steps: list[dict[str, object]], context: CheckContext) -> None:
    plan = parse_plan({"steps": steps})
    if not isinstance(plan, Plan):
        assert plan
        return
    report = check_plan(plan, context)
    assert report.outcome in (VALID, *OUTCOMES.values())
    assert (report.outcome == VALID) is report.ok
    for fault in (*report.faults, *report.warnings):
        assert fault.sentence
        assert 0 <= fault.step <= len(plan.steps)
    assert report.ok or report.outcome in {OUTCOMES[fault.rule] for fault in report.faults}


@settings(max_examples=150, deadline=None)
@given(st.lists(WILD, max_size=8))
def test_any_steps_are_answered_by_the_rules(steps: list[dict[str, object]]) -> None:
    assert_answered(steps, RULES)


@settings(max_examples=25, deadline=None)
@given(st.lists(WILD | TAME, max_size=6))
def test_any_steps_are_answered_by_the_simulation(steps: list[dict[str, object]]) -> None:
    assert_answered(steps, REACH)
