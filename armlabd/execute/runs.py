"""All runs: one at a time, each with a folder, each with a named end."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from armlabd.config import Config
from armlabd.execute.eye import Eye
from armlabd.execute.goal import Driver, Planner
from armlabd.execute.questions import Questions
from armlabd.execute.run import Ending, Result, Run, RunState
from armlabd.gate.moves import MoveSettings
from armlabd.gate.roles import Caller
from armlabd.gate.session import RobotSession
from armlabd.plan.plan import Plan
from armlabd.record.store import RunFolder, RunStore
from armlabd.verdict import Code, Verdict

log = logging.getLogger(__name__)

MAX_GOAL_CHARS = 500
BULKY = ("steps", "scene", "plan", "checks")  # left out of the list of runs
KEPT_IN_MEMORY = 50  # ended runs that are answered without reading the disk
GOAL_TOOLS = ("move_to_pose", "open_gripper", "close_gripper", "go_home")  # what a goal may use


class RunManager:
    """Starts, cancels and remembers runs. The arm belongs to at most one of them."""

    def __init__(
        self,
        session: RobotSession,
        eye: Eye,
        planner: Planner,
        store: RunStore,
        config: Config,
        moves: MoveSettings,
        *,
        simulated: bool,
    ) -> None:
        self._session, self._eye, self.planner, self._store = session, eye, planner, store
        self._config, self._moves, self._simulated = config, moves, simulated
        self.questions = Questions()
        self._runs: dict[str, Run] = {}
        self._task: asyncio.Task[None] | None = None

    def start_goal(self, goal: object, caller: Caller) -> Verdict:
        """Start a run for a sentence. 202-like OK with id and url, or why not."""
        if not isinstance(goal, str) or not goal.strip() or len(goal) > MAX_GOAL_CHARS:
            return Verdict.refused(
                Code.WRONG_TYPE,
                f"goal must be a sentence of 1 to {MAX_GOAL_CHARS} characters, "
                f'but got {goal!r:.60}. Send it as {{"goal": "put the red block in the bin"}}.',
            )
        refusal = self._session.allowance(GOAL_TOOLS, caller)
        return refusal or self._start(goal.strip(), None, caller)

    def start_plan(self, plan: Plan, caller: Caller) -> Verdict:
        """Start a run for a plan that somebody brought; it is checked as every plan is."""
        refusal = self._session.allowance(tuple(step.tool for step in plan.steps), caller)
        return refusal or self._start(plan.goal or "a given plan", plan, caller)

    async def cancel(self, run_id: str) -> Verdict:
        """End a run: the arm comes to rest, then leaves the table."""
        run = self._runs.get(run_id)
        if run is None or run.state is RunState.ENDED:
            known = run is not None or self._store.load(run_id) is not None
            why = "has ended already" if known else "is not known"
            return Verdict.refused(Code.NOT_FOUND, f"Run {run_id!r} {why}. GET /runs lists them.")
        run.cancelled = True
        self.questions.withdraw(run_id)
        await self._session.cancel_motion(run_id)
        await self.wait_ended(run_id)
        return Verdict(Code.OK, "Cancelled.", run.as_dict())

    def notify_stop(self) -> None:
        """A stop happened: no question waits on, the running step ends by itself."""
        for run in self._runs.values():
            if run.state is RunState.WAITING:
                self.questions.withdraw(run.id)

    def get(self, run_id: str) -> dict[str, Any] | None:
        """A run as doors show it; from disk when it is an old one; None when unknown."""
        run = self._runs.get(run_id)
        if run is not None:
            return run.as_dict()
        folder = self._store.load(run_id)
        return None if folder is None else _from_disk(folder)

    def list(self, count: int = 50) -> list[dict[str, Any]]:
        """The newest runs, newest first, without their steps."""
        shown = []
        for run_id in self._store.list()[:count]:
            run = self.get(run_id)
            if run is not None:
                shown.append({k: v for k, v in run.items() if k not in BULKY})
        return shown

    @property
    def active(self) -> Run | None:
        """The run that has the arm."""
        return next((r for r in self._runs.values() if r.state is not RunState.ENDED), None)

    async def wait_ended(self, run_id: str) -> None:
        """Wait until a run has ended."""
        if self._task is not None and self.active is not None and self.active.id == run_id:
            await asyncio.shield(self._task)

    async def close(self) -> None:
        """End the running run in order; for the daemon's shutdown."""
        active = self.active
        if active is not None:
            await self.cancel(active.id)

    def _start(self, goal: str, plan: Plan | None, caller: Caller) -> Verdict:
        refusal = self._session.may_start()
        if refusal is not None:
            return refusal
        try:
            folder = self._store.create(goal)
        except OSError as error:
            sentence = f"The run cannot be recorded: {error}. Free the disk, then try again."
            return Verdict.refused(Code.DISK, sentence)
        taken = self._session.take(folder.id, caller)
        if not taken.ok:
            return taken
        run = Run(folder.id, goal, caller, folder, self._simulated)
        if plan is not None:
            run.state = RunState.CHECKING
        self._remember(run)
        self._task = asyncio.create_task(self._drive(run, plan), name=run.id)
        return Verdict(Code.OK, "", {"id": run.id, "url": f"/runs/{run.id}"})

    async def _drive(self, run: Run, plan: Plan | None) -> None:
        driver = Driver(
            run,
            self._session,
            self._eye,
            self.planner,
            self.questions,
            self._config,
            self._moves,
        )
        try:
            ending = await driver.drive(plan)
        except OSError as error:
            sentence = f"The run could not be recorded: {error}. Free the disk."
            ending = Ending(Result.FAILED, Code.DISK, sentence)
        except Exception:
            log.exception("run %s failed: a fault of armlabd itself; the arm holds", run.id)
            ending = Ending(Result.FAILED, Code.INTERNAL, "A fault of armlabd itself; see its log.")
        self._end(run, ending)

    def _end(self, run: Run, ending: Ending) -> None:
        run.ending, run.question = ending, None
        run.state = RunState.ENDED
        self._session.release(run.id)
        try:
            run.folder.write_json("result", run.as_dict())
        except OSError as error:
            log.error("the result of %s could not be written: %s", run.id, error)
        log.info("%s ended %s (%s): %s", run.id, ending.result, ending.code, ending.sentence)

    def _remember(self, run: Run) -> None:
        self._runs[run.id] = run
        while len(self._runs) > KEPT_IN_MEMORY:
            self._runs.pop(next(iter(self._runs)))


def _from_disk(folder: RunFolder) -> dict[str, Any]:
    result = folder.read_json("result")
    if isinstance(result, dict):
        return result
    goal = (folder.read_json("goal") or {}).get("goal", "")
    return {
        "id": folder.id,
        "goal": goal,
        "state": str(RunState.ENDED),
        "result": str(Result.FAILED),
        "cause": str(Code.CORE_LOST),
        "sentence": "armlabd ended during this run.",
        "question": None,
        "steps": folder.trace(),
    }
