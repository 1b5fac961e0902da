"""Rules R1 and R2: every tool exists, every value is one that its tool takes."""

from __future__ import annotations

from collections.abc import Iterator

from armlabd.check.order import fault
from armlabd.check.report import Fault
from armlabd.gate.tools import ToolTable
from armlabd.gate.validate import shown, validate
from armlabd.plan.plan import CHECK, CLOSE, Plan, Step, check_as_expect
from armlabd.verdict import Code

# What a step may expect of its result: truths that the result itself reports.
EXPECTABLE = {
    "get_status": ("holding_something", "stopped"),
    "close_gripper": ("holding_something",),
}


def known_tools(plan: Plan, table: ToolTable) -> Iterator[Fault]:
    """R1: every tool is in the table; the pseudo-step `check` is exempt."""
    for number, step in enumerate(plan.steps, 1):
        if step.tool != CHECK and step.tool not in table:
            name, tools = shown(step.tool), ", ".join(table)
            text = f"step {number}: there is no tool called {name}. The tools are: {tools}"
            yield Fault(number, "R1", Code.UNKNOWN_TOOL, text)


def values_in_range(plan: Plan, table: ToolTable) -> Iterator[Fault]:
    """R2: arguments as the tool table wants them; expectations that a result can answer."""
    closed = False
    for number, step in enumerate(plan.steps, 1):
        closed = closed or step.tool == CLOSE
        if step.tool == CHECK:
            yield from _check_step(number, step, closed)
        elif step.tool in table:
            for problem in validate(table, step.tool, step.args):
                yield fault(number, step, "R2", problem.code, problem.sentence)
            yield from _expectation(number, step)


def _check_step(number: int, step: Step, closed: bool) -> Iterator[Fault]:
    said = check_as_expect(step)
    fit = set(step.args) == {"field", "equals"} and said.keys() <= {"holding_something"}
    if not (fit and said and isinstance(step.args["equals"], bool)):
        what = 'check takes {"field": "holding_something", "equals": true or false}'
        yield fault(number, step, "R2", Code.BAD_PLAN, what)
    elif step.expect is not None:
        what = "check is an expectation itself and takes no expect"
        yield fault(number, step, "R2", Code.BAD_PLAN, what)
    elif not closed:
        what = "check speaks of a close_gripper before it, and there is none"
        yield fault(number, step, "R2", Code.BAD_PLAN, what)


def _expectation(number: int, step: Step) -> Iterator[Fault]:
    known = EXPECTABLE.get(step.tool, ())
    for name, wanted in (step.expect or {}).items():
        if name not in known:
            can = ", ".join(known) or "nothing"
            what = f"cannot expect {shown(name)}; {step.tool} can be asked about: {can}"
            yield fault(number, step, "R2", Code.BAD_PLAN, what)
        elif not isinstance(wanted, bool):
            what = f"expects {name} to be {shown(wanted)}; it is true or false"
            yield fault(number, step, "R2", Code.BAD_PLAN, what)
