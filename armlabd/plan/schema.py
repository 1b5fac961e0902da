"""One JSON Schema per request, made from what is there now: the single source for everybody.

The token mask, Ollama's `format` and `schema_check` use this very object. Every array, string and
number is bounded, so that a model that only obeys the mask comes to an end; only keywords that
both llguidance and llama.cpp know are used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from armlabd.gate.tools import Parameter, Tool, ToolTable
from armlabd.plan.listed import Listed

Schema = dict[str, Any]

SKILLS: Mapping[str, tuple[str, ...]] = {  # skill -> the names it takes
    "pick_and_place": ("object", "place"),
    "pick_up": ("object",),
    "put_down": ("place",),
    "set_aside": ("object",),
    "go_home": (),
    "open": (),
    "close": (),
    "look": (),
}
MAX_CALLS = 12  # skills of one plan: six blocks moved, with something between
MAX_STEPS = 40  # tools of one plan
MAX_TEXT = 160  # characters of a reason or a question
MAX_OPTION = 60
MAX_OPTIONS = 4
NOT_A_STEP = "stop"  # the one tool that no plan may hold
MUST_HOLD = "must_hold"  # of close_gripper: whether something must then be held
CLOSE = "close_gripper"
_UNITS: Mapping[str, tuple[str, float]] = {"m": ("_mm", 1000.0)}  # unit -> suffix, factor


def skills_schema(listed: Listed) -> Schema:
    """The schema of an answer that names skills, objects and places."""
    names = {"object": list(listed.objects), "place": list(listed.places)}
    kinds = [
        _object({"skill": _only(skill), **{name: {"enum": names[name]} for name in takes}})
        for skill, takes in SKILLS.items()
        if all(names[name] for name in takes)
    ]
    return _answers(kinds, MAX_CALLS)


def tools_schema(table: ToolTable) -> Schema:
    """The schema of an answer that writes every tool call itself: whole millimetres, degrees."""
    return _answers([_call(tool) for name, tool in table.items() if name != NOT_A_STEP], MAX_STEPS)


def whole(parameter: Parameter) -> tuple[str, float]:
    """The name under which a model gives this number as an integer, and what divides it."""
    suffix, factor = _UNITS.get(parameter.unit, ("", 1.0))
    return parameter.name + suffix, factor


def _call(tool: Tool) -> Schema:
    """One tool with its live ranges; an integer inside the range, ends rounded inward."""
    properties: Schema = {"tool": _only(tool.name)}
    optional: set[str] = set()
    for parameter in tool.parameters:
        name, factor = whole(parameter)
        low = math.ceil(round(parameter.minimum * factor, 6))
        high = math.floor(round(parameter.maximum * factor, 6))
        properties[name] = {"type": "integer", "minimum": low, "maximum": high}
        if not parameter.required:
            optional.add(name)
    if tool.name == CLOSE:
        properties[MUST_HOLD] = {"type": "boolean"}
    return _object(properties, optional)


def _answers(kinds: list[Schema], most: int) -> Schema:
    plan = {"type": "array", "minItems": 1, "maxItems": most, "items": {"anyOf": kinds}}
    options = {"type": "array", "minItems": 0, "maxItems": MAX_OPTIONS, "items": _text(MAX_OPTION)}
    return {
        "anyOf": [
            _object({"answer": _only("plan"), "steps": plan}),
            _object({"answer": _only("impossible"), "reason": _text(MAX_TEXT)}),
            _object({"answer": _only("unclear"), "question": _text(MAX_TEXT), "options": options}),
        ]
    }


def _object(properties: Schema, optional: set[str] | frozenset[str] = frozenset()) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _only(word: str) -> Schema:
    return {"enum": [word]}


def _text(most: int) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": most}
