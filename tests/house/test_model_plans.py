"""A model plans in the whole house, in virtual time, over HTTP: it chooses names, nothing more."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from armlabd.bench.authors import RandomAuthor
from armlabd.bench.virtual import virtual_house
from armlabd.config import Config
from armlabd.gate.tools import tool_table
from armlabd.inference.backend import Answer, Ask
from armlabd.plan.model import ModelPlanner
from armlabd.plan.rules import RulesPlanner
from armlabd.sim.blocks import Block

OPEN = {"tool": "open_gripper", "percent": 50}
GOAL = {"goal": "pack the red one away, will you?"}


class Model(RandomAuthor):
    """Says one plan; or, with no steps, thinks for ever."""

    def __init__(self, *steps: dict[str, Any]) -> None:
        super().__init__()
        self.steps = steps
        self.begun, self.ended = asyncio.Event(), asyncio.Event()

    async def answer(self, ask: Ask) -> Answer:
        self.begun.set()
        if not self.steps:
            try:
                await asyncio.Event().wait()
            finally:
                self.ended.set()
        return self.told(ask, json.dumps({"answer": "plan", "steps": self.steps}))


async def test_names_that_a_model_chooses_move_the_very_block(tmp_path: Path) -> None:
    step = {"skill": "pick_and_place", "object": "red block (left)", "place": "bin"}
    planner = ModelPlanner(Model(step), RulesPlanner())
    async with virtual_house(tmp_path, planner=planner) as rig:
        rig.blocks(Block("red block", 0.18, 0.10), Block("red block 2", 0.20, 0.02))
        run = await rig.run("/goals", GOAL)
        assert run["result"] == "done", run
        assert run["planner"]["name"] == "random:walk-0"
        assert rig.in_bin() == ["red block"]


def of_tools(opening: dict[str, Any]) -> ModelPlanner:
    """The ten steps as a model writes them, with this step before the way down."""

    def move(x: int, y: int, z: int) -> dict[str, Any]:
        return {"tool": "move_to_pose", "x_mm": x, "y_mm": y, "z_mm": z}

    steps = (
        *({"tool": "get_status"}, opening, move(180, 60, 70), move(180, 60, 20)),
        *({"tool": "close_gripper", "must_hold": True}, move(180, 60, 70)),
        *(move(200, -100, 70), move(200, -100, 50), OPEN, {"tool": "go_home"}),
    )
    return ModelPlanner(Model(*steps), RulesPlanner(), tools=tool_table(Config()))


async def test_a_model_may_write_the_tool_calls_itself(tmp_path: Path) -> None:
    async with virtual_house(tmp_path, planner=of_tools(OPEN)) as rig:
        rig.blocks(Block("red block", 0.18, 0.06))
        run = await rig.run("/goals", GOAL)
        assert run["result"] == "done", run
        assert rig.in_bin() == ["red block"]


async def test_tool_calls_of_a_model_are_checked_as_everybodys(tmp_path: Path) -> None:
    shut = {"tool": "get_status"}  # jaws as they are: half shut
    async with virtual_house(tmp_path, planner=of_tools(shut)) as rig:
        rig.blocks(Block("red block", 0.18, 0.06))
        before = len(rig.arena.goals())
        run = await rig.run("/goals", GOAL, "waiting")
        assert run["question"]["text"].startswith("A plan was made again that was refused: ")
        assert "Gripper closed on approach" in run["question"]["text"]
        assert run["checks"]["faults"][0]["rule"] == "R4"
        assert len(rig.arena.goals()) == before


async def test_case_16_ten_stops_at_the_door_while_the_model_is_down(tmp_path: Path) -> None:
    model = Model()
    planner = ModelPlanner(model, RulesPlanner())
    async with virtual_house(tmp_path, planner=planner) as rig:
        status, started = await rig.ask("POST", "/goals", GOAL)
        assert status == 202
        await asyncio.wait_for(model.begun.wait(), 20.0)
        for _ in range(10):
            status, stopped = await rig.ask("POST", "/stop")
            assert (status, stopped["confirmed"]) == (200, 6)
        run = await rig.wait(started["id"])
        assert (run["result"], run["plan"]) == ("stopped", None)
        assert model.ended.is_set()
        assert (await rig.ask("POST", "/goals", {"goal": "stop"}))[0] == 200
