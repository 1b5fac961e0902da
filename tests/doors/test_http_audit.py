"""What the door refuses by itself is in the audit, and no stranger can fill it."""

from __future__ import annotations

from typing import Any

import pytest

JSON = {"Content-Type": "application/json"}


REFUSED_AT_THE_DOOR: list[tuple[str, str, str, dict[str, Any]]] = [
    ("agent", "/call/go_home", "bad_json", {"data": "{x", "headers": JSON}),
    ("agent", "/call/go_home", "not_an_object", {"json": [1]}),
    ("agent", "/call/go_home", "bad_media_type", {"data": "{}"}),
    ("agent", "/call/go_home", "too_large", {"data": b"x" * 70_000, "headers": JSON}),
    ("agent", "/stop/clear", "role", {}),
    ("operator", "/stop/clear", "unknown_parameter", {"json": {"now": True}}),
    ("agent", "/plans/run", "bad_plan", {"json": {"steps": 5}}),
    ("agent", "/goals", "missing_parameter", {"json": {}}),
    ("agent", "/goals", "wrong_type", {"json": {"goal": 5}}),
    ("agent", "/questions/q", "role", {"json": {"answer": "1"}}),
    ("wrong", "/call/go_home", "bad_key", {"json": {}}),
    ("agent", "/call/go_home", "host_refused", {"json": {}, "headers": {"Host": "evil.example"}}),
    (
        "agent",
        "/goals",
        "origin_refused",
        {"json": {}, "headers": {"Origin": "https://evil.example"}},
    ),
]


@pytest.mark.parametrize(("key", "path", "code", "more"), REFUSED_AT_THE_DOOR)
async def test_what_the_door_itself_refuses_has_its_audit_line(
    door: Any, key: str, path: str, code: str, more: dict[str, Any]
) -> None:
    answer = await door.ask("POST", path, key=key, **more)
    assert answer.code == code, answer
    (row,) = door.audit.tail()
    assert (row["code"], row["outcome"]) == (code, "refused")
    assert row["sentence"] == answer.body["error"]
    assert row["tool"] in (f"POST {path}", "goal")
    assert row["key"] == (key if key != "wrong" else "nobody")


async def test_what_only_reads_leaves_no_audit_line(door: Any) -> None:
    await door.ask("GET", "/status", key="wrong")
    await door.ask("POST", "/plans/check", data="{x", headers=JSON)
    await door.ask("GET", "/nowhere")
    assert door.audit.tail() == []


async def test_strangers_cannot_fill_the_audit(open_door: Any) -> None:
    async with open_door() as door:
        for _ in range(60):
            await door.ask("POST", "/goals", key=None, json={"goal": "go home"})
        assert len(door.audit.tail(100)) == 30
        door.clock.sleep(61.0)
        await door.ask("POST", "/goals", key=None, json={"goal": "go home"})
        assert len(door.audit.tail(100)) == 31
