"""The read of every cycle: values, refusals and counters of the careful way, and never stale."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.bus.errors import NoAnswer
from armlabd.bus.fixed import FixedRead
from armlabd.bus.frames import FrameScanner, encode
from armlabd.bus.master import Master
from armlabd.bus.reading import Readings
from armlabd.bus.registers import BLOCK_ADDRESS, BLOCK_BYTES, decode_block
from armlabd.clock import VirtualClock

IDS = (1, 2, 3, 4, 5, 6)
FORM = FixedRead(IDS, BLOCK_ADDRESS, BLOCK_BYTES)
PARTS = st.lists(st.binary(min_size=15, max_size=15), min_size=6, max_size=6)


def answer_of(parts: list[bytes], errors: int = 0) -> bytes:
    return b"".join(encode(id, errors, part) for id, part in zip(IDS, parts, strict=True))


@settings(max_examples=100, deadline=None)
@given(PARTS, st.integers(0, 0x7F))
def test_a_regular_answer_is_regular_and_taken_apart_rightly(
    parts: list[bytes], errors: int
) -> None:
    data = answer_of(parts, errors)
    assert FORM.is_regular(data)
    assert FORM.params(data) == dict(zip(IDS, parts, strict=True))
    assert FORM.errors(data) == bytes((errors,)) * 6


@settings(max_examples=200, deadline=None)
@given(PARTS, st.data())
def test_what_is_regular_is_what_the_scanner_finds_without_a_fault(
    parts: list[bytes], draw: st.DataObject
) -> None:
    data = bytearray(answer_of(parts))
    for _ in range(draw.draw(st.integers(0, 2))):
        data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    data = data[draw.draw(st.integers(0, 1)) :] + draw.draw(st.binary(max_size=1))
    scanner = FrameScanner(FORM.expected)
    frames = scanner.feed(bytes(data)) + scanner.finish()
    sound = (
        tuple(frame.id for frame in frames) == IDS
        and not scanner.faults
        and not scanner.skipped_bytes
    )
    assert FORM.is_regular(bytes(data)) == sound
    if sound:
        assert FORM.params(bytes(data)) == {frame.id: frame.params for frame in frames}


def test_the_seventh_error_bit_is_noise_and_so_is_a_byte_more() -> None:
    parts = [bytes(15)] * 6
    assert not FORM.is_regular(answer_of(parts, 0x80))
    assert not FORM.is_regular(answer_of(parts) + b"\xff")
    assert not FORM.is_regular(b"")


def values(found: tuple[bytes, float] | Readings) -> dict[int, bytes]:
    if isinstance(found, tuple):
        return FORM.params(found[0])
    return {id: reading.data for id, reading in found.items()}


def chance(seed: int, share: float) -> Callable[[int, bytes], list[tuple[float, bytes]]]:
    """Answers that come damaged, late, twice, torn, among noise, or not at all."""
    dice = random.Random(seed)

    def fault(id: int, answer: bytes) -> list[tuple[float, bytes]]:
        if dice.random() >= share:
            return [(0.0, answer)]
        place = dice.randrange(len(answer))
        broken = bytearray(answer)
        broken[place] ^= 1 << dice.randrange(8)
        return [
            [],
            [(0.0, bytes(broken))],
            [(0.0, answer[:place])],
            [(0.0, answer), (0.0, answer)],
            [(0.0, dice.randbytes(3)), (0.0, answer)],
            [(0.0, b"\xff"), (0.0, answer)],
            [(dice.choice((0.004, 0.012, 0.05, 0.12)), answer)],
        ][dice.randrange(7)]

    return fault


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_no_value_is_ever_stale_and_the_bus_recovers(
    bus: object, master: Master, clock: VirtualClock, share: float
) -> None:
    bus.fault = chance(7, share)  # type: ignore[attr-defined]
    seen = 0
    for _ in range(600):
        found = values(master.fixed_read(FORM))
        for id, data in found.items():
            assert decode_block(data).position == bus.truth[id]  # type: ignore[attr-defined]
        seen += len(found)
        clock.sleep(0.006)
    assert seen > 0
    bus.fault = lambda id, answer: [(0.0, answer)]  # type: ignore[attr-defined]
    for _ in range(200):
        found = values(master.fixed_read(FORM))
        clock.sleep(0.01)
    assert len(found) == 6


def test_after_a_miss_the_careful_way_decides_until_nothing_is_owed(
    bus: object, master: Master, clock: VirtualClock
) -> None:
    assert not isinstance(master.fixed_read(FORM), tuple)  # nobody knows the line yet
    assert isinstance(master.fixed_read(FORM), tuple)
    bus.fault = lambda id, answer: [] if id == 4 else [(0.0, answer)]  # type: ignore[attr-defined]
    found = master.fixed_read(FORM)
    assert isinstance(found, Readings)
    assert set(found) == {1, 2, 3, 5, 6}
    assert found.no_answer is not None
    assert set(found.no_answer.causes) == {4}
    bus.fault = lambda id, answer: [(0.0, answer)]  # type: ignore[attr-defined]
    found = master.fixed_read(FORM)
    assert isinstance(found, Readings)
    assert len(found) == 6
    for _ in range(70):
        clock.sleep(0.01)
        found = master.fixed_read(FORM)
    assert isinstance(found, tuple)


def test_regular_reads_are_counted_for_each_servo_like_any_other(
    bus: object, master: Master
) -> None:
    bus.errors[5] = 0x20  # type: ignore[attr-defined]
    for _ in range(3):
        master.fixed_read(FORM)
    counted = master.statistics()
    assert counted.transactions == 3
    assert [counted.servos[id].asked for id in IDS] == [3] * 6
    assert [counted.servos[id].answered for id in IDS] == [3] * 6
    assert [counted.servos[id].with_error_bits for id in IDS] == [0, 0, 0, 0, 3, 0]
    assert master.statistics() == counted


def test_an_answer_owed_by_somebody_else_changes_nothing(
    master: Master, clock: VirtualClock
) -> None:
    with pytest.raises(NoAnswer):
        master.ping(9, retries=0)
    master.fixed_read(FORM)  # waits for a quiet line first
    assert isinstance(master.fixed_read(FORM), tuple)
