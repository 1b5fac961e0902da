"""Are the arguments of a call well-formed? Every problem at once, each with what would be right.

Numbers are ints and floats only: booleans, text and None are refused, and NaN and the infinities
lie outside every range. Ends of ranges are inside. Nothing is clamped or converted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from armlabd.gate.tools import Parameter, Tool, ToolTable
from armlabd.verdict import Code, Problem, Verdict

SHOWN = 60  # characters of a caller's own value that a sentence repeats


def unknown_tool(table: ToolTable, name: object) -> Verdict:
    """The refusal of a tool that is not in the table."""
    names = ", ".join(table)
    sentence = f"There is no tool named {shown(name)}. The tools are: {names}."
    return Verdict.refused(Code.UNKNOWN_TOOL, sentence)


def validate(table: ToolTable, tool: str, args: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Everything wrong with these arguments: what is missing first, then argument by argument."""
    found = table.get(tool)
    if found is None:
        return (Problem(Code.UNKNOWN_TOOL, unknown_tool(table, tool).sentence),)
    known = {parameter.name: parameter for parameter in found.parameters}
    problems = [_missing(p, found) for p in known.values() if p.required and p.name not in args]
    for name, value in args.items():
        parameter = known.get(name)
        problem = _check(parameter, value) if parameter else _unknown(name, value, found)
        if problem:
            problems.append(problem)
    return tuple(problems)


def _missing(parameter: Parameter, tool: Tool) -> Problem:
    needs = ", ".join(p.name for p in tool.parameters if p.required)
    sentence = f"{parameter.name} is required but missing. {tool.name} needs: {needs}."
    return Problem(Code.MISSING, sentence, parameter.name)


def _unknown(name: object, value: object, tool: Tool) -> Problem:
    names = ", ".join(p.name for p in tool.parameters) or "none"
    sentence = (
        f"{shown(name, plain=True)} is not a parameter of {tool.name}. The parameters are: {names}."
    )
    return Problem(Code.UNKNOWN_PARAMETER, sentence, shown(name, plain=True), shown(value))


def _check(parameter: Parameter, value: object) -> Problem | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        sentence = (
            f"{parameter.name} must be a number, but got {shown(value)}. "
            f"Give a number from {parameter.minimum:g} to {parameter.maximum:g} {parameter.unit}."
        )
        return Problem(Code.WRONG_TYPE, sentence, parameter.name, shown(value))
    if parameter.minimum <= value <= parameter.maximum:  # false for NaN
        return None
    low, high = parameter.minimum, parameter.maximum
    sentence = (
        f"{parameter.name} = {shown(value)} is outside the allowed range {low:g} to {high:g} "
        f"({parameter.meaning}, {parameter.unit}). Choose a value in that range."
    )
    return Problem(Code.OUT_OF_RANGE, sentence, parameter.name, shown(value), low, high)


def shown(value: object, *, plain: bool = False) -> str:
    """A caller's value for a sentence: short, on one line."""
    try:
        text = value if plain and isinstance(value, str) else repr(value)
    except (ValueError, RecursionError):  # a whole number of thousands of digits, or deep nesting
        text = f"a {type(value).__name__}"
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
