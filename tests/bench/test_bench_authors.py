"""The authors without a model: the walk keeps to its schema, the liar tells every lie it knows."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armlabd.bench.authors import LIES, LyingAuthor, RandomAuthor, bend
from armlabd.bench.walk import SchemaError, walk
from armlabd.inference.backend import Ask, ModelError

CALL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "skill": {"const": "pick"},
        "object": {"enum": ["red block", "blue block"]},
        "speed": {"type": "integer", "minimum": 5, "maximum": 60},
        "note": {"type": "string", "maxLength": 4},
    },
    "required": ["skill", "object"],
    "additionalProperties": False,
}
SCHEMA: dict[str, Any] = {
    "$defs": {"call": CALL},
    "anyOf": [
        {"type": "array", "items": {"$ref": "#/$defs/call"}, "minItems": 1, "maxItems": 3},
        {"type": ["boolean", "null"]},
        {"type": "array", "prefixItems": [{"type": "number", "minimum": 0, "maximum": 1}]},
    ],
}


def is_call(value: Any) -> bool:
    return (
        {"skill", "object"} <= set(value) <= set(CALL["properties"])
        and value["skill"] == "pick"
        and value["object"] in ("red block", "blue block")
        and 5 <= value.get("speed", 5) <= 60
        and len(value.get("note", "")) <= 4
    )


def fits(value: Any) -> bool:
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value[0], float):
        return len(value) == 1 and 0 <= value[0] <= 1
    return 1 <= len(value) <= 3 and all(is_call(call) for call in value)


@given(st.integers(0, 10_000))
def test_a_walk_keeps_to_its_schema_and_is_the_same_for_the_same_seed(seed: int) -> None:
    value = walk(SCHEMA, random.Random(seed))
    assert fits(value)
    assert walk(SCHEMA, random.Random(seed)) == value


def test_a_walk_reaches_every_branch() -> None:
    kinds = {type(walk(SCHEMA, random.Random(seed))) for seed in range(60)}
    assert kinds == {list, bool, type(None)}


@pytest.mark.parametrize("schema", [{"type": "string", "pattern": "a+"}, {"type": "fish"}])
def test_what_cannot_be_walked_is_told(schema: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        walk(schema, random.Random(0))


async def test_the_random_author_says_json_of_the_schema() -> None:
    author = RandomAuthor(3)
    for _ in range(20):
        answer = await author.answer(Ask("system", "prompt", SCHEMA))
        assert fits(json.loads(answer.text))
        assert answer.output_tokens >= len(answer.text)


async def test_the_liar_tells_every_lie_and_most_of_them_break_the_schema() -> None:
    author, told, broken = LyingAuthor(1), set(), 0
    for _ in range(400):
        try:
            answer = await author.answer(Ask("system", "prompt", SCHEMA))
            broken += not well_formed(answer.text)
        except ModelError:
            pass
        told.add(author.last)
    assert told == set(LIES)
    assert broken > 150


def well_formed(text: str) -> bool:
    try:
        return fits(json.loads(text))
    except (ValueError, RecursionError, TypeError, AttributeError, KeyError, IndexError):
        return False


@given(st.integers(0, 10_000))
def test_bending_changes_one_place_and_leaves_the_original(seed: int) -> None:
    value = {"steps": [{"skill": "pick", "object": "red block"}]}
    bend(value, random.Random(seed))
    assert value == {"steps": [{"skill": "pick", "object": "red block"}]}
