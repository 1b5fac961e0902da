"""Build every room once, in order from the bottom up, and take them down in reverse."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from armlabd.arm.calibration import parse
from armlabd.arm.placement import Alignment
from armlabd.check.checker import check_plan
from armlabd.check.report import Report
from armlabd.clock import SystemClock
from armlabd.config import Config
from armlabd.config.model import RunConfig
from armlabd.daemon.board import Board
from armlabd.daemon.core_process import CoreProcess
from armlabd.daemon.own_stops import OwnStops
from armlabd.daemon.planners import ModelHouse, models_folder
from armlabd.daemon.settings import limits_of
from armlabd.daemon.status import StatusBoard
from armlabd.doors.http.house import House
from armlabd.execute.context import check_context
from armlabd.execute.eye import Eye
from armlabd.execute.runs import RunManager
from armlabd.gate.ledger import Ledger
from armlabd.gate.rate import RateLimiter, WrongKeys
from armlabd.gate.roles import KeyRing
from armlabd.gate.session import RobotSession
from armlabd.motion.settings import CoreSettings
from armlabd.perceive.camera import make_camera
from armlabd.perceive.model_eye import ModelEye
from armlabd.perceive.scene import SceneSettings
from armlabd.plan.plan import Plan
from armlabd.record.audit import Audit
from armlabd.record.space import MIB
from armlabd.record.store import Bounds, RunStore

DAY_S = 24 * 3600
WATCH_S = 0.05  # between two looks at the core's state
log = logging.getLogger(__name__)


def _alignment_of(settings: CoreSettings) -> Alignment | None:
    """What the core's calibration says of zeros and base."""
    return None if settings.calibration is None else parse(settings.calibration).alignment


def bounds_of(run: RunConfig) -> Bounds:
    """What is kept of runs."""
    return Bounds(run.keep, run.keep_mib * MIB, run.keep_days * DAY_S)


class Rooms:
    """The built house. `start` brings up the core, `leave` ends it by the exit policy."""

    def __init__(
        self,
        config: Config,
        state: Path,
        settings: CoreSettings,
        keys: KeyRing,
        core: CoreProcess,
        sim_control: Path | None,
    ) -> None:
        clock = SystemClock()
        self._config, self._clock, self._keys = config, clock, keys
        self._rate = RateLimiter.of(config, clock)
        self._audit = Audit(state / "audit", clock, config.log.audit_mib * MIB)
        self._simulated = settings.simulated
        self._alignment = _alignment_of(settings)
        self._watching: list[asyncio.Task[None]] = []
        self.board = Board(state, config.http, clock)
        self.core, self.client = core, core.client
        core.on_change = self._core_changed
        camera = make_camera(config.camera, sim_control, clock)
        self.models = self._make_models(state)
        table = SceneSettings.from_config(config)
        patience_s = config.vision.patience_s
        model = ModelEye(lambda: self.models.vision, table, clock, patience_s)
        self.eye = Eye(camera, table, clock, model)
        self.session = self._make_session()
        store = RunStore(state / "runs", bounds_of(config.run), self.board.age_s)
        self.runs = self._make_runs(store)
        self.house = self._make_house()

    def _make_models(self, state: Path) -> ModelHouse:
        return ModelHouse(
            self._config,
            state,
            folder=models_folder(state, self._simulated),
            ledger=Ledger(self._audit, self._simulated),
            tools=lambda: self.session.table,
        )

    def _make_session(self) -> RobotSession:
        return RobotSession(
            self.client,
            self._config,
            limits_of(self._config),
            self._audit,
            self._clock,
            rate=self._rate,
            look=self.eye.look,
            simulated=self._simulated,
            base=None if self._alignment is None else self._alignment.base,
        )

    def _make_runs(self, store: RunStore) -> RunManager:
        return RunManager(
            self.session,
            self.eye,
            self.models.planner,
            store,
            self._config,
            Ledger(self._audit, self._simulated),
            simulated=self._simulated,
        )

    def _make_house(self) -> House:
        """What the doors are given."""
        rooms = (self._config, self.client, self.core, self.eye, self.runs, self.models)
        parts = StatusBoard(*rooms, simulated=self._simulated, alignment=self._alignment)
        return House(
            self._config,
            self._clock,
            self.session,
            self.runs,
            self.eye,
            self._keys,
            self._rate,
            WrongKeys(self._clock),
            lambda: {**parts.read(), **self.board.read()},
            self._check,
            self.models,
        )

    async def start(self) -> None:
        """Bring up the core. Raises CoreError."""
        await self.core.start()
        await self.models.start()
        jobs = (self._watch_stop(), self._tell_stops())  # a slow disk delays the second alone
        self._watching = [asyncio.create_task(job) for job in jobs]

    async def end_runs(self) -> None:
        """End the running run in order; no other starts. A stop still comes in meanwhile."""
        await self.runs.close()

    async def leave(self) -> None:
        """Let the core leave by its exit policy. A stop at the door still reaches it meanwhile."""
        await self.core.close()

    async def close(self) -> None:
        """Let go of what is left, once the door is shut."""
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)
        await self.board.close()
        await self.eye.close()
        await self.models.close()

    async def _check(self, plan: Plan) -> Report:
        context = check_context(self.session, self._config)
        return await asyncio.to_thread(check_plan, plan, context)

    def _core_changed(self) -> None:
        self.runs.notify_stop()

    async def _watch_stop(self) -> None:
        """A stop from any side (button, core, another door) ends the wait for an answer."""
        while True:
            await asyncio.sleep(WATCH_S)
            if self.session.stopped:
                self.runs.notify_stop()

    async def _tell_stops(self) -> None:
        """Stops that no door asked for are on record too."""
        own = OwnStops(Ledger(self._audit, self._simulated))
        while True:
            await asyncio.sleep(WATCH_S)
            await own.look(self.client.snapshot)
