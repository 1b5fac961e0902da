"""A session that behaves like RobotSession, with an arm, jaws and a table made of a few numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from armlabd.arm.joints import HOME, Pose
from armlabd.arm.limits import CEILINGS
from armlabd.config import Config
from armlabd.execute.runs import RunManager
from armlabd.gate.moves import MoveSettings
from armlabd.gate.roles import Caller, Role
from armlabd.gate.tools import tool_table
from armlabd.perceive.compare import Opinion
from armlabd.perceive.scene import Dispute, Scene, SceneObject
from armlabd.plan.context import PlanContext
from armlabd.plan.plan import Plan, Step
from armlabd.plan.planner import Planned, Think
from armlabd.record.audit import Audit
from armlabd.record.store import RunStore
from armlabd.verdict import Code, Verdict

AGENT = Caller("laptop", Role.AGENT)
HELD = {"holding_something": True}
LOW = Pose(0.0, 20.0, 0.0, 70.0, 0.0, 50.0)  # the hand at the table
RED = SceneObject("red block", 0.22, 0.09, 0.0, (0.0, 0.0, 9.0, 9.0), "colour")


def ten_steps() -> Plan:
    """The textbook's pick and place, the check as an expectation of the close."""

    def move(x: float, y: float, z: float) -> Step:
        return Step("move_to_pose", {"x": x, "y": y, "z": z, "speed_dps": 60.0})

    steps = (
        Step("get_status"),
        Step("open_gripper", {"percent": 100.0}),
        move(0.22, 0.09, 0.07),
        move(0.22, 0.09, 0.03),
        Step("close_gripper", {}, "grip", HELD),
        move(0.22, 0.09, 0.07),
        move(0.20, -0.10, 0.07),
        move(0.20, -0.10, 0.03),
        Step("open_gripper", {"percent": 100.0}),
        Step("go_home"),
    )
    return Plan(steps, "hand", "put the red block in the bin")


@dataclass
class FakeSession:
    """Like RobotSession for a run: same order of checks, one holder, stops are counted."""

    config: Config
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    grasps: list[bool] = field(default_factory=list)  # what the next closes will hold; then True
    answers: dict[int, Verdict | Exception] = field(default_factory=dict)  # by number of the call
    before: Callable[[int, str], None] = lambda number, tool: None
    stopped: bool = False
    pose: Pose | None = HOME
    holding: bool = False
    energised: bool = True
    holder: str | None = None
    stops: int = 0
    cancels: int = 0
    not_allowed: Verdict | None = None
    missing: Verdict | None = None
    gate: asyncio.Event | None = None  # the next motion waits for it
    moving: asyncio.Event = field(default_factory=asyncio.Event)
    eye: Any = None
    _stops_at_take: int = 0

    def __post_init__(self) -> None:
        self.table = tool_table(self.config)
        self.move_settings = MoveSettings.of(self.config, CEILINGS)

    @property
    def tools(self) -> list[str]:
        return [tool for tool, _ in self.calls]

    def allowance(self, tools: tuple[str, ...], caller: Caller) -> Verdict | None:
        return self.not_allowed

    def may_start(self) -> Verdict | None:
        if self.stopped:
            return Verdict.refused(Code.STOPPED, "The arm is stopped.")
        if self.holder:
            return Verdict.refused(Code.BUSY, f"{self.holder} holds the arm.")
        return self.missing

    def take(self, run_id: str, caller: Caller) -> Verdict:
        self.holder, self._stops_at_take = run_id, self.stops
        return Verdict(Code.OK)

    def release(self, run_id: str) -> None:
        self.holder = None

    def note_stop(self) -> None:
        self.stops += 1

    async def stop(self, caller: Caller, cause: str) -> Verdict:
        self.stops += 1
        self.stopped = True
        return Verdict(Code.OK, "Stopped.", {"written": True, "confirmed": 6, "of": 6})

    async def cancel_motion(self, run_id: str) -> None:
        self.cancels += 1
        if self.gate is not None:
            self.answers[len(self.calls)] = Verdict(Code.CANCELLED, "Came to rest.")
            self.gate.set()

    async def call(
        self, tool: str, args: Mapping[str, Any], caller: Caller, *, run: str, door: bool
    ) -> Verdict:
        assert door is False
        assert self.holder == run
        self.calls.append((tool, dict(args)))
        number = len(self.calls)
        self.before(number, tool)
        scripted = self.answers.get(number)
        if isinstance(scripted, Exception):
            raise scripted
        if scripted is not None:
            return scripted
        if tool in self.table and self.table[tool].moves:
            refusal = await self._moving()
            if refusal is not None:
                return refusal
        return await self._done(tool, args)

    async def _moving(self) -> Verdict | None:
        if self.stopped or self.stops != self._stops_at_take:
            return Verdict.refused(Code.STOPPED, "The arm is stopped.")
        self.moving.set()
        if self.gate is None:
            return None
        await self.gate.wait()
        self.gate = None
        if self.stopped or self.stops != self._stops_at_take:
            return Verdict.refused(Code.STOPPED, "The arm was stopped.")
        return self.answers.get(len(self.calls))  # type: ignore[return-value]

    async def _done(self, tool: str, args: Mapping[str, Any]) -> Verdict:
        if tool == "look":
            return await self.eye.look()  # type: ignore[no-any-return]
        if tool == "move_to_pose":
            self.pose = HOME if args["z"] >= 0.05 else LOW
        if tool == "go_home":
            self.pose = HOME
        if tool == "open_gripper":
            self.holding = False
        if tool == "close_gripper":
            self.holding = self.grasps.pop(0) if self.grasps else True
        return Verdict(Code.OK, f"{tool} done.", {"holding_something": self.holding})


class FakeEye:
    """Shows the scenes one after the other, the last one for ever."""

    def __init__(self, *scenes: tuple[SceneObject, ...]) -> None:
        self.scenes = list(scenes) or [(RED,)]
        self.view: SimpleNamespace | None = None
        self.disputed: tuple[Dispute, ...] = ()  # what a model says of every scene from now on
        self.consulted = 0
        self.waits: asyncio.Event | None = None  # a model that answers when this is set
        self.looks = 0
        self.refusal: Verdict | None = None

    async def look(self) -> Verdict:
        if self.refusal is not None:
            return self.refusal
        self.looks += 1
        objects = self.scenes.pop(0) if len(self.scenes) > 1 else self.scenes[0]
        self.view = SimpleNamespace(scene=Scene(objects, (), float(self.looks)))
        return Verdict(Code.OK, "", self.view.scene.as_dict())

    @property
    def scene(self) -> Scene | None:
        return self.view.scene if self.view else None

    async def consult(self, first: SimpleNamespace) -> Any:
        self.consulted += 1
        if self.waits is not None:
            await self.waits.wait()
        if not self.disputed:
            return first, None
        scene = replace(first.scene, disputed=self.disputed)
        return SimpleNamespace(scene=scene), Opinion("fake-vlm")

    async def png(self, view: object) -> bytes | None:
        return None if view is None else b"\x89PNG"


class Scripted:
    """A planner that answers what it was told to, the last answer for ever."""

    name = "scripted"

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.contexts: list[PlanContext] = []
        self.looks = True

    def needs_scene(self, goal: str) -> bool:
        return self.looks

    async def plan(
        self, goal: str, context: PlanContext, think: Think = asyncio.to_thread
    ) -> Planned:
        return Planned(await think(self.outcome, context), self.name)

    def outcome(self, context: PlanContext) -> Any:
        self.contexts.append(context)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer() if callable(answer) else answer


@dataclass
class House:
    session: FakeSession
    eye: FakeEye
    runs: RunManager
    store: RunStore
    audit: Audit
    folder: Path

    async def goal(self, text: str = "put the red block in the bin") -> dict[str, Any]:
        """Start a goal and wait for its end."""
        started = await self.runs.start_goal(text, AGENT)
        assert started.ok, started
        return await self.ended(str(started.data["id"]))

    async def plan(self, plan: Plan | None = None) -> dict[str, Any]:
        started = await self.runs.start_plan(plan or ten_steps(), AGENT)
        assert started.ok, started
        return await self.ended(str(started.data["id"]))

    async def begin(self, plan: Plan | None = None, goal: str = "") -> str:
        """Start a run and leave it running."""
        starting = self.runs.start_goal(goal, AGENT) if goal else None
        started = await (starting or self.runs.start_plan(plan or ten_steps(), AGENT))
        assert started.ok, started
        return str(started.data["id"])

    async def ended(self, run_id: str) -> dict[str, Any]:
        await asyncio.wait_for(self.runs.wait_ended(run_id), 8.0)
        run = await self.runs.get(run_id)
        assert run is not None
        assert run["state"] == "ended"
        assert self.session.holder is None
        assert self.runs.questions.list() == []
        return run

    async def question(self, run_id: str) -> dict[str, Any]:
        """The question of a run, once it is open."""
        for _ in range(20_000):
            found = [q for q in self.runs.questions.list() if q["run"] == run_id]
            if found:
                return found[0]
            await asyncio.sleep(0.0005)
        raise AssertionError("no question was asked")

    async def say(self, run_id: str, answer: str) -> Verdict:
        question = await self.question(run_id)
        return await self.runs.answer(str(question["id"]), answer, AGENT)

    async def say_each(self, run_id: str, answer: str, count: int) -> None:
        """Give the same answer to so many questions, one after the other."""
        asked: set[object] = set()
        while len(asked) < count:
            question = await self.question(run_id)
            if question["id"] not in asked:  # one that was answered stays listed for a moment
                asked.add(question["id"])
                await self.runs.answer(str(question["id"]), answer, AGENT)
            await asyncio.sleep(0)

    def steps(self, run: dict[str, Any]) -> list[int]:
        return [row["step"] for row in run["steps"] if row["event"] == "step"]
