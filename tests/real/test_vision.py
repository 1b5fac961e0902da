"""A whole daemon whose [vision] model is served by Ollama's stand-in: honest, lying, gone."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2
import pytest
from harness import FAST, RealArm, real_arm, wait_until

TESTS = str(Path(__file__).parents[1])
if TESTS not in sys.path:
    sys.path.insert(0, TESTS)

from ollama_stand_in import OllamaStandIn, ollama  # noqa: E402
from sight_stand_in import objects, seen  # noqa: E402

from armlabd.inference.backend import Ask  # noqa: E402

pytestmark = pytest.mark.real
GOAL = "put the red block in the bin"
RED = [{"label": "red block", "x": 0.22, "y": 0.09}]
Author = Callable[[dict[str, Any]], str]


def honest(body: dict[str, Any]) -> str:
    """What lies in the picture that was sent, in its pixels."""
    (image,) = body["messages"][-1]["images"]
    return objects(*seen(Ask("", "", {}, (base64.b64decode(image),))))


def blind(body: dict[str, Any]) -> str:
    """An empty table, whatever lies on it."""
    return objects()


@contextmanager
def serving() -> Iterator[OllamaStandIn]:
    """The stand-in in a thread with a loop of its own."""
    ready, found = threading.Event(), []
    loop, end = asyncio.new_event_loop(), asyncio.Event()

    async def serve() -> None:
        async with ollama() as server:
            server.add("see:2b", abilities=("completion", "vision"))
            found.append(server)
            ready.set()
            await end.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert ready.wait(20.0)
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(20.0)
        loop.close()


@pytest.fixture(scope="module")
def looked() -> Iterator[tuple[RealArm, OllamaStandIn]]:
    with serving() as server:
        vision = f"""
[planner.ollama]
url = "{server.url}"
[vision]
backend = "ollama"
model = "see:2b"
box_format = "pixels"
"""
        with real_arm(FAST + vision) as arm:
            arm.ready()
            wait_until(lambda: arm.status()["camera"]["model"], "a model looks too")
            yield arm, server


def test_a_model_that_agrees_is_in_the_trace_and_changes_nothing(
    looked: tuple[RealArm, OllamaStandIn],
) -> None:
    arm, server = looked
    server.author = honest
    arm.world("reset", blocks=RED)
    run_id = arm.goal(GOAL)
    run = arm.wait_run(run_id, "executing")  # nobody was asked
    assert arm.client.request("DELETE", f"/runs/{run_id}").ok
    assert run["scene"]["disputed"] == run["scene"]["notes"] == []
    trace = (arm.state / "runs" / run_id / "trace.jsonl").read_text()
    rows = [json.loads(line) for line in trace.splitlines()]
    (row,) = [row for row in rows if row["event"] == "opinion"]
    assert row["model"] == "see:2b"
    assert "red block" in row["text"]
    kept = cv2.imread(str(arm.state / "runs" / run_id / "picture-1.png"))
    assert not kept[:20].any()  # the room around the table is black
    assert kept[240, 320].any()


def test_a_blind_model_makes_a_question_and_nothing_moves_before_its_answer(
    looked: tuple[RealArm, OllamaStandIn],
) -> None:
    arm, server = looked
    server.author = blind
    arm.world("reset", blocks=RED)
    run_id = arm.goal(GOAL)
    question = arm.wait_run(run_id, "waiting")["question"]
    assert question["text"].startswith("The colours see a red block, see:2b sees none there.")
    assert question["options"][0] == "yes, it is"
    answer = {"answer": "no"}
    assert arm.client.request("POST", f"/questions/{question['id']}", answer).ok
    run = arm.wait_run(run_id)
    assert (run["result"], run["steps"]) == ("asked", [])


def test_a_cancel_and_a_look_at_the_door_wait_for_no_model(
    looked: tuple[RealArm, OllamaStandIn],
) -> None:
    arm, server = looked
    server.author, server.faults.first_byte_s = honest, 15.0
    try:
        arm.world("reset", blocks=RED)
        asked = len(server.asked)
        run_id = arm.goal(GOAL)
        wait_until(lambda: len(server.asked) > asked, "the model is asked")
        assert arm.client.request("GET", "/scene").body["objects"]
        assert arm.client.request("DELETE", f"/runs/{run_id}").ok
        assert arm.run(run_id)["result"] == "cancelled"
        wait_until(lambda: server.cancelled, "the generation is ended")
    finally:
        server.faults.first_byte_s = 0.0
