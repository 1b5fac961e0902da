"""All runs: one at a time, each with a folder, each with a named end."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections import OrderedDict
from typing import Any

from armlabd.config import Config
from armlabd.execute.eye import Eye
from armlabd.execute.goal import Driver
from armlabd.execute.journal import SHOWN_EVENTS, Journal, RecordLostError
from armlabd.execute.questions import Questions
from armlabd.execute.run import Ending, Result, Run, RunState
from armlabd.execute.think import Thinker
from armlabd.gate.ledger import Ledger
from armlabd.gate.roles import Caller
from armlabd.gate.session import RobotSession
from armlabd.plan.plan import Plan
from armlabd.plan.planner import Planner
from armlabd.record.store import RunFolder, RunStore
from armlabd.verdict import Code, Verdict

log = logging.getLogger(__name__)

MAX_GOAL_CHARS = 500
BULKY = ("steps", "scene", "plan", "checks")  # left out of the list of runs
KEPT_IN_MEMORY = 8  # ended runs that are answered whole without reading the disk
LISTED = 50
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
        ledger: Ledger,
        *,
        simulated: bool,
    ) -> None:
        self._ledger = ledger
        self._session, self._eye, self.planner, self._store = session, eye, planner, store
        self._config, self._simulated = config, simulated
        self.questions = Questions()
        self._thinker = Thinker()
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._briefs: dict[str, dict[str, Any]] = {}
        self._starting = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._closing = False

    # --- starting ---------------------------------------------------------------------------

    async def start_goal(self, goal: object, caller: Caller) -> Verdict:
        """Start a run for a sentence. 202-like OK with id and url, or why not."""
        text = one_line(goal) if isinstance(goal, str) else ""
        refusal = _no_sentence(goal, text) or self._session.allowance(GOAL_TOOLS, caller)
        verdict = refusal or await self._start(text, None, caller)
        await self._ledger.act(caller, "goal", text, verdict)
        return verdict

    async def start_plan(self, plan: Plan, caller: Caller) -> Verdict:
        """Start a run for a plan that somebody brought; it is checked as every plan is."""
        refusal = self._session.allowance(tuple(step.tool for step in plan.steps), caller)
        text = one_line(plan.goal) or "a given plan"
        verdict = refusal or await self._start(text, plan, caller)
        await self._ledger.act(caller, "plan", text, verdict)
        return verdict

    async def _start(self, goal: str, plan: Plan | None, caller: Caller) -> Verdict:
        if self._closing:
            return Verdict.refused(Code.BUSY, "armlabd is ending. Start it again, then ask.")
        async with self._starting:
            refusal = self._session.may_start()
            if refusal is not None:
                return refusal
            try:
                folder = await asyncio.to_thread(self._store.create, goal)
            except OSError as error:
                why = error.strerror or error
                sentence = f"The run cannot be recorded: {why}. Free the disk, then try again."
                return Verdict.refused(Code.DISK, sentence)
            refusal = self._taken(folder, caller)
            if refusal is not None:
                await asyncio.to_thread(shutil.rmtree, folder.path, ignore_errors=True)
                return refusal
            run = Run(folder.id, goal, caller, folder, self._simulated)
            if plan is not None:
                run.state = RunState.CHECKING
            self._remember(run)
            self._task = asyncio.create_task(self._drive(run, plan), name=run.id)
        return Verdict(Code.OK, "", {"id": run.id, "url": f"/runs/{run.id}"})

    def _taken(self, folder: RunFolder, caller: Caller) -> Verdict | None:
        """Take the arm for the run, or why not: much can have happened while the disk wrote."""
        refusal = self._session.may_start()
        if refusal is not None:
            return refusal
        taken = self._session.take(folder.id, caller)
        return None if taken.ok else taken

    # --- ending -----------------------------------------------------------------------------

    async def answer(self, question_id: str, answer: object, caller: Caller) -> Verdict:
        """Hand in a person's answer; the run goes on or ends."""
        verdict = self.questions.answer(question_id, answer)
        await self._ledger.act(caller, "answer", f"{question_id!r:.60}: {answer!r:.200}", verdict)
        return verdict

    async def cancel(self, run_id: str, caller: Caller) -> Verdict:
        """End a run: the arm comes to rest, then leaves the table."""
        verdict = await self._cancel(run_id)
        brief = Verdict(verdict.code, verdict.sentence)
        await self._ledger.act(caller, "cancel", f"{run_id!r:.60}", brief)
        return verdict

    async def _cancel(self, run_id: str) -> Verdict:
        run = self._runs.get(run_id)
        if run is None or run.state is RunState.ENDED:
            known = run is not None or self._store.load(run_id) is not None
            why = "has ended already" if known else "is not known"
            return Verdict.refused(
                Code.NOT_FOUND, f"Run {run_id!r:.60} {why}. GET /runs lists them."
            )
        run.cancel()
        self.questions.withdraw(run_id)
        if not run.leaving:
            await self._session.cancel_motion(run_id)
        await self.wait_ended(run_id)
        how = run.ending.sentence if run.ending else ""
        return Verdict(Code.OK, how, run.as_dict())

    def notify_stop(self) -> None:
        """A stop happened, wherever it came from: the running run ends, and nothing revives it."""
        run = self.active
        if run is not None and not run.stopped:
            self._session.note_stop()
            run.stop()
            self.questions.withdraw(run.id)

    async def wait_ended(self, run_id: str) -> None:
        """Wait until a run has ended and its result is written."""
        task = self._task
        if task is not None and task.get_name() == run_id:
            await asyncio.shield(task)

    async def close(self) -> None:
        """End the running run in order and start no other; for the daemon's shutdown."""
        self._closing = True
        async with self._starting:
            active = self.active
        if active is not None:
            await self._cancel(active.id)
        self._thinker.close()

    # --- telling ----------------------------------------------------------------------------

    @property
    def active(self) -> Run | None:
        """The run that has the arm."""
        newest = next(reversed(self._runs.values()), None)
        return None if newest is None or newest.state is RunState.ENDED else newest

    async def get(self, run_id: str) -> dict[str, Any] | None:
        """A run as doors show it; from disk when it is an old one; None when unknown."""
        run = self._runs.get(run_id)
        if run is not None:
            return run.as_dict()
        return await asyncio.to_thread(self._read, run_id)

    async def list(self, count: int = LISTED) -> list[dict[str, Any]]:
        """The newest runs, newest first, without their steps."""
        ids = (await asyncio.to_thread(self._store.list))[:count]
        found = [await self._brief(run_id) for run_id in ids]
        self._briefs = {run["id"]: run for run in found if run is not None}
        return [run for run in found if run is not None]

    async def _brief(self, run_id: str) -> dict[str, Any] | None:
        """A run without its bulk. What an ended run was does not change: it is read once."""
        if run_id in self._briefs and run_id not in self._runs:
            return self._briefs[run_id]
        run = await self.get(run_id)
        return None if run is None else {k: v for k, v in run.items() if k not in BULKY}

    def _read(self, run_id: str) -> dict[str, Any] | None:
        folder = self._store.load(run_id)
        return None if folder is None else _from_disk(folder)

    # --- driving ----------------------------------------------------------------------------

    async def _drive(self, run: Run, plan: Plan | None) -> None:
        journal = Journal(run)
        driver = Driver(
            run,
            self._session,
            self._eye,
            self.planner,
            self.questions,
            self._config,
            self._thinker,
            journal,
        )
        ending = Ending(Result.FAILED, Code.INTERNAL, "A fault of armlabd itself; see its log.")
        try:
            ending = await driver.drive(plan)
        except Exception:
            log.exception("%s failed at its end; the arm stays held", run.id)
        finally:
            self._end(run, ending)
        try:
            await journal.keep("result", run.as_dict())
        except RecordLostError as lost:
            log.error("the result of %s could not be written: %s", run.id, lost)

    def _end(self, run: Run, ending: Ending) -> None:
        run.ending, run.question = ending, None
        run.state = RunState.ENDED
        self._session.release(run.id)
        told = (run.id, ending.result, ending.code, ending.sentence)
        fields = {"RUN_ID": run.id, "CAUSE": str(ending.code)}
        log.info("%s ended %s (%s): %s", *told, extra=fields)

    def _remember(self, run: Run) -> None:
        self._runs[run.id] = run
        while len(self._runs) > KEPT_IN_MEMORY:
            self._runs.popitem(last=False)


def _no_sentence(goal: object, text: str) -> Verdict | None:
    """The refusal of a goal that is no sentence of the right length."""
    if isinstance(goal, str) and text and len(goal) <= MAX_GOAL_CHARS:
        return None
    got = f"{goal!r:.60}" if not text else f"one of {len(str(goal))} characters"
    return Verdict.refused(
        Code.WRONG_TYPE,
        f"goal must be a sentence of 1 to {MAX_GOAL_CHARS} characters, but got {got}. "
        'Send it as {"goal": "put the red block in the bin"}.',
    )


def one_line(text: str) -> str:
    """A person's text on one line, without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _from_disk(folder: RunFolder) -> dict[str, Any]:
    """A run of earlier; one without a result was cut off."""
    result = folder.read_json("result")
    if isinstance(result, dict):
        return result
    goal = folder.read_json("goal")
    return {
        "id": folder.id,
        "goal": goal.get("goal", "") if isinstance(goal, dict) else "",
        "by": None,
        "simulated": None,
        "state": str(RunState.ENDED),
        "result": str(Result.FAILED),
        "cause": str(Code.INTERNAL),
        "sentence": "armlabd ended during this run.",
        "question": None,
        "steps": [row for row in folder.trace() if _is_step(row)],
        "scene": None,
        "planner": None,
        "plan": None,
        "checks": None,
    }


def _is_step(row: object) -> bool:
    return isinstance(row, dict) and row.get("event") in SHOWN_EVENTS
