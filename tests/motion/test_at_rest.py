"""What the core reads while nothing moves: the positions alone, and everything where it matters."""

from __future__ import annotations

import pytest
from test_faults import inject

from armlabd.arm.joints import Pose
from armlabd.bench.arena import Arena
from armlabd.bus.frames import Instruction
from armlabd.motion.servos import KEPT_BYTES, PLACES
from armlabd.motion.watch import REST_WIDE_TICKS, WIDE_TICKS

AWAY = Pose(40.0, -70.0, 60.0, 60.0, 20.0, 50.0)
POSITIONS, EVERYTHING, WIDE_BYTES = 2, 15, KEPT_BYTES + 15


def asked(arena: Arena, since: int) -> list[int]:
    """How many bytes of all six each cycle has asked for."""
    made = []
    for _, _, instruction, params in arena.frames[since:]:
        if instruction == Instruction.SYNC_READ and len(params) == 2 + len(PLACES.ids):
            made.append(params[1])
    return made


def ticks(arena: Arena, count: int) -> list[int]:
    since = len(arena.frames)
    for _ in range(count):
        arena.step()
    return asked(arena, since)


def test_at_rest_the_positions_alone_are_read_and_everything_each_third_of_a_second(
    arena: Arena,
) -> None:
    arena.go(AWAY)
    arena.run(0.5)
    seen = ticks(arena, REST_WIDE_TICKS)
    assert sorted(seen) == [POSITIONS] * (REST_WIDE_TICKS - 1) + [WIDE_BYTES]


def test_in_motion_everything_is_read_in_each_cycle(arena: Arena) -> None:
    arena.move(arena.program(AWAY, 10.0))
    arena.until(lambda: arena.core.conductor.moving)
    seen = ticks(arena, WIDE_TICKS)
    assert sorted(seen) == [EVERYTHING] * (WIDE_TICKS - 1) + [WIDE_BYTES]


@pytest.mark.parametrize("wait", range(0, REST_WIDE_TICKS, 3))
@pytest.mark.parametrize("holds", [False, True])
def test_an_overload_at_rest_is_known_within_three_cycles_whenever_it_comes(
    arena: Arena, holds: bool, wait: int
) -> None:
    if holds:
        arena.go(AWAY)
    ticks(arena, wait)
    inject(arena, "overload id=3")
    ticks(arena, 3)
    assert arena.core.link.state == "overload"


def test_a_figure_beyond_its_limit_is_looked_at_again_at_once(arena: Arena) -> None:
    arena.run(0.5)
    inject(arena, "voltage decivolts=80")
    arena.until(lambda: arena.core.measured.whole)
    assert ticks(arena, 1) == [EVERYTHING]
    assert arena.core.link.state == "ready", "it may be a spike"
    ticks(arena, 1)
    assert arena.core.link.state == "voltage"


def test_a_spike_of_the_voltage_at_rest_is_forgotten(arena: Arena) -> None:
    arena.run(0.5)
    arena.until(lambda: arena.core.measured.whole)
    inject(arena, "voltage decivolts=80")
    ticks(arena, REST_WIDE_TICKS)
    inject(arena, "voltage decivolts=120")
    ticks(arena, 3)
    assert set(ticks(arena, 5)) == {POSITIONS}
    assert arena.core.link.state == "ready"


def test_a_motion_waits_until_the_servos_have_told_how_they_are(arena: Arena) -> None:
    arena.go(AWAY)
    arena.run(0.5)
    arena.until(lambda: arena.core.measured.whole)
    ticks(arena, 2)
    since = len(arena.frames)
    arena.move(arena.program(AWAY._replace(pan=30.0), 20.0))
    arena.until(lambda: bool(arena.goals(since)))
    whole_s = next(at_s for at_s, _, _, params in arena.frames[since:] if params[1] == EVERYTHING)
    assert whole_s < arena.goals(since)[0][0], "everything was asked for, then the first goal left"
    assert len(asked(arena, since)) <= 3
