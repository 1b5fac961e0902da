"""A minute of garbage on the line, at rest and in motion: what is said, counted, believed after."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from test_faults import counts, inject

from armlabd.arm.joints import HOME, Pose
from armlabd.bench.arena import Arena
from armlabd.motion.state import quick_state, slow_state

AWAY = Pose(40.0, -70.0, 60.0, 60.0, 20.0, 50.0)
READS = 3000
TURN_DEG = 0.9  # a cycle: ten counts, so that a reading of another cycle is another number
Make = Callable[..., Arena]


def swung(cycle: int) -> float:
    """A pan that a hand swings evenly between -90 and 90 degrees."""
    way = cycle * TURN_DEG % 360.0
    return way - 90.0 if way < 180.0 else 270.0 - way


def count_stale(arena: Arena) -> int:
    """Swing the limp arm through all those cycles: readings that are older than two of them."""
    pan, stale, truth = arena.arm.servos[0], 0, []
    for cycle in range(-3, READS):  # the first readings were asked for before
        arena.arm.put((swung(cycle + 100), *HOME[1:5]), 50.0)
        truth = [*truth[-2:], pan.present_position()]
        arena.step()
        believed = arena.core.measured.counts[0]
        stale += cycle >= 0 and not min(truth) - 1 <= believed <= max(truth) + 1
    return stale


@pytest.mark.parametrize("moving", [False, True])
def test_a_minute_of_garbage_is_named_counted_and_over_when_it_is_over(
    arena: Arena, moving: bool
) -> None:
    assert arena.go(HOME._replace(pan=3.0, grip=50.0))["code"] == "ok"
    before, begun, said = counts(arena), arena.clock.monotonic(), len(arena.notes)
    number = arena.move(arena.program(AWAY, 10.0)) if moving else 0
    arena.run(1.0)
    inject(arena, "garbage seconds=60")
    if moving:
        answer = arena.answer(number)
        assert answer["code"] == "bus_lost"
        assert "cycles in a row" in answer["sentence"]
    sent = len(arena.frames)
    arena.run(58.0)
    state = quick_state(arena.core)
    assert state["state"] in ("lossy", "servos_missing", "disconnected", "wrong_device"), state
    assert len(state["next"]) > 30
    assert arena.goals(sent) == []
    refused = arena.now("move", program="")
    assert refused["code"] in ("no_arm", "bus_lost", "stopped")
    assert len(refused["sentence"]) > 30
    assert len(arena.notes) - said < 12, "a minute of it fills no log"
    after = counts(arena)
    for name in ("misses", "noise_bytes", "discarded_bytes"):
        assert after[name] > before[name] + 100, name
    lost = [servo["bus"] for servo in slow_state(arena.core)["servos"].values()]
    assert sum(bus["missed"] > 10 and bool(bus["causes"]) for bus in lost) >= 3
    arena.until(lambda: arena.clock.monotonic() > begun + 61.5)
    arena.until(lambda: quick_state(arena.core)["state"] == "ready", 5.0)
    assert (arena.core.latch.cause.code if arena.core.latch.cause else None) == (
        "bus_lost" if moving else None
    )
    assert any(arena.torque) is not moving, "it held still at rest, and was let go in motion"
    assert arena.now("stop", cause="asked", by="a person")["confirmed"] == 6
    arena.run(1.0)
    quiet = counts(arena)
    assert count_stale(arena) == 0
    end = counts(arena)
    assert (end["misses"], end["noise_bytes"]) == (quiet["misses"], quiet["noise_bytes"])
