"""The cycle's short cuts say what the long way says: nothing is missed for being quick."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.arm.joints import SERVO_IDS, Pose
from armlabd.bench.arena import START, Arena
from armlabd.bus.frames import encode
from armlabd.bus.registers import Feedback
from armlabd.motion.health import Facts
from armlabd.motion.jumps import Jumps
from armlabd.motion.measured import Measured
from armlabd.motion.messages import LineReader, encode_change
from armlabd.motion.servos import Sight
from armlabd.motion.stall import Stall
from armlabd.motion.state import PASSING, lasting, passing, quick_state
from armlabd.motion.supply import Supply

FACTS = {
    id: Facts(777, "3.10", 140 if id < 4 else 135, 90 + id, 0, 0, 0, 4095, 0, True)
    for id in SERVO_IDS
}
VOLTS = st.lists(st.integers(80, 150), min_size=6, max_size=6)


def block(load: int = 0, status: int = 0, current: int = 0) -> bytes:
    word = int.to_bytes
    quiet = bytes((120, 30, 0, status, 0, 0, 0))
    return bytes(4) + word(load, 2, "little") + quiet + word(current, 2, "little")


def feedback(volts: list[int]) -> dict[int, Feedback]:
    return {
        id: Feedback(0, 0, 0, volt, 30, 0, 0, 0) for id, volt in zip(SERVO_IDS, volts, strict=True)
    }


@settings(max_examples=200, deadline=None)
@given(st.lists(VOLTS, min_size=1, max_size=4), VOLTS)
def test_voltages_that_are_called_steady_are_neither_new_lows_nor_trouble(
    before: list[list[int]], now: list[int]
) -> None:
    supply, motion = Supply(), object()
    for volts in before:
        supply.note(feedback(volts), motion)
    if not supply.steady(bytes(now), FACTS, motion):
        return
    lowest = supply.lowest_v
    assert supply.trouble(FACTS, feedback(now)) is None
    assert supply.note(feedback(now), motion) == ""
    assert supply.lowest_v == lowest


def test_voltages_are_steady_from_the_second_look_of_a_motion_on() -> None:
    supply, motion = Supply(), object()
    assert not supply.steady(bytes([120] * 6), FACTS, motion)
    supply.note(feedback([120] * 6), motion)
    assert supply.steady(bytes([120] * 6), FACTS, motion)
    assert not supply.steady(bytes([119] + [120] * 5), FACTS, motion)
    assert not supply.steady(bytes([136] + [136] * 5), FACTS, motion), "above 13.5 V of servo 4"
    assert not supply.steady(bytes([120] * 6), FACTS, object()), "another motion"


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(-9.0, 9.0), min_size=6, max_size=6),
    st.sampled_from((0, 400, 700)),
    st.sampled_from((0, 0x01, 0x20)),
    st.booleans(),
)
def test_a_joint_that_is_said_to_follow_does_by_the_long_look_too(
    behind: list[float], load: int, status: int, jaw_free: bool
) -> None:
    data = b"".join(encode(id, 0, block(load, status)) for id in SERVO_IDS)
    quick, careful = Measured(), Measured()
    quick.sight = Sight((0,) * 6, 1.0, data)
    quick._feedback = careful._feedback = quick.sight.feedback()
    quick.pose = careful.pose = Pose(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    goal, one, other = Pose(*behind), Stall(), Stall()
    for now_s in (1.0, 1.1, 1.2, 1.3, 1.4):
        said = one.look(goal, quick, now_s, jaw_free), other.look(goal, careful, now_s, jaw_free)
        assert said[0] == said[1]
        assert one._since_s == other._since_s


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-60, 60), min_size=6, max_size=6))
def test_a_joint_near_its_last_place_is_believed_as_by_the_long_way(steps: list[int]) -> None:
    jumps = Jumps()
    assert jumps.believes((2000,) * 6, 1.0)
    after = tuple(2000 + step for step in steps)
    assert jumps.believes(after, 1.01), "60 steps in 10 ms are within its reach"
    assert jumps._last == after
    assert not jumps.believes(tuple(count + 1000 for count in after), 1.02)
    assert not jumps.believes(tuple(count + 1001 for count in after), 1.03), "near a lie"


def test_what_is_not_pushed_has_not_changed(make: Callable[..., Arena]) -> None:
    arena = make()
    pairs = []

    def look() -> None:
        now_s = arena.clock.monotonic()
        pairs.append((lasting(arena.core, now_s), quick_state(arena.core)))

    def through(seconds: float) -> None:
        until_s = arena.clock.monotonic() + seconds
        while arena.clock.monotonic() < until_s:
            arena.step()
            look()

    through(0.8)
    arena.move(arena.program(START._replace(pan=10.0)), run="r1")
    through(1.5)
    arena.leased = False
    through(0.7)
    arena.leased = True
    through(0.2)
    arena.ask("stop", cause="asked", by="a test")
    through(0.2)
    arena.ask("clear", by="a test", role="operator")
    through(0.3)
    arena.unplug()
    through(0.5)
    same = 0
    for (known, before), (now, after) in itertools.pairwise(pairs):
        if now is None or known != now:
            continue
        same += 1
        for name in set(after) - set(PASSING):
            assert after[name] == before[name], name
    assert same > 250
    assert sum(known is None for known, _ in pairs) > 15


def test_a_short_push_holds_what_a_whole_one_would(make: Callable[..., Arena]) -> None:
    arena = make().ready()
    for goal in (None, START._replace(pan=1.2345678)):
        if goal is not None:
            arena.go(goal)
        now_s, whole = arena.clock.monotonic(), quick_state(arena.core)
        told = json.loads(passing(arena.core, now_s, arena.pose, same=False))["state"]
        assert told == {name: whole[name] for name in PASSING}
        age = json.loads(passing(arena.core, now_s, arena.pose, same=True))["state"]
        assert age == {"pose_age_s": whole["pose_age_s"]}
        assert json.loads(encode_change(whole, {}))["state"] == whole


def test_a_line_that_comes_again_is_read_as_before_whatever_came_in_between() -> None:
    reader, lease = LineReader(), b'{"do":"lease"}\n'
    assert reader.feed(lease) == reader.feed(lease) == [{"do": "lease"}]
    assert reader.feed(b'{"do":') == []
    assert reader.feed(b'"stop"}\n') == [{"do": "stop"}]
    assert reader.feed(lease) == [{"do": "lease"}]
    assert reader.feed(b"x") == []
    assert reader.feed(lease) == [], "the end of a line that is none"
    assert reader.bad == 1
