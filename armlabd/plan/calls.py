"""A plan written one level up: skills with names, as a small model writes them.

The author chooses names only; the code below does the geometry. `SKILLS` is the table from which
a schema of names can be made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from armlabd.plan.context import PlanContext
from armlabd.plan.desk import AskError
from armlabd.plan.grammar import Wish
from armlabd.plan.phrases import NotUnderstoodError, parse_thing, parse_where
from armlabd.plan.plan import Plan
from armlabd.plan.question import Question
from armlabd.plan.rules import not_understood, plan_wishes
from armlabd.plan.words import Action
from armlabd.verdict import Code, Problem

SKILLS: Mapping[str, tuple[Action, tuple[str, ...]]] = {
    "pick_and_place": (Action.PLACE, ("object", "place")),
    "pick_up": (Action.PICK, ("object",)),
    "put_down": (Action.PUT_DOWN, ("place",)),
    "set_aside": (Action.ASIDE, ("object",)),
    "go_home": (Action.HOME, ()),
    "open": (Action.OPEN, ()),
    "close": (Action.CLOSE, ()),
    "look": (Action.LOOK, ()),
}
MAX_CALLS = 20
MAX_NAME = 80  # characters

Outcome = Plan | Question | tuple[Problem, ...]


def plan_calls(obj: object, context: PlanContext, planner: str, goal: str = "") -> Outcome:
    """The plan of `[{"skill": "pick_and_place", "object": "red block", "place": "bin"}, ...]`.

    Every fault of form at once as Problems; what a name leaves open is a question. Raises nothing.
    """
    if not isinstance(obj, list) or not 0 < len(obj) <= MAX_CALLS:
        return (Problem(Code.BAD_PLAN, f"skills are a list of 1 to {MAX_CALLS} calls"),)
    problems = [text for number, call in enumerate(obj, 1) for text in _faults(call, number)]
    if problems:
        return tuple(Problem(Code.BAD_PLAN, text) for text in problems)
    try:
        wishes = tuple(_wish(call) for call in obj)
        return plan_wishes(wishes, context, planner, goal)
    except NotUnderstoodError:
        return not_understood(goal, context)
    except AskError as ask:
        return ask.question


def _faults(call: object, number: int) -> list[str]:
    where = f"call {number}"
    if not isinstance(call, Mapping):
        return [f'{where}: a call is an object with "skill" and the names it needs']
    skill = call.get("skill")
    if not isinstance(skill, str) or skill not in SKILLS:
        return [f"{where}: there is no such skill. The skills are: {', '.join(SKILLS)}"]
    wanted = {"skill", *SKILLS[skill][1]}
    if set(call) != wanted:
        return [f"{where}: {skill} takes exactly: {', '.join(sorted(wanted))}"]
    return [
        f"{where}: {name} must be a name of 1 to {MAX_NAME} characters"
        for name in SKILLS[skill][1]
        if not isinstance(call[name], str) or not 0 < len(call[name]) <= MAX_NAME
    ]


def _wish(call: Mapping[str, Any]) -> Wish:
    action, names = SKILLS[call["skill"]]
    things = (parse_thing(call["object"]),) if "object" in names else ()
    where = parse_where(call["place"]) if "place" in names else None
    return Wish(action, things, where)
