"""Ports that come and go: any phase, any name, any hour; strangers and missing power told apart."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from armlabd.bench.arena import Arena, Tap

sys.path.insert(0, str(Path(__file__).parents[1] / "bus"))

from usbtree import UsbTree

from armlabd.arm.joints import Pose
from armlabd.bus.errors import PortError, PortKind, PortLost
from armlabd.clock import Clock, VirtualClock
from armlabd.motion.adapter import Adapter, load_seen
from armlabd.motion.disk import DirectDisk
from armlabd.sim.inprocess import InProcessTransport

AWAY = Pose(40.0, -70.0, 60.0, 60.0, 20.0, 50.0)
Make = Callable[..., Arena]


class Stranger:
    """A device that is no arm: answers by a rule, without taking time."""

    def __init__(self, clock: VirtualClock, rule: Callable[[bytes], bytes]) -> None:
        self.clock, self.rule, self.waiting = clock, rule, b""

    def write(self, data: bytes) -> None:
        self.waiting += self.rule(data)

    def read(self, deadline_s: float) -> bytes:
        if not self.waiting:
            self.clock.advance_to(max(self.clock.monotonic(), deadline_s))
        found, self.waiting = self.waiting, b""
        return found

    def discard_input(self) -> int:
        return len(self.read(0.0))

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (lambda data: data, "sends every byte back"),
        (lambda data: b"\r\nOK\r\n" if data.endswith(b"\r") else b"", "A modem or phone"),
        (lambda data: b"start\r\necho:Unknown command\r\n", "it says 'start"),
        (lambda data: b"\x80\x00\xf1\x7e\x93" * 4, "servos set to another rate"),
    ],
    ids=["echo", "modem", "printer", "rate"],
)
def test_a_wrong_device_is_told_within_a_second(
    make: Make, rule: Callable[[bytes], bytes], words: str
) -> None:
    arena = make()
    stranger = Stranger(arena.clock, rule)
    arena.open = lambda: stranger  # type: ignore[method-assign, assignment, return-value]
    core = arena.core
    core.link._open = arena.open
    arena.run(1.0)
    assert core.link.state == "wrong_device", (core.link.state, core.link.detail)
    assert words in core.link.detail
    assert core.link.found == ()


def test_case_38_a_port_without_servo_power_says_power_first_then_cable(make: Make) -> None:
    arena = make()
    arena.arm.bus.faults.frozen = True
    arena.run(1.0)
    assert arena.core.link.state == "servos_missing"
    detail = arena.core.link.detail
    assert 0 <= detail.index("power supply") < detail.index("cable")
    arena.arm.bus.faults.frozen = False
    arena.ready()


@pytest.mark.parametrize(("decivolts", "blamed"), [(48, True), (59, True), (60, False)])
def test_case_38_servos_that_vanish_at_a_low_voltage_blame_the_power(
    make: Make, decivolts: int, blamed: bool
) -> None:
    arena = make()
    arena.arm.set_supply(decivolts)
    arena.arm.bus.faults.muted.update({2, 5})
    arena.run(1.0)
    link = arena.core.link
    assert link.state == "servos_missing"
    assert "2 (shoulder_lift), 5 (wrist_roll)" in link.detail
    assert ("power supply is off, missing or too weak" in link.detail) is blamed
    assert (f"only {decivolts / 10:.1f} V" in link.detail) is blamed


# --- any phase


class Puller:
    """Pulls the plug right before the nth frame of a story goes out."""

    def __init__(self, arena: Arena, at: int) -> None:
        self.arena, self.left = arena, at
        self.opened: list[Tap] = []
        arena.core.link._open = self.open

    def open(self) -> Tap:
        made = Arena.open(self.arena)
        write, close = made.write, made.close

        def write_or_pull(data: bytes) -> None:
            self.left -= 1
            if self.left == 0:
                self.arena.unplug()
            write(data)

        def closed() -> None:
            self.opened.remove(made)
            close()

        made.write, made.close = write_or_pull, closed  # type: ignore[method-assign]
        self.opened.append(made)
        return made


def story(arena: Arena) -> Any:
    """Bring-up, switching on, a motion, a stop, a clear, and home: yields between the phases."""
    for _ in range(40):
        arena.step()
    yield "up"
    if arena.core.link.ready:
        arena.move(arena.program(AWAY))
        arena.run(1.0)
    yield "moving"
    arena.ask("stop", cause="asked", by="a test")
    arena.run(0.1)
    yield "stopped"
    arena.ask("clear", by="a test", role="operator")
    arena.run(0.1)
    yield "cleared"


# bring-up 1..12, at rest to 52, switching on to about 64, moving to 168, stopped to 192, cleared
FRAMES = (1, 2, 3, 7, 9, 10, 11, 12, 25, 53, 54, 56, 58, 60, 62, 64, 120, 167, 169, 171, 175, 195)


@pytest.mark.parametrize("frame", FRAMES)
def test_case_26_the_plug_may_go_in_any_phase_and_the_arm_comes_back_by_itself(
    make: Make, frame: int
) -> None:
    arena = make()
    puller = Puller(arena, frame)
    pulled_in = ""
    for phase in story(arena):
        if puller.left <= 0 and not pulled_in:
            pulled_in = phase
            assert arena.core.link.state in ("disconnected", "absent")
            assert arena.core.link.detail
            assert puller.opened == [], "a port that is gone is closed"
            if phase == "moving" and arena.core.conductor.goals_sent:
                arrived = arena.answers[1]["code"] == "ok"
                assert arena.core.latch.stopped is not arrived, "a loss in motion is a stop"
    assert pulled_in, f"the story has fewer than {frame} frames"
    arena.replug()
    arena.until(lambda: arena.core.link.ready, 5.0)
    assert len(puller.opened) == 1
    if arena.core.latch.stopped:
        arena.run(0.1)
        assert not any(arena.torque)
        arena.ask("clear", by="a test", role="operator")
    arena.run(0.2)
    assert arena.answer(arena.ask("come_inside"))["code"] == "ok"


def test_the_frames_reach_every_phase(make: Make) -> None:
    arena = make()
    puller = Puller(arena, 1_000_000)
    ends = {}
    for phase in story(arena):
        ends[phase] = 1_000_000 - puller.left
    reached = {phase for phase, end in ends.items() for frame in FRAMES if frame <= end}
    assert reached == {"up", "moving", "stopped", "cleared"}
    assert max(FRAMES) > ends["moving"], ends


# --- any hour


def test_case_28_an_hour_without_an_arm_says_little_and_then_it_is_found(make: Make) -> None:
    arena = make(period_s=0.1)
    arena.port_there = False
    arena.run(3600.0)
    assert len(arena.notes) <= 3
    arena.replug()
    arena.until(lambda: arena.core.link.ready, 5.0)
    assert len(arena.notes) <= 6


def test_a_plug_that_goes_in_and_out_for_ten_minutes_says_each_thing_once_a_minute(
    make: Make,
) -> None:
    arena = make(period_s=0.05)
    arena.ready()
    before = len(arena.notes)
    for _ in range(200):
        arena.unplug()
        arena.run(1.0)
        arena.replug()
        arena.run(2.0)
    assert arena.core.link.connects > 100
    assert len(arena.notes) - before <= 60


# --- the board of this arm


class Bench:
    """An `Adapter` on a fake /dev whose ports lead to the virtual arm."""

    def __init__(self, folder: Path, arena: Arena, wanted: str = "auto") -> None:
        self.usb = UsbTree(folder / "usb")
        self.arena, self.folder, self.wanted = arena, folder, wanted
        self.adapter = self.fresh()

    def fresh(self) -> Adapter:
        state = str(self.folder / "state")
        Path(state).mkdir(exist_ok=True)
        self.adapter = Adapter(
            state,
            self.wanted,
            1_000_000,
            self.arena.clock,
            DirectDisk(),
            dev=self.usb.dev,
            sys=self.usb.sys,
            open_path=self._open,
        )
        self.arena.core.link._open = self.adapter.open
        self.arena.core.link.on_ready = self.adapter.confirm
        return self.adapter

    def _open(self, path: str, baud: int, clock: Clock) -> InProcessTransport:
        return InProcessTransport(self.arena.arm, self.arena.clock, cable=self.arena.cable)

    def replug(self, tty: str, serial: str) -> None:
        self.arena.cable.unplug()
        self.usb.unplug()
        self.arena.run(1.0)
        self.arena.cable.plug()
        self.usb.plug(tty, serial)


@pytest.fixture
def bench(make: Make, tmp_path: Path) -> Bench:
    made = Bench(tmp_path, make())
    made.usb.plug("ttyACM0", "MINE")
    return made


def test_case_24_a_replug_under_another_name_is_the_same_arm(bench: Bench) -> None:
    bench.arena.ready()
    assert load_seen(str(bench.folder / "state")) == ("auto", "usb:MINE")
    bench.replug("ttyACM3", "MINE")
    bench.arena.ready()
    assert bench.adapter.path.endswith("ttyACM3")


def test_case_49_another_arm_s_board_is_refused_with_the_way_to_say_yes(bench: Bench) -> None:
    bench.arena.ready()
    bench.replug("ttyACM0", "OTHER")
    bench.arena.run(3.0)
    link = bench.arena.core.link
    assert link.state in ("disconnected", "absent")
    assert 'write port = "usb:OTHER" into config.toml' in link.detail
    bench.wanted = "usb:OTHER"
    bench.fresh()
    bench.arena.ready()
    assert load_seen(str(bench.folder / "state")) == ("usb:OTHER", "usb:OTHER")


def test_a_board_is_remembered_only_with_the_calibrated_arm_on_it(
    make: Make, tmp_path: Path
) -> None:
    arena = make(calibration=None)
    bench = Bench(tmp_path, arena)
    bench.usb.plug("ttyACM0", "MINE")
    arena.run(2.0)
    assert arena.core.link.state == "not_calibrated"
    assert load_seen(str(bench.folder / "state")) is None


def test_a_port_without_a_usb_board_is_not_remembered(make: Make, tmp_path: Path) -> None:
    arena = make()
    bench = Bench(tmp_path, arena, wanted=str(tmp_path / "uart"))
    (tmp_path / "uart").write_bytes(b"")
    arena.ready()
    assert load_seen(str(bench.folder / "state")) is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"wanted": "auto"}', '{"wanted": 1, "identity": 2}']
)
def test_a_memory_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "adapter.json").write_text(text)
    assert load_seen(str(tmp_path)) is None


def test_a_restart_remembers(bench: Bench) -> None:
    bench.arena.ready()
    assert json.loads((bench.folder / "state/adapter.json").read_text())["identity"] == "usb:MINE"
    bench.usb.unplug()
    bench.usb.plug("ttyACM0", "OTHER")
    with pytest.raises(PortError) as caught:
        bench.fresh().open()
    assert caught.value.kind is PortKind.OTHER
    assert not isinstance(caught.value, PortLost)
