"""From untrusted JSON to a `Plan`: every fault of form at once, and never an exception."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from armlabd.plan.plan import Plan, Step
from armlabd.verdict import Code, Problem

PLAN_KEYS = ("steps", "planner", "goal")
STEP_KEYS = ("tool", "args", "note", "expect")
MAX_STEPS = 200  # the ceiling of [check] max_steps
MAX_DEPTH = 6  # plan > steps > step > args > value is 5
MAX_TEXT = 500  # characters of a name, note or goal
MAX_PROBLEMS = 50  # enough for a person; a longer list only repeats itself

Form = Plan | tuple[Problem, ...]


def parse_plan(obj: object, *, max_steps: int = MAX_STEPS, planner: str = "hand") -> Form:
    """The plan in a decoded JSON value, or every fault of its form.

    Names, ranges and order are the checker's business. `planner` is what the plan is signed
    with; a name inside the JSON is a claim of its author and is not believed. Raises nothing.
    """
    problems: list[Problem] = []
    for problem in _faults(obj, max_steps):
        problems.append(problem)
        if len(problems) == MAX_PROBLEMS:
            break
    if problems or not isinstance(obj, Mapping):
        return tuple(problems)
    steps = tuple(_step(item) for item in obj["steps"])
    return Plan(steps, planner, obj.get("goal", ""))


def _step(item: Mapping[str, Any]) -> Step:
    expect = item.get("expect")
    return Step(
        tool=item["tool"],
        args=dict(item.get("args", {})),
        note=item.get("note", ""),
        expect=None if expect is None else dict(expect),
    )


def _faults(obj: object, max_steps: int) -> Iterator[Problem]:
    if not isinstance(obj, Mapping):
        yield _bad(f'a plan is an object {{"steps": [...]}}, but got {_kind(obj)}')
        return
    if _deeper_than(obj, MAX_DEPTH):
        yield _bad(f"the plan is nested more than {MAX_DEPTH} levels deep; arguments are plain")
        return
    yield from _unknown(obj, PLAN_KEYS, "the plan")
    yield from _texts(obj, ("planner", "goal"), "the plan")
    steps = obj.get("steps")
    if not isinstance(steps, list):
        have = "there is none" if "steps" not in obj else f"it is {_kind(steps)}"
        yield _bad(f'"steps" must be a list of steps, but {have}')
    elif not steps:
        yield _bad("the plan has no steps: nothing would be done, so there is nothing to accept")
    elif len(steps) > max_steps:
        text = f"the plan has {len(steps)} steps, the most allowed is {max_steps}; split it"
        yield Problem(Code.TOO_LONG, text)
    else:
        for number, item in enumerate(steps, 1):
            yield from _step_faults(item, f"step {number}")


def _step_faults(item: object, where: str) -> Iterator[Problem]:
    if not isinstance(item, Mapping):
        yield _bad(f'{where}: a step is an object with "tool" and "args", but got {_kind(item)}')
        return
    yield from _unknown(item, STEP_KEYS, where)
    if not isinstance(item.get("tool"), str) or not item["tool"]:
        yield _bad(f'{where}: "tool" must name a tool in text, but got {_kind(item.get("tool"))}')
    yield from _texts(item, ("tool", "note"), where)
    if not isinstance(item.get("args", {}), Mapping):
        yield _bad(f'{where}: "args" must be an object of arguments, but got {_kind(item["args"])}')
    if not isinstance(item.get("expect"), Mapping | None):
        yield _bad(f'{where}: "expect" must be an object, but got {_kind(item["expect"])}')


def _unknown(obj: Mapping[Any, Any], known: tuple[str, ...], where: str) -> Iterator[Problem]:
    for key in obj:
        if key not in known:
            allowed = ", ".join(known)
            yield _bad(f"{where}: {str(key)[:40]!r} is no key of it. The keys are: {allowed}")


def _texts(obj: Mapping[Any, Any], keys: tuple[str, ...], where: str) -> Iterator[Problem]:
    for key in keys:
        value = obj.get(key, "")
        if key != "tool" and not isinstance(value, str):
            yield _bad(f'{where}: "{key}" must be text, but got {_kind(value)}')
        elif isinstance(value, str) and len(value) > MAX_TEXT:
            yield _bad(f'{where}: "{key}" is longer than {MAX_TEXT} characters')


def _deeper_than(obj: object, limit: int) -> bool:
    """True when values nest deeper than `limit`; a loop, so no depth can exhaust the stack."""
    level: list[object] = [obj]
    for _ in range(limit):
        level = [child for value in level for child in _children(value)]
        if not level:
            return False
    return any(isinstance(value, Mapping | list) for value in level)


def _children(value: object) -> list[object]:
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    return names.get(type(value), "a number")


def _bad(sentence: str) -> Problem:
    return Problem(Code.BAD_PLAN, sentence)
