"""The textbook's status table, its run of ten calls and its burst, against the real daemon."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from harness import OPERATOR_KEY, RealArm, real_arm

pytestmark = pytest.mark.real
VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "http_status.json").read_text())
KEYS = {"absent": None, "wrong": "a key that nobody made", "right": OPERATOR_KEY}
QUICK_S = 0.8  # a burst that took longer than this is no burst of the table


class Plain:
    """Asks as the table says it, bodies that are no JSON included."""

    def __init__(self, arm: RealArm) -> None:
        self.url = arm.client.url

    async def ask(self, said: dict[str, Any], key: str | None) -> tuple[int, dict[str, Any], Any]:
        headers = {"X-API-Key": key} if key else {}
        body = said.get("raw_body", json.dumps(said.get("body", {})))
        if said["method"] == "POST":
            headers["Content-Type"] = "application/json"
        sent = body.encode() if said["method"] == "POST" else None
        async with (
            aiohttp.ClientSession(self.url) as http,
            http.request(said["method"], said["path"], data=sent, headers=headers) as got,
        ):
            return got.status, await got.json(), got.headers


def rows() -> list[Any]:
    found = [(r["id"], r["status"], r["reproduce"]) for r in VECTORS["responses"]]
    found += [(r["id"], r["status"], r["request"]) for r in VECTORS["derived"]]
    return [pytest.param(*row, id=str(row[0])) for row in found if row[2]]


@pytest.mark.parametrize(("row", "status", "said"), rows())
async def test_every_row_of_the_vectors(
    shared: RealArm, row: Any, status: int, said: dict[str, Any]
) -> None:
    door = Plain(shared)
    shared.clear()
    if said.get("after") == "stop":
        assert shared.client.request("POST", "/stop", {}).ok
    since = shared.last_seq()
    for word in said["key"].split(" or "):
        got, body, _ = await door.ask(said, KEYS[word])
        assert got == status, (row, body)
        assert body.get("ok", True) is (got == 200), body
        assert got == 200 or (body["code"] and body["error"]), body
    moved = [frame for frame in shared.frames(since) if frame["kind"] == "goal"]
    assert moved == [] or status == 200


async def test_the_ten_calls_of_the_textbooks_run(shared: RealArm) -> None:
    door = Plain(shared)
    shared.clear()
    for call in VECTORS["server_run"]["calls"]:
        got, body, _ = await door.ask(call, KEYS[call.get("key", "right")])
        assert got == call["status"], (call, body)
        if "tools" in call:
            assert set(call["tools"]) <= {tool["name"] for tool in body["tools"]}


async def test_ten_quick_calls_give_five_answers_and_five_refusals_with_retry_after() -> None:
    burst, expected = VECTORS["rate_limit"]["burst"], VECTORS["rate_limit"]["expect"]
    said = {"method": "POST", "path": "/call/get_status"}
    with real_arm("") as arm:
        door = Plain(arm.start())
        for _ in range(10):  # until the machine lets a burst be one
            time.sleep(1.1)  # the window of the burst before
            began_s = time.monotonic()
            answers = [await door.ask(said, OPERATOR_KEY) for _ in range(burst)]
            if time.monotonic() - began_s < QUICK_S:
                break
        statuses = [answer[0] for answer in answers]
        assert {word: statuses.count(int(word)) for word in expected} == expected
        assert all(answer[2]["Retry-After"] == "1" for answer in answers if answer[0] == 429)
        stop, _, _ = await door.ask({"method": "POST", "path": "/call/stop"}, OPERATOR_KEY)
        assert stop == 200
