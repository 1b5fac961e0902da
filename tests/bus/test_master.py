from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from armlabd.bus import frames
from armlabd.bus.errors import Cause, NoAnswer, NotWritten, PortLost
from armlabd.bus.frames import Frame, Instruction
from armlabd.bus.master import Master, Timing, torque_off_frame
from armlabd.bus.registers import REGISTERS
from armlabd.clock import VirtualClock

IDS = (1, 2, 3, 4, 5, 6)
Bus = Any  # the ScriptedBus of conftest
Mangle = Callable[[bytes], bytes]


def once(id: int, mangle: Mangle, delay_s: float = 0.0) -> Callable[..., list[tuple[float, bytes]]]:
    """A fault that hits the first answer of one servo."""
    left = [1]

    def fault(who: int, answer: bytes) -> list[tuple[float, bytes]]:
        if who != id or not left:
            return [(0.0, answer)]
        left.pop()
        return [(delay_s, mangle(answer))]

    return fault


def silent(id: int) -> Callable[..., list[tuple[float, bytes]]]:
    """One servo never answers."""
    return lambda who, answer: [] if who == id else [(0.0, answer)]


FAULTS: dict[str, tuple[Mangle, Cause | None]] = {
    "no answer": (lambda a: b"", Cause.SILENT),
    "bad checksum": (lambda a: a[:-1] + bytes((a[-1] ^ 1,)), Cause.CHECKSUM),
    "truncated": (lambda a: a[:-3], None),
    "wrong id": (lambda a: frames.encode(99, a[4], a[5:-1]), Cause.STRAY),
    "other length": (lambda a: frames.encode(a[2], a[4], a[5:-1] + b"x"), Cause.STRAY),
    "damaged header": (lambda a: b"\xfe" + a[1:], Cause.GARBLED),
}


@pytest.fixture(params=[True, False], ids=["in order", "out of order"])
def any_bus(bus: Bus, request: pytest.FixtureRequest) -> Bus:
    bus.fifo = request.param
    return bus


# --- what works


def test_a_register_is_read_with_its_sign_and_the_time_it_was_asked(
    bus: Bus, master: Master, clock: VirtualClock
) -> None:
    bus.tables[3][31:33] = b"\x55\x08"
    before = clock.monotonic()
    reading = master.read(3, "homing_offset")
    assert reading.value == -85
    assert before <= reading.at_s < clock.monotonic()
    assert reading.age_s(reading.at_s + 2) == pytest.approx(2)


def test_a_healthy_sync_read_is_one_request_for_exactly_these_bytes(
    bus: Bus, master: Master
) -> None:
    assert tuple(master.sync_read(IDS, 56, 15)) == IDS
    assert [f.to_bytes() for f in bus.requests] == [frames.sync_read(IDS, 56, 15)]


def test_a_block_read_gives_every_servo_its_own_feedback(bus: Bus, master: Master) -> None:
    for id in IDS:
        bus.tables[id][63] = 20 + id
    block = master.read_block(IDS)
    assert block.no_answer is None
    assert {id: s.feedback.temperature for id, s in block.servos.items()} == {
        id: 20 + id for id in IDS
    }


def test_ping_says_who_is_there(bus: Bus, master: Master) -> None:
    assert master.ping(4).error_bits == 0
    with pytest.raises(NoAnswer) as caught:
        master.ping(7)
    assert caught.value.ids == (7,)


def test_a_ping_answered_with_error_bit_0_counts_although_it_equals_the_request(
    bus: Bus, master: Master
) -> None:
    bus.errors[2] = 1
    assert master.ping(2).error_bits == 1


def test_the_overload_bit_is_a_value_beside_the_data(bus: Bus, master: Master) -> None:
    bus.errors[3] = 0x20
    assert master.read_block(IDS).servos[3].error_bits == 0x20
    assert master.write(3, "torque_enable", 0).error_bits == 0x20
    assert master.statistics().servos[3].with_error_bits == 2
    assert master.statistics().servos[3].missed == 0


def test_a_write_is_acknowledged_and_done(bus: Bus, master: Master) -> None:
    master.write(5, "goal_position", -3)
    assert bus.tables[5][42:44] == b"\x03\x80"
    assert bus.requests == [Frame(5, Instruction.WRITE, b"\x2a\x03\x80")]


def test_reg_write_and_action_are_sent(bus: Bus, master: Master) -> None:
    master.reg_write(5, "goal_position", 7)
    master.action()
    assert [f.instruction for f in bus.requests] == [Instruction.REG_WRITE, Instruction.ACTION]


def test_a_sync_write_reaches_each_servo_with_its_value(bus: Bus, master: Master) -> None:
    master.sync_write("goal_position", {1: 10, 2: -10})
    assert bus.requests[0].to_bytes() == frames.sync_write(42, {1: b"\x0a\x00", 2: b"\x0a\x80"})


def test_torque_off_is_one_frame_to_all(bus: Bus, master: Master) -> None:
    for id in IDS:
        bus.tables[id][40] = 1
    master.broadcast_write("torque_enable", 0)
    assert bus.requests[0].to_bytes() == torque_off_frame() == bytes.fromhex("fffffe04032800d2")
    assert all(bus.tables[id][40] == 0 for id in IDS)


def test_torque_off_does_not_wait_for_a_quiet_line(
    bus: Bus, master: Master, clock: VirtualClock
) -> None:
    bus.fault = silent(3)
    master.read_block(IDS, retries=0)
    before = clock.monotonic()
    master.broadcast_write("torque_enable", 0)
    assert clock.monotonic() - before == pytest.approx(8e-5)


@pytest.mark.parametrize(("register", "value"), [("present_position", 1), ("lock", 2), ("id", 254)])
def test_what_cannot_be_written_is_refused_before_the_wire(
    bus: Bus, master: Master, register: str, value: int
) -> None:
    with pytest.raises(ValueError, match=register):
        master.write(1, register, value)
    assert bus.requests == []


# --- faults


@pytest.mark.parametrize("name", FAULTS)
def test_a_single_attempt_reports_the_fault_and_keeps_the_others(
    bus: Bus, master: Master, name: str
) -> None:
    mangle, cause = FAULTS[name]
    bus.fault = once(3, mangle)
    block = master.read_block(IDS, retries=0)
    assert block.no_answer is not None
    assert block.no_answer.ids == (3,)
    assert set(block.servos) == {1, 2, 4, 5, 6}
    assert cause in (None, block.no_answer.causes[3])
    assert master.statistics().servos[3].missed == 1
    assert sum(master.statistics().causes.values()) == 1


@pytest.mark.parametrize("name", FAULTS)
def test_a_retry_heals_one_fault_and_asks_only_the_servo_that_missed(
    bus: Bus, master: Master, name: str
) -> None:
    bus.fault = once(3, FAULTS[name][0])
    block = master.read_block(IDS)
    assert block.no_answer is None
    assert block.servos[3].feedback.position == bus.truth[3]
    assert bus.requests[-1].params[2:] == b"\x03"
    assert master.statistics().retries == 1


@pytest.mark.parametrize("noise", [b"\x00", b"\xff", b"\xff\xff", b"\x12\xff\x55", b"\xff\xff\x03"])
def test_noise_and_extra_ff_before_an_answer_cost_nothing(
    bus: Bus, master: Master, noise: bytes
) -> None:
    bus.fault = once(3, lambda a: noise + a)
    block = master.read_block(IDS, retries=0)
    assert block.no_answer is None
    assert block.servos[3].feedback.position == bus.truth[3]
    assert master.statistics().noise_bytes == len(noise)


def test_row_51_a_missing_servo_is_named_and_the_others_are_returned(
    bus: Bus, master: Master
) -> None:
    bus.fault = silent(3)
    readings = master.sync_read(IDS, 56, 2)
    assert set(readings) == {1, 2, 4, 5, 6}
    assert readings.no_answer is not None
    assert readings.no_answer.causes == {3: Cause.SILENT}
    assert "Servo 3 did not answer. Check the servo's power" in readings.no_answer.sentence


def test_two_answers_of_one_servo_are_both_disbelieved(bus: Bus, master: Master) -> None:
    bus.fault = once(1, lambda a: a + a)
    readings = master.sync_read(IDS, 56, 2, retries=0)
    assert readings.no_answer is not None
    assert readings.no_answer.causes == {1: Cause.DOUBLED}


def test_input_that_nobody_asked_for_is_emptied(
    bus: Bus, master: Master, clock: VirtualClock
) -> None:
    master.ping(1)
    bus.wire.append((clock.monotonic(), frames.encode(3, 0, b"\x99\x09")))
    assert master.read(3, "present_position").value == bus.truth[3]
    assert master.statistics().discarded_bytes == 8


def test_an_answer_that_came_while_we_were_not_running_still_counts(
    bus: Bus, master: Master, clock: VirtualClock
) -> None:
    plain = bus.write

    def kept_from_the_processor(data: bytes) -> None:
        plain(data)
        clock.sleep(1.0)

    bus.write = kept_from_the_processor
    assert master.read_block(IDS, retries=0).no_answer is None


def test_a_line_full_of_noise_ends_each_attempt_in_bounded_time(
    bus: Bus, master: Master, clock: VirtualClock
) -> None:
    def babble(deadline_s: float) -> bytes:
        clock.sleep(0.001)
        return b"\xff\xff\x55" * 30

    bus.read = babble
    before = clock.monotonic()
    with pytest.raises(NoAnswer):
        master.ping(1)
    assert clock.monotonic() - before < 0.3


def test_a_lost_port_passes_through(bus: Bus, master: Master) -> None:
    bus.lost = True
    for call in (
        lambda: master.ping(1),
        lambda: master.read_block(IDS),
        lambda: master.broadcast_write("torque_enable", 0),
    ):
        with pytest.raises(PortLost):
            call()


# --- late answers


@pytest.mark.parametrize("late_s", [0.008, 0.012, 0.05, 0.12, 0.4])
def test_after_one_late_answer_300_calls_give_no_stale_value(
    any_bus: Bus, master: Master, clock: VirtualClock, late_s: float
) -> None:
    any_bus.fault = once(3, lambda a: a, late_s)
    believed = 0
    for _ in range(301):
        block = master.read_block(IDS, retries=0)
        believed += len(block.servos)
        for id, servo in block.servos.items():
            assert servo.feedback.position == any_bus.truth[id]
        clock.sleep(0.003)
    assert believed > (300 - late_s / 0.006 - 45) * 6


@pytest.mark.parametrize("retries", [0, 2])
@pytest.mark.parametrize("every", [2, 5, 17])
def test_answers_late_again_and_again_give_no_stale_value(
    any_bus: Bus, master: Master, clock: VirtualClock, retries: int, every: int
) -> None:
    count = [0]

    def fault(id: int, answer: bytes) -> list[tuple[float, bytes]]:
        count[0] += id == 3
        return [(0.12 if id == 3 and count[0] % every == 0 else 0.0, answer)]

    any_bus.fault = fault
    for _ in range(200):
        block = master.read_block(IDS, retries=retries)
        for id, servo in block.servos.items():
            assert servo.feedback.position == any_bus.truth[id]
        clock.sleep(0.002)


def test_a_stall_of_the_whole_line_for_two_seconds_gives_no_stale_value(
    bus: Bus, master: Master, clock: VirtualClock
) -> None:
    start = clock.monotonic()
    bus.fault = lambda id, answer: [(max(0.0, start + 2 - clock.monotonic()), answer)]
    bus.fifo = False
    healthy = 0
    while clock.monotonic() < start + 4:
        block = master.read_block(IDS, retries=0)
        healthy = healthy + 1 if len(block.servos) == 6 else 0
        for id, servo in block.servos.items():
            assert servo.feedback.position == bus.truth[id]
        clock.sleep(0.004)
    assert healthy > 50


def test_a_late_acknowledgement_is_never_taken_for_a_newer_write(
    any_bus: Bus, master: Master, clock: VirtualClock
) -> None:
    any_bus.fault = once(2, lambda a: a, 0.06)
    with pytest.raises(NoAnswer):
        master.write(2, "goal_position", 5, retries=0)
    for value in range(10, 60):
        try:
            master.write(2, "goal_position", value, retries=0)
        except NoAnswer:
            continue
        assert any_bus.tables[2][42] == value
        clock.sleep(0.002)


def test_a_write_that_was_not_taken_is_seen_when_its_acknowledgement_is_in_doubt(
    bus: Bus, master: Master
) -> None:
    bus.fault = once(2, lambda a: b"")
    bus.eeprom_works = False
    with pytest.raises(NoAnswer) as caught:
        master.write(2, "p_coefficient", 16)
    assert caught.value.causes == {2: Cause.UNCONFIRMED}
    assert "did not take the value" in caught.value.sentence


def test_a_ping_in_doubt_is_asked_by_a_read(bus: Bus, master: Master) -> None:
    bus.fault = once(2, lambda a: b"")
    assert master.ping(2).data == b""
    assert [f.instruction for f in bus.requests] == [Instruction.PING, Instruction.READ]


def test_a_read_made_longer_at_the_end_of_the_table_gives_the_same_register(
    bus: Bus, master: Master
) -> None:
    bus.tables[2][86] = 77
    bus.fault = once(2, lambda a: b"")
    assert master.read(2, "acceleration_multiplier").value == 77
    assert bus.requests[-1].params == b"\x55\x02"


def test_a_dead_servo_rests_and_costs_the_others_almost_nothing(
    bus: Bus, master: Master, clock: VirtualClock
) -> None:
    bus.fault = silent(3)
    for _ in range(10):
        master.read_block(IDS, retries=0)
    before = clock.monotonic()
    block = master.read_block(IDS, retries=0)
    assert clock.monotonic() - before < 0.003
    assert block.no_answer is not None
    assert block.no_answer.causes == {3: Cause.RESTING}
    assert len(block.servos) == 5


def test_a_dead_servo_that_comes_back_is_found_within_a_second(
    bus: Bus, master: Master, clock: VirtualClock
) -> None:
    bus.fault = silent(3)
    for _ in range(400):
        master.read_block(IDS, retries=0)
        clock.sleep(0.008)
    bus.fault = lambda id, answer: [(0.0, answer)]
    back = clock.monotonic()
    while 3 not in (block := master.read_block(IDS, retries=0)).servos:
        assert clock.monotonic() - back < 1.0
        clock.sleep(0.008)
    assert block.servos[3].feedback.position == bus.truth[3]


def test_a_write_to_a_resting_servo_still_goes_out(bus: Bus, master: Master) -> None:
    bus.fault = silent(3)
    bus.tables[3][40] = 1
    for _ in range(10):
        master.read_block(IDS, retries=0)
    with pytest.raises(NoAnswer):
        master.write(3, "torque_enable", 0, retries=0)
    assert bus.tables[3][40] == 0


# --- deadlines


def test_a_single_attempt_on_a_dead_bus_fits_a_100_hz_cycle(
    bus: Bus, master: Master, clock: VirtualClock
) -> None:
    bus.fault = lambda id, answer: []
    before = clock.monotonic()
    assert master.read_block(IDS, retries=0).servos == {}
    assert clock.monotonic() - before < 0.010


def test_the_deadline_grows_with_the_bytes_and_the_baud_rate(bus: Bus, clock: VirtualClock) -> None:
    slow = Master(bus, clock, timing=Timing(baud=115_200))
    bus.fault = lambda id, answer: []
    before = clock.monotonic()
    slow.read_block(IDS, retries=0)
    assert clock.monotonic() - before > 140 * 10 / 115_200 + 0.003


def test_patience_depends_on_the_number_of_attempts(bus: Bus, master: Master) -> None:
    bus.fault = once(1, lambda a: a, 0.015)
    assert master.read(1, "present_position").value == bus.truth[1]
    assert master.statistics().retries == 0
    bus.fault = once(1, lambda a: a, 0.015)
    with pytest.raises(NoAnswer):
        master.read(1, "present_position", retries=0)


# --- settings in the EEPROM


def test_row_47_a_setting_is_unlocked_written_read_back_and_locked(
    bus: Bus, master: Master, clock: VirtualClock
) -> None:
    before = clock.monotonic()
    assert master.write_eeprom(2, "homing_offset", -85) is True
    writes = [f.params for f in bus.requests if f.instruction == Instruction.WRITE]
    assert writes == [b"\x37\x00", b"\x1f\x55\x08", b"\x37\x01"]
    assert clock.monotonic() - before > 0.3


def test_a_setting_that_is_there_already_is_not_written(bus: Bus, master: Master) -> None:
    assert master.write_eeprom(2, "homing_offset", 0) is False
    assert [f.instruction for f in bus.requests] == [Instruction.READ]


def test_a_setting_that_does_not_hold_is_reported_and_the_lock_is_closed(
    bus: Bus, master: Master
) -> None:
    bus.eeprom_works = False
    with pytest.raises(NotWritten, match="Servo 2 keeps 0 in homing_offset instead of -85"):
        master.write_eeprom(2, "homing_offset", -85)
    assert bus.tables[2][55] == 1


def test_row_47_a_new_id_is_read_back_and_locked_at_the_new_id(bus: Bus, master: Master) -> None:
    assert master.write_eeprom(6, "id", 9) is True
    assert master.read(9, "id").value == 9
    assert bus.tables[9][55] == 1


def test_a_flash_write_may_take_longer_than_an_ordinary_answer(bus: Bus, master: Master) -> None:
    bus.fault = lambda id, a: [(0.05 if bus.requests[-1].params[0] == 21 else 0.0, a)]
    bus.tables[2][21] = 32
    master.write(2, "p_coefficient", 16)
    assert master.statistics().retries == 0


@pytest.mark.parametrize("register", ["goal_position", "baud_rate", "model_number"])
def test_only_a_setting_can_be_written_as_one(bus: Bus, master: Master, register: str) -> None:
    with pytest.raises(ValueError, match=register):
        master.write_eeprom(2, register, 1)
    assert bus.requests == []


# --- counters


def test_statistics_are_a_snapshot_that_nobody_can_change(bus: Bus, master: Master) -> None:
    master.ping(1)
    seen = master.statistics()
    master.ping(1)
    assert (seen.transactions, seen.servos[1].asked, seen.servos[1].answered) == (1, 1, 1)
    with pytest.raises(TypeError):
        seen.servos[1] = None  # type: ignore[index]
    with pytest.raises(AttributeError):
        seen.transactions = 0  # type: ignore[misc]


def test_counters_can_outlive_a_master(bus: Bus, master: Master, clock: VirtualClock) -> None:
    master.ping(1)
    again = Master(bus, clock, counters=master.counters)
    again.ping(1)
    assert again.statistics().transactions == 2


def test_a_reading_of_many_registers_has_no_single_value(bus: Bus, master: Master) -> None:
    with pytest.raises(ValueError, match="not one register"):
        _ = master.sync_read((1,), 56, 15)[1].value
    assert master.read(1, REGISTERS["id"]).value == 1
