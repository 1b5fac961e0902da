"""Carry out a checked plan step by step, reading every result.

The executor never decides that a goal is reached: a step is done when the session measured it. It
answers with a `Halt` when a step went wrong; what follows is looked up in the recovery table.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from armlabd.execute.recovery import Action, Situation, decide
from armlabd.plan.plan import Plan, Step
from armlabd.verdict import Code, Verdict

CHECK = "check"  # the pseudo-tool: an assertion on the last close_gripper
Call = Callable[[str, Mapping[str, Any]], Awaitable[Verdict]]
Note = Callable[[dict[str, Any]], None]
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Halt:
    """Why a plan did not run to its end. `step` counts from 1."""

    action: Action
    verdict: Verdict
    step: int
    tries: int = 1


@dataclass(slots=True)
class Executor:
    """One plan being carried out. `call` is the session's, `note` records a line of the trace."""

    call: Call
    note: Note
    max_attempts: int = 2
    lift_z_m: float = 0.07
    sleep: Sleep = asyncio.sleep
    attempts: int = 0  # grasps missed so far, at any step
    carrying: bool = False
    _refusals: dict[tuple[int, Code], int] = field(default_factory=dict)

    async def run(self, plan: Plan, start: int = 0) -> Halt | None:
        """Run the steps from index `start`; None when every step was done."""
        index = start
        last: Verdict = Verdict(Code.OK)
        while index < len(plan.steps):
            step = plan.steps[index]
            verdict = last if step.tool == CHECK else await self.call(step.tool, step.args)
            verdict = self._judged(step, verdict)
            self._record(index, step, verdict)
            if verdict.ok:
                last, index = verdict, index + 1
                continue
            halt, index = await self._recover(plan, index, verdict)
            if halt is not None:
                return halt
        return None

    def _judged(self, step: Step, verdict: Verdict) -> Verdict:
        """The verdict on a step with what was expected of it and of the thing carried."""
        if not verdict.ok:
            return verdict
        missing = unmet(step, verdict)
        if missing is not None:
            return missing
        return self._still_carried(step, verdict)

    def _still_carried(self, step: Step, verdict: Verdict) -> Verdict:
        if step.tool == "open_gripper":
            self.carrying = False
        elif step.tool == "close_gripper":
            self.carrying = bool(verdict.data.get("holding_something"))
        elif self.carrying and verdict.data.get("holding_something") is False:
            self.carrying = False
            return Verdict.refused(
                Code.GRASP_FAILED,
                "What was held is gone from the jaws: it slipped on the way. "
                "Look where it lies before trying again.",
            )
        return verdict

    async def _recover(self, plan: Plan, index: int, verdict: Verdict) -> tuple[Halt | None, int]:
        """What the table says of this failure: a Halt, or the index to go on from."""
        if verdict.code is Code.GRASP_FAILED:
            return await self._missed(plan, index, verdict)
        key = (index, verdict.code)
        self._refusals[key] = times = self._refusals.get(key, 0) + 1
        situation = Situation(
            "refusal",
            cause=verdict.code,
            times_in_a_row=times,
            retry_after_s=verdict.retry_after_s or 0.0,
        )
        decision = decide(situation)
        if decision.action is Action.RETRY:
            await self.sleep(decision.wait_s)
            return None, index
        return Halt(decision.action, verdict, index + 1, times), index

    async def _missed(self, plan: Plan, index: int, verdict: Verdict) -> tuple[Halt | None, int]:
        self.attempts += 1
        missed = Situation(
            "grasp_check", holding=False, attempt=self.attempts, max_attempts=self.max_attempts
        )
        decision = decide(missed)
        line = f"Grasp check: attempt {self.attempts} of {self.max_attempts} held nothing."
        self.note({"event": "grasp_check", "sentence": line, "action": str(decision.action)})
        resume = opening_before(plan, index)
        slipped = plan.steps[index].tool not in ("close_gripper", CHECK)
        if decision.action is not Action.RETRY or resume is None or slipped:
            action = Action.REPLAN if slipped else decision.action
            return Halt(action, verdict, index + 1, self.attempts), index
        await self._lift(plan, index)
        return None, resume

    async def _lift(self, plan: Plan, index: int) -> None:
        """Straight up from where the grasp was tried, so that nothing is dragged."""
        down = next((s for s in reversed(plan.steps[:index]) if s.tool == "move_to_pose"), None)
        if down is None:
            return
        verdict = await self.call("move_to_pose", {**down.args, "z": self.lift_z_m})
        self.note({"event": "lift", "ok": verdict.ok, "sentence": verdict.sentence})

    def _record(self, index: int, step: Step, verdict: Verdict) -> None:
        self.note(
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
    expected = dict(step.expect or {})
    if step.tool == CHECK:
        expected = {str(step.args.get("field")): step.args.get("equals")}
    for name, wanted in expected.items():
        found = verdict.data.get(name)
        if found != wanted:
            code = Code.GRASP_FAILED if name == "holding_something" else Code.EXPECTATION
            return Verdict(
                code,
                f"Expected {name} to be {wanted!r} after {step.tool}, but it is {found!r}.",
                verdict.data,
            )
    return None


def opening_before(plan: Plan, index: int) -> int | None:
    """The index of the last open_gripper before a step: where a retry starts again."""
    for earlier in range(index, -1, -1):
        if plan.steps[earlier].tool == "open_gripper":
            return earlier
    return None
