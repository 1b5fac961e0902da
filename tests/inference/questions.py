"""Questions that the tests put to a model."""

from __future__ import annotations

import io
import json
from typing import Any

from PIL import Image

from armlabd.inference.backend import Ask

STEP = {
    "type": "object",
    "properties": {
        "skill": {"enum": ["pick_and_place", "look"]},
        "object": {"enum": ["red block", "blue block (left)"]},
        "place": {"enum": ["bin", "tray"]},
    },
    "required": ["skill", "object", "place"],
    "additionalProperties": False,
}
PLAN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "steps": {"type": "array", "minItems": 1, "maxItems": 3, "items": STEP},
        "reason": {"type": "string", "maxLength": 20},
    },
    "required": ["steps", "reason"],
    "additionalProperties": False,
}
ENDLESS: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string", "minLength": 1500, "maxLength": 1600}},
    "required": ["text"],
    "additionalProperties": False,
}


def question(text: str = "put the red block in the bin", **more: Any) -> Ask:
    """A goal to plan."""
    return Ask("You plan for an arm.", text, more.pop("schema", PLAN), **more)


def is_plan(text: str) -> bool:
    """Whether a text is JSON of the form PLAN."""
    plan = json.loads(text)
    steps = plan["steps"]
    assert set(plan) == {"steps", "reason"}
    assert 1 <= len(steps) <= 3
    assert len(plan["reason"]) <= 20
    for step in steps:
        assert list(step) == ["skill", "object", "place"]
        assert all(step[key] in STEP["properties"][key]["enum"] for key in step)
    return True


def picture(width: int = 640, height: int = 480, kind: str = "PNG") -> bytes:
    """A picture with a red patch."""
    image = Image.new("RGB", (width, height), (90, 90, 90))
    image.paste((220, 20, 20), (width // 4, height // 4, width // 2, height // 2))
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()
