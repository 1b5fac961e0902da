"""Door, gate, planner, executor, core, bus and virtual arm in one process, in virtual time.

Nothing is left out but the processes: requests come in over HTTP on loopback, the core runs its own
ticks, bytes go to virtual servos. Virtual time passes as fast as the machine allows.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import ClientSession

from armlabd.arm.joints import Pose
from armlabd.arm.path import Program, pack
from armlabd.arm.placement import Placement
from armlabd.bench.arena import Arena
from armlabd.check.checker import check_plan
from armlabd.check.report import Report
from armlabd.config import Config
from armlabd.config.load import parse_config
from armlabd.daemon.planners import ModelHouse
from armlabd.daemon.settings import limits_of
from armlabd.doors.http.house import House
from armlabd.doors.http.server import HttpServer
from armlabd.execute.context import check_context
from armlabd.execute.eye import Eye
from armlabd.execute.runs import RunManager
from armlabd.gate.ledger import Ledger
from armlabd.gate.rate import RateLimiter, WrongKeys
from armlabd.gate.roles import KeyRing
from armlabd.gate.session import RobotSession
from armlabd.motion.messages import CoreState, MotionResult, StopResult
from armlabd.motion.state import quick_state
from armlabd.perceive.camera import Camera
from armlabd.perceive.picture import Picture
from armlabd.perceive.scene import SceneSettings
from armlabd.plan.plan import Plan
from armlabd.plan.planner import Planner
from armlabd.record.audit import Audit
from armlabd.record.store import RunStore
from armlabd.sim.blocks import Block
from armlabd.sim.picture import render
from armlabd.sim.world import World
from armlabd.verdict import Code, Verdict

AGENT = "agent-key-of-the-virtual-house"
OPERATOR = "operator-key-of-the-virtual-house"
QUICK: Mapping[str, Any] = {
    "rate": {k: 1000 for k in ("calls_per_s", "reads_per_s", "goals_per_s", "arm_calls_per_s")},
    "motion": {"speed_dps": 60.0},
    "http": {"port": 0},
}
STEPS_AT_ONCE = 20  # ticks between two looks at the event loop
STEPS_AT_REST = 2  # while nobody waits for the core: whoever thinks needs the processor
LOOK_S, REST_S = 0.0005, 0.002
VIEW = Pose(100.0, -90.0, 60.0, 60.0, 0.0, 50.0)


class DirectCore:
    """The session's side of the core, without a socket in between."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena

    @property
    def snapshot(self) -> CoreState:
        """The state as it is now."""
        return CoreState.from_dict(quick_state(self._arena.core))

    async def _ask(self, do: str, **body: Any) -> dict[str, Any]:
        number = self._arena.ask(do, **body)
        self._arena.awaited += 1
        try:
            while number not in self._arena.answers:
                await asyncio.sleep(0.001)
        finally:
            self._arena.awaited -= 1
        return self._arena.answers.pop(number)

    async def move(
        self,
        program: Program,
        *,
        contact: bool = False,
        torque_percent: float | None = None,
        run: str | None = None,
    ) -> MotionResult:
        """Run a whole program and wait for its end."""
        body = {"contact": contact, "torque_percent": torque_percent, "run": run}
        return MotionResult.from_dict(await self._ask("move", program=pack(program), **body))

    async def come_inside(self, run: str | None = None) -> MotionResult:
        """Come back within the limits."""
        return MotionResult.from_dict(await self._ask("come_inside", run=run))

    async def stop(self, cause: str, by: str) -> StopResult:
        """Stop the arm."""
        return StopResult.from_dict(await self._ask("stop", cause=cause, by=by))

    async def clear(self, by: str) -> Verdict:
        """Clear the stop."""
        answer = await self._ask("clear", by=by, role="operator")
        return Verdict(Code(answer["code"]), answer["sentence"])

    async def cancel(self) -> None:
        """Bring a motion to rest."""
        await self._ask("cancel")


class WorldReader:
    """The virtual camera, without a socket in between."""

    name = "sim"
    repeats = True

    def __init__(self, arena: Arena) -> None:
        self._arena = arena

    def read(self) -> tuple[Picture, float]:
        """A picture of the table as it is now, and when that is."""
        arm = self._arena.arm
        assert isinstance(arm.world, World)
        joints, jaw = arm.true_deg()
        return render(arm.world, joints, jaw), self._arena.clock.monotonic()

    def close(self) -> None:
        """Nothing to let go of."""


@dataclass
class Rig:
    """A running house and a client at its door."""

    arena: Arena
    runs: RunManager
    session: RobotSession
    audit: Audit
    store: RunStore
    models: ModelHouse
    http: ClientSession

    async def ask(
        self, method: str, path: str, body: Any = None, key: str = OPERATOR, **more: Any
    ) -> tuple[int, dict[str, Any]]:
        """One request; status and body."""
        given = {} if body is None else {"json": body}
        async with self.http.request(
            method, path, headers={"X-API-Key": key}, **given, **more
        ) as answer:
            return answer.status, await answer.json()

    async def run(self, path: str, body: Any, *states: str) -> dict[str, Any]:
        """Start a run and wait until it has ended, or is in one of the states."""
        status, started = await self.ask("POST", path, body)
        assert status == 202, started
        return await self.wait(started["id"], *states)

    async def wait(self, run_id: str, *states: str) -> dict[str, Any]:
        """The run once it has ended, or is in one of the states."""
        while True:
            run = await self.runs.get(run_id)
            assert run is not None
            if run["state"] in (*states, "ended"):
                return run
            await asyncio.sleep(0.002)

    def blocks(self, *blocks: Block) -> None:
        """Lay other blocks on the table."""
        self.arena.arm.world = World(blocks=list(blocks))
        self.arena.arm.disturb()

    def in_bin(self) -> list[str]:
        """Labels of the blocks that truly lie in the bin."""
        world = self.arena.arm.world
        assert isinstance(world, World)
        return world.in_bin()


@contextlib.asynccontextmanager
async def virtual_house(
    folder: Path,
    settings: Mapping[str, Any] = QUICK,
    start: Pose = VIEW,
    planner: Planner | None = None,
    watch: Callable[[Arena], None] | None = None,
    **core: Any,
) -> AsyncIterator[Rig]:
    """The house, cleared and ready, its arm limp at the view pose."""
    config = parse_config(settings)
    arena = Arena(folder, world=World(), start=start, limits=limits_of(config).as_dict(), **core)
    arena.ready()
    rig, server = build(folder, config, arena, planner=planner)
    async with lived_in(rig, server, watch):
        yield rig


@contextlib.asynccontextmanager
async def lived_in(
    rig: Rig, server: HttpServer, watch: Callable[[Arena], None] | None = None
) -> AsyncIterator[None]:
    """Let virtual time pass and the door be open; `watch` gets the arena after each tick."""
    stepper = asyncio.create_task(_step(rig.arena, watch))
    await rig.models.start()
    await server.start()
    async with ClientSession(server.url) as client:
        rig.http = client
        try:
            yield
        finally:
            await rig.runs.close()
            await server.close()
            await rig.models.close()
            stepper.cancel()
            await asyncio.gather(stepper, return_exceptions=True)
            rig.arena.core.disk.close()


def build(
    folder: Path,
    config: Config,
    arena: Arena,
    base: Placement | None = None,
    planner: Planner | None = None,
) -> tuple[Rig, HttpServer]:
    """Every room, as the daemon builds them; `base`: where an aligned arm stands."""
    clock = arena.clock
    rate, audit = RateLimiter.of(config, clock), Audit(folder / "audit", clock)
    (folder / "audit").mkdir(exist_ok=True)
    eye = Eye(Camera(WorldReader(arena), clock), SceneSettings.from_config(config), clock)
    session = RobotSession(
        DirectCore(arena),
        config,
        limits_of(config),
        audit,
        clock,
        simulated=True,
        rate=rate,
        look=eye.look,
        base=base,
    )
    models = ModelHouse(
        config,
        folder,
        folder=folder / "models",
        ledger=Ledger(audit, True),
        tools=lambda: session.table,
    )
    store = RunStore(folder / "runs")
    runs = RunManager(
        session,
        eye,
        planner or models.planner,
        store,
        config,
        Ledger(audit, True),
        simulated=True,
    )
    keys = KeyRing(folder / "keys.json", {"ARM_API_KEY": AGENT, "ARM_OPERATOR_KEY": OPERATOR})

    async def check(plan: Plan) -> Report:
        return await asyncio.to_thread(check_plan, plan, check_context(session, config))

    def status() -> dict[str, Any]:
        return {"stopped": session.stopped, "planner": models.status()}

    rooms = (config, clock, session, runs, eye, keys, rate, WrongKeys(clock), status, check)
    rig = Rig(arena, runs, session, audit, store, models, None)  # type: ignore[arg-type]
    return rig, HttpServer(House(*rooms, models))


async def _step(arena: Arena, watch: Callable[[Arena], None] | None) -> None:
    while True:
        for _ in range(STEPS_AT_ONCE if arena.awaited else STEPS_AT_REST):
            arena.step()
            if watch is not None:
                watch(arena)
        await asyncio.sleep(LOOK_S if arena.awaited else REST_S)
