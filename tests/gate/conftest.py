"""A core that never was: it believes every program and ends where the program ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from armlabd.arm.joints import HOME, Pose
from armlabd.arm.limits import CEILINGS
from armlabd.arm.path import Program
from armlabd.clock import VirtualClock
from armlabd.config import Config
from armlabd.gate.rate import RateLimiter
from armlabd.gate.roles import Caller, Role
from armlabd.gate.session import RobotSession
from armlabd.motion.guard import check_program
from armlabd.motion.inside import way_inside
from armlabd.motion.messages import CoreState, MotionResult, StopResult
from armlabd.record.audit import Audit
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
    """Checks programs as the core does, then is at their end. `results` overrides the answers."""

    def __init__(self, state: CoreState | None = READY) -> None:
        self.snapshot = state
        self.programs: list[tuple[Program, bool]] = []
        self.stops: list[tuple[str, str]] = []
        self.cancels = 0
        self.wakes: list[MotionResult] = []  # answers to come_inside before it succeeds
        self.woken = 0
        self.sinks_to: Pose | None = None
        self.results: list[MotionResult] = []
        self.object_percent: float | None = None  # what the jaws would meet
        self.gate: asyncio.Event | None = None  # a motion waits for it
        self.moving = asyncio.Event()

    def set(self, **changes: Any) -> None:
        assert self.snapshot is not None
        self.snapshot = replace(self.snapshot, **changes)

    async def move(
        self,
        program: Program,
        *,
        contact: bool = False,
        torque_percent: float | None = None,
        run: str | None = None,
    ) -> MotionResult:
        state = self.snapshot
        assert state is not None
        assert state.pose is not None
        if state.stopped:
            return MotionResult(Code.STOPPED, "The arm is stopped.")
        fault = check_program(program, CEILINGS, state.pose)
        assert fault is None, fault
        assert (torque_percent is not None) == contact
        self.programs.append((program, contact))
        self.moving.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.results:
            return self.results.pop(0)
        end = program.goal
        holding = state.holding and not (not contact and end.grip > state.pose.grip + 5)
        if contact and self.object_percent is not None:
            end, holding = end.with_grip(self.object_percent), True
        goal = end.with_grip(end.grip - 4.0) if contact and holding else end
        self.set(pose=end, goal=goal, torque=True, holding=holding, grip_percent=end.grip)
        return MotionResult(Code.OK, "", end, holding, end.grip, contact and holding)

    async def come_inside(self, run: str | None = None) -> MotionResult:
        assert self.snapshot is not None
        assert self.snapshot.pose is not None
        if self.snapshot.stopped:
            return MotionResult(Code.STOPPED, "The arm is stopped.")
        self.woken += 1
        if self.wakes:
            self.set(pose=self.sinks_to or self.snapshot.pose)
            return self.wakes.pop(0)
        way = way_inside(self.snapshot.pose, CEILINGS, HOME)
        pose = self.snapshot.pose if way is None else way.goal
        self.set(pose=pose, goal=pose, torque=True)
        return MotionResult(Code.OK, "", pose)

    async def stop(self, cause: str, by: str) -> StopResult:
        self.stops.append((cause, by))
        if self.snapshot is None:
            return StopResult(False, 0, 6, "The motion core cannot be reached: cut the power.")
        self.set(stopped=True, torque=False, goal=None, stop={"cause": "stop", "sentence": cause})
        return StopResult(True, 6, 6, "Stopped, torque is off.")

    async def clear(self, by: str) -> Verdict:
        self.set(stopped=False, stop={})
        return Verdict(Code.OK, "The stop is cleared.")

    async def cancel(self) -> None:
        self.cancels += 1


AGENT = Caller("laptop", Role.AGENT)
READER = Caller("screen", Role.READER)
OPERATOR = Caller("me", Role.OPERATOR)
MakeSession = Callable[..., RobotSession]


@pytest.fixture
def core() -> FakeCore:
    return FakeCore()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(1000.0)


@pytest.fixture
def audit(tmp_path: Path, clock: VirtualClock) -> Audit:
    return Audit(tmp_path / "audit", clock)


@pytest.fixture
def make_session(core: FakeCore, audit: Audit, clock: VirtualClock) -> MakeSession:
    def make(config: Config | None = None, **more: Any) -> RobotSession:
        more = {"simulated": True, "rate": RateLimiter(clock, 1000, arm_calls=1000), **more}
        return RobotSession(core, config or Config(), CEILINGS, audit, clock, **more)

    return make


@pytest.fixture
def session(make_session: MakeSession) -> RobotSession:
    return make_session()


@pytest.fixture
def agent() -> Caller:
    return AGENT


@pytest.fixture
def reader() -> Caller:
    return READER


@pytest.fixture
def operator() -> Caller:
    return OPERATOR


@pytest.fixture
def limp_pose() -> Pose:
    """Sunk onto the table: below the floor that the guard keeps."""
    return Pose(5.0, 15.0, 25.0, 50.0, 0.0, 10.0)
