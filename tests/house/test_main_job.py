"""The main job through the whole house, in virtual time, over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest
from plans import bad_plan, ten_steps

from armlabd.bench.virtual import virtual_house
from armlabd.sim.blocks import Block


@pytest.mark.parametrize("yaw_deg", [0.0, 45.0, -30.0])
async def test_a_sentence_moves_the_block(tmp_path: Path, yaw_deg: float) -> None:
    async with virtual_house(tmp_path) as rig:
        rig.blocks(Block("red block", 0.18, 0.06, yaw_deg=yaw_deg))
        run = await rig.run("/goals", {"goal": "put the red block in the bin"})
        assert run["result"] == "done", run
        assert rig.in_bin() == ["red block"]


async def test_the_three_endings_of_the_ten_step_plan(tmp_path: Path) -> None:
    async with virtual_house(tmp_path) as rig:
        rig.blocks(Block("red block", 0.22, 0.09))
        run = await rig.run("/plans/run", ten_steps())
        assert run["result"] == "done", run
        assert rig.in_bin() == ["red block"]
        rig.blocks()
        run = await rig.run("/plans/run", ten_steps(), "waiting")
        assert run["state"] == "waiting", run
        done = [row["step"] for row in run["steps"] if row["event"] == "step"]
        assert done == [1, 2, 3, 4, 5, 2, 3, 4, 5]
        status, _ = await rig.ask("POST", f"/questions/{run['question']['id']}", {"answer": "2"})
        assert status == 200
        assert (await rig.wait(run["id"]))["result"] == "asked"
        before = len(rig.arena.goals())
        run = await rig.run("/plans/run", bad_plan())
        assert run["result"] == "refused"
        assert "Step 4" in run["sentence"]
        assert "Step 5" in run["sentence"]
        assert len(rig.arena.goals()) == before


async def test_a_block_just_outside_the_area_is_told_as_seen_but_out_of_reach(
    tmp_path: Path,
) -> None:
    async with virtual_house(tmp_path) as rig:
        rig.blocks(Block("red block", 0.32, 0.05))
        before = len(rig.arena.goals())
        run = await rig.run("/goals", {"goal": "put the red block in the bin"}, "waiting")
        asked = run["question"]["text"]
        assert asked.startswith("I see no red block. A red block was seen but cannot be used: ")
        assert "is outside the area: x 0.10 to 0.28 m" in asked
        assert len(rig.arena.goals()) == before


async def test_who_asks_what_is_there_is_told(tmp_path: Path) -> None:
    async with virtual_house(tmp_path) as rig:
        rig.blocks(Block("red block", 0.2, 0.05))
        run = await rig.run("/goals", {"goal": "what do you see?"})
        assert run["result"] == "done", run
        assert "In view: red block at x 0.2" in run["sentence"]
        rig.blocks()
        run = await rig.run("/goals", {"goal": "look"})
        assert run["sentence"].endswith("In view: nothing that I know.")
