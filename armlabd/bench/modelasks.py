"""What the bench asks a model: goals on a table with six things, under the planner's own schema."""

from __future__ import annotations

from typing import Any, Final

from armlabd.inference.backend import Ask
from armlabd.plan.listed import Listed, Place
from armlabd.plan.schema import skills_schema

COLOURS: Final = ("red", "blue", "green", "yellow", "white", "black")
PLACES: Final = ("bin", "tray", "left", "right")
GOALS: Final = tuple(
    f"put the {colour} block {where}"
    for where in ("in the bin", "on the tray", "to the left")
    for colour in COLOURS
)
LISTED: Final = Listed(
    {f"{colour} block": index for index, colour in enumerate(COLOURS)},
    {name: Place(named=name) for name in PLACES},
)
SCHEMA: Final = skills_schema(LISTED)
ENDLESS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"text": {"type": "string", "minLength": 4000, "maxLength": 5000}},
    "required": ["text"],
    "additionalProperties": False,
}
SYSTEM: Final = (
    "You plan for a small robot arm at a table. Answer with one line of JSON: a plan of skills, "
    "or that it is impossible, or a question. Use only the names that are listed."
)
MAX_TOKENS: Final = 400


def plan_ask(goal: str, images: tuple[bytes, ...] = ()) -> Ask:
    """A goal to plan."""
    there = ", ".join(f'"{name}"' for name in LISTED.objects)
    prompt = f'Objects: {there}. Places: {", ".join(PLACES)}. Hand: empty.\nGoal: "{goal}"\nAnswer:'
    return Ask(SYSTEM, prompt, SCHEMA, images, MAX_TOKENS, 600.0)
