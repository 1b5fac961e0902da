"""The six servos as the cycle reads and drives them: quick and careful forms say the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.arm.joints import SERVO_IDS
from armlabd.bus.frames import encode, sync_write
from armlabd.bus.registers import BLOCK_BYTES, REGISTERS, decode_value, encode_value
from armlabd.clock import VirtualClock
from armlabd.motion.measured import Measured
from armlabd.motion.servos import BLOCK, PLACES, WIDE, Held, Kept, Servos, Sight

WORDS = st.integers(0, 0xFFFF)
BLOCKS = st.lists(st.binary(min_size=15, max_size=15), min_size=6, max_size=6)


class Echoless:
    """Answers every request with the bytes it was given; keeps what was written."""

    def __init__(self, answer: bytes = b"") -> None:
        self.answer = answer
        self.written: list[bytes] = []
        self._due = b""

    def write(self, data: bytes) -> None:
        self.written.append(data)
        self._due = self.answer

    def read(self, deadline_s: float) -> bytes:
        data, self._due = self._due, b""
        return data

    def discard_input(self) -> int:
        return 0

    def close(self) -> None:
        pass


def servos(answer: bytes = b"") -> tuple[Servos, Echoless]:
    line = Echoless(answer)
    made = Servos(line, VirtualClock(10.0), 1_000_000)
    made.held()  # the first transaction waits for a quiet line and is not quick
    line.written.clear()
    return made, line


def whole(blocks: list[bytes]) -> bytes:
    return b"".join(encode(id, 0, block) for id, block in zip(SERVO_IDS, blocks, strict=True))


@settings(max_examples=60, deadline=None)
@given(BLOCKS)
def test_a_quick_look_says_what_the_careful_reading_says(blocks: list[bytes]) -> None:
    answer = whole(blocks)
    made = Servos(Echoless(answer), VirtualClock(10.0), 1_000_000)
    careful = made.feedback()  # the first one, on a line nobody knows, is never quick
    seen = made.look()
    assert isinstance(seen, Sight)
    assert seen.feedback() == {id: feedback for id, (feedback, _) in careful.items()}
    assert seen.counts == tuple(careful[id][0].position for id in SERVO_IDS)


@settings(max_examples=40, deadline=None)
@given(BLOCKS, st.integers(0, 6 * (BLOCK_BYTES + 6) - 1), st.integers(1, 255))
def test_a_look_at_a_damaged_block_refuses_what_the_careful_reading_refuses(
    blocks: list[bytes], place: int, change: int
) -> None:
    damaged = bytearray(whole(blocks))
    damaged[place] ^= change
    quick, careful = (Servos(Echoless(bytes(damaged)), VirtualClock(10.0), 1_000_000) for _ in "ab")
    good = whole(blocks)
    for one in (quick, careful):
        one.transport.answer = good  # type: ignore[attr-defined]
        assert len(one.feedback()) == 6
        one.transport.answer = bytes(damaged)  # type: ignore[attr-defined]
    seen, right = quick.look(), careful.feedback()
    values = seen.feedback() if isinstance(seen, Sight) else {i: f for i, (f, _) in seen.items()}
    assert values == {id: feedback for id, (feedback, _) in right.items()}
    assert quick.counters.snapshot() == careful.counters.snapshot()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-4095, 4095), min_size=6, max_size=6))
def test_the_quick_frame_of_goals_is_the_codec_s(counts: list[int]) -> None:
    made, line = servos()
    made.write_goals(counts)
    goal = REGISTERS["goal_position"]
    data = {id: encode_value(goal, value) for id, value in zip(SERVO_IDS, counts, strict=True)}
    assert line.written == [sync_write(goal.address, data)]


def test_a_goal_beyond_its_register_is_refused_in_every_form() -> None:
    made, _ = servos()
    for wrong in (0x8000, 0x10000):
        with pytest.raises(ValueError, match="goal_position takes a whole number"):
            made.write_goals([0, 0, 0, 0, 0, wrong])


def test_torque_and_goals_are_read_the_same_way_quickly_and_carefully() -> None:
    blocks = [bytes((id % 2, 0, id, 0x80 if id == 3 else 1)) for id in SERVO_IDS]
    answer = whole(blocks)
    made = Servos(Echoless(answer), VirtualClock(10.0), 1_000_000)
    careful, quick = made.held(), made.held()
    assert careful == quick
    assert quick[1] == Held(True, 0x101)
    assert quick[3] == Held(True, -3)
    assert made.counters.snapshot().servos[1].answered == 2


def test_what_was_measured_is_taken_apart_only_when_asked_and_forgotten_whole() -> None:
    answer = whole([bytes((1, 8)) + bytes(13)] * 6)
    made = Servos(Echoless(answer), VirtualClock(10.0), 1_000_000)
    made.look()
    measured = Measured()
    assert measured.take(made.look(), None)
    assert measured.feedback[6].position == 0x801
    assert measured.feedback is measured.feedback
    measured.forget()
    assert (measured.feedback, measured.counts, measured.pose) == ({}, (), None)
    assert not measured.take({}, None)
    assert measured.misses == 1


PAIRS = st.lists(st.binary(min_size=2, max_size=2), min_size=6, max_size=6)
BITS = st.lists(st.integers(0, 0x7F), min_size=6, max_size=6)


def answers(blocks: list[bytes], bits: list[int]) -> bytes:
    return b"".join(encode(*one) for one in zip(SERVO_IDS, bits, blocks, strict=True))


@settings(max_examples=60, deadline=None)
@given(PAIRS, BITS, st.binary(max_size=3).filter(lambda noise: b"\xff" not in noise))
def test_positions_alone_are_what_the_registers_say_however_they_come(
    pairs: list[bytes], bits: list[int], noise: bytes
) -> None:
    made, line = servos(whole([bytes(4)] * 6))
    line.answer = noise + answers(pairs, bits)
    made.begin_look(PLACES)
    seen = made.look()
    assert line.written == [PLACES.request]
    assert isinstance(seen, Sight)
    assert seen.counts == tuple(decode_value(REGISTERS["present_position"], pair) for pair in pairs)
    assert (seen.data, seen.errors()) == (b"", bytes(bits))


def test_positions_of_five_servos_are_an_incomplete_reading_without_figures() -> None:
    made, line = servos(whole([bytes(4)] * 6))
    line.answer = whole([bytes(2)] * 6)[: -PLACES.frame_bytes]
    made.begin_look(PLACES)
    seen = made.look()
    assert not isinstance(seen, Sight)
    assert {id: told for id, (told, _) in seen.items()} == dict.fromkeys((1, 2, 3, 4, 5))
    measured = Measured()
    assert not measured.take(seen, None)
    assert (measured.gaps, measured.partial, measured.wants_whole) == ({6: 1}, {}, True)


def place(count: int, at_s: float, bits: bytes = bytes(6)) -> Sight:
    return Sight((count,) * 6, at_s, b"", bits)


def test_positions_alone_keep_the_figures_that_were_told_before() -> None:
    measured = Measured()
    assert not measured.take(place(9, 1.0), None), "nothing is known of the servos yet"
    assert (measured.counts, measured.wants_whole) == ((), True)
    blocks = whole([bytes((8, 0)) + bytes(9) + b"\x21" + bytes(3)] * 6)
    assert measured.take(Sight((8,) * 6, 1.0, blocks), None)
    assert (measured.whole, measured.wants_whole) == (True, False)
    assert measured.take(place(9, 1.1), None)
    assert (measured.counts, measured.at_s, measured.whole) == ((9,) * 6, 1.1, False)
    assert measured.feedback[1].position == 8
    assert not measured.wants_whole


@pytest.mark.parametrize("servo", range(6))
def test_other_error_bits_than_before_want_everything_to_be_read(servo: int) -> None:
    measured = Measured()
    measured.take(Sight((8,) * 6, 1.0, answers([bytes(15)] * 6, [1] * 6)), None)
    assert measured.take(place(8, 1.1, b"\1" * 6), None)
    assert not measured.wants_whole
    changed = bytearray(b"\1" * 6)
    changed[servo] = 0x21
    assert measured.take(place(8, 1.2, bytes(changed)), None)
    assert measured.wants_whole


WIDE_BLOCKS = st.lists(st.binary(min_size=31, max_size=31), min_size=6, max_size=6)


def begun(answer: bytes) -> tuple[Servos, Echoless]:
    """Servos that have been asked for a wide look on a quiet line."""
    made, line = servos(whole([bytes(4)] * 6))
    line.answer = answer
    made.begin_look(WIDE)
    return made, line


@settings(max_examples=40, deadline=None)
@given(WIDE_BLOCKS)
def test_a_wide_look_says_what_two_careful_readings_say(blocks: list[bytes]) -> None:
    made, line = begun(whole(blocks))
    assert line.written == [WIDE.request]
    seen = made.look()
    narrow, _ = servos()
    narrow.transport.answer = whole([block[16:] for block in blocks])  # type: ignore[attr-defined]
    assert isinstance(seen, Sight)
    assert seen.feedback() == {id: found for id, (found, _) in narrow.feedback().items()}
    for id, block in zip(SERVO_IDS, blocks, strict=True):
        speed = int.from_bytes(block[6:8], "little")
        assert made.kept[id] == Kept(block[0] != 0, block[1], speed, block[15])
    line.answer = whole([block[16:] for block in blocks])
    made.begin_look()
    assert made.look().feedback() == seen.feedback()  # type: ignore[union-attr]
    assert made.kept == {}, "an old look says nothing about now"


def test_after_an_irregular_wide_look_those_who_answered_are_known_all_the_same() -> None:
    blocks = [bytes((1, 254, 0, 0, 0, 0, 0, 4)) + bytes(7) + b"\1" + bytes(15)] * 6
    made, _line = begun(whole(blocks)[: -WIDE.frame_bytes])
    seen = made.look()
    assert not isinstance(seen, Sight)
    assert sorted(seen) == sorted(made.kept) == [1, 2, 3, 4, 5]
    assert made.kept[1] == Kept(True, 254, 1024, 1)


ORDERS = {
    "torque off": lambda made: made.torque_off(),
    "torque on": lambda made: made.torque_on(),
    "pace": lambda made: made.write_pace(1, 2),
    "lock": lambda made: made.lock(),
}


@pytest.mark.parametrize("name", ORDERS)
def test_what_was_kept_before_an_order_is_not_what_is_kept_now(name: str) -> None:
    made, _ = begun(whole([bytes(31)] * 6))
    ORDERS[name](made)
    assert isinstance(made.look(), Sight)
    assert made.kept == {}


def test_goals_that_may_wait_leave_in_one_write_with_the_question() -> None:
    made, line = servos(whole([bytes(4)] * 6))
    made.write_goals([7] * 6, later=True)
    assert line.written == []
    made.begin_look()
    goals = sync_write(REGISTERS["goal_position"].address, dict.fromkeys(SERVO_IDS, b"\7\0"))
    assert line.written == [goals + BLOCK.request]
    line.written.clear()
    made.begin_look()
    assert line.written == [BLOCK.request], "once"


def test_goals_leave_on_a_line_that_is_not_quiet_too() -> None:
    made = Servos(Echoless(), VirtualClock(10.0), 1_000_000)
    made.write_goals([7] * 6, later=True)
    made.begin_look()
    goals = sync_write(REGISTERS["goal_position"].address, dict.fromkeys(SERVO_IDS, b"\7\0"))
    assert made.transport.written == [goals]  # type: ignore[attr-defined]
