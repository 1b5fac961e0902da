"""Fixtures: a house of runs on a session made of a few numbers."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))  # sight_stand_in
sys.path.insert(0, str(Path(__file__).parent))

from run_house import FakeEye, FakeSession, House

from armlabd.clock import VirtualClock
from armlabd.config import Config
from armlabd.execute.runs import RunManager
from armlabd.gate.ledger import Ledger
from armlabd.perceive.scene import SceneObject
from armlabd.plan.rules import RulesPlanner
from armlabd.record.audit import Audit
from armlabd.record.store import RunStore

MakeHouse = Callable[..., House]


@pytest.fixture
async def make_house(tmp_path: Path) -> AsyncIterator[MakeHouse]:
    made: list[House] = []

    def make(
        planner: Any = None,
        scenes: tuple[tuple[SceneObject, ...], ...] = (),
        eye: Any = None,
        **run: Any,
    ) -> House:
        config = Config()
        config = config.model_copy(update={"run": config.run.model_copy(update=run)})
        session, eye = FakeSession(config), eye or FakeEye(*scenes)
        session.eye = eye
        store = RunStore(tmp_path / "runs")
        audit = Audit(tmp_path / "audit", VirtualClock())
        runs = RunManager(
            session,  # type: ignore[arg-type]
            eye,
            planner or RulesPlanner(),
            store,
            config,
            Ledger(audit, True),
            simulated=True,
        )
        made.append(House(session, eye, runs, store, audit, tmp_path / "runs"))
        return made[-1]

    yield make
    for one in made:
        await one.runs.close()


@pytest.fixture
def house(make_house: MakeHouse) -> House:
    return make_house()
