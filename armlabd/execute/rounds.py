"""What planning for one goal has learnt so far, and when planning again has become a circle.

A refusal goes back to the planner as a fact. The same refusal twice, a plan that was refused
before, or too many refusals: then the planner does not know how to go on, and a person is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from armlabd.execute.questions import GIVE_UP, TRY_AGAIN
from armlabd.execute.run import Ending
from armlabd.plan.plan import Plan, Step
from armlabd.plan.question import Question
from armlabd.verdict import Code

GOAL = "goal"  # the kind of a question whose answer is the goal in other words


@dataclass(slots=True)
class Rounds:
    """Answers, refusals and refused plans of one goal. `most` bounds the refusals, and slips."""

    most: int
    answers: dict[str, str] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)
    slips: int = 0
    _refused: list[Sequence[Step]] = field(default_factory=list)
    _code: Code = Code.NOT_UNDERSTOOD

    def refuse(self, plan: Plan, refusal: Ending) -> Question | None:
        """Learn that a plan was refused. None: plan again; a question: that leads nowhere."""
        known = refusal.sentence in self.refusals
        full = len(self.refusals) >= self.most
        self._refused.append(plan.steps)
        self._code = refusal.code
        if known:
            return self._stuck(f"Plans were refused twice for the same reason: {refusal.sentence}")
        if full:
            return self._stuck(f"{len(self.refusals) + 1} plans were refused: {refusal.sentence}")
        self.refusals.append(refusal.sentence)
        return None

    def repeated(self, plan: Plan) -> Question | None:
        """The question about a plan that was refused before; None for a new one."""
        if plan.steps not in self._refused or not self.refusals:
            return None
        if not plan.steps:
            return self._stuck("The planner says that it is done, but its plan has no step.")
        return self._stuck(f"A plan was made again that was refused: {self.refusals[-1]}")

    def may_slip(self) -> bool:
        """Count that something was lost on the way; False when that happened too often."""
        self.slips += 1
        return self.slips <= self.most

    def answer(self, kind: str, answer: str) -> None:
        """Remember a person's answer; after "try again" or other words it all starts afresh."""
        if answer == TRY_AGAIN:
            self.start_afresh()
            return
        if kind == GOAL:
            self.start_afresh()
        self.answers[kind] = answer

    def start_afresh(self) -> None:
        """Forget what was refused: a person has changed something."""
        self.refusals.clear()
        self._refused.clear()
        self.slips = 0

    def _stuck(self, sentence: str) -> Question:
        text = f"{sentence} Say the goal in other words, change the table, or give up."
        return Question(text, (TRY_AGAIN, GIVE_UP), self._code, GOAL)
