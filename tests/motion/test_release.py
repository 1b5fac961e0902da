"""The release helper: limp, confirmed, latched, and honest about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from armlabd.arm.joints import Pose
from armlabd.bench.arena import Arena
from armlabd.bus.errors import PortError, PortKind
from armlabd.bus.port import Transport
from armlabd.motion import release as helper
from armlabd.motion.latch import read_cause

AWAY = Pose(40.0, -70.0, 60.0, 60.0, 20.0, 50.0)


def test_it_makes_an_energised_arm_limp_and_confirms_six(arena: Arena) -> None:
    arena.go(AWAY)
    result = helper.release(arena.open, arena.clock)
    assert (result.written, result.confirmed, result.of) == (True, 6, 6)
    assert not any(arena.torque)


def test_it_names_how_many_confirmed_when_one_is_silent(arena: Arena) -> None:
    arena.go(AWAY)
    arena.arm.bus.faults.muted.add(5)
    result = helper.release(arena.open, arena.clock)
    assert (result.written, result.confirmed) == (True, 5)
    assert "cut the power" in result.sentence


def test_without_a_port_nothing_was_written(arena: Arena) -> None:
    arena.port_there = False
    result = helper.release(arena.open, arena.clock)
    assert (result.written, result.confirmed) == (False, 0)
    assert "cut the power" in result.sentence
    assert "no such port" in result.sentence


@pytest.mark.parametrize(("busy_s", "written"), [(0.9, True), (1.1, False)])
def test_it_waits_briefly_for_a_port_that_is_still_held(
    arena: Arena, busy_s: float, written: bool
) -> None:
    free_s = arena.clock.monotonic() + busy_s

    def open_port() -> Transport:
        if arena.clock.monotonic() < free_s:
            raise PortError(PortKind.BUSY, "The port is in use.")
        return arena.open()

    assert helper.release(open_port, arena.clock).written is written


def test_a_port_that_goes_meanwhile_is_told_as_it_is(arena: Arena) -> None:
    transport = arena.open()
    arena.unplug()
    assert helper.release(lambda: transport, arena.clock).written is False


def test_it_latches_with_its_cause_and_keeps_an_earlier_one(tmp_path: Path) -> None:
    (tmp_path / "stop.json").write_text('{"stopped": false}')
    assert helper.latch(str(tmp_path), "core_lost", "a test") is None
    cause = read_cause(tmp_path / "stop.json")
    assert cause is not None
    assert (cause.code, cause.by) == ("core_lost", "a test")
    helper.latch(str(tmp_path), "asked", "another")
    again = read_cause(tmp_path / "stop.json")
    assert again is not None
    assert again.code == "core_lost"


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    said = helper.latch(str(tmp_path / "nowhere"), "core_lost", "a test")
    assert said is not None
    assert "could not be written" in said


@pytest.mark.parametrize(
    "argv", [[], ["--port", "x"], ["--state"], ["--state", "/x", "--what", "y"]]
)
def test_the_command_explains_itself(argv: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        helper.main(argv)
    assert ended.value.code == 2
    assert "usage" in capfd.readouterr().out


def test_the_command_without_an_arm_says_so_in_one_line_and_fails(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        helper.main(["--state", str(tmp_path), "--port", str(tmp_path / "no port")])
    assert ended.value.code == 1
    said = capfd.readouterr().out
    assert said.count("\n") == 1
    assert "cut the power" in said
    assert read_cause(tmp_path / "stop.json") is not None
