"""RulesPlanner: everyday sentences to plans, with no model."""

from __future__ import annotations

from armlabd.plan.context import PlanContext
from armlabd.plan.plan import Plan
from armlabd.plan.question import Question, Stop

Answer = Plan | Question | Stop


class RulesPlanner:
    """Turns one sentence into a plan, a question, or a stop. Keeps nothing between sentences."""

    name = "rules"

    def plan(self, goal: str, context: PlanContext) -> Answer:
        """The plan for `goal`. What is unclear or impossible is asked, never guessed."""
        return Question("I do not understand this yet.")
