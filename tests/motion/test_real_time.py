"""The core as a real-time citizen: no collection pauses, and words for what was granted."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from armlabd.motion import server
from armlabd.motion.settings import CoreSettings


@pytest.fixture
def collector() -> Iterator[None]:
    """Puts the collector back as it was."""
    yield
    gc.enable()
    gc.unfreeze()


@pytest.mark.usefixtures("collector")
def test_while_the_core_runs_nothing_is_collected_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = CoreSettings(str(tmp_path), str(tmp_path / "no-port"), simulated=True)
    (tmp_path / "core.json").write_text(settings.to_json())
    seen: list[tuple[bool, bool, str]] = []

    def run(self: server.Server) -> None:
        seen.append((gc.isenabled(), gc.get_freeze_count() > 0, self.core.scheduling))

    monkeypatch.setattr(server.Server, "run", run)
    monkeypatch.setattr(server, "real_time", lambda: "as the test says")
    monkeypatch.setattr(server, "_hand_back_memory", lambda: None)
    monkeypatch.setattr(server.signal, "signal", lambda *_: None)
    server.main([str(tmp_path / "core.json")])
    assert seen == [(False, True, "as the test says")]


def test_what_the_board_refuses_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("no")

    monkeypatch.setattr(server.os, "sched_setscheduler", refuse)
    monkeypatch.setattr(server, "_libc", lambda name, number: -1)
    assert server.real_time() == (
        "ordinary scheduling (SCHED_FIFO refused), memory not locked (mlockall refused)"
    )
    monkeypatch.setattr(server.os, "sched_setscheduler", lambda *_: None)
    monkeypatch.setattr(server, "_libc", lambda name, number: 0)
    assert server.real_time() == "SCHED_FIFO 20, memory locked"


def test_a_function_of_the_c_library_is_called_or_its_absence_is_no_error() -> None:
    assert server._libc("abs", -7) == 7
    assert server._libc("there_is_no_such_function", 1) is None
