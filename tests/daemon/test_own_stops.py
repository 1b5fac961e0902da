"""A press of the button is on record like any stop, once."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from armlabd.clock import VirtualClock
from armlabd.daemon.own_stops import OwnStops
from armlabd.gate.ledger import Ledger
from armlabd.motion.messages import CoreState
from armlabd.record.audit import Audit

FREE = CoreState(stopped=False)


def stopped(by: str, code: str = "button") -> CoreState:
    told = {"sentence": "It is pressed.", "told": "Torque is off.", "latency_us": 321}
    stop = {"cause": code, "by": by, "written": True, "confirmed": 6, "of": 6, **told}
    return CoreState(stopped=True, stop=stop)


async def rows(folder: Path, *states: CoreState | None) -> list[dict[str, object]]:
    audit = Audit(folder, VirtualClock())
    watch = OwnStops(Ledger(audit, simulated=True))
    for state in states:
        await watch.look(state)
    return list(audit.tail(10))


async def test_a_press_gets_one_row_and_one_line_with_its_latency(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    down = stopped("button")
    made = await rows(tmp_path, stopped("", "new"), FREE, down, down, None, down)
    assert [(row["cause"], row["confirmed"], row["sentence"]) for row in made] == [
        ("button", 6, "It is pressed. Torque is off.")
    ]
    (record,) = caplog.records
    assert (record.CAUSE, record.STOP_LATENCY_US) == ("button", 321)  # type: ignore[attr-defined]


async def test_each_press_after_a_clear_is_one_more(tmp_path: Path) -> None:
    down, lost = stopped("button"), stopped("core", "lease_lost")
    made = await rows(tmp_path, FREE, down, FREE, down, FREE, lost)
    assert [row["cause"] for row in made] == ["button", "button", "lease_lost"]


async def test_what_was_there_at_the_start_or_came_by_a_door_is_no_row_of_ours(
    tmp_path: Path,
) -> None:
    assert await rows(tmp_path, None, stopped("button"), FREE, stopped("laptop"), FREE) == []
