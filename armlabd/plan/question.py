"""What a planner may answer instead of a plan: a question to a person, or "this means stop"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from armlabd.verdict import Code


@dataclass(frozen=True, slots=True)
class Question:
    """A question that must be answered before there can be a plan.

    `code` is the cause, `options` are answers to choose from (free text may also do), and `kind`
    is the key under which the answer goes back to the planner: `PlanContext.answers[kind]`.
    """

    text: str
    options: tuple[str, ...] = ()
    code: Code = Code.NOT_UNDERSTOOD
    kind: str = "goal"

    def to_dict(self) -> dict[str, Any]:
        """The JSON form in which a question is shown."""
        return {
            "text": self.text,
            "options": list(self.options),
            "code": str(self.code),
            "kind": self.kind,
        }


@dataclass(frozen=True, slots=True)
class Stop:
    """The sentence means stop: the door takes the stop lane, no plan is made."""

    sentence: str = ""


def chosen(question: Question, answer: str) -> str | None:
    """The option an answer means: its text in any case, or its number from 1. None: neither."""
    text = answer.strip().lower()
    for number, option in enumerate(question.options, 1):
        if text in (option.lower(), str(number)):
            return option
    return None


def answered(answers: Mapping[str, str], question: Question) -> str | None:
    """The answer already given to this question: an option, or the person's own words."""
    if question.kind not in answers:
        return None
    answer = answers[question.kind]
    return chosen(question, answer) or answer.strip()
