"""Whatever is asked at the door, in whatever order: no goal outside, no step beyond the ceiling.

The frames are judged as they leave the core (see tests/motion/test_frames_property.py).
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from test_frames_property import judge

from armlabd.bench.virtual import AGENT, OPERATOR, Rig, virtual_house
from armlabd.sim.blocks import Block

numbers = st.one_of(
    st.floats(-0.5, 0.5),
    st.sampled_from([0.1, 0.2, 0.28, 0.02, 0.03, 0.07, 60, 5, True, "0.2", None, 1e308, -1]),
)
args = st.one_of(
    st.fixed_dictionaries(
        {"x": st.floats(0.10, 0.28), "y": st.floats(-0.15, 0.15), "z": st.floats(0.02, 0.07)},
        optional={"speed_dps": st.floats(5, 60), "yaw_deg": st.floats(-90, 90)},
    ),
    st.fixed_dictionaries({"percent": st.floats(0, 100)}),
    st.dictionaries(
        st.sampled_from(["x", "y", "z", "speed_dps", "yaw_deg", "percent", "force"]),
        numbers,
        max_size=5,
    ),
)
TOOLS = "move_to_pose open_gripper close_gripper go_home look get_status stop wave_hello"
tools = st.one_of(st.just("move_to_pose"), st.sampled_from(TOOLS.split()))
steps = st.fixed_dictionaries(
    {"tool": tools, "args": args},
    optional={"expect": st.sampled_from([{"holding_something": True}, {"stopped": False}])},
)
goals = st.sampled_from(
    [
        "put the red block in the bin",
        "pick up the red block",
        "put it down at x 0.15 y 0.1",
        "go home",
        "open the hand",
        "move the red block aside",
        "stop",
        "dance",
    ]
)
asked = st.one_of(
    st.tuples(st.just("call"), tools, args),
    st.tuples(st.just("plan"), st.lists(steps, max_size=6), st.none()),
    st.tuples(st.just("goal"), goals, st.none()),
    st.tuples(
        st.sampled_from(["stop", "clear", "answer", "cancel", "pause"]), st.none(), st.none()
    ),
)


async def act(rig: Rig, word: str, what: Any, more: Any) -> None:
    """One request; what comes back is the doors' business, the frames are ours."""
    if word == "call":
        await rig.ask("POST", f"/call/{what}", more, key=AGENT)
    elif word == "plan":
        await rig.ask("POST", "/plans/run", {"steps": what}, key=AGENT)
    elif word == "goal":
        await rig.ask("POST", "/goals", {"goal": what}, key=AGENT)
    elif word == "stop":
        await rig.ask("POST", "/stop", {}, key=AGENT)
    elif word == "clear":
        await rig.ask("POST", "/stop/clear", {}, key=OPERATOR)
    elif word == "answer":
        _, listed = await rig.ask("GET", "/questions")
        for question in listed["questions"]:
            await rig.ask("POST", f"/questions/{question['id']}", {"answer": "1"})
    elif word == "cancel" and rig.runs.active is not None:
        await rig.ask("DELETE", f"/runs/{rig.runs.active.id}")
    elif word == "pause":
        await asyncio.sleep(0.05)  # some seconds of virtual time


async def play(folder: Path, sequence: list[tuple[str, Any, Any]]) -> None:
    async with virtual_house(folder) as rig:
        rig.blocks(Block("red block", 0.2, 0.05, yaw_deg=20.0))
        for word, what, more in sequence:
            await act(rig, word, what, more)
        await asyncio.sleep(0.05)
        judge(rig.arena)


@settings(max_examples=25, deadline=None)
@given(st.lists(asked, min_size=2, max_size=8))
def test_no_sequence_of_requests_at_the_door_breaks_a_limit(
    sequence: list[tuple[str, Any, Any]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder), sequence))


def test_the_requests_do_move_the_arm(tmp_path: Path) -> None:
    async def moves() -> int:
        async with virtual_house(tmp_path) as rig:
            await act(rig, "call", "move_to_pose", {"x": 0.2, "y": 0.0, "z": 0.06})
            judge(rig.arena)
            return len(rig.arena.goals())

    assert asyncio.run(moves()) > 100
