"""Drive one run: perceive, plan, check, execute, recover, ask, and leave the arm clear.

Everything that moves goes through `RobotSession.call`. The end of a run comes from what was
measured here, never from what a planner or a model says of itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from armlabd.arm.joints import Pose
from armlabd.arm.kinematics import forward
from armlabd.check.checker import CheckContext, check_plan
from armlabd.check.report import Report
from armlabd.config import Config
from armlabd.execute.executor import Executor, Halt
from armlabd.execute.eye import Eye
from armlabd.execute.questions import GIVE_UP, RECOVERY, TRY_AGAIN, Questions
from armlabd.execute.recovery import Action
from armlabd.execute.run import RESULT_OF, Ending, Result, Run, RunState
from armlabd.gate.moves import CLEAR_Z_M, MoveSettings
from armlabd.gate.session import RobotSession
from armlabd.perceive.scene import Scene
from armlabd.plan.context import PlanContext
from armlabd.plan.plan import Plan
from armlabd.plan.question import Question, Stop
from armlabd.verdict import Code, Verdict

MAX_ROUNDS = 12  # questions and plans of one goal together; then it is going in circles
FINAL = frozenset({Result.STOPPED, Result.FAILED, Result.CANCELLED})


class Planner(Protocol):
    """Whatever turns a sentence and a scene into a plan or a question."""

    name: str

    def plan(self, goal: str, context: PlanContext) -> Plan | Question | Stop:
        """The plan, a question to a person, or Stop."""

    def needs_scene(self, goal: str) -> bool:
        """False when the goal can be planned without looking."""


@dataclass(slots=True)
class Driver:
    """One run being driven. `tell` is called after every change, to record and show it."""

    run: Run
    session: RobotSession
    eye: Eye
    planner: Planner
    questions: Questions
    config: Config
    moves: MoveSettings
    pictures: int = 0
    refusals: list[str] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    last_plan: Plan | None = None

    async def drive(self, plan: Plan | None) -> Ending:
        """The run's end, with the arm clear of the table unless it must not move."""
        ending = await (self._goal() if plan is None else self._given(plan))
        if ending.result is not Result.STOPPED and ending.code is not Code.BUS_LOST:
            await self._leave_clear()
        await self._keep_last_picture()
        return ending

    # --- a goal -----------------------------------------------------------------------------

    async def _goal(self) -> Ending:
        for _ in range(MAX_ROUNDS):
            scene = await self._perceive()
            if isinstance(scene, Ending):
                return scene
            outcome = await self._plan(scene)
            if isinstance(outcome, Ending):
                return outcome
            if outcome is None:
                continue
            ending = await self._carry_out(outcome, scene)
            if ending is not None:
                return ending
        return Ending(
            Result.ASKED,
            Code.NOT_UNDERSTOOD,
            f"After {MAX_ROUNDS} rounds there is no progress. Say the goal in other words, "
            "or one step at a time.",
        )

    async def _perceive(self) -> Scene | Ending | None:
        """The scene, looked at again once when it is empty; None when the goal needs none."""
        if not self.planner.needs_scene(self.run.goal):
            return None
        self._enter(RunState.PERCEIVING)
        for attempt in (1, 2):
            verdict = await self._call("look", {})
            if not verdict.ok:
                return Ending.of_refusal(verdict)
            scene = self.eye.scene
            assert scene is not None  # a look that went well left one
            await self._keep_picture(scene)
            if scene.objects or attempt == 2:
                return scene
            self._note({"event": "look", "sentence": "The table looks empty: looking once more."})
        raise AssertionError("the loop returns")

    async def _plan(self, scene: Scene | None) -> Plan | Ending | None:
        """A checked form of the goal; None after an answered question: look and plan again."""
        self._enter(RunState.PLANNING)
        outcome = await asyncio.to_thread(self.planner.plan, self.run.goal, self._context(scene))
        if isinstance(outcome, Stop):
            await self.session.stop(self.run.caller, "the goal says stop")
            return Ending(Result.STOPPED, Code.STOPPED, "The goal means stop: the arm is stopped.")
        if isinstance(outcome, Plan):
            return outcome
        answer = await self._ask(outcome)
        if answer is None or answer == GIVE_UP:
            return self._unanswered(outcome, answer)
        self.answers[outcome.kind] = answer
        return None

    async def _carry_out(self, plan: Plan, scene: Scene | None) -> Ending | None:
        """Check and execute a plan of our planner; None: plan again with what was learnt."""
        repeated = self.last_plan is not None and plan.steps == self.last_plan.steps
        self.last_plan = plan
        report = await self._check(plan, scene)
        if not report.ok:
            sentence = report.verdict().sentence
            if repeated or len(self.refusals) >= self.config.run.max_replans:
                return Ending(Result.REFUSED, report.faults[0].code, sentence)
            self.refusals.append(sentence)
            return None
        refused = self._not_allowed(plan)
        if refused is not None:
            return refused
        return await self._run_steps(plan, replan=True)

    def _context(self, scene: Scene | None) -> PlanContext:
        space = self.config.workspace
        return PlanContext(
            scene=scene or Scene((), (), 0.0),
            places=self.config.places,
            area=space.area(),
            holding=self.session.holding,
            z_m=(space.z_min, space.z_max),
            speed_dps=self.moves.speed_dps,
            max_tilt_deg=self.moves.max_tilt_deg,
            block_height_m=self.config.perceive.block_height_m or 0.03,
            answers=dict(self.answers),
            refusals=tuple(self.refusals),
        )

    # --- a plan that somebody brought -------------------------------------------------------

    async def _given(self, plan: Plan) -> Ending:
        report = await self._check(plan, None)
        if not report.ok:
            verdict = report.verdict()
            return Ending(Result.REFUSED, verdict.code, verdict.sentence)
        refused = self._not_allowed(plan)
        if refused is not None:
            return refused
        ending = await self._run_steps(plan, replan=False)
        assert ending is not None  # only a goal is planned again
        return ending

    # --- common -----------------------------------------------------------------------------

    async def _check(self, plan: Plan, scene: Scene | None) -> Report:
        self._enter(RunState.CHECKING)
        limits = self.config.check
        context = CheckContext(
            table=self.session.table,
            pose=self.session.pose,
            holding=self.session.holding,
            settings=self.moves,
            scene=scene,
            max_steps=limits.max_steps,
            max_duration_s=limits.max_duration_s,
            max_drop_m=limits.max_drop_m,
            block_height_m=self.config.perceive.block_height_m or 0.03,
            strict=limits.strict,
        )
        report = await asyncio.to_thread(check_plan, plan, context)
        self.run.plan, self.run.checks = plan.to_dict(), report.as_dict()
        self.run.folder.write_json("plan", {**plan.to_dict(), "checks": self.run.checks})
        self._note({"event": "plan", "planner": plan.planner, **plan.to_dict()})
        self._note({"event": "check", **report.as_dict()})
        return report

    def _not_allowed(self, plan: Plan) -> Ending | None:
        tools = tuple(step.tool for step in plan.steps)
        refusal = self.session.allowance(tools, self.run.caller)
        return None if refusal is None else Ending.of_refusal(refusal)

    async def _run_steps(self, plan: Plan, *, replan: bool) -> Ending | None:
        self._enter(RunState.EXECUTING)
        executor = Executor(
            self._call,
            self._note,
            max_attempts=self.config.run.max_attempts,
            lift_z_m=self.config.workspace.z_max,
        )
        halt = await executor.run(plan)
        while halt is not None:
            if halt.action is Action.REPLAN and replan and self._may_replan(halt):
                return None
            ending = await self._after(halt)
            if ending is not None:
                return ending
            if replan:
                return None
            executor.attempts = 0
            self._enter(RunState.EXECUTING)
            halt = await executor.run(plan, start=_restart(plan))
        return Ending(Result.DONE, Code.OK, f"Done: {len(plan.steps)} steps, each measured.")

    def _may_replan(self, halt: Halt) -> bool:
        sentence = halt.verdict.sentence
        if sentence in self.refusals or len(self.refusals) >= self.config.run.max_replans:
            return False
        self.refusals.append(sentence)
        return True

    async def _after(self, halt: Halt) -> Ending | None:
        """What follows a halt that needs a person: an end, or None to try again."""
        verdict = halt.verdict
        ending = Ending.of_refusal(verdict)
        grasp = verdict.code is Code.GRASP_FAILED
        if ending.result in FINAL or (halt.action is Action.REPLAN and not grasp):
            return ending
        await self._leave_clear()
        answer = await self._ask(_recovery_question(halt))
        if answer == TRY_AGAIN:
            return None
        return self._unanswered(_recovery_question(halt), answer)

    def _unanswered(self, question: Question, answer: str | None) -> Ending:
        if self.session.stopped:
            return Ending(Result.STOPPED, Code.STOPPED, "Stopped while a question was open.")
        if self.run.cancelled:
            return Ending(Result.CANCELLED, Code.CANCELLED, "Cancelled while a question was open.")
        if answer == GIVE_UP:
            return Ending(Result.ASKED, question.code, f"Given up by a person. {question.text}")
        return Ending(
            Result.ASKED, Code.ANSWER_TIMEOUT, f"Nobody answered in time: {question.text}"
        )

    async def _ask(self, question: Question) -> str | None:
        self.run.questions_asked += 1
        number = self.run.questions_asked
        self._note({"event": "question", "number": number, **question.to_dict()})
        self.run.question = {"id": f"{self.run.id}-q{number}", **question.to_dict()}
        self._enter(RunState.WAITING)
        timeout_s = self.config.run.answer_timeout_s
        answer = await self.questions.ask(self.run.id, number, question, timeout_s)
        self.run.question = None
        self._note({"event": "answer", "number": number, "answer": answer})
        return None if self.session.stopped or self.run.cancelled else answer

    async def _call(self, tool: str, args: Mapping[str, Any]) -> Verdict:
        if self.run.cancelled:
            return Verdict.refused(Code.CANCELLED, "The run was cancelled.")
        return await self.session.call(tool, args, self.run.caller, run=self.run.id, door=False)

    async def _leave_clear(self) -> None:
        """Lift the arm off the table when a run ended or waits with the hand low."""
        pose = self.session.pose
        if self.session.stopped or pose is None or not self.session.energised or _clear(pose):
            return
        verdict = await self.session.call(
            "go_home", {}, self.run.caller, run=self.run.id, door=False
        )
        self._note({"event": "leave_clear", "ok": verdict.ok, "sentence": verdict.sentence})

    # --- the record -------------------------------------------------------------------------

    def _enter(self, state: RunState) -> None:
        self.run.state = state
        self._note({"event": "state", "state": str(state)})

    def _note(self, row: dict[str, Any]) -> None:
        if row.get("event") in ("step", "grasp_check", "lift", "leave_clear"):
            self.run.steps.append(row)
        self.run.folder.append_trace(row)

    async def _keep_picture(self, scene: Scene) -> None:
        self.pictures += 1
        name = f"picture-{self.pictures}"
        self.run.folder.write_json(f"scene-{self.pictures}", scene.as_dict())
        self.run.scene = scene.as_dict()
        self._note({"event": "scene", "picture": f"{name}.png", **scene.as_dict()})
        picture = await self.eye.picture("png")
        if picture is not None:
            self.run.folder.write_bytes(f"{name}.png", picture)

    async def _keep_last_picture(self) -> None:
        if self.pictures and (await self.eye.look()).ok:
            picture = await self.eye.picture("png")
            if picture is not None:
                self.run.folder.write_bytes("picture-after.png", picture)


def _clear(pose: Pose) -> bool:
    return forward(pose).tool[2] >= CLEAR_Z_M


def _restart(plan: Plan) -> int:
    """Where a given plan starts again after a person said so: at the first opening."""
    return next((i for i, step in enumerate(plan.steps) if step.tool == "open_gripper"), 0)


def _recovery_question(halt: Halt) -> Question:
    verdict = halt.verdict
    if verdict.code is Code.GRASP_FAILED:
        text = (
            f"Step {halt.step}: nothing was grasped after {halt.tries} tries. "
            "Put the object back in its place or clear the way, then choose."
        )
    else:
        text = f"Step {halt.step} was refused: {verdict.sentence} How shall it go on?"
    return Question(text, (TRY_AGAIN, GIVE_UP), verdict.code, RECOVERY)


__all__ = ["RESULT_OF", "Driver", "Planner"]
