"""A model's answer -> claims, or one sentence why not. Nothing a model writes gets past the form.

The form: a JSON object, anywhere in the text, with a list `objects` whose items have a `label`
and a `box` of four numbers in absolute pixels.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from armlabd.perceive.claims import Claim, is_box

MAX_TEXT = 65_536  # characters; a scene of fifty objects takes about 4,000
MAX_OBJECTS = 50
MAX_LABEL = 40


class ClaimError(ValueError):
    """A model's answer is not of the form. The text says which part, and what is needed."""


def parse_claims(
    text: str, source: str = "model", scale: tuple[float, float] = (1.0, 1.0)
) -> tuple[Claim, ...]:
    """The claims of a model's answer. Raises ClaimError for any other form.

    `scale` is (width, height) of the frame over that of the picture the model was shown: boxes
    are scaled back to the frame's pixels.
    """
    items = _load(text).get("objects")
    if not isinstance(items, list):
        raise ClaimError('The answer has no list "objects".')
    if len(items) > MAX_OBJECTS:
        raise ClaimError(f"The answer lists {len(items)} objects; at most {MAX_OBJECTS}.")
    return tuple(_claim(n, item, source, scale) for n, item in enumerate(items, start=1))


def _load(text: str) -> dict[str, Any]:
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise ClaimError(f"The answer is no text of at most {MAX_TEXT} characters.")
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise ClaimError("The answer has no JSON object in it.")
    try:
        found = json.loads(text[start : end + 1], parse_constant=_refuse_constant)
    except ClaimError:
        raise
    except (ValueError, RecursionError) as error:
        raise ClaimError(f"The answer is invalid JSON: {str(error)[:200]}.") from error
    if not isinstance(found, dict):
        raise ClaimError("The answer has no JSON object in it.")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ClaimError(f"The answer is invalid JSON: {name} is no number.")


def _claim(number: int, item: object, source: str, scale: tuple[float, float]) -> Claim:
    if not isinstance(item, dict):
        raise ClaimError(f"Object {number} is not an object with a label and a box.")
    label, box = item.get("label"), item.get("box")
    if not isinstance(label, str) or not _is_label(label):
        raise ClaimError(
            f"Object {number} lacks a label: text of 1 to {MAX_LABEL} printable characters."
        )
    if not is_box(box):
        raise ClaimError(f"Object {number} lacks a box: four numbers x1, y1, x2, y2 in pixels.")
    x1, y1, x2, y2 = (float(side) for side in box)  # type: ignore[union-attr]
    across, down = scale
    return Claim(label.strip(), (x1 * across, y1 * down, x2 * across, y2 * down), source)


def _is_label(label: str) -> bool:
    return bool(label.strip()) and len(label) <= MAX_LABEL and label.isprintable()
