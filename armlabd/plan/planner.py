"""What every planner answers, however it thinks: an outcome, how it came about, and what was tried.

A planner holds no way to the arm. What it says of itself is never the result of a run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, Protocol, TypeVar

from armlabd.inference.backend import Answer
from armlabd.plan.context import PlanContext
from armlabd.plan.plan import Plan
from armlabd.plan.question import Question, Stop

P = ParamSpec("P")
T = TypeVar("T")
MAX_TEXT = 4000  # characters of a model's text that a trace keeps; longer ones say how long


@dataclass(frozen=True, slots=True)
class NotPossible:
    """The planner says that the arm cannot do this, and why. Nothing moves."""

    reason: str


Outcome = Plan | Question | Stop | NotPossible
_OUTCOMES: Mapping[type, str] = {
    Plan: "plan",
    Question: "question",
    Stop: "stop",
    NotPossible: "impossible",
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a model: its text and cost (`answer`; None when none came) and what was wrong.

    `counted_tokens` is the prompt as it was counted beforehand, `examples` how many worked
    examples fitted into it.
    """

    answer: Answer | None
    faults: tuple[str, ...] = ()
    counted_tokens: int = 0
    examples: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The JSON form for the trace."""
        counted = {"counted_tokens": self.counted_tokens, "examples": self.examples}
        shown: dict[str, Any] = {"faults": list(self.faults), **counted}
        return shown if self.answer is None else {**_cost(self.answer), **shown}


@dataclass(frozen=True, slots=True)
class Planned:
    """What a planner answers. `note` says what a person should know of how it was planned."""

    outcome: Outcome
    planner: str
    attempts: tuple[Attempt, ...] = ()
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """What a run shows of it: who, what came of it, and the cost of all attempts together."""
        answers = [attempt.answer for attempt in self.attempts if attempt.answer is not None]
        return {
            "name": self.planner,
            "note": self.note,
            "outcome": _OUTCOMES.get(type(self.outcome), "nothing"),
            "attempts": len(self.attempts),
            "prompt_tokens": sum(answer.prompt_tokens for answer in answers),
            "output_tokens": sum(answer.output_tokens for answer in answers),
            "model_s": round(sum(a.load_s + a.prompt_s + a.output_s for a in answers), 3),
        }


class Think(Protocol):
    """Runs a slow pure function beside the event loop."""

    async def __call__(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The function's answer."""


class Planner(Protocol):
    """Whatever turns a sentence and a scene into a plan or a question."""

    @property
    def name(self) -> str:
        """ "rules", or backend and model: "smolvlm:ID", "ollama:TAG"."""

    async def plan(
        self, goal: str, context: PlanContext, think: Think = asyncio.to_thread
    ) -> Planned:
        """The outcome. Cancelling ends whatever is being generated."""

    def needs_scene(self, goal: str) -> bool:
        """False when the goal can be planned without looking."""


def bounded(text: str) -> str:
    """A text that any record can hold: no lone surrogates, and no longer than MAX_TEXT."""
    whole = text.encode("utf-8", "backslashreplace").decode()
    if len(whole) <= MAX_TEXT:
        return whole
    return f"{whole[:MAX_TEXT]} ... ({len(whole)} characters in all)"


def _cost(answer: Answer) -> dict[str, Any]:
    return {
        "model": answer.model,
        "text": bounded(answer.text),
        "finish": str(answer.finish),
        "prompt_tokens": answer.prompt_tokens,
        "output_tokens": answer.output_tokens,
        "forced_tokens": answer.forced_tokens,
        "steps": answer.steps,
        "load_s": round(answer.load_s, 3),
        "prompt_s": round(answer.prompt_s, 3),
        "output_s": round(answer.output_s, 3),
    }
