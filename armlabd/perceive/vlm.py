"""A model's answer -> claims or counts, or one sentence why not. Nothing gets past the form.

The form: a JSON object, anywhere in the text, with a list `objects` whose items have a `label`
and a `box` of four numbers; or, from a model that knows names only, with an object `counts`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from armlabd.perceive.claims import Box, Claim, is_box

MAX_TEXT = 65_536  # characters; a scene of fifty objects takes about 4,000
MAX_OBJECTS = 50
MAX_LABEL = 40
MAX_COUNT = 50

Undo = Callable[[Box], tuple[Box, tuple[str, ...]]]


class ClaimError(ValueError):
    """A model's answer is not of the form. The text says which part, and what is needed."""


def as_it_is(box: Box) -> tuple[Box, tuple[str, ...]]:
    """A box that is in the frame's pixels already."""
    return box, ()


def parse_claims(text: str, source: str = "model", undo: Undo = as_it_is) -> tuple[Claim, ...]:
    """The claims of a model's answer. Raises ClaimError for any other form.

    `undo` puts a box back into the frame's pixels and says what speaks against it.
    """
    items = _load(text).get("objects")
    if not isinstance(items, list):
        raise ClaimError('The answer has no list "objects".')
    if len(items) > MAX_OBJECTS:
        raise ClaimError(f"The answer lists {len(items)} objects; at most {MAX_OBJECTS}.")
    return tuple(_claim(n, item, source, undo) for n, item in enumerate(items, start=1))


def parse_counts(text: str, labels: Sequence[str]) -> Mapping[str, int]:
    """How many of each label a model says it sees. Raises ClaimError for any other form."""
    counts = _load(text).get("counts")
    if not isinstance(counts, dict) or set(counts) != set(labels):
        raise ClaimError('The answer has no "counts" of every name that was asked for.')
    for label in labels:
        number = counts[label]
        if type(number) is not int or not 0 <= number <= MAX_COUNT:
            raise ClaimError(f"The count of {label!r} is no whole number of 0 to {MAX_COUNT}.")
    return counts


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


def _claim(number: int, item: object, source: str, undo: Undo) -> Claim:
    if not isinstance(item, dict):
        raise ClaimError(f"Object {number} is not an object with a label and a box.")
    label, box = item.get("label"), item.get("box")
    if not isinstance(label, str) or not _is_label(label):
        raise ClaimError(
            f"Object {number} lacks a label: text of 1 to {MAX_LABEL} printable characters."
        )
    if not is_box(box):
        raise ClaimError(f"Object {number} lacks a box: four numbers x1, y1, x2, y2.")
    x1, y1, x2, y2 = (float(side) for side in box)  # type: ignore[union-attr]
    placed, faults = undo((x1, y1, x2, y2))
    return Claim(label.strip(), placed, source, faults=faults)


def _is_label(label: str) -> bool:
    return bool(label.strip()) and len(label) <= MAX_LABEL and label.isprintable()
