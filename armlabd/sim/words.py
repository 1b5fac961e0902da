"""A request to the virtual arm: JSON or words in, checked numbers, flags and texts out."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping
from typing import Any

Request = Mapping[str, Any]
Answer = dict[str, Any]


class CommandError(ValueError):
    """A request that cannot be carried out; the text says what is allowed."""


def parse_line(line: str) -> dict[str, Any]:
    """A request from one line: a JSON object, or words. Raises CommandError."""
    text = line.strip()
    if text.startswith("{"):
        try:
            request = json.loads(text)
        except ValueError as error:
            raise CommandError(f"This is no JSON: {error}.") from error
        if not isinstance(request, dict):
            raise CommandError("A request is a JSON object.")
        return request
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise CommandError(f"This line cannot be read: {error}.") from error
    return _from_words(words)


def _from_words(words: list[str]) -> dict[str, Any]:
    if not words:
        raise CommandError("Type a command, for example: help")
    request: dict[str, Any] = {"cmd": words[0]}
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if not equals:
            raise CommandError(f"Write name=value instead of {word!r}, for example: mute id=3")
        try:
            request[name] = json.loads(value)
        except ValueError:
            request[name] = value
    return request


def number(
    request: Request, name: str, low: float, high: float, default: float | None = None
) -> float:
    """A finite number of the request within low..high, ends inside. Raises CommandError."""
    value = request.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise CommandError(f"`{name}` must be a number from {low:g} to {high:g}; got {value!r}.")
    if not low <= value <= high:
        raise CommandError(f"`{name}` must lie within {low:g} to {high:g}; got {value!r}.")
    return value


def flag(request: Request, name: str, default: bool) -> bool:
    """A boolean of the request. Raises CommandError."""
    value = request.get(name, default)
    if not isinstance(value, bool):
        raise CommandError(f"`{name}` is true or false; got {value!r}.")
    return value


def text(request: Request, name: str) -> str:
    """A text of the request. Raises CommandError."""
    value = request.get(name)
    if not isinstance(value, str) or not value:
        raise CommandError(f"`{name}` must be a text, for example red block; got {value!r}.")
    return value
