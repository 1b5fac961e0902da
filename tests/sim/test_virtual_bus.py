from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.bus import frames
from armlabd.bus.frames import FrameScanner
from armlabd.sim import memory as at
from armlabd.sim.arm import EmptyWorld, VirtualArm
from armlabd.sim.bus import BYTE_S, VirtualBus

SYNC = frames.sync_read(range(1, 7), 56, 15)
OFF = frames.write(254, 40, b"\x00")


def bus() -> VirtualBus:
    return VirtualArm(EmptyWorld()).bus


def ask(wire: VirtualBus, request: bytes, now_s: float = 0.0) -> bytes:
    wire.feed(request, now_s)
    return wire.take_due(now_s + 1.0)


def test_only_the_servo_asked_answers() -> None:
    assert ask(bus(), bytes.fromhex("ffff030201f9")).hex() == "ffff030200fa"
    assert ask(bus(), frames.ping(9)) == b""


def test_a_broadcast_ping_is_answered_by_all_in_order() -> None:
    found = FrameScanner().feed(ask(bus(), frames.ping(254)))
    assert [frame.id for frame in found] == [1, 2, 3, 4, 5, 6]


def test_a_broadcast_write_and_action_say_nothing_and_reach_all() -> None:
    wire = bus()
    assert ask(wire, frames.write(254, 40, b"\x01")) == b""
    assert all(servo.torque_on for servo in wire.servos)
    ask(wire, frames.reg_write(2, 40, b"\x00"), 1.0)
    assert ask(wire, frames.action(), 2.0) == b""
    assert [servo.torque_on for servo in wire.servos] == [True, False, True, True, True, True]


def test_a_sync_read_is_answered_in_the_order_asked_and_a_missing_servo_is_passed_over() -> None:
    found = FrameScanner().feed(ask(bus(), frames.sync_read((6, 9, 2), 56, 2)))
    assert [frame.id for frame in found] == [6, 2]
    assert [len(frame.params) for frame in found] == [2, 2]


def test_a_sync_write_reaches_those_it_names() -> None:
    wire = bus()
    assert ask(wire, frames.sync_write(42, {1: b"\x00\x04", 6: b"\x00\x08"})) == b""
    goals = [at.word(servo.memory, 42) for servo in wire.servos]
    assert (goals[0], goals[5]) == (1024, 2048)
    assert goals[2] == wire.servos[2].present_position()


def test_wire_time_both_ways() -> None:
    ((when, data),) = bus().feed(frames.ping(1), 5.0)
    assert when == pytest.approx(5.0 + (6 + 6) * BYTE_S + 20e-6)
    assert len(data) == 6


def test_a_block_of_six_takes_about_1_4_ms() -> None:
    sent = bus().feed(SYNC, 0.0)
    assert sum(len(data) for _, data in sent) == 126
    assert sent[-1][0] == pytest.approx(1.40e-3, abs=0.05e-3)


def test_the_return_delay_is_waited_for() -> None:
    wire = bus()
    wire.servos[0].write(at.RETURN_DELAY, b"\xfa")
    ((when, _),) = wire.feed(frames.ping(1), 0.0)
    assert when == pytest.approx(12 * BYTE_S + 20e-6 + 500e-6)


def test_answers_are_not_there_before_their_time() -> None:
    wire = bus()
    wire.feed(SYNC, 0.0)
    due = wire.next_due_s()
    assert due is not None
    assert wire.take_due(due - 1e-6) == b""
    assert len(wire.take_due(due)) == 126
    assert wire.next_due_s() is None


def test_bytes_sent_into_an_answer_destroy_both() -> None:
    wire = bus()
    wire.servos[0].write(40, b"\x01")
    wire.feed(SYNC, 0.0)
    wire.feed(OFF, 0.0002)  # servo 1 is speaking
    assert wire.collisions == 1
    assert wire.take_due(1.0) == b""
    assert wire.servos[0].torque_on
    ask(wire, OFF, 0.01)
    assert not wire.servos[0].torque_on


def test_answers_that_were_through_before_the_collision_are_kept() -> None:
    wire = bus()
    wire.feed(SYNC, 0.0)
    wire.feed(OFF, 0.0007)
    assert [f.id for f in FrameScanner().feed(wire.take_due(1.0))] == [1, 2]


def test_two_requests_in_one_go_collide_when_the_first_is_answered() -> None:
    wire = bus()
    assert ask(wire, frames.ping(1) + frames.ping(2)) == b""
    assert wire.collisions == 1


def test_a_goal_write_and_a_read_in_one_go_both_work() -> None:
    wire = bus()
    wire.feed(frames.sync_write(42, {1: b"\x00\x04"}), 0.0)
    wire.feed(frames.ping(2), 0.0)
    assert len(wire.take_due(1.0)) == 6


def test_a_request_may_come_in_pieces_but_not_with_a_long_pause() -> None:
    wire = bus()
    request = frames.ping(4)
    wire.feed(request[:3], 0.0)
    wire.feed(request[3:], 0.001)
    assert len(wire.take_due(1.0)) == 6
    wire.feed(request[:3], 1.0)
    wire.feed(request[3:], 1.1)
    assert wire.take_due(2.0) == b""


def test_a_bad_checksum_is_not_obeyed_and_the_next_frame_is() -> None:
    wire = bus()
    bad = bytearray(frames.write(1, 40, b"\x01"))
    bad[-1] ^= 1
    assert ask(wire, bytes(bad)) == b""
    assert not wire.servos[0].torque_on
    assert len(ask(wire, frames.ping(1), 0.001)) == 6


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=60), max_size=5))
def test_any_noise_is_survived_and_after_a_pause_a_ping_is_answered(chunks: list[bytes]) -> None:
    wire = bus()
    for place, chunk in enumerate(chunks):
        wire.feed(chunk, place * 0.001)
    wire.take_due(1.0)
    if any(servo.id != number for number, servo in enumerate(wire.servos, 1)):
        return  # the noise happened to be a write of an id
    wire.servos[2].memory[at.RETURN_DELAY] = 0
    assert ask(wire, frames.ping(3), 1.0)[:3] == b"\xff\xff\x03"


# --- stamps


def test_a_torque_off_is_stamped_when_its_last_byte_has_arrived() -> None:
    wire = bus()
    wire.feed(OFF, 2.0)
    (stamp,) = wire.stamps.since()
    assert stamp["kind"] == "torque_off"
    assert stamp["t_ns"] == pytest.approx(2.0e9 + len(OFF) * 10_000, abs=2)
    assert stamp["ids"] == (1, 2, 3, 4, 5, 6)
    assert stamp["broadcast"]


def test_goals_and_torque_on_are_stamped_and_other_writes_are_not() -> None:
    wire = bus()
    ask(wire, frames.write(3, 40, b"\x01"), 0.0)
    ask(wire, frames.sync_write(42, {1: b"\x00\x04", 2: b"\x00\x04"}), 1.0)
    ask(wire, frames.write(3, 21, b"\x10"), 2.0)
    ask(wire, SYNC, 3.0)
    kinds = [(s["kind"], s["ids"], s["seq"]) for s in wire.stamps.since()]
    assert kinds == [("torque_on", (3,), 1), ("goal", (1, 2), 2)]
    assert [s["seq"] for s in wire.stamps.since(1)] == [2]
    assert wire.stamps.since(0, "torque_off") == []


def test_a_stamped_goal_tells_its_values_and_a_part_of_one_tells_none() -> None:
    wire = bus()
    ask(wire, frames.sync_write(42, {6: b"\x00\x04", 2: b"\x01\x08"}), 0.0)
    ask(wire, frames.write(3, 41, b"\x10\x07\x03"), 1.0)  # acceleration and goal in one
    ask(wire, frames.write(254, 42, b"\x05\x00"), 2.0)
    ask(wire, frames.write(4, 42, b"\x05"), 3.0)
    ask(wire, frames.write(4, 40, b"\x01"), 4.0)
    told = [(s["ids"], s["values"]) for s in wire.stamps.since()]
    assert told[0] == ((6, 2), (1024, 2049))
    assert told[1] == ((3,), (0x0307,))
    assert told[2] == ((1, 2, 3, 4, 5, 6), (5,) * 6)
    assert told[3:] == [((4,), ()), ((4,), ())]


# --- faults


def test_a_mute_servo_still_hears() -> None:
    wire = bus()
    wire.faults.muted.add(2)
    assert [f.id for f in FrameScanner().feed(ask(wire, SYNC))] == [1, 3, 4, 5, 6]
    assert ask(wire, frames.write(2, 40, b"\x01"), 1.0) == b""
    assert wire.servos[1].torque_on


def test_a_late_answer_comes_once_and_in_the_middle_of_later_ones() -> None:
    wire = bus()
    wire.faults.late_s, wire.faults.late_once = 0.120, True
    wire.feed(frames.ping(1), 0.0)
    assert wire.take_due(0.05) == b""
    wire.feed(frames.ping(2), 0.05)
    assert wire.take_due(0.06) == bytes.fromhex("ffff020200fb")
    assert wire.take_due(0.2) == bytes.fromhex("ffff010200fc")


def test_drop_corrupt_and_noise() -> None:
    wire = bus()
    wire.faults.drop_rate = 1.0
    assert ask(wire, frames.ping(1), 0.0) == b""
    wire.faults.clear()
    wire.faults.corrupt_rate = 1.0
    spoilt = ask(wire, frames.ping(1), 1.0)
    assert len(spoilt) == 6
    assert spoilt != bytes.fromhex("ffff010200fc")
    wire.faults.clear()
    wire.faults.noise_rate = 1.0
    assert ask(wire, frames.ping(1), 2.0)[1:] == bytes.fromhex("ffff010200fc")
    wire.faults.clear()
    assert ask(wire, frames.ping(1), 3.0) == bytes.fromhex("ffff010200fc")


def test_a_frozen_bus_is_deaf_and_dumb() -> None:
    wire = bus()
    wire.faults.frozen = True
    assert ask(wire, frames.write(254, 40, b"\x01")) == b""
    assert not any(servo.torque_on for servo in wire.servos)
