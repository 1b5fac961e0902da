"""Carry out a checked plan step by step, reading every result.

The executor never decides that a goal is reached: a step is done when the session measured it. It
answers with a `Halt` when a step went wrong; what follows is looked up in the recovery table.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from armlabd.execute.recovery import Action, Decision, Situation, decide
from armlabd.plan.plan import CHECK, CLOSE, Plan, Step, check_as_expect
from armlabd.verdict import Code, Verdict

OPEN = "open_gripper"
Call = Callable[[str, Mapping[str, Any]], Awaitable[Verdict]]
Note = Callable[[dict[str, Any]], Awaitable[None]]
Sleep = Callable[[float], Awaitable[None]]
SLIPPED = (
    "What was held is gone from the jaws: it slipped on the way. "
    "Look where it lies before trying again."
)


@dataclass(frozen=True, slots=True)
class Halt:
    """Why a plan did not run to its end. `step` counts from 1; `slipped`: lost on the way."""

    action: Action
    verdict: Verdict
    step: int
    tries: int = 1
    slipped: bool = False


@dataclass(slots=True)
class Executor:
    """One plan being carried out. `call` is the session's, `note` records a line of the trace."""

    call: Call
    note: Note
    max_attempts: int = 2
    lift_z_m: float = 0.07
    sleep: Sleep = asyncio.sleep
    attempts: int = 0  # grasps missed since the last one that held
    measured: int = 0  # steps that ended well
    carrying: bool = False
    _refusals: dict[tuple[int, Code], int] = field(default_factory=dict)

    async def run(self, plan: Plan, start: int = 0) -> Halt | None:
        """Run the steps from index `start`; None when every step was done."""
        index = start
        last = Verdict(Code.OK)
        while index < len(plan.steps):
            step = plan.steps[index]
            answer = last if step.tool == CHECK else await self.call(step.tool, step.args)
            verdict = self._judged(step, answer)
            await self._record(index, step, verdict)
            if verdict.ok:
                self._went_well(index)
                last, index = verdict, index + 1
                continue
            halt, index = await self._recover(plan, index, verdict)
            if halt is not None:
                return halt
        return None

    def _went_well(self, index: int) -> None:
        """Refusals of this step are no longer in a row."""
        self.measured += 1
        for key in [key for key in self._refusals if key[0] == index]:
            del self._refusals[key]

    def _judged(self, step: Step, verdict: Verdict) -> Verdict:
        """The verdict on a step with what was expected of it and of the thing carried."""
        if not verdict.ok:
            return verdict
        missing = unmet(step, verdict)
        if missing is not None:
            return missing
        return self._still_carried(step, verdict)

    def _still_carried(self, step: Step, verdict: Verdict) -> Verdict:
        if step.tool == OPEN:
            self.carrying = False
        elif step.tool == CLOSE:
            self.carrying = bool(verdict.data.get("holding_something"))
            self.attempts = 0 if self.carrying else self.attempts
        elif self.carrying and verdict.data.get("holding_something") is False:
            self.carrying = False
            return Verdict(Code.GRASP_FAILED, SLIPPED, verdict.data)
        return verdict

    async def _recover(self, plan: Plan, index: int, verdict: Verdict) -> tuple[Halt | None, int]:
        """What the table says of this failure: a Halt, or the index to go on from."""
        if verdict.code is Code.GRASP_FAILED:
            if plan.steps[index].tool in (CLOSE, CHECK):
                return await self._missed(plan, index, verdict)
            return Halt(Action.REPLAN, verdict, index + 1, slipped=True), index
        decision, times = self._refused(index, verdict)
        if decision.action is Action.RETRY:
            await self.sleep(decision.wait_s)
            return None, index
        return Halt(decision.action, verdict, index + 1, times), index

    def _refused(self, index: int, verdict: Verdict) -> tuple[Decision, int]:
        key = (index, verdict.code)
        self._refusals[key] = times = self._refusals.get(key, 0) + 1
        situation = Situation(
            "refusal",
            cause=verdict.code,
            times_in_a_row=times,
            retry_after_s=verdict.retry_after_s or 0.0,
        )
        return decide(situation), times

    async def _missed(self, plan: Plan, index: int, verdict: Verdict) -> tuple[Halt | None, int]:
        """Lift and start again at the opening before, or a Halt after the last attempt."""
        self.attempts += 1
        missed = Situation(
            "grasp_check", holding=False, attempt=self.attempts, max_attempts=self.max_attempts
        )
        action = decide(missed).action
        resume = opening_before(plan, index)
        if resume is None:
            action = Action.ASK
        line = f"Grasp check: attempt {self.attempts} of {self.max_attempts} held nothing."
        await self.note({"event": "grasp_check", "sentence": line, "action": str(action)})
        if action is not Action.RETRY or resume is None:
            return Halt(action, verdict, index + 1, self.attempts), index
        await self._lift(plan, index)
        return None, resume

    async def _lift(self, plan: Plan, index: int) -> None:
        """Straight up from where the grasp was tried, so that nothing is dragged."""
        down = next((s for s in reversed(plan.steps[:index]) if s.tool == "move_to_pose"), None)
        if down is None:
            return
        verdict = await self.call("move_to_pose", {**down.args, "z": self.lift_z_m})
        await self.note({"event": "lift", "ok": verdict.ok, "sentence": verdict.sentence})

    async def _record(self, index: int, step: Step, verdict: Verdict) -> None:
        await self.note(
            {
                "event": "step",
                "step": index + 1,
                "tool": step.tool,
                "args": dict(step.args),
                "note": step.note,
                "ok": verdict.ok,
                "code": str(verdict.code),
                "sentence": verdict.sentence,
            }
        )


def unmet(step: Step, verdict: Verdict) -> Verdict | None:
    """The refusal if the result is not what the step expects, else None."""
    expected = check_as_expect(step) if step.tool == CHECK else dict(step.expect or {})
    for name, wanted in expected.items():
        found = verdict.data.get(name)
        if found != wanted:
            missed = name == "holding_something" and wanted is True
            return Verdict(
                Code.GRASP_FAILED if missed else Code.EXPECTATION,
                f"Expected {name} to be {wanted!r} after {step.tool}, but it is {found!r}.",
                verdict.data,
            )
    return None


def opening_before(plan: Plan, index: int) -> int | None:
    """The index of the last open_gripper before a step: where a retry starts again."""
    for earlier in range(index, -1, -1):
        if plan.steps[earlier].tool == OPEN:
            return earlier
    return None
