"""The checks of the door in their order: a request that violates two gets the earlier status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "http_status.json").read_text())
FAR = {"x": 0.35, "y": 0.1, "z": 0.05}
NEAR = {"x": 0.2, "y": 0.0, "z": 0.05}
EVIL = {"Host": "evil.example"}
LONG = "x" * 70_000
TEXT = {"Content-Type": "text/plain"}
JSON = {"Content-Type": "application/json"}

# Each violates the named check and the next one; the status is of the earlier one.
PAIRS: list[tuple[str, int, dict[str, Any]]] = [
    ("host before key", 403, {"path": "/tools", "method": "GET", "key": None, "headers": EVIL}),
    ("key before address", 401, {"path": "/nowhere", "key": "wrong"}),
    ("address before size", 404, {"path": "/nowhere", "data": LONG}),
    ("size before type", 413, {"path": "/call/go_home", "data": LONG, "headers": TEXT}),
    ("type before JSON", 415, {"path": "/call/go_home", "data": "{x", "headers": TEXT}),
    ("JSON before tool", 400, {"path": "/call/wave", "data": "{x", "headers": JSON}),
    ("tool before role", 404, {"path": "/call/wave", "key": "reader", "json": {}}),
]


@pytest.mark.parametrize(("name", "status", "request_"), PAIRS, ids=[pair[0] for pair in PAIRS])
async def test_the_earlier_check_answers(
    door: Any, name: str, status: int, request_: dict[str, Any]
) -> None:
    asked = dict(request_)
    answer = await door.ask(asked.pop("method", "POST"), asked.pop("path"), **asked)
    assert answer.status == status, answer.body
    assert answer.body["ok"] is False
    assert answer.body["error"]


async def test_role_comes_before_rate(open_door: Any) -> None:
    async with open_door(rate={"calls_per_s": 1}) as door:
        assert (await door.call("get_status", key="reader")).status == 200
        assert (await door.call("go_home", key="reader")).status == 403
        assert (await door.call("get_status", key="reader")).status == 429


async def test_rate_comes_before_arguments(open_door: Any) -> None:
    async with open_door(rate={"calls_per_s": 1}) as door:
        assert (await door.call("move_to_pose", **FAR)).status == 400
        assert (await door.call("move_to_pose", **FAR)).status == 429


async def test_arguments_come_before_allowance(open_door: Any) -> None:
    async with open_door(simulated=False) as door:
        assert (await door.call("move_to_pose", **FAR)).status == 400
        refused = await door.call("move_to_pose", **NEAR)
        assert (refused.status, refused.code) == (403, "not_allowed")
        assert "[gate] allow" in refused.body["error"]


async def test_allowance_comes_before_the_stop(open_door: Any) -> None:
    async with open_door(simulated=False) as door:
        door.core.set(stopped=True)
        assert (await door.call("go_home")).code == "not_allowed"
        assert (await door.call("go_home", key="operator")).code == "stopped"


async def test_stop_comes_before_busy_and_busy_before_no_arm(door: Any) -> None:
    door.house.session.take("run-000001", door.house.keys.check(door.keys["agent"]))
    door.core.set(connected=False)
    busy = await door.call("go_home")
    assert (busy.status, busy.code) == (409, "busy")
    assert "run-000001" in busy.body["error"]
    door.core.set(stopped=True)
    assert (await door.call("go_home")).code == "stopped"
    door.core.set(stopped=False)
    door.house.session.release("run-000001")
    absent = await door.call("go_home")
    assert (absent.status, absent.code) == (503, "no_arm")


async def test_a_goal_meets_the_same_order(open_door: Any) -> None:
    async with open_door(rate={"goals_per_s": 1}, simulated=False) as door:

        async def goal(text: Any, key: str = "agent") -> Any:
            return await door.ask("POST", "/goals", key=key, json={"goal": text})

        assert (await goal("go home", key="reader")).code == "role"
        assert (await goal(7)).code == "wrong_type"
        limited = await goal("go home")
        assert (limited.status, limited.code) == (429, "rate_limit")
        door.clock.sleep(1.0)
        assert (await goal("go home")).code == "not_allowed"
        door.core.set(stopped=True)
        assert (await goal("go home", key="operator")).code == "stopped"


# --- the vectors --------------------------------------------------------------------------------


def vector_requests() -> list[tuple[str, int, dict[str, Any]]]:
    rows = [(r["id"], r["status"], r["reproduce"]) for r in VECTORS["responses"] if r["reproduce"]]
    return rows + [(r["id"], r["status"], r["request"]) for r in VECTORS["derived"]]


@pytest.mark.parametrize(("row", "status", "said"), vector_requests(), ids=lambda v: str(v)[:12])
async def test_every_row_of_the_vectors_that_a_door_can_answer(
    door: Any, row: str, status: int, said: dict[str, Any]
) -> None:
    if said.get("after") == "stop":
        await door.call("stop")
    for key in {"right": ["agent"], "wrong": ["wrong"]}.get(said["key"], [None, "wrong"]):
        if "raw_body" in said:
            more: dict[str, Any] = {"data": said["raw_body"], "headers": JSON}
        else:
            more = {"json": said["body"]} if "body" in said else {}
        answer = await door.ask(said["method"], said["path"], key=key, **more)
        assert answer.status == status, (row, answer.body)


async def test_the_ten_calls_of_the_textbooks_run(door: Any) -> None:
    for call in VECTORS["server_run"]["calls"]:
        key = {"absent": None, "wrong": "wrong"}.get(call.get("key", "right"), "agent")
        more = {"json": call["body"]} if "body" in call else {}
        answer = await door.ask(call["method"], call["path"], key=key, **more)
        assert answer.status == call["status"], call
        if "tools" in call:
            names = {tool["name"] for tool in answer.body["tools"]}
            assert set(call["tools"]) <= names


async def test_ten_quick_calls_are_five_answers_and_five_refusals(open_door: Any) -> None:
    burst, expected = VECTORS["rate_limit"]["burst"], VECTORS["rate_limit"]["expect"]
    async with open_door(rate={}) as door:
        answers = [await door.call("get_status") for _ in range(burst)]
        for status, count in expected.items():
            assert [a.status for a in answers].count(int(status)) == count
        last = answers[-1]
        assert last.headers["Retry-After"] == "1"
        assert 0.0 < last.body["retry_after"] <= 1.0
        assert "Wait 1.00 s" in last.body["error"]
        assert (await door.call("stop")).status == 200  # a stop is never limited
        door.clock.sleep(1.0)
        assert (await door.call("get_status")).status == 200


async def test_a_call_that_is_no_json_counts_too(open_door: Any) -> None:
    async with open_door(rate={}) as door:
        for _ in range(8):
            answer = await door.ask("POST", "/call/go_home", data="{", headers=JSON)
            assert (answer.status, answer.code) == (400, "bad_json")  # JSON comes before rate
        assert (await door.call("get_status")).status == 429
        door.clock.sleep(1.0)
        assert (await door.call("get_status")).status == 200


async def test_the_status_comes_from_the_code_and_never_from_words(door: Any) -> None:
    for words in ("unknown tool", "is stopped", "role", "too many"):
        answer = await door.call("move_to_pose", x=words, y=0.1, z=0.05)
        assert (answer.status, answer.code) == (400, "wrong_type")
