"""The stop lane: any valid key, any body, any type, before everything else."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

EVIL = {"Host": "evil.example", "Origin": "http://evil.example"}


@pytest.mark.parametrize(
    "path",
    [
        "/stop",
        "/call/stop",
        "/call/stop/",
        "//call/stop",
        "/call//stop",
        "/call/st%6fp",
        "/stop?x=1",
        "/stop/",
    ],
)
@pytest.mark.parametrize("key", ["reader", "agent", "operator"])
async def test_every_spelling_of_the_address_stops(door: Any, path: str, key: str) -> None:
    from yarl import URL

    url = URL(door.server.url + path, encoded=True)
    async with door.http.post(url, headers={"X-API-Key": door.keys[key]}) as got:
        body = await got.json()
    assert (got.status, body["written"], body["confirmed"]) == (200, True, 6)
    assert door.core.stops == [key]


@pytest.mark.parametrize(
    "more",
    [
        {"data": b"{not json"},
        {"data": b"\xff\xfe\x00"},
        {"data": "x" * 200_000},
        {"data": "stop", "headers": {"Content-Type": "text/plain"}},
        {"json": {"now": True}},
        {"json": [[[[[]]]]]},
        {"headers": EVIL},
        {"headers": {"Expect": "the unexpected"}},
    ],
    ids=lambda more: str(more)[:30],
)
async def test_no_body_type_or_header_keeps_a_stop_out(door: Any, more: dict[str, Any]) -> None:
    answer = await door.ask("POST", "/call/stop", key="reader", **more)
    assert answer.status == 200
    assert answer.body["confirmed"] == 6
    assert door.core.stops == ["reader"]


async def test_a_stop_asks_no_limit_and_no_latch(open_door: Any) -> None:
    async with open_door(rate={"calls_per_s": 1, "goals_per_s": 1}) as door:
        for _ in range(20):
            assert (await door.ask("POST", "/stop", json={})).status == 200
        assert len(door.core.stops) == 20


@pytest.mark.parametrize("key", [None, "wrong"])
async def test_without_a_key_nothing_stops(door: Any, key: str | None) -> None:
    assert (await door.ask("POST", "/stop", key=key)).status == 401
    assert door.core.stops == []


async def test_a_key_in_the_query_is_no_key(door: Any) -> None:
    key = door.keys["operator"]
    for query in (f"X-API-Key={key}", f"key={key}", f"api_key={key}"):
        assert (await door.ask("POST", f"/stop?{query}", key=None)).status == 401
        assert (await door.ask("GET", f"/status?{query}", key=None)).status == 401
    assert door.core.stops == []


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"])
async def test_only_a_post_stops(door: Any, method: str) -> None:
    answer = await door.ask(method, "/stop")
    assert answer.status == 405
    assert answer.headers["Allow"] == "POST"
    assert door.core.stops == []


@pytest.mark.parametrize("words", ["stop", "STOP!!", "please stop", "halt", "stop the arm now"])
async def test_a_goal_that_means_stop_takes_the_lane(open_door: Any, words: str) -> None:
    async with open_door(rate={"goals_per_s": 1}, simulated=False) as door:
        door.core.set(stopped=True)
        ask = {"key": "reader", "headers": {**EVIL, "Content-Type": "text/plain"}}
        for _ in range(3):
            answer = await door.ask("POST", "/goals", data=json.dumps({"goal": words}), **ask)
            assert (answer.status, answer.body["confirmed"]) == (200, 6)
        assert door.core.stops == ["reader"] * 3


@pytest.mark.parametrize("body", ["stop", '"stop"', '{"goal": "stop", "why": 7}'])
async def test_a_clumsy_cry_of_stop_is_heard(door: Any, body: str) -> None:
    assert (await door.ask("POST", "/goals", data=body)).status == 200
    assert len(door.core.stops) == 1


@pytest.mark.parametrize("key", ["reader", "operator"])
async def test_stop_as_the_answer_to_any_question_takes_the_lane(door: Any, key: str) -> None:
    ask = {"key": key, "json": {"answer": "stop!"}}
    answer = await door.ask("POST", "/questions/run-000001-q1", **ask)
    assert (answer.status, answer.body["confirmed"]) == (200, 6)
    assert door.core.stops == [key]
    other = await door.ask("POST", "/questions/run-000001-q1", key="operator", json={"answer": "1"})
    assert other.code == "not_found"
    assert door.core.stops == [key]


async def test_a_goal_that_does_not_mean_stop_stops_nothing(door: Any) -> None:
    answer = await door.ask("POST", "/goals", json={"goal": "go home"})
    assert answer.status == 202
    assert answer.body["url"] == f"/runs/{answer.body['id']}"
    assert door.core.stops == []


async def test_a_stop_from_elsewhere_with_a_wrong_key_meets_the_host_guard(door: Any) -> None:
    assert (await door.ask("POST", "/goals", key=None, data="stop", headers=EVIL)).status == 403


async def raw(door: Any, head: str, body: bytes = b"", hang: bool = True) -> bytes:
    """What comes back to raw bytes, while the rest of the body never comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", door.server.port)
    try:
        writer.write(head.replace("\n", "\r\n").encode() + body)
        await writer.drain()
        return await reader.readuntil(b"}") if hang else await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize(
    ("framing", "begun"),
    [
        ("Content-Length: 1000000000000", b"x" * 5000),
        ("Transfer-Encoding: chunked", b"5\r\nabcde\r\n"),
        ("Content-Length: 10", b""),
    ],
)
async def test_a_stop_does_not_wait_for_its_body(door: Any, framing: str, begun: bytes) -> None:
    key = door.keys["reader"]
    head = f"POST /stop HTTP/1.1\nHost: x\nX-API-Key: {key}\n{framing}\n\n"
    answer = await raw(door, head, begun)
    assert answer.startswith(b"HTTP/1.1 200")
    assert door.core.stops == ["reader"]


async def test_a_stop_whose_sender_hangs_up_at_once_is_carried_out(door: Any) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", door.server.port)
    key = door.keys["reader"]
    writer.write(f"POST /stop HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\n\r\n".encode())
    writer.close()
    await writer.wait_closed()
    for _ in range(200):
        await asyncio.sleep(0)
        if door.core.stops:
            break
        await asyncio.sleep(0.001)
    assert door.core.stops == ["reader"]


async def test_case_09_a_stop_that_reached_nothing_says_so(door: Any) -> None:
    from armlabd.motion.messages import StopResult

    async def nothing(cause: str, by: str) -> StopResult:
        return StopResult(False, 0, 6, "The motion core cannot be reached: cut the power.")

    door.core.stop = nothing
    answer = await door.call("stop")
    assert answer.status == 200
    assert (answer.body["written"], answer.body["confirmed"]) == (False, 0)
    assert "cut the power" in answer.body["message"]


async def test_case_15_clear_and_move_again_in_one_process(door: Any) -> None:
    await door.call("stop")
    assert (await door.call("go_home")).code == "stopped"
    assert (await door.ask("POST", "/stop/clear", json={})).code == "role"
    assert (await door.ask("POST", "/stop/clear", key="operator", json={"force": 1})).status == 400
    assert (await door.ask("POST", "/stop/clear", key="operator", json={})).status == 200
    assert (await door.call("open_gripper", percent=40)).status == 200
