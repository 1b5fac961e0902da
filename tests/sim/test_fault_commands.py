"""Every fault as a person types it: what the wire or the servo then does, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from armlabd.bus import frames
from armlabd.bus.frames import FrameScanner
from armlabd.clock import VirtualClock
from armlabd.sim import memory as at
from armlabd.sim.arm import VirtualArm
from armlabd.sim.commands import Commands, parse_line
from armlabd.sim.fault_commands import FAULTS
from armlabd.sim.inprocess import InProcessCable
from armlabd.sim.world import World

IDS = (1, 2, 3, 4, 5, 6)
BLOCK = frames.sync_read(IDS, 56, 15)


class Bench:
    def __init__(self) -> None:
        self.clock = VirtualClock(10.0)
        self.arm = VirtualArm(World(blocks=()), now_s=10.0)
        self.cable = InProcessCable(self.arm, self.clock)
        self.port = self.cable.open()
        self.commands = Commands(self.arm, self.cable, lambda: None)

    def say(self, line: str) -> dict[str, Any]:
        return self.commands.handle(parse_line(line))

    def ask(self, request: bytes = BLOCK, for_s: float = 0.01) -> bytes:
        """What comes back within `for_s`."""
        self.port.write(request)
        return self.listen(for_s)

    def listen(self, for_s: float) -> bytes:
        until_s, heard = self.clock.monotonic() + for_s, b""
        while self.clock.monotonic() < until_s:
            heard += self.port.read(until_s)
        return heard

    def ids(self, heard: bytes) -> list[int]:
        return [frame.id for frame in FrameScanner().feed(heard)]

    def block(self, id: int) -> bytes:
        scanner = FrameScanner({id: 15})
        return next(frame.params for frame in scanner.feed(self.ask()) if frame.id == id)


@pytest.fixture
def bench() -> Bench:
    return Bench()


# line -> what is different then
WIRE: dict[str, Callable[[Bench], bool]] = {
    "mute id=3": lambda b: b.ids(b.ask()) == [1, 2, 4, 5, 6],
    "break after=3": lambda b: b.ids(b.ask()) == [1, 2, 3],
    "drop rate=1": lambda b: b.ask() == b"",
    "corrupt rate=1": lambda b: len(b.ids(b.ask())) < 6,
    "noise": lambda b: len(b.ask()) == 6 * 22,
    "extra_ff": lambda b: b.ask().startswith(b"\xff\xff\xff"),
    "truncate": lambda b: 0 < len(b.ask()) < 6 * 21,
    "strange": lambda b: b.ids(b.ask()) == [77] * 6,
    "late seconds=0.05": lambda b: b.ask() == b"" and len(b.listen(0.1)) == 6 * 21,
    "echo": lambda b: b.ask().startswith(BLOCK),
    "garbage seconds=0.05": lambda b: len(b.listen(0.1)) >= 40 and b.listen(0.1) == b"",
    "at seconds=0.05": lambda b: b.listen(0.1) == b"AT\r" * 7,
    "duplicate id=3": lambda b: (
        b.ids(b.ask()) == [1, 2, 4, 5, 6] and b.ids(b.ask(frames.ping(3))) == [3]
    ),
    "freeze": lambda b: b.ask() == b"",
}


@pytest.mark.parametrize("line", WIRE)
def test_a_fault_of_the_line_is_heard_and_ends_with_healthy(bench: Bench, line: str) -> None:
    assert len(bench.ask()) == 6 * 21
    assert bench.say(line) == {"ok": True}
    assert WIRE[line](bench)
    bench.say("healthy")
    bench.listen(0.2)
    assert bench.ids(bench.ask()) == list(IDS)
    assert len(bench.ask()) == 6 * 21


SERVO: dict[str, Callable[[Bench], bool]] = {
    "voltage decivolts=75": lambda b: b.block(3)[6] == 75,
    "heat id=3 celsius=61": lambda b: b.block(3)[7] == 61 and b.block(2)[7] < 30,
    "sensor id=3": lambda b: b.block(3)[9] == 0x02 and b.arm.servos[2].error_bits == 2,
    "phase id=3": lambda b: b.arm.servos[2].memory[at.PHASE] & 0x10 == 0x10,
    "unlock id=3": lambda b: b.arm.servos[2].memory[at.LOCK] == 0,
    "stuck id=3": lambda b: b.arm.servos[2].illness.stuck,
    "spike id=3 reads=-1": lambda b: int.from_bytes(b.block(3)[4:6], "little") == 1000,
}


@pytest.mark.parametrize("line", SERVO)
def test_a_fault_of_a_servo_is_seen_and_ends_with_healthy(bench: Bench, line: str) -> None:
    assert not SERVO[line](bench)
    assert bench.say(line) == {"ok": True}
    assert SERVO[line](bench)
    bench.say("healthy")
    bench.arm.advance(bench.arm.now_s + 1.0)
    bench.clock.advance_to(bench.arm.now_s)
    if not line.startswith("heat"):  # it cools down by itself, slowly
        assert not SERVO[line](bench)
    assert bench.arm.servos[2].motor.held_c is None


def test_an_encoder_jump_shows_in_one_reading_of_the_position_only(bench: Bench) -> None:
    before = bench.block(3)[:2]
    bench.say("encoder_jump id=3 steps=300")
    bench.ask(frames.sync_read(IDS, 40, 4))  # does not look at the position
    jumped, after = bench.block(3)[:2], bench.block(3)[:2]
    places = [int.from_bytes(data, "little") for data in (before, jumped, after)]
    assert abs(places[1] - places[0] - 300) <= 3  # the limp joint sinks a little meanwhile
    assert abs(places[2] - places[0]) <= 3


def test_a_brown_out_takes_torque_and_pace_and_leaves_the_settings(bench: Bench) -> None:
    servo = bench.arm.servos[3]
    for address, data in ((40, b"\x01"), (41, b"\x14"), (46, b"\x10\x01"), (48, b"\x2c\x01")):
        servo.write(address, data)
    settings = bytes(servo.memory[:40])
    bench.say("brownout id=4")
    assert not servo.torque_on
    assert servo.memory[41] == 0
    assert servo.memory[46:50] == bytes((0, 0, 232, 3))
    assert bytes(servo.memory[:40]) == settings


def test_a_brown_out_without_an_id_hits_all_six(bench: Bench) -> None:
    for servo in bench.arm.servos:
        servo.write(40, b"\x01")
    bench.say("brownout")
    assert not any(servo.torque_on for servo in bench.arm.servos)


def test_servos_behind_a_broken_cable_are_deaf_and_come_back_limp(bench: Bench) -> None:
    for servo in bench.arm.servos:
        servo.write(40, b"\x01")
    bench.say("break after=4")
    bench.ask(frames.sync_write(41, dict.fromkeys(IDS, b"\x07")))
    assert [servo.torque_on for servo in bench.arm.servos] == [True] * 4 + [False] * 2
    assert [servo.memory[41] for servo in bench.arm.servos] == [7] * 4 + [0] * 2
    bench.say("break after=4 on=false")
    assert bench.ids(bench.ask()) == list(IDS)


def test_a_weak_supply_sags_while_the_arm_moves_and_recovers_at_rest(bench: Bench) -> None:
    bench.say("sag decivolts=40")
    pan = bench.arm.servos[0]
    assert bench.block(1)[6] == 120
    pan.write(40, b"\x01")
    pan.write(42, (2500).to_bytes(2, "little"))
    bench.listen(0.1)
    assert bench.block(1)[6] <= 80
    bench.listen(2.0)
    assert bench.block(1)[6] >= 119


def test_a_stuck_servo_takes_the_goal_and_stays(bench: Bench) -> None:
    pan = bench.arm.servos[0]
    pan.write(40, b"\x01")
    bench.say("stuck id=1")
    pan.write(42, (2500).to_bytes(2, "little"))
    bench.listen(1.0)
    assert at.word(pan.memory, at.GOAL_POSITION) == 2500
    assert pan.present_position() == 2048


def test_a_servo_with_another_offset_reads_elsewhere_and_keeps_it(bench: Bench) -> None:
    servo = bench.arm.servos[2]
    before = servo.present_position()
    bench.say(f"offset id=3 steps={servo.homing_offset + 40}")
    assert servo.present_position() == before - 40
    bench.say("power_cycle")
    assert servo.present_position() == before - 40


def test_garbage_spoils_the_answers_it_meets(bench: Bench) -> None:
    bench.say("garbage")
    damaged = sum(len(bench.ids(bench.ask())) < 6 for _ in range(20))
    assert damaged >= 10


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_has_a_help_line_that_names_its_words(bench: Bench, name: str) -> None:
    line = bench.say("help")["commands"][name]
    assert 20 < len(line) < 100
    assert line.endswith(".")


@pytest.mark.parametrize(
    "line",
    [
        "break", "break after=0", "break after=6", "heat id=3 celsius=121", "heat id=9",
        "garbage seconds=0", "at seconds=-1", "sag decivolts=121", "duplicate id=9",
        "encoder_jump id=3 steps=5000", "encoder_jump id=3 reads=-2", "offset id=3 steps=2048",
        "offset id=3", "brownout id=7", "phase id=3 on=1", "stuck", "truncate rate=2",
    ],
)  # fmt: skip
def test_a_wrong_fault_is_refused_and_changes_nothing(bench: Bench, line: str) -> None:
    before = bench.say("state")
    answer = bench.say(line)
    assert answer["ok"] is False
    assert len(answer["error"]) > 20
    assert bench.say("state") == before
