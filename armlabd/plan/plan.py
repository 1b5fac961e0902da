"""The plan is data: steps that can be printed, saved, tested and refused. Nothing here moves.

A step names a tool and its arguments. `expect` says what must be true of the step's result, for
example `{"holding_something": true}` after `close_gripper`. The pseudo-step `check` says the same
in a line of its own; `Plan.folded` turns it into the `expect` of the close it speaks about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

CHECK = "check"  # the pseudo-step; it is in no tool table and reaches no door
CLOSE = "close_gripper"


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a plan. `note` is for people; no rule reads it."""

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    expect: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; an absent `expect` is left out."""
        shown: dict[str, Any] = {"tool": self.tool, "args": dict(self.args), "note": self.note}
        if self.expect is not None:
            shown["expect"] = dict(self.expect)
        return shown


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in order, who wrote them (`planner`) and for which sentence (`goal`)."""

    steps: tuple[Step, ...]
    planner: str = "hand"
    goal: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form in which a plan travels and is recorded."""
        steps = [step.to_dict() for step in self.steps]
        return {"steps": steps, "planner": self.planner, "goal": self.goal}

    def folded(self) -> Plan:
        """The plan as it is executed: every `check` became the `expect` of the latest close.

        Step numbers of the folded plan differ from the author's; the checker names the author's.
        """
        return replace(self, steps=_fold(self.steps))


def check_as_expect(step: Step) -> dict[str, Any]:
    """What a `check` step asserts: `{field: equals}`; empty when its arguments are malformed."""
    name, wanted = step.args.get("field"), step.args.get("equals")
    return {name: wanted} if isinstance(name, str) and "equals" in step.args else {}


def _fold(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    folded: list[Step] = []
    for step in steps:
        if step.tool != CHECK:
            folded.append(step)
            continue
        at = max((i for i, s in enumerate(folded) if s.tool == CLOSE), default=None)
        if at is not None:
            merged = {**(folded[at].expect or {}), **check_as_expect(step)}
            folded[at] = replace(folded[at], expect=merged)
    return tuple(folded)
