"""A door on loopback with real keys, limits, tools and session, and a core that never was."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import pytest

from armlabd.arm.joints import HOME
from armlabd.arm.limits import CEILINGS
from armlabd.check.checker import check_plan
from armlabd.clock import VirtualClock
from armlabd.config import Config
from armlabd.daemon.planners import ModelHouse
from armlabd.doors.http.house import House
from armlabd.doors.http.server import HttpServer
from armlabd.execute.context import check_context
from armlabd.execute.runs import RunManager
from armlabd.gate.ledger import Ledger
from armlabd.gate.rate import RateLimiter, WrongKeys
from armlabd.gate.roles import KeyRing, Role
from armlabd.gate.session import RobotSession
from armlabd.motion.messages import CoreState, MotionResult, StopResult
from armlabd.perceive.camera import Frame
from armlabd.perceive.scene import Scene
from armlabd.record.audit import Audit
from armlabd.record.store import RunStore
from armlabd.verdict import Code, Verdict

READY = CoreState(
    connected=True,
    state="ready",
    stopped=False,
    simulated=True,
    pose=HOME,
    pose_age_s=0.01,
    goal=HOME,
    torque=True,
    grip_percent=0.0,
    calibrated=True,
)


class FakeCore:
    """Is at the end of every program at once."""

    def __init__(self) -> None:
        self.snapshot: CoreState | None = READY
        self.moves = 0
        self.stops: list[str] = []

    def set(self, **changes: Any) -> None:
        self.snapshot = replace(self.snapshot or READY, **changes)

    async def move(self, program: Any, **_: Any) -> MotionResult:
        self.moves += 1
        end = program.goal
        self.set(pose=end, goal=end, grip_percent=end.grip)
        return MotionResult(Code.OK, "", end, False, end.grip)

    async def come_inside(self, run: str | None = None) -> MotionResult:
        return MotionResult(Code.OK, "")

    async def stop(self, cause: str, by: str) -> StopResult:
        self.stops.append(by)
        self.set(stopped=True, torque=False, goal=None)
        return StopResult(True, 6, 6, "Stopped: torque is off on six of six servos.")

    async def clear(self, by: str) -> Verdict:
        self.set(stopped=False)
        return Verdict(Code.OK, "The stop is cleared.")

    async def cancel(self) -> None:
        return None


class FakeEye:
    """An empty table."""

    scene: Scene | None = None
    frame: Frame | None = None
    seen = None

    async def look(self) -> Verdict:
        self.scene = Scene((), (), 0.0)
        self.frame = Frame(np.zeros((240, 320, 3), np.uint8), 0.0, "fake")
        return Verdict(Code.OK, "", self.scene.as_dict(0.0))

    async def jpeg(self, frame: object = None) -> bytes:
        return b"\xff\xd8 a picture"

    async def png(self, frame: object) -> None:
        return None


@dataclass
class Door:
    """An open door: how to knock, and what is behind it."""

    server: HttpServer
    core: FakeCore
    clock: VirtualClock
    house: House
    keys: dict[str, str]
    http: aiohttp.ClientSession
    audit: Audit
    headers: dict[str, str] = field(default_factory=dict)

    async def ask(
        self, method: str, path: str, *, key: str | None = "agent", **more: Any
    ) -> Answer:
        headers = {**({"X-API-Key": self.keys.get(key, key)} if key else {})}
        headers.update(more.pop("headers", {}))
        url = self.server.url + path
        async with self.http.request(method, url, headers=headers, **more) as got:
            body = await got.json() if got.content_type == "application/json" else {}
            return Answer(got.status, body, dict(got.headers))

    async def call(self, tool: str, key: str | None = "agent", **args: Any) -> Answer:
        return await self.ask("POST", f"/call/{tool}", key=key, json=args)


@dataclass(frozen=True)
class Answer:
    status: int
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def code(self) -> str | None:
        return self.body.get("code")


OpenDoor = Callable[..., AbstractAsyncContextManager[Door]]
WIDE = {"calls_per_s": 1000, "reads_per_s": 1000, "goals_per_s": 1000, "arm_calls_per_s": 1000}


@pytest.fixture
def open_door(tmp_path: Path) -> OpenDoor:
    @asynccontextmanager
    async def opened(**settings: Any) -> AsyncIterator[Door]:
        http = {"port": 0, **settings.pop("http", {})}
        simulated = settings.pop("simulated", True)
        config = Config.model_validate({"http": http, "rate": WIDE, **settings})
        clock, core, eye = VirtualClock(1000.0), FakeCore(), FakeEye()
        ring = KeyRing(tmp_path / "keys.json", {})
        keys = {role.label: ring.add(role.label, role).text for role in Role}
        audit = Audit(tmp_path / "audit", clock)
        rate = RateLimiter.of(config, clock)
        session = RobotSession(
            core, config, CEILINGS, audit, clock, simulated=simulated, rate=rate, look=eye.look
        )
        models = ModelHouse(
            config, tmp_path, ledger=Ledger(audit, simulated), tools=lambda: session.table
        )
        runs = RunManager(
            session,
            eye,  # type: ignore[arg-type]
            models.planner,
            RunStore(tmp_path / "runs"),
            config,
            Ledger(audit, simulated),
            simulated=simulated,
        )

        async def check(plan: Any) -> Any:
            return check_plan(plan, check_context(session, config))

        house = House(
            config,
            clock,
            session,
            runs,
            eye,  # type: ignore[arg-type]
            ring,
            rate,
            WrongKeys(clock),
            lambda: {"stopped": session.stopped},
            check,
            models,
        )
        server = HttpServer(house)
        await models.start()
        await server.start()
        connector = aiohttp.TCPConnector(force_close=True)
        async with aiohttp.ClientSession(connector=connector) as client:
            try:
                yield Door(server, core, clock, house, keys, client, audit)
            finally:
                await runs.close()
                await server.close()
                await models.close()

    return opened


@pytest.fixture
async def door(open_door: OpenDoor) -> AsyncIterator[Door]:
    async with open_door() as one:
        yield one
