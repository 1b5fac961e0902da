"""Drive one run: perceive, plan, check, execute, recover, ask, and leave the arm clear.

Everything that moves goes through `RobotSession.call`. The end of a run comes from what was
measured here, never from what a planner or a model says of itself.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from armlabd.arm.joints import Pose
from armlabd.arm.kinematics import forward
from armlabd.check.checker import check_plan
from armlabd.check.report import Report
from armlabd.config import Config
from armlabd.execute.context import check_context, plan_context
from armlabd.execute.doubt import IT_IS, disputed_target, doubt_question
from armlabd.execute.executor import Executor, Halt
from armlabd.execute.eye import Eye
from armlabd.execute.journal import Journal, RecordLostError, finite
from armlabd.execute.questions import GIVE_UP, TRY_AGAIN, Questions, recovery_question
from armlabd.execute.recovery import Action
from armlabd.execute.rounds import Rounds
from armlabd.execute.run import Ending, Result, Run, RunState
from armlabd.execute.think import OverError, Thinker, raise_if_over
from armlabd.gate.moves import CLEAR_Z_M
from armlabd.gate.session import RobotSession
from armlabd.perceive.scene import Dispute, Scene, SceneObject
from armlabd.plan.plan import Plan
from armlabd.plan.planner import NotPossible, Planned, Planner
from armlabd.plan.question import Question, Stop
from armlabd.verdict import Code, Verdict

log = logging.getLogger(__name__)

MAX_ROUNDS = 12  # questions and plans of one goal together; then it is going in circles
FINAL = frozenset({Result.STOPPED, Result.FAILED, Result.CANCELLED})
LOST = frozenset({Code.BUS_LOST, Code.CORE_LOST})  # nothing can be moved, and that is the news


@dataclass(slots=True)
class Driver:
    """One run being driven. All it learns is written by `journal` and shown by `run`."""

    run: Run
    session: RobotSession
    eye: Eye
    planner: Planner
    questions: Questions
    config: Config
    thinker: Thinker
    journal: Journal
    sure: list[SceneObject] = field(default_factory=list)  # a person said so, against a model
    rounds: Rounds = field(init=False)

    def __post_init__(self) -> None:
        self.rounds = Rounds(self.config.run.max_replans)

    async def drive(self, plan: Plan | None) -> Ending:
        """The run's end, with the arm clear of the table unless it must not or cannot move."""
        ending = await self._driven(plan)
        try:
            if ending.result is not Result.STOPPED and ending.code is not Code.BUS_LOST:
                await self._leave_clear()
            await self._keep_last_picture()
        except RecordLostError as lost:
            log.error("the end of %s could not be recorded: %s", self.run.id, lost)
        return self._settled(ending)

    async def _driven(self, plan: Plan | None) -> Ending:
        """Drive it, with every exception as an end; torque stays on and the arm held."""
        try:
            return await (self._goal() if plan is None else self._given(plan))
        except OverError:
            return self._settled(Ending(Result.FAILED, Code.INTERNAL))
        except RecordLostError as lost:
            sentence = f"The run could not be recorded: {lost}. Free the disk, then try again."
            return Ending(Result.FAILED, Code.DISK, sentence)
        except Exception:
            log.exception("%s failed: a fault of armlabd itself; the arm stays held", self.run.id)
            sentence = "A fault of armlabd itself; see its log. The arm is held where it is safe."
            return Ending(Result.FAILED, Code.INTERNAL, sentence)

    def _settled(self, ending: Ending) -> Ending:
        """A stop or a cancel that came meanwhile is the end, whatever was reached before it."""
        if ending.result is Result.STOPPED or ending.code in LOST:
            return ending
        if self.run.stopped:
            return Ending(Result.STOPPED, Code.STOPPED, "The arm was stopped during the run.")
        if self.run.cancelled:
            return Ending(Result.CANCELLED, Code.CANCELLED, "The run was cancelled.")
        return ending

    # --- a goal -----------------------------------------------------------------------------

    async def _goal(self) -> Ending:
        for _ in range(MAX_ROUNDS):
            scene = await self._perceive()
            if isinstance(scene, Ending):
                return scene
            outcome = await self._plan(scene)
            if isinstance(outcome, Plan):
                outcome = await self._carry_out(outcome, scene)
            if outcome is not None:
                return outcome
        return Ending(
            Result.ASKED,
            Code.NOT_UNDERSTOOD,
            f"After {MAX_ROUNDS} rounds there is no progress. Say the goal in other words, "
            "or one step at a time.",
        )

    async def _perceive(self) -> Scene | Ending | None:
        """The scene, looked at again once when it is empty; None when the goal needs none.

        After an answered question there is always a look: the answer may need what the goal did
        not.
        """
        if not self.rounds.answers and not self.planner.needs_scene(self.run.goal):
            return None
        await self._enter(RunState.PERCEIVING)
        scene = await self._look()
        if isinstance(scene, Scene) and not scene.objects:
            sentence = "The table looks empty: looking once more."
            await self.journal.note({"event": "look", "sentence": sentence})
            scene = await self._look()
        return scene

    async def _look(self) -> Scene | Ending:
        verdict = await self._call("look", {})
        if not verdict.ok:
            return Ending.of_refusal(verdict)
        view = self.eye.view
        assert view is not None  # a look that went well left one
        seen = await self.thinker.wait(self.run, self.eye.consult(view))
        if isinstance(seen, Verdict):
            return Ending.of_refusal(seen)
        view, opinion = seen
        if opinion is not None:
            row = {"model": opinion.model, "note": opinion.note, **opinion.told}
            await self.journal.note({"event": "opinion", **row})
        await self.journal.keep_scene(view.scene.as_dict(), await self.eye.png(view))
        return view.scene

    async def _plan(self, scene: Scene | None) -> Plan | Ending | None:
        """A plan, an end, or None after an answered question: look and plan again."""
        await self._enter(RunState.PLANNING)
        rounds = self.rounds
        context = plan_context(
            self.session, self.config, scene, rounds.answers, tuple(rounds.refusals)
        )
        try:
            planned = await self.thinker.plan(self.run, self.planner, self.run.goal, context)
        except OverError:
            given_up = {"event": "planned", "name": self.planner.name, "outcome": "given up"}
            await self.journal.note(given_up)
            raise
        await self.journal.keep_planned(planned)
        outcome = planned.outcome
        if isinstance(outcome, NotPossible):
            return Ending(Result.REFUSED, Code.IMPOSSIBLE, _impossible(planned, outcome))
        if isinstance(outcome, Stop):
            await self.session.stop(self.run.caller, "the goal says stop")
            return Ending(Result.STOPPED, Code.STOPPED, "The goal means stop: the arm is stopped.")
        return outcome if isinstance(outcome, Plan) else await self._ask_planning(outcome)

    async def _ask_planning(self, question: Question) -> Ending | None:
        """Ask what stands in the way of a plan; None: plan again, with the answer."""
        await self._leave_clear()
        answer = await self._ask(question)
        if answer is None or answer == GIVE_UP:
            return _unanswered(question, answer)
        self.rounds.answer(question.kind, answer)
        return None

    async def _carry_out(self, plan: Plan, scene: Scene | None) -> Ending | None:
        """Check and execute a plan of our planner; None: plan again with what was learnt."""
        dispute = disputed_target(plan, scene, self.sure)
        if dispute is not None:
            return await self._make_sure(dispute)
        circle = self.rounds.repeated(plan)
        if circle is not None:
            return await self._ask_planning(circle)
        refused = await self._refused(plan, scene, strict=True)
        if refused is not None:
            return await self._learn(plan, refused)
        executor = self._executor()
        halt = await executor.run(plan)
        if halt is None:
            return _done(executor, self._told(plan))
        if halt.action is Action.REPLAN:
            if not halt.slipped:
                return await self._learn(plan, Ending.of_refusal(halt.verdict))
            if self.rounds.may_slip():
                return None
        ending = await self._end_or_ask(halt)
        if ending is None:  # a person said "try again"
            self.rounds.start_afresh()
        return ending

    async def _learn(self, plan: Plan, refused: Ending) -> Ending | None:
        """Plan again with what a refusal says; an end, or a question when that is a circle."""
        if refused.code is Code.NOT_ALLOWED:
            return refused
        circle = self.rounds.refuse(plan, refused)
        return None if circle is None else await self._ask_planning(circle)

    async def _make_sure(self, dispute: Dispute) -> Ending | None:
        """Ask about an object that a model saw otherwise; None: look again, with the answer."""
        question = doubt_question(dispute)
        answer = await self._ask(question)
        if answer == IT_IS:
            self.sure.append(dispute.item)
        return None if answer in (IT_IS, TRY_AGAIN) else _unanswered(question, answer)

    # --- a plan that somebody brought -------------------------------------------------------

    async def _given(self, plan: Plan) -> Ending:
        refused = await self._refused(plan, None)
        if refused is not None:
            return refused
        executor = self._executor()
        halt = await executor.run(plan)
        while halt is not None:
            if halt.action is Action.REPLAN and not halt.slipped:
                return self._settled(Ending.of_refusal(halt.verdict))
            ending = await self._end_or_ask(halt)
            if ending is not None:
                return ending
            await self._enter(RunState.EXECUTING)
            executor = self._executor()
            halt = await executor.run(plan, start=_restart(plan))
        return _done(executor, self._told(plan))

    # --- common -----------------------------------------------------------------------------

    async def _refused(
        self, plan: Plan, scene: Scene | None, *, strict: bool = False
    ) -> Ending | None:
        """The end of a plan that breaks a rule or is not allowed; else None, and it may run.

        `strict`: a warning refuses it too. Planners of ours write none; a model's calls may.
        """
        report = await self._check(plan, scene, strict)
        if not report.ok:
            verdict = report.verdict()
            return Ending(Result.REFUSED, verdict.code, verdict.sentence)
        tools = tuple(step.tool for step in plan.steps)
        refusal = self.session.allowance(tools, self.run.caller)
        if refusal is not None:
            return Ending.of_refusal(refusal)
        await self._enter(RunState.EXECUTING)
        return None

    async def _check(self, plan: Plan, scene: Scene | None, strict: bool) -> Report:
        await self._enter(RunState.CHECKING)
        context = check_context(self.session, self.config, scene)
        context = replace(context, strict=strict or context.strict)
        report = await self.thinker.think(self.run, check_plan, plan, context)
        shown, checks = plan.to_dict(), report.as_dict()
        await self.journal.keep("plan", {**shown, "checks": checks})
        await self.journal.note({"event": "plan", **shown})
        await self.journal.note({"event": "check", **checks})
        self.run.show_plan(finite(shown), checks)
        return report

    def _told(self, plan: Plan) -> str:
        """What a person who asked to look wants to hear; empty for other plans."""
        scene = self.eye.scene
        if scene is None or all(step.tool != "look" for step in plan.steps):
            return ""
        seen = [f"{item.label} at x {item.x:.3f}, y {item.y:.3f}" for item in scene.objects]
        return " In view: " + ("; ".join(seen) or "nothing that I know") + "."

    def _executor(self) -> Executor:
        return Executor(
            self._call,
            self.journal.note,
            max_attempts=self.config.run.max_attempts,
            lift_z_m=self.config.workspace.z_max,
        )

    async def _end_or_ask(self, halt: Halt) -> Ending | None:
        """What follows a halt that needs a person: an end, or None to try again."""
        ending = Ending.of_refusal(halt.verdict)
        if ending.result in FINAL:
            return self._settled(ending)
        await self._leave_clear()
        question = recovery_question(halt)
        answer = await self._ask(question)
        return None if answer == TRY_AGAIN else _unanswered(question, answer)

    async def _ask(self, question: Question) -> str | None:
        """A person's answer; None when nobody answered in time. Raises OverError."""
        raise_if_over(self.run)
        self.run.questions_asked += 1
        number = self.run.questions_asked
        shown = question.to_dict()
        waiting = self.questions.open(self.run.id, number, question)
        before = self.run.state
        self.run.state, self.run.question = RunState.WAITING, {"id": waiting.id, **shown}
        try:
            await self.journal.note({"event": "question", "number": number, **shown})
            await self._enter(RunState.WAITING)
            raise_if_over(self.run)
            answer = await self.questions.wait(waiting, self.config.run.answer_timeout_s)
        finally:
            self.questions.close(waiting)
            self.run.state, self.run.question = before, None  # whoever waits is told for what
        await self.journal.note({"event": "answer", "number": number, "answer": answer})
        raise_if_over(self.run)
        return answer

    async def _call(self, tool: str, args: Mapping[str, Any]) -> Verdict:
        raise_if_over(self.run)
        return await self.session.call(tool, args, self.run.caller, run=self.run.id, door=False)

    async def _leave_clear(self) -> None:
        """Lift the arm off the table when a run ended or waits with the hand low."""
        pose = self.session.pose
        if self.session.stopped or pose is None or not self.session.energised or _clear(pose):
            return
        self.run.leaving = True
        try:
            verdict = await self.session.call(
                "go_home", {}, self.run.caller, run=self.run.id, door=False
            )
        finally:
            self.run.leaving = False
        await self.journal.note(
            {"event": "leave_clear", "ok": verdict.ok, "sentence": verdict.sentence}
        )

    async def _enter(self, state: RunState) -> None:
        self.run.state = state
        await self.journal.note({"event": "state", "state": str(state)})

    async def _keep_last_picture(self) -> None:
        """How the table looks afterwards, for a run that looked before."""
        if not self.journal.scenes or not (await self.eye.look()).ok:
            return
        picture = await self.eye.png(self.eye.view)
        if picture is not None:
            await self.journal.keep_picture("picture-after.png", picture)


def _done(executor: Executor, told: str = "") -> Ending:
    """Done, by what was measured; a plan without a measured step has done nothing."""
    if executor.measured == 0:
        return Ending(Result.REFUSED, Code.BAD_PLAN, "The plan has no step, so nothing was done.")
    sentence = f"Done: {executor.measured} steps, each measured.{told}"
    return Ending(Result.DONE, Code.OK, sentence)


def _impossible(planned: Planned, outcome: NotPossible) -> str:
    return (
        f"{planned.planner} says that this is not possible: {outcome.reason} "
        "Say the goal in other words, or ask for something else."
    )


def _unanswered(question: Question, answer: str | None) -> Ending:
    if answer == GIVE_UP:
        return Ending(Result.ASKED, question.code, f"Given up by a person. {question.text}")
    sentence = f"Nobody answered in time: {question.text}"
    return Ending(Result.ASKED, Code.ANSWER_TIMEOUT, sentence)


def _clear(pose: Pose) -> bool:
    return forward(pose).tool[2] >= CLEAR_Z_M


def _restart(plan: Plan) -> int:
    """Where a given plan starts again after a person said so: at the first opening."""
    return next((i for i, step in enumerate(plan.steps) if step.tool == "open_gripper"), 0)
