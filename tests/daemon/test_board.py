"""The board's own parts of the status, and the time it has run."""

from __future__ import annotations

from pathlib import Path

import pytest

from armlabd.clock import VirtualClock
from armlabd.config import Config
from armlabd.config.model import HttpConfig
from armlabd.daemon.board import Board
from armlabd.daemon.house import DAY_S, bounds_of
from armlabd.record.space import MIB
from armlabd.record.starts import read_starts


def test_the_time_that_a_board_has_run_goes_on_over_starts(tmp_path: Path) -> None:
    clock = VirtualClock(1000.0)
    first = Board(tmp_path, HttpConfig(), clock)
    clock.sleep(90.0)
    assert first.age_s() == 90
    first.starts.ran(first.age_s())  # what it wrote last before the power went
    clock.sleep(30.0)
    second = Board(tmp_path, HttpConfig(), clock)
    assert second.age_s() == 90
    clock.sleep(5.0)
    assert second.age_s() == 95


async def test_an_end_in_order_is_written_and_every_part_has_a_state(tmp_path: Path) -> None:
    board = Board(tmp_path, HttpConfig(), VirtualClock())
    assert board.read()["network"] == {}, "the door is not open yet"
    board.open(8765)
    told = board.read()
    assert told["network"]["state"] == "this board only"
    assert told["disk"]["state"] in ("ok", "low")
    assert told["clock"]["state"] in ("set", "not set")
    assert told["starts"]["starts"] == 1
    running = read_starts(tmp_path)
    assert running is not None
    assert running.running is True
    await board.close()
    ended = read_starts(tmp_path)
    assert ended is not None
    assert ended.running is False


@pytest.mark.parametrize(
    ("synced", "state"), [(True, "set"), (False, "not set"), (None, "not set")]
)
def test_a_clock_that_nobody_sets_is_a_state_that_asks_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, synced: bool | None, state: str
) -> None:
    monkeypatch.setattr("armlabd.daemon.board.SYNCED_MARK", tmp_path / "none")
    monkeypatch.setattr("armlabd.daemon.board.kernel_synced", lambda: synced)
    clock = Board(tmp_path, HttpConfig(), VirtualClock()).read()["clock"]
    assert clock["state"] == state
    assert bool(clock["next"]) is (state == "not set")


def test_the_bounds_of_runs_are_those_of_the_settings() -> None:
    bounds = bounds_of(Config().run)
    assert (bounds.runs, bounds.size_bytes, bounds.age_s) == (200, 500 * MIB, 365 * DAY_S)
