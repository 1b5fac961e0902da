"""One goal played in a virtual house of its own: sentence in, ending and everything unsafe out."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from armlabd.bench.ending import Outcome, Truth, code_of, disturbed, wrong
from armlabd.bench.goals import End, Goal
from armlabd.bench.judge import Judge
from armlabd.bench.virtual import QUICK, Rig, virtual_house
from armlabd.config.load import parse_config
from armlabd.execute.run import Result
from armlabd.plan.context import PlanContext
from armlabd.plan.planner import Attempt, Planned, Planner, Think
from armlabd.sim.blocks import Block

HANG_S: Final = 300.0  # wall time of one goal; the slowest model's three plans take half of it
NAMED: Final = frozenset(map(str, Result))
GIVE_UP: Final = "give up"
ENDS: Final = {
    "done": End.DONE,
    "refused": End.DECLINED,
    "asked": End.ASKED,
    "stopped": End.STOPPED,
}


class Watched:
    """A planner whose answers and times are noted."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self.planned: list[Planned] = []
        self.took_s: list[float] = []

    @property
    def name(self) -> str:
        """The planner's own."""
        return self._planner.name

    def needs_scene(self, goal: str) -> bool:
        """As the planner says."""
        return self._planner.needs_scene(goal)

    async def plan(
        self, goal: str, context: PlanContext, think: Think = asyncio.to_thread
    ) -> Planned:
        """As the planner plans."""
        began_s = time.perf_counter()
        try:
            planned = await self._planner.plan(goal, context, think)
        finally:
            self.took_s.append(time.perf_counter() - began_s)
        self.planned.append(planned)
        return planned


@dataclass(slots=True)
class Played:
    """What became of one goal. Times in seconds."""

    id: str
    say: str
    faults: list[str] = field(default_factory=list)  # what is wrong with the ending
    end: str = ""
    code: str = ""
    unsafe: list[str] = field(default_factory=list)
    named: bool = True  # the run ended in a named result
    hung: bool = False
    internal: bool = False  # a fault of ours
    harm: bool = False  # a block was moved though nothing was to be moved
    plans: int = 0
    invalid: int = 0  # answers of a model that are no plan, question or refusal
    refused: int = 0  # plans that the checker refused
    fell_back: int = 0
    questions: int = 0
    goals_judged: int = 0  # set-points on the wire
    prompt_tokens: int = 0
    output_tokens: int = 0
    plan_s: float = 0.0
    wall_s: float = 0.0
    virtual_s: float = 0.0

    @property
    def right(self) -> bool:
        """The right ending, safely."""
        return not self.faults and not self.unsafe and not self.hung


async def play(goal: Goal, planner: Planner, patience: int = 0) -> Played:
    """Play one goal. `patience`: questions answered by chance after the ending has been judged."""
    watched, judge, began_s = Watched(planner), Judge(), time.monotonic()
    played = Played(goal.id, goal.say)
    with tempfile.TemporaryDirectory(prefix="armlabd-suite-") as folder:
        place = Path(folder)
        async with virtual_house(place, planner=watched, watch=judge.look) as rig:
            rig.blocks(*(Block(b.label, b.x, b.y, yaw_deg=b.yaw_deg) for b in goal.blocks))
            began_virtual_s = rig.arena.clock.monotonic()
            try:
                await asyncio.wait_for(_Game(rig, goal, played, patience).play(), HANG_S)
            except TimeoutError:
                played.hung = True
                played.faults.append(f"it hangs: no end after {HANG_S:g} s")
            played.virtual_s = rig.arena.clock.monotonic() - began_virtual_s
            played.unsafe = judge.verdict()
            played.goals_judged = judge.judged
    played.wall_s = time.monotonic() - began_s
    _count(played, watched)
    return played


def _count(played: Played, watched: Watched) -> None:
    attempts: list[Attempt] = [one for planned in watched.planned for one in planned.attempts]
    answers = [one.answer for one in attempts if one.answer is not None]
    played.plans, played.plan_s = len(watched.planned), sum(watched.took_s)
    played.invalid = sum(bool(one.faults) for one in attempts)
    played.fell_back = sum(planned.planner != watched.name for planned in watched.planned)
    played.prompt_tokens = sum(answer.prompt_tokens for answer in answers)
    played.output_tokens = sum(answer.output_tokens for answer in answers)


def _refused_plans(rig: Rig, run_id: str) -> int:
    """Plans of a run that the checker refused, by its trace."""
    folder = rig.store.load(run_id)
    rows = [] if folder is None else folder.trace()
    return sum(row.get("event") == "check" and bool(row.get("faults")) for row in rows)


class _Game:
    """The person at the door: says the goal, answers what is asked, and looks at the table."""

    def __init__(self, rig: Rig, goal: Goal, played: Played, patience: int) -> None:
        self._rig, self._goal, self._played = rig, goal, played
        self._patience = patience
        self._dice = random.Random(goal.seed)
        self._answer = goal.answer
        self._answered = ""
        self._outcome: Outcome | None = None

    async def play(self) -> None:
        """The whole goal, to the end of its run."""
        before = Truth.of(self._rig.arena)
        status, body = await self._rig.ask("POST", "/goals", {"goal": self._goal.say})
        if status != 202:
            self._judge(before, self._at_the_door(status, body))
            return
        run = await self._follow(body["id"])
        await self._rig.runs.wait_ended(body["id"])  # its result is on disk
        self._played.refused = _refused_plans(self._rig, body["id"])
        self._played.named = run["result"] in NAMED
        self._played.internal = run["cause"] == "internal"
        outcome = self._outcome or self._outcome_of(run)
        self._judge(before, outcome)

    def _judge(self, before: Truth, outcome: Outcome) -> None:
        played = self._played
        played.end = str(outcome.end or "failed")
        played.code = str(outcome.code or "")
        played.faults += wrong(self._goal, before, outcome, _home_deg())
        to_move = End.DONE in self._goal.ends
        played.harm = not to_move and bool(disturbed(before, outcome.truth))

    def _at_the_door(self, status: int, body: dict[str, Any]) -> Outcome:
        stopped = status == 200 and body.get("ok", True) and self._rig.session.stopped
        end = End.STOPPED if stopped else End.DECLINED
        code = code_of(body.get("code", "stopped"))
        return Outcome(end, code, str(body.get("error", "")), Truth.of(self._rig.arena))

    def _outcome_of(self, run: dict[str, Any]) -> Outcome:
        truth = Truth.of(self._rig.arena)
        return Outcome(ENDS.get(run["result"]), code_of(run["cause"]), run["sentence"], truth)

    async def _follow(self, run_id: str) -> dict[str, Any]:
        while True:
            run = await self._rig.wait(run_id, "waiting")
            if run["state"] == "ended":
                return run
            question = run["question"]
            if question is None or question["id"] == self._answered:
                await asyncio.sleep(0.001)  # until the run has taken the answer up
                continue
            self._played.questions += 1
            self._answered = question["id"]
            await self._reply(run_id, question)

    async def _reply(self, run_id: str, question: dict[str, Any]) -> None:
        answer, self._answer = self._answer, None
        if answer is None:
            answer = self._by_chance(question)
        elif self._goal.codes and code_of(question["code"]) not in self._goal.codes:
            self._settle(question)  # asked for another reason than the goal says
        status, _ = await self._rig.ask("POST", f"/questions/{question['id']}", {"answer": answer})
        if status != 200:
            await self._rig.ask("DELETE", f"/runs/{run_id}")

    def _by_chance(self, question: dict[str, Any]) -> str:
        """Nobody has an answer: the goal's ending is judged here; then chance may go on."""
        self._settle(question)
        self._patience -= 1
        options = question["options"]
        return self._dice.choice(options) if options and self._patience >= 0 else GIVE_UP

    def _settle(self, question: dict[str, Any]) -> None:
        if self._outcome is None:
            code, truth = code_of(question["code"]), Truth.of(self._rig.arena)
            self._outcome = Outcome(End.ASKED, code, question["text"], truth)


def _home_deg() -> tuple[float, ...]:
    return tuple(parse_config(QUICK).motion.home_pose)
