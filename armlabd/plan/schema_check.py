"""Does a value obey the schema that was sent? The faults as short facts, for whoever wrote it.

It knows the keywords that `schema` uses and no others: an unknown one is a bug here and raises.
Stricter than JSON Schema in one thing: a whole number is written as one (3, not 3.0).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]
MAX_FAULTS = 5  # told at once; a model that sees more learns less
SHOWN = 40  # characters of a wrong value that a fault repeats
_LISTED = 12  # allowed words that a fault repeats

_TYPES: Mapping[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
}
_BOUNDS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
_KNOWN = frozenset(
    {*_BOUNDS, "anyOf", "enum", "type", "properties", "required", "additionalProperties", "items"}
)


def faults(value: object, schema: Schema) -> tuple[str, ...]:
    """Everything wrong with `value`, at most MAX_FAULTS sentences; empty when it is of the form."""
    found: list[str] = []
    for fault in _faults(value, schema, "the answer"):
        found.append(fault)
        if len(found) == MAX_FAULTS:
            break
    return tuple(found)


def _faults(value: object, schema: Schema, where: str) -> Iterator[str]:
    unknown = schema.keys() - _KNOWN
    if unknown:
        raise ValueError(f"schema keywords that are not checked: {sorted(unknown)}")
    if "anyOf" in schema:
        yield from _one_of(value, schema["anyOf"], where)
    elif "enum" in schema:
        if not any(type(value) is type(one) and value == one for one in schema["enum"]):
            yield f"{where} must be one of {_words(schema['enum'])}, not {_shown(value)}"
    elif not _TYPES[schema["type"]](value):
        yield f"{where} must be of type {schema['type']}, not {_shown(value)}"
    else:
        yield from _inside(value, schema, where)


def _inside(value: Any, schema: Schema, where: str) -> Iterator[str]:
    kind = schema["type"]
    if kind == "object":
        yield from _properties(value, schema, where)
    elif kind == "array":
        yield from _bounds(len(value), schema, "Items", f"{where} must have", "entries")
        for number, item in enumerate(value[: schema["maxItems"]], 1):
            yield from _faults(item, schema["items"], f"{where} {number}")
    elif kind == "string":
        yield from _bounds(len(value), schema, "Length", f"{where} must have", "characters")
    elif kind == "integer" and not schema["minimum"] <= value <= schema["maximum"]:
        yield f"{where} must be {schema['minimum']} to {schema['maximum']}, not {_shown(value)}"


def _bounds(size: int, schema: Schema, what: str, says: str, unit: str) -> Iterator[str]:
    low, high = schema[f"min{what}"], schema[f"max{what}"]
    if not low <= size <= high:
        yield f"{says} {low} to {high} {unit}, not {size}"


def _properties(value: dict[str, Any], schema: Schema, where: str) -> Iterator[str]:
    known = schema["properties"]
    for name in schema["required"]:
        if name not in value:
            yield f'{where} lacks "{name}"'
    for name, item in value.items():
        if name not in known:
            yield f"{where} has {_shown(name)}, which does not belong there"
        else:
            yield from _faults(item, known[name], f"{where}: {name}")


def _one_of(value: object, kinds: list[Schema], where: str) -> Iterator[str]:
    """The faults against the kind that `value` says it is; else which kinds there are."""
    key, tags = _tags(kinds)
    tag = value.get(key) if isinstance(value, dict) else None
    if isinstance(tag, str) and tag in tags:
        yield from _faults(value, tags[tag], where)
    else:
        yield f'{where} must be an object whose "{key}" is one of {_words(list(tags))}'


def _tags(kinds: list[Schema]) -> tuple[str, dict[str, Schema]]:
    """The key by which the kinds differ (each kind's first property) and the kind of each value."""
    key = next(iter(kinds[0]["properties"]))
    return key, {word: kind for kind in kinds for word in kind["properties"][key]["enum"]}


def _words(words: list[Any]) -> str:
    shown = ", ".join(_shown(word) for word in words[:_LISTED])
    return shown if len(words) <= _LISTED else f"{shown} and {len(words) - _LISTED} more"


def _shown(value: object) -> str:
    """A value as JSON on one line, at most SHOWN characters: it came from outside."""
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
