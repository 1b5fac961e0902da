"""Whatever is asked, in whatever order: no goal outside the limits, no step beyond the ceiling.

The frames are judged as they leave, by geometry of this test's own state: the goals on the wire.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from judging import judge_goals

from armlabd.arm.joints import HOME, Pose
from armlabd.arm.limits import CEILINGS
from armlabd.arm.path import Program, grip_move, pack
from armlabd.bench.arena import Arena

START = HOME._replace(grip=50.0)

poses = st.tuples(
    st.floats(-130.0, 130.0),
    st.floats(-120.0, 110.0),
    st.floats(-110.0, 110.0),
    st.floats(-110.0, 110.0),
    st.floats(-180.0, 180.0),
    st.floats(-10.0, 110.0),
).map(lambda values: Pose(*values))
actions = st.one_of(
    st.tuples(st.just("go"), poses, st.integers(1, 400)),
    st.tuples(st.just("jump"), poses, st.just(0)),
    st.tuples(st.just("grip"), poses, st.integers(0, 100)),
    st.tuples(
        st.sampled_from(["stop", "clear", "cancel", "park", "come_inside", "unplug", "mute"]),
        st.just(START),
        st.integers(0, 60),
    ),
)


def straight(start: Pose, goal: Pose, count: int) -> Program:
    """A program as a careless or hostile planner would write it: no thought for any limit."""
    share = [k / count for k in range(count + 1)]
    smooth = [s * s * s * (10 - 15 * s + 6 * s * s) for s in share]
    points = (Pose(*(a + s * (b - a) for a, b in zip(start, goal, strict=True))) for s in smooth)
    return Program(tuple(points))


def act(arena: Arena, action: tuple[str, Any, int]) -> None:
    word, pose, figure = action
    start = arena.core.conductor.goal or arena.core.measured.pose
    if word in ("go", "jump") and start is not None:
        program = straight(start, pose, figure) if word == "go" else Program((start, pose))
        arena.ask("move", program=pack(program))
    elif word == "grip" and start is not None:
        closing = grip_move(start.with_grip(max(0.0, min(100.0, start.grip))), figure, 80, CEILINGS)
        arena.ask("move", program=pack(closing), contact=True)
    elif word == "clear":
        arena.ask("clear", by="a person", role="operator")
    elif word == "unplug":
        arena.unplug()
        arena.run(0.03)
        arena.replug()
    elif word == "mute":
        arena.arm.bus.faults.muted.add(1 + figure % 6)
        arena.run(0.02)
        arena.arm.bus.faults.clear()
    elif word in ("stop", "cancel", "park", "come_inside"):
        arena.ask(word)
    arena.run(figure / 100)


def judge(arena: Arena) -> None:
    """Every goal that left: inside, and within a step of the one before; or a pin."""
    calibration = arena.core.link.calibration
    assert calibration is not None
    judge_goals(_goals(arena), calibration, arena.core.link.limits)


def _goals(arena: Arena) -> Iterator[tuple[float, dict[int, int] | None]]:
    for at_s, _, instruction, params in arena.frames:
        if instruction == 0x03 and params == b"\x28\x00":
            yield at_s, None
        elif instruction == 0x83 and params[:2] == b"\x2a\x02":
            body = params[2:]
            rows = range(0, len(body), 3)
            yield at_s, {body[k]: int.from_bytes(body[k + 1 : k + 3], "little") for k in rows}


@settings(max_examples=12, deadline=None)
@given(st.lists(actions, min_size=1, max_size=7))
def test_no_sequence_of_requests_sends_a_goal_outside_or_a_step_too_far(
    sequence: list[tuple[str, Any, int]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        arena = Arena(Path(folder)).ready()
        arena.go(Pose(10.0, -80.0, 60.0, 60.0, 0.0, 50.0))
        for action in sequence:
            act(arena, action)
        arena.run(0.5)
        judge(arena)


def test_the_judge_of_frames_sees_what_it_is_there_to_see(tmp_path: Path) -> None:
    arena = Arena(tmp_path).ready()
    arena.go(Pose(10.0, -80.0, 60.0, 60.0, 0.0, 50.0))
    judge(arena)
    servos = arena.core.link.servos
    assert servos is not None
    counts = list(arena.core.conductor.goal_counts)
    servos.write_goals([counts[0] + 12, *counts[1:]])
    try:
        judge(arena)
    except AssertionError:
        return
    raise AssertionError("a step of one degree went unseen")
