"""A random value that a JSON Schema allows: what a model with random weights says under a mask.

Knows the keywords that a token mask can enforce; any other is a bug of whoever wrote the schema.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Final

KNOWN: Final = {"type", "enum", "const", "anyOf", "oneOf", "$ref", "$defs", "$schema"} | {
    *("properties", "required", "additionalProperties", "items", "prefixItems", "minItems"),
    *("maxItems", "minLength", "maxLength", "minimum", "maximum", "description", "title"),
}
MOST_ITEMS: Final = 12  # of a list without an end
MOST_CHARS: Final = 60  # of a text without an end
LETTERS: Final = 'abcdefghijklmnopqrstuvwxyz  ABC019.,-_"\\/{}[]:é的\n'


class SchemaError(ValueError):
    """The schema says something that cannot be walked."""


def walk(schema: Mapping[str, Any], dice: random.Random) -> Any:
    """A value of the schema, as `json.loads` would give it. Raises SchemaError."""
    return _value(schema, dice, schema.get("$defs", {}))


def _value(schema: Mapping[str, Any], dice: random.Random, defs: Mapping[str, Any]) -> Any:
    unknown = set(schema) - KNOWN
    if unknown:
        raise SchemaError(f"No walk knows {', '.join(sorted(unknown))}.")
    if "$ref" in schema:
        return _value(defs[schema["$ref"].rpartition("/")[2]], dice, defs)
    if "const" in schema:
        return schema["const"]
    for word in ("enum", "anyOf", "oneOf"):
        if word in schema:
            chosen = dice.choice(schema[word])
            return chosen if word == "enum" else _value(chosen, dice, defs)
    kind = schema.get("type", "null")
    return _of_kind(dice.choice(kind) if isinstance(kind, list) else kind, schema, dice, defs)


def _of_kind(
    kind: str, schema: Mapping[str, Any], dice: random.Random, defs: Mapping[str, Any]
) -> Any:
    if kind == "object":
        return _object(schema, dice, defs)
    if kind == "array":
        return _array(schema, dice, defs)
    if kind == "string":
        low = int(schema.get("minLength", 0))
        length = dice.randint(low, int(schema.get("maxLength", low + MOST_CHARS)))
        return "".join(dice.choice(LETTERS) for _ in range(length))
    if kind in ("integer", "number"):
        low, high = schema.get("minimum", -1e6), schema.get("maximum", 1e6)
        whole = kind == "integer"
        return dice.randint(round(low), round(high)) if whole else round(dice.uniform(low, high), 4)
    if kind == "boolean":
        return dice.random() < 0.5
    if kind == "null":
        return None
    raise SchemaError(f"No walk knows the type {kind!r}.")


def _object(
    schema: Mapping[str, Any], dice: random.Random, defs: Mapping[str, Any]
) -> dict[str, Any]:
    required = schema.get("required", ())
    return {
        name: _value(part, dice, defs)
        for name, part in schema.get("properties", {}).items()
        if name in required or dice.random() < 0.5
    }


def _array(schema: Mapping[str, Any], dice: random.Random, defs: Mapping[str, Any]) -> list[Any]:
    first = [_value(part, dice, defs) for part in schema.get("prefixItems", ())]
    low = max(int(schema.get("minItems", 0)), len(first))
    high = max(low, int(schema.get("maxItems", low + MOST_ITEMS)))
    more = dice.randint(low, high) - len(first) if "items" in schema else 0
    return first + [_value(schema["items"], dice, defs) for _ in range(more)]
