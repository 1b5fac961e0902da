"""The textbook's plan checker, row by row.

The rows are about the five rules alone (row d3 says so: its corner is out of the arm's reach), so
they are checked without a pose; a last test shows that reach may only add R6 faults to them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from armlabd.check.checker import OUTCOMES, CheckContext, check_plan
from armlabd.check.report import VALID, Report
from armlabd.config import Config
from armlabd.gate.tools import tool_table
from armlabd.plan.parse import parse_plan
from armlabd.plan.plan import Plan

VECTORS = json.loads(
    (Path(__file__).parents[1] / "vectors" / "plan_checker.json").read_text(encoding="utf-8")
)
ROWS = VECTORS["plans"] + VECTORS["derived"]
CONTEXT = CheckContext(tool_table(Config()))


def plan_of(steps: list[dict[str, Any]]) -> Plan:
    plan = parse_plan({"steps": steps})
    assert isinstance(plan, Plan), plan
    return plan


def check(steps: list[dict[str, Any]]) -> Report:
    return check_plan(plan_of(steps), CONTEXT)


@pytest.mark.parametrize("row", ROWS, ids=[str(row["id"]) for row in ROWS])
def test_every_row_has_the_outcome_rule_and_step_of_the_table(row: dict[str, Any]) -> None:
    report = check(row["steps"])
    assert report.outcome == row["outcome"]
    if row["rule"] is None:
        assert report.ok
        return
    assert OUTCOMES[row["rule"]] == row["outcome"]
    steps = [fault.step for fault in report.faults if fault.rule == row["rule"]]
    assert steps == [row["fault_step"]]


def test_the_words_of_the_table_are_the_words_of_the_checker() -> None:
    table = {rule["id"]: rule["outcome"] for rule in VECTORS["rules_in_order"]}
    assert {rule: OUTCOMES[rule] for rule in table} == table
    assert {VALID, *table.values()} == set(VECTORS["outcomes"])


def test_the_bad_plan_of_the_lab_has_faults_at_steps_four_and_five_only() -> None:
    row = next(row for row in VECTORS["derived"] if row["id"] == "d4")
    assert [fault.step for fault in check(row["steps"]).faults] == row["schema_faults_at_steps"]


def test_the_bare_model_plan_is_refused_at_step_six_because_nothing_is_expected() -> None:
    report = check(VECTORS["model_plan"]["steps"])
    assert report.outcome == VECTORS["model_plan"]["outcome_if_check_must_be_a_step"]
    assert [(fault.step, fault.rule) for fault in report.faults] == [(6, "R5")]


def test_the_model_plan_with_an_expect_is_valid() -> None:
    steps = [dict(step) for step in VECTORS["model_plan"]["steps"]]
    steps[4]["expect"] = {"holding_something": True}
    report = check(steps)
    assert report.ok
    assert not report.warnings


def test_plan_seven_is_valid_but_warned_of_dragging_and_dropping() -> None:
    report = check(VECTORS["plans"][6]["steps"])
    assert report.ok
    assert [(w.step, w.rule) for w in report.warnings] == [(7, "R7"), (8, "R8")]
