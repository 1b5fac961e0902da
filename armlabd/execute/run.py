"""A run: one goal or plan from its beginning to a named end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from armlabd.gate.roles import Caller
from armlabd.record.store import RunFolder
from armlabd.verdict import Code, Verdict


class RunState(StrEnum):
    """Where a run is. The comment says what is true in it."""

    PERCEIVING = "perceiving"  # a picture is taken; the arm may swing aside for it
    PLANNING = "planning"  # the planner has goal and scene; nothing moves
    CHECKING = "checking"  # the whole plan is simulated; nothing moves
    EXECUTING = "executing"  # steps are carried out
    WAITING = "waiting"  # a question is open; the run keeps the arm, nothing moves
    ENDED = "ended"  # `result` says how; the arm is free


class Result(StrEnum):
    """How a run ended."""

    DONE = "done"
    REFUSED = "refused"
    ASKED = "asked"
    STOPPED = "stopped"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a run: result, cause, and a sentence for people."""

    result: Result
    code: Code
    sentence: str = ""

    @classmethod
    def of_refusal(cls, verdict: Verdict) -> Ending:
        """The end that a verdict on a step brings."""
        return cls(RESULT_OF.get(verdict.code, Result.REFUSED), verdict.code, verdict.sentence)


# Verdicts that end a run otherwise than as a plain refusal.
RESULT_OF: Mapping[Code, Result] = {
    Code.STOPPED: Result.STOPPED,
    Code.LEASE_LOST: Result.STOPPED,
    Code.CANCELLED: Result.CANCELLED,
    Code.BUS_LOST: Result.FAILED,
    Code.CORE_LOST: Result.FAILED,
    Code.NO_ARM: Result.FAILED,
    Code.STALLED: Result.FAILED,
    Code.SERVO_FAULT: Result.FAILED,
    Code.DISK: Result.FAILED,
    Code.NO_CAMERA: Result.FAILED,
    Code.NO_MARKERS: Result.FAILED,
    Code.INTERNAL: Result.FAILED,
}


@dataclass(slots=True)
class Run:
    """What is known of a run; only the run manager changes it."""

    id: str
    goal: str
    caller: Caller
    folder: RunFolder
    simulated: bool
    state: RunState = RunState.PERCEIVING
    ending: Ending | None = None
    question: dict[str, object] | None = None
    steps: list[dict[str, Any]] = field(default_factory=list)
    scene: dict[str, Any] | None = None
    plan: dict[str, Any] | None = None
    checks: dict[str, Any] | None = None
    planner: dict[str, Any] | None = None  # who made the latest plan, and how
    questions_asked: int = 0
    leaving: bool = False  # on its way clear of the table: a cancel does not hold that up
    cancelled: bool = False
    stopped: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)  # cancelled or stopped

    def cancel(self) -> None:
        """It shall end as cancelled; whatever waits, wakes."""
        self.cancelled = True
        self.over.set()

    def stop(self) -> None:
        """A stop came while it ran: nothing revives it, even if the stop is cleared at once."""
        self.stopped = True
        self.over.set()

    def show_plan(self, plan: dict[str, Any], checks: dict[str, Any]) -> None:
        """Show a plan with what the checker said of it."""
        self.plan, self.checks = plan, checks

    def as_dict(self) -> dict[str, Any]:
        """The run as doors show it."""
        return {
            "id": self.id,
            "goal": self.goal,
            "by": self.caller.name,
            "simulated": self.simulated,
            "state": str(self.state),
            "result": str(self.ending.result) if self.ending else None,
            "cause": str(self.ending.code) if self.ending else None,
            "sentence": self.ending.sentence if self.ending else None,
            "question": self.question,
            "steps": list(self.steps),
            "scene": self.scene,
            "planner": self.planner,
            "plan": self.plan,
            "checks": self.checks,
        }
