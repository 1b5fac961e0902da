"""The recovery table against the textbook's rows and ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from armlabd.execute.recovery import Action, Situation, decide, situation_from
from armlabd.plan.stops import means_stop
from armlabd.verdict import Code

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "recovery.json").read_text())
PRINCIPLES = {"chance", "repeated failure", "refusal tells the fix", "stop", "ambiguity"}


@pytest.mark.parametrize("row", VECTORS["situations"] + VECTORS["derived"], ids=lambda r: r["id"])
def test_every_row_of_the_vectors(row: dict[str, Any]) -> None:
    decision = decide(situation_from(row["input"], means_stop))
    assert decision.action == row["action"]
    if row.get("principle") in PRINCIPLES:
        assert decision.principle == row["principle"]
    assert decision.wait_s >= row.get("wait_s_at_least", 0.0)


def test_the_limit_of_attempts_is_where_it_is_said() -> None:
    def miss(attempt: int) -> Action:
        return decide(
            Situation("grasp_check", holding=False, attempt=attempt, max_attempts=3)
        ).action

    assert [miss(n) for n in (1, 2, 3, 4)] == [Action.RETRY, Action.RETRY, Action.ASK, Action.ASK]


@pytest.mark.parametrize("cause", [Code.STOPPED, Code.LEASE_LOST, Code.BUS_LOST, Code.CORE_LOST])
def test_nothing_restarts_a_stopped_arm(cause: Code) -> None:
    assert decide(Situation("refusal", cause=cause)).action is Action.ASK


def test_a_stop_outranks_every_other_row() -> None:
    for event in ("grasp_check", "refusal", "status", "scene", "look"):
        facts = Situation(event, holding=False, cause=Code.STOPPED, user_stop=True, matches=2)
        assert decide(facts).action is Action.STOP


def test_what_no_row_knows_is_asked() -> None:
    assert decide(Situation("refusal", cause=Code.INTERNAL)).action is Action.ASK
