"""GET /models and PUT /models/...: bodies, roles, rates and audit as of their neighbours."""

from __future__ import annotations

from typing import Any

import pytest

RULES = {"backend": "rules"}


async def test_the_list_has_the_rules_and_the_catalog(door: Any) -> None:
    answer = await door.ask("GET", "/models", key="reader")
    assert answer.status == 200
    assert answer.body["planner"]["backend"] == "rules"
    assert answer.body["vision"]["backend"] == "none"
    assert answer.body["models"][0]["backend"] == "rules"
    assert {"rules", "ollama", "smolvlm"} == {row["backend"] for row in answer.body["models"]}


@pytest.mark.parametrize("path", ["/models/planner", "/models/vision"])
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "missing_parameter"),
        ({"backend": "gpt"}, "wrong_type"),
        ({"backend": None}, "wrong_type"),
        ({"backend": "smolvlm"}, "missing_parameter"),
        ({"backend": "smolvlm", "model": "x", "now": True}, "unknown_parameter"),
        ({"backend": "smolvlm", "model": "/nowhere"}, "no_model"),
    ],
)
async def test_a_wrong_choice_is_refused_told_and_written_down(
    door: Any, path: str, body: dict[str, Any], code: str
) -> None:
    answer = await door.ask("PUT", path, key="operator", json=body)
    assert answer.code == code, answer
    (row,) = door.audit.tail()
    assert (row["code"], row["key"]) == (code, "operator")
    assert row["tool"] == f"use model for {path.rsplit('/', 1)[-1]}"


@pytest.mark.parametrize("key", ["reader", "agent"])
async def test_others_than_operators_swap_nothing(door: Any, key: str) -> None:
    answer = await door.ask("PUT", "/models/planner", key=key, json=RULES)
    assert (answer.status, answer.code) == (403, "role")
    (row,) = door.audit.tail()
    assert row["tool"] == "PUT /models/planner"


async def test_swaps_count_in_the_bucket_of_goals(open_door: Any) -> None:
    async with open_door(rate={"goals_per_s": 2}) as door:
        answers = [
            await door.ask("PUT", "/models/planner", key="operator", json=RULES) for _ in range(3)
        ]
    assert [answer.status for answer in answers] == [202, 202, 429]


async def test_a_list_changes_nothing(door: Any) -> None:
    await door.ask("GET", "/models", key="reader")
    assert door.audit.tail() == []
