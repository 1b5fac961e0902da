"""From any text that a model wrote to a plan, a question, "not possible", or faults to tell it.

Nothing here trusts the text: it may be prose, cut, nested without end, or of no schema at all.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from armlabd.gate.tools import ToolTable
from armlabd.plan import words as w
from armlabd.plan.calls import plan_of_skills, plan_of_tools
from armlabd.plan.context import PlanContext
from armlabd.plan.names import fits
from armlabd.plan.plan import Plan
from armlabd.plan.planner import NotPossible
from armlabd.plan.prompt import ASKED, Wording, short
from armlabd.plan.question import Question
from armlabd.plan.rules import only_looks
from armlabd.plan.schema_check import faults
from armlabd.plan.text import tokens_of, vocabulary
from armlabd.verdict import Code

MAX_CHARS = 20_000  # of an answer; the longest plan of the schema is far shorter
MAX_DEPTH = 12  # of nesting; the schema needs 4
_FENCE = re.compile(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*", re.DOTALL)
# A goal with one of these may name a thing in order to leave it alone.
_EXCEPTING = ("not", "never", "don't", "dont", "except", "but", "without", "leave", "keep")
EXCEPTING = frozenset({*_EXCEPTING, "other", "others", "than", "instead"})
IDLE = frozenset({"get_status", "look"})  # steps that change nothing on the table

Read = Plan | Question | NotPossible | tuple[str, ...]


class _NotJsonError(ValueError):
    """Not the JSON that is wanted; the text says why."""


@dataclass(frozen=True, slots=True)
class Reader:
    """What is needed to read the answers to one goal. `tools` None: plans of skills."""

    goal: str
    context: PlanContext
    tools: ToolTable | None
    planner: str

    def read(self, text: str, wording: Wording) -> Read:
        """What a text means; a tuple of faults when it is of no use. Raises nothing."""
        try:
            value = parsed(text)
        except _NotJsonError as error:
            return (str(error),)
        found = faults(value, wording.schema)
        if found:
            return found
        if value["answer"] == "impossible":
            return NotPossible(_line(value["reason"]))
        if value["answer"] == "unclear":
            return self._question(value)
        return self._plan(value["steps"], wording)

    def _plan(self, calls: list[dict[str, Any]], wording: Wording) -> Read:
        if self.tools is not None:
            made: Read = plan_of_tools(calls, self.tools, self.planner, self.goal)
        else:
            other = self._other_than_named(calls, wording)
            if other:
                return (other,)
            made = plan_of_skills(calls, wording.listed, self.context, self.planner, self.goal)
        if isinstance(made, Plan) and _is_idle(made) and not only_looks(self.goal):
            return ("nothing on the table would change by these steps",)
        return made

    def _other_than_named(self, calls: list[dict[str, Any]], wording: Wording) -> str:
        """A fault when the goal names a thing and no step has to do with it; else empty."""
        labels = [seen.label for seen in self.context.scene.objects]
        said = set(tokens_of(self.goal, w.KNOWN | vocabulary(labels)).words)
        told = self.context.answers.keys() - {"goal"}  # a person may have chosen another thing
        if not any("object" in call for call in calls) or said & EXCEPTING or told:
            return ""
        telling = w.COLOURS.union(*map(_own_words, labels)) - vocabulary(self.context.places)
        touched = [labels[index] for index in _touched(calls, wording)]
        missing = [
            word for word in sorted(said & telling) if not any(fits((word,), t) for t in touched)
        ]
        return f"the goal says {missing[0]}, and no step has to do with that" if missing else ""

    def _question(self, value: dict[str, Any]) -> Read:
        """A model's question to a person; one that was answered is told the answer."""
        text = _line(value["question"])
        kind = ASKED + text
        if kind in self.context.answers:
            answer = short(self.context.answers[kind])
            return (f"this was asked already and answered: {answer}",)
        options = dict.fromkeys(line for option in value["options"] if (line := _line(option)))
        said = f"{self.planner} asks: {text or '(nothing)'}"
        return Question(said, tuple(options), Code.NOT_UNDERSTOOD, kind)


def parsed(text: str) -> Any:
    """The JSON value of a text, alone or in one code fence. Raises ValueError with the reason."""
    if len(text) > MAX_CHARS:
        raise _NotJsonError(f"the answer has {len(text)} characters, more than {MAX_CHARS}")
    fenced = _FENCE.fullmatch(text)
    body = fenced[1] if fenced else text
    if _depth(body) > MAX_DEPTH:
        raise _NotJsonError("the answer is nested too deeply")
    try:
        return json.loads(body, object_pairs_hook=_no_twice, parse_constant=_no_constant)
    except _NotJsonError:
        raise
    except ValueError:
        raise _NotJsonError("the answer is not one JSON object and nothing else") from None


def _depth(text: str) -> int:
    """No less than how deeply the JSON is nested; brackets in strings count too."""
    depth = deepest = 0
    for char in text:
        depth += (char in "[{") - (char in "]}" and depth > 0)
        deepest = max(deepest, depth)
    return deepest


def _no_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise _NotJsonError("the answer names a key twice")
    return dict(pairs)


def _no_constant(word: str) -> Any:
    raise _NotJsonError(f"the answer holds {word}, which is no JSON")


def _line(text: str) -> str:
    """A model's words on one line, printable."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _touched(calls: list[dict[str, Any]], wording: Wording) -> set[int]:
    """The objects that are moved, or put something beside, by index."""
    objects, places = wording.listed.objects, wording.listed.places
    moved = {objects[call["object"]] for call in calls if "object" in call}
    beside = {places[call["place"]].beside for call in calls if "place" in call}
    return moved | {index for index in beside if index is not None}


def _own_words(label: str) -> set[str]:
    """The words of a label that tell it from others: its colour, not that it is a block."""
    return set(label.lower().split()) - w.BLOCK_NOUNS - w.THING_NOUNS


def _is_idle(plan: Plan) -> bool:
    return all(step.tool in IDLE for step in plan.steps)
