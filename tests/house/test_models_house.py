"""Models over HTTP in the whole house: swapping while it runs, and rules where a model fails."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from ollama_stand_in import OOM, Faults, OllamaStandIn, ollama

from armlabd.bench.virtual import AGENT, QUICK, Rig, virtual_house

GOAL = {"goal": "put the red block in the bin"}
HOME = {"goal": "go home"}
STEPS = {
    GOAL["goal"]: {"skill": "pick_and_place", "object": "red block", "place": "bin"},
    HOME["goal"]: {"skill": "go_home"},
}


def plan(body: dict[str, Any]) -> str:
    """A model that plans well."""
    said = body["messages"][-1]["content"].rsplit("put the red block in the bin", 1)
    step = STEPS[GOAL["goal"] if len(said) > 1 and "go home" not in said[-1] else HOME["goal"]]
    return json.dumps({"answer": "plan", "steps": [step]})


@contextlib.asynccontextmanager
async def lab(folder: Path, **planner: Any) -> AsyncIterator[tuple[Rig, OllamaStandIn]]:
    """A house beside a server with two models that plan well."""
    async with ollama(author=plan, cut_bytes=100) as server:
        server.add("one:1b")
        server.add("two:1b")
        own = {"url": server.url, "model": "one:1b"}
        given = {**QUICK, "planner": {"ollama": own, **planner}}
        async with virtual_house(folder, given) as rig:
            yield rig, server


async def settled(rig: Rig) -> dict[str, Any]:
    async with asyncio.timeout(60):  # rather a failure than a test that hangs
        while True:
            status, models = await rig.ask("GET", "/models")
            assert status == 200
            told: dict[str, Any] = models["planner"]
            done = told["detail"] or told["state"] not in ("cold", "loading")
            if done and not told["swapping_to"]:
                return told
            await asyncio.sleep(0.01)


async def use(rig: Rig, model: str, **more: Any) -> tuple[int, dict[str, Any]]:
    body = {"backend": "ollama", "model": model}
    return await rig.ask("PUT", "/models/planner", body, **more)


async def test_a_model_plans_a_run_and_is_swapped_by_one_request(tmp_path: Path) -> None:
    async with lab(tmp_path) as (rig, server):
        await settled(rig)
        run = await rig.run("/goals", GOAL)
        assert (run["result"], run["planner"]["name"]) == ("done", "ollama:one:1b"), run
        status, told = await use(rig, "two:1b")
        assert (status, told["planner"]["swapping_to"]) == (202, "ollama:two:1b")
        assert (await settled(rig))["model"] == "two:1b"
        run = await rig.run("/goals", HOME)
        assert run["planner"]["name"] == "ollama:two:1b"
        assert set(server.loaded) == {"two:1b"}
        rows = [row for row in rig.audit.tail() if row["tool"] == "use model for planner"]
        assert [(row["code"], row["cause"]) for row in rows] == [("ok", "'ollama' 'two:1b'")]


async def test_only_an_operator_swaps_and_a_reader_looks(tmp_path: Path) -> None:
    async with lab(tmp_path) as (rig, server):
        await settled(rig)
        assert (await use(rig, "two:1b", key=AGENT))[0] == 403
        assert (await rig.ask("GET", "/models", key=AGENT))[0] == 200
        status, told = await rig.ask("PUT", "/models/vision", {"backend": "ollama"})
        assert (status, told["code"]) == (400, "missing_parameter")
        status, told = await use(rig, "gone:7b")
        assert (status, told["code"]) == (404, "no_model")
        assert (await settled(rig))["model"] == "one:1b"
        assert server.loads == 1


async def test_a_swap_during_a_run_leaves_the_plan_that_is_carried_out(tmp_path: Path) -> None:
    async with lab(tmp_path) as (rig, _server):
        await settled(rig)
        status, started = await rig.ask("POST", "/goals", GOAL)
        assert status == 202
        await rig.wait(started["id"], "executing")
        assert (await use(rig, "two:1b"))[0] == 202
        run = await rig.wait(started["id"])
        assert (run["result"], run["planner"]["name"]) == ("done", "ollama:one:1b")
        await settled(rig)
        assert rig.models.planner.name == "ollama:two:1b"


async def test_a_swap_gives_up_what_is_being_generated_and_the_next_model_plans(
    tmp_path: Path,
) -> None:
    async with lab(tmp_path) as (rig, server):
        await settled(rig)
        server.faults.stall_after = 0
        _, started = await rig.ask("POST", "/goals", HOME)
        await rig.wait(started["id"], "planning")
        while not server.asked[-1]["messages"]:
            await asyncio.sleep(0.01)
        assert (await use(rig, "two:1b"))[0] == 202
        while server.cancelled == 0:
            await asyncio.sleep(0.005)
        server.faults.stall_after = None
        run = await rig.wait(started["id"])
        assert (run["result"], run["planner"]["name"]) == ("done", "ollama:two:1b"), run


async def test_neither_a_stop_nor_status_waits_for_a_swap(tmp_path: Path) -> None:
    async with lab(tmp_path) as (rig, server):
        await settled(rig)
        server.faults.load_s = 3600.0
        assert (await use(rig, "two:1b"))[0] == 202
        _, started = await rig.ask("POST", "/goals", HOME)
        await rig.wait(started["id"], "planning")  # it waits for the swap
        status, told = await rig.ask("GET", "/status")
        assert (status, told["planner"]["state"]) == (200, "swapping")
        status, told = await rig.ask("POST", "/stop", {})
        assert (status, told["written"]) == (200, True)
        assert (await rig.wait(started["id"]))["result"] == "stopped"


FAILURES: list[tuple[dict[str, Any], str]] = [
    ({"load_error": OOM}, "5.6 GiB"),
    ({"refuse": (404, "model 'one:1b' not found")}, "armlabd models fetch one:1b"),
    ({"refuse": (503, "server busy, please try again")}, "Wait until"),
    ({"reset_after": 2}, "broke off in the middle"),
]


async def test_a_model_that_fails_is_named_with_the_remedy_and_the_rules_plan(
    tmp_path: Path,
) -> None:
    """One after the other in one house; then it is well again, and plans."""
    async with lab(tmp_path) as (rig, server):
        await settled(rig)
        for faults, words in FAILURES:
            server.faults = Faults(**faults)
            server.expire("one:1b")
            run = await rig.run("/goals", HOME)
            assert (run["result"], run["planner"]["name"]) == ("done", "rules")
            assert words in run["planner"]["note"]
            _, status = await rig.ask("GET", "/status")
            assert words in status["planner"]["note"]
        server.faults = Faults()
        run = await rig.run("/goals", HOME)
        assert (run["result"], run["planner"]["name"]) == ("done", "ollama:one:1b")


async def test_a_server_that_is_gone_is_named_with_the_remedy_and_the_rules_plan(
    tmp_path: Path,
) -> None:
    async with ollama() as server:
        own = {"url": server.url, "model": "one:1b"}
    async with virtual_house(tmp_path, {**QUICK, "planner": {"ollama": own}}) as rig:
        assert "systemctl start ollama" in (await settled(rig))["next"]
        run = await rig.run("/goals", HOME)
        assert (run["result"], run["planner"]["name"]) == ("done", "rules")
        assert "systemctl start ollama" in run["planner"]["note"]
