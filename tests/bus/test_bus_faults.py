"""Every kind of fault on the line: counted, named, and after it no value that is not today's."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from armlabd.bus import frames
from armlabd.bus.errors import Cause, NoAnswer
from armlabd.bus.frames import BROADCAST_ID, Frame, Instruction
from armlabd.bus.master import Master
from armlabd.bus.mirror import PROBE
from armlabd.clock import VirtualClock

IDS = (1, 2, 3)
SICK = 2
Bus = Any  # the ScriptedBus of conftest
Answers = list[tuple[float, bytes]]
Fault = Callable[[int, bytes], Answers]
DICE = random.Random(3)
READS = 3000


class Line:
    """The scripted bus with an adapter that echoes, or a neighbour that talks."""

    def __init__(self, bus: Bus, *, echo: bool = False, talk: Callable[[], bytes] = bytes) -> None:
        self.bus, self.echo, self.talk = bus, echo, talk

    def write(self, data: bytes) -> None:
        if self.echo:
            arrives = self.bus.clock.monotonic() + len(data) * 1e-5
            self.bus.wire.append((arrives, data))
        self.bus.write(data)

    def read(self, deadline_s: float) -> bytes:
        said = self.talk()
        if not said:
            return self.bus.read(deadline_s)
        self.bus.clock.advance_to(max(self.bus.clock.monotonic(), deadline_s - 1e-3))
        return said + self.bus.read(self.bus.clock.monotonic())

    def discard_input(self) -> int:
        return self.bus.discard_input()

    def close(self) -> None:
        self.bus.close()


def _mixed(answer: bytes) -> bytes:
    body = answer[2:5] + bytes((byte * 5 + 11) & 0xFF for byte in answer[5:-1])
    twin = frames.HEADER + body + bytes((frames.checksum(body),))
    return bytes(a & b for a, b in zip(answer, twin, strict=True))


KINDS: dict[str, Fault] = {
    "no answer": lambda id, answer: [],
    "one answer 120 ms late": lambda id, answer: [(0.12, answer)],
    "answers late by any time": lambda id, answer: [(DICE.uniform(0.003, 0.15), answer)],
    "one answer 4 ms late": lambda id, answer: [(0.004, answer)],
    "a noise byte before": lambda id, answer: [(0.0, DICE.randbytes(1) + answer)],
    "noise that looks like a header": lambda id, answer: [(0.0, b"\xff\xff\x03" + answer)],
    "an extra FF": lambda id, answer: [(0.0, b"\xff" + answer)],
    "truncated": lambda id, answer: [(0.0, answer[: DICE.randrange(1, len(answer))])],
    "a flipped bit": lambda id, answer: [(0.0, answer[:-1] + bytes((answer[-1] ^ 4,)))],
    "another id": lambda id, answer: [(0.0, frames.encode(99, answer[4], answer[5:-1]))],
    "the answer of its neighbour": lambda id, answer: [
        (0.0, frames.encode(id % 3 + 1, answer[4], answer[5:-1]))
    ],
    "another length": lambda id, answer: [(0.0, frames.encode(id, answer[4], answer[5:-1] + b"x"))],
    "two servos at once": lambda id, answer: [(0.0, _mixed(answer))],
    "two answers in a row": lambda id, answer: [(0.0, answer), (0.0, answer)],
    "garbage instead": lambda id, answer: [(0.0, DICE.randbytes(20))],
    "AT commands instead": lambda id, answer: [(0.0, b"AT\rAT\r")],
}


def every_tenth(fault: Fault) -> Fault:
    count = [0]

    def hit(id: int, answer: bytes) -> Answers:
        count[0] += id == SICK
        return fault(id, answer) if id == SICK and count[0] % 10 == 0 else [(0.0, answer)]

    return hit


def all_true(master: Master, bus: Bus, reads: int, period_s: float = 0.01) -> int:
    """Read again and again; every value is the one the servo had when it was asked just now."""
    got = 0
    for _ in range(reads):
        bus.clock.sleep(period_s)
        for id, reading in master.sync_read(IDS, 56, 2, retries=0).items():
            assert int.from_bytes(reading.data, "little") == bus.truth[id] % 65536
            got += 1
        bus.requests.clear()
        bus.wire = [part for part in bus.wire if part[0] > bus.clock.monotonic() - 1.0]
    return got


@pytest.fixture
def counting(bus: Bus) -> Bus:
    """The scripted bus with a truth that counts on although the list of requests is cut."""
    total = [0]
    plain = bus._handle

    def handle(frame: Frame) -> None:
        total[0] += 1
        plain(frame)

    def read(id: int, address: int, count: int) -> None:
        if id in bus.tables:
            bus.truth[id] = total[0]
            bus.tables[id][56:58] = (total[0] % 32768).to_bytes(2, "little")
            bus._answer(id, bytes(bus.tables[id][address : address + count]))

    bus._handle, bus._read, bus.fifo = handle, read, False
    bus._reads = -10_000_000
    return bus


@pytest.mark.parametrize("kind", KINDS)
def test_no_read_is_stale_or_mixed_up_during_and_after_any_fault(
    counting: Bus, clock: VirtualClock, kind: str
) -> None:
    master = Master(counting, clock)
    counting.fault = every_tenth(KINDS[kind])
    during = all_true(master, counting, 300)
    assert during >= 600  # the others are read on
    counting.fault = lambda id, answer: [(0.0, answer)]
    all_true(master, counting, 100)  # what is owed is waited for
    assert all_true(master, counting, READS) == READS * len(IDS)


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        ("no answer", Cause.SILENT),
        ("one answer 120 ms late", Cause.SILENT),
        ("a flipped bit", Cause.CHECKSUM),
        ("another id", Cause.STRAY),
        ("another length", Cause.STRAY),
        ("two servos at once", Cause.CHECKSUM),
        ("two answers in a row", Cause.DOUBLED),
        ("garbage instead", Cause.GARBLED),
        ("AT commands instead", Cause.GARBLED),
    ],
)
def test_each_fault_is_counted_for_its_servo_with_its_cause(
    counting: Bus, clock: VirtualClock, kind: str, cause: Cause
) -> None:
    master = Master(counting, clock)
    counting.fault = every_tenth(KINDS[kind])
    all_true(master, counting, 30)
    servos = master.statistics().servos
    assert cause in servos[SICK].causes
    assert servos[SICK].missed >= 1
    assert servos[1].missed == 0
    assert master.statistics().foreign == (3 if kind.startswith("AT") else 0)


class Garbled(Line):
    """A line on which one to four random bytes come every millisecond until `until_s`."""

    def __init__(self, bus: Bus, until_s: float) -> None:
        super().__init__(bus)
        self.until_s, self.next_s = until_s, bus.clock.monotonic()

    def read(self, deadline_s: float) -> bytes:
        if self.next_s > min(deadline_s, self.until_s):
            return self.bus.read(deadline_s)
        self.bus.clock.advance_to(max(self.bus.clock.monotonic(), self.next_s))
        self.next_s = self.bus.clock.monotonic() + 1e-3
        return DICE.randbytes(DICE.randint(1, 4)) + self.bus.read(self.bus.clock.monotonic())


def _met_by_garbage(id: int, answer: bytes) -> Answers:
    """Every fourth answer is destroyed where a random byte meets it.

    Only as far as a checksum can tell: one in 256 damaged answers fits by chance, on any line.
    """
    if DICE.random() > 0.25:
        return [(0.0, answer)]
    place = DICE.randrange(2, len(answer))
    spoilt = answer[place] ^ DICE.randrange(1, 256)
    return [(0.0, answer[:place] + bytes((spoilt,)) + answer[place + 1 :])]


def test_a_minute_of_garbage_gives_no_wrong_value_and_then_all_is_well(
    counting: Bus, clock: VirtualClock
) -> None:
    until_s = clock.monotonic() + 60.0
    master = Master(Garbled(counting, until_s), clock)
    counting.fault = _met_by_garbage
    while clock.monotonic() < until_s:
        all_true(master, counting, 100)
    during = master.statistics()
    assert during.discarded_bytes > 5000
    assert all(during.servos[id].missed > 100 for id in IDS)
    assert all({Cause.GARBLED, Cause.CHECKSUM} & set(during.servos[id].causes) for id in IDS)
    counting.fault = lambda id, answer: [(0.0, answer)]
    all_true(master, counting, 100)
    quiet = master.statistics()
    assert all_true(master, counting, READS) == READS * len(IDS)
    after = master.statistics()
    assert after.discarded_bytes == quiet.discarded_bytes
    assert [after.servos[id].missed for id in IDS] == [quiet.servos[id].missed for id in IDS]


# --- an adapter that echoes


def test_an_adapter_that_echoes_is_found_out_and_every_value_is_true(
    counting: Bus, clock: VirtualClock
) -> None:
    master = Master(Line(counting, echo=True), clock)
    assert all_true(master, counting, READS) == READS * len(IDS)
    assert master.statistics().echoes == READS
    assert master.statistics().noise_bytes == 0


def test_a_ping_that_only_comes_back_is_no_answer(bus: Bus, clock: VirtualClock) -> None:
    master = Master(Line(bus, echo=True), clock)
    with pytest.raises(NoAnswer, match="only sent the request back") as caught:
        master.ping(9)
    assert caught.value.causes == {9: Cause.ECHO}
    assert master.ping(4).error_bits == 0


def test_a_ping_of_an_echoing_adapter_gives_the_servos_own_error_bits(
    bus: Bus, clock: VirtualClock
) -> None:
    bus.errors[2] = 1  # then the answer equals the request, and comes twice
    assert Master(Line(bus, echo=True), clock).ping(2).error_bits == 1
    bus.errors[2] = 0x20
    assert Master(Line(bus, echo=True), clock).ping(2).error_bits == 0x20


def test_a_ping_answered_with_error_bit_0_is_believed_after_asking_nobody(
    bus: Bus, clock: VirtualClock
) -> None:
    bus.errors[2] = 1
    master = Master(bus, clock)
    assert master.ping(2).error_bits == 1
    assert [f.to_bytes() for f in bus.requests].count(PROBE) == 1
    assert master.ping(2).error_bits == 1
    assert [f.to_bytes() for f in bus.requests].count(PROBE) == 1  # known once and for all


def test_a_read_that_only_comes_back_is_no_value(bus: Bus, clock: VirtualClock) -> None:
    master = Master(Line(bus, echo=True), clock, retries=0)
    del bus.tables[3]
    with pytest.raises(NoAnswer):
        master.read(3, "present_position")  # the echo has the shape of a position of 568
    assert master.read(4, "present_position").value == bus.truth[4]


def test_a_mute_servo_on_an_echoing_adapter_is_named_and_the_others_are_read(
    bus: Bus, clock: VirtualClock
) -> None:
    master = Master(Line(bus, echo=True), clock, retries=0)
    bus.fault = lambda id, answer: [] if id == 3 else [(0.0, answer)]
    found = master.sync_read((1, 2, 3, 4), 56, 15)
    assert set(found) == {1, 2, 4}
    assert found.no_answer is not None
    assert set(found.no_answer.causes) == {3}


def test_writes_and_orders_work_on_an_echoing_adapter(bus: Bus, clock: VirtualClock) -> None:
    master = Master(Line(bus, echo=True), clock)
    master.write(5, "goal_position", 1234)
    master.broadcast_write("torque_enable", 0)
    assert master.read(5, "goal_position").value == 1234
    assert [frame.id for frame in bus.requests] == [5, BROADCAST_ID, 5]


# --- two servos with one id


def test_a_mixture_whose_checksum_fits_by_chance_is_not_believed(
    bus: Bus, clock: VirtualClock
) -> None:
    master = Master(bus, clock, retries=0)
    bus.fault = lambda id, answer: [(0.0, _mixed(answer) if id == 3 else answer)]
    for _ in range(6):
        assert 3 not in master.sync_read(IDS, 56, 15)
    clock.sleep(0.2)
    chance = lambda answer: frames.encode(3, 0, bytes(len(answer) - 6))  # noqa: E731
    bus.fault = lambda id, answer: [(0.0, chance(answer) if id == 3 else answer)]
    found = master.sync_read(IDS, 56, 15)
    assert 3 not in found
    assert found.no_answer is not None
    assert "two servos" in found.no_answer.sentence
    assert master.statistics().servos[3].causes[Cause.DOUBTED] == 1


def test_a_servo_is_believed_again_after_clean_answers_in_a_row(
    bus: Bus, clock: VirtualClock
) -> None:
    master = Master(bus, clock, retries=0)
    bus.fault = lambda id, answer: [(0.0, _mixed(answer) if id == 3 else answer)]
    for _ in range(6):
        master.sync_read(IDS, 56, 15)
    bus.fault = lambda id, answer: [(0.0, answer)]
    believed = []
    for _ in range(8):
        clock.sleep(0.2)
        believed.append(3 in master.sync_read(IDS, 56, 15))
    assert believed[0] is False
    assert believed[-4:] == [True] * 4


def test_a_single_damaged_answer_costs_one_reading(bus: Bus, clock: VirtualClock) -> None:
    master = Master(bus, clock, retries=0)
    bus.fault = lambda id, answer: [(0.0, answer[:-1] + b"\x00" if id == 3 else answer)]
    assert 3 not in master.sync_read(IDS, 56, 15)
    bus.fault = lambda id, answer: [(0.0, answer)]
    assert 3 in master.sync_read(IDS, 56, 15)


def test_nobody_is_asked_for_an_echo_while_all_is_well(bus: Bus, clock: VirtualClock) -> None:
    master = Master(bus, clock)
    master.sync_read(IDS, 56, 15)
    master.ping(3)
    master.read(3, "present_position")
    assert Instruction.SYNC_READ in {f.instruction for f in bus.requests}
    assert PROBE not in [f.to_bytes() for f in bus.requests]


def test_after_a_miss_nothing_is_asked_before_the_line_has_been_quiet_for_2_ms(
    bus: Bus, clock: VirtualClock
) -> None:
    master = Master(bus, clock, retries=0)
    assert len(master.sync_read(IDS, 56, 2)) == 3
    bus.fault = lambda id, answer: [] if id == 3 else [(0.0, answer)]
    assert 3 not in master.sync_read(IDS, 56, 2)
    missed_s = clock.monotonic()
    bus.fault = lambda id, answer: [(0.0, answer)]
    bus.wire = [(missed_s + late_s, b"\x11") for late_s in (0.0015, 0.003, 0.0045)]
    before = master.statistics()
    reading = master.sync_read(IDS, 56, 2)
    assert len(reading) == 3
    assert min(r.at_s for r in reading.values()) >= missed_s + 0.0065 - 1e-9
    after = master.statistics()
    assert after.drains == before.drains + 1
    assert after.discarded_bytes == before.discarded_bytes + 3
