"""From a file to a `Config`, or to one sentence a fault: key, value, what is allowed, line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from armlabd.config.model import Config, default_path
from armlabd.verdict import Code


class ConfigError(Exception):
    """The settings cannot be used. `faults` has one sentence each; nothing was started."""

    code = Code.BAD_CONFIG

    def __init__(self, path: Path | None, faults: list[str]) -> None:
        self.path, self.faults = path, faults
        super().__init__(f"{path or 'settings'}: " + " ".join(faults))


def load_config(path: Path | None = None) -> Config:
    """Read the named file, else /etc/armlabd/config.toml, else the defaults.

    Raises ConfigError: a named file that is missing, unreadable, no TOML, or with a wrong key,
    type or range.
    """
    if path is None and not default_path().exists():
        return Config()
    chosen = path or default_path()
    text = _read(chosen)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        fault = f"This is no TOML: {error}. Mend that line; see config.toml for the form."
        raise ConfigError(chosen, [fault]) from error
    return parse_config(raw, text, chosen)


def parse_config(raw: Mapping[str, Any], text: str = "", path: Path | None = None) -> Config:
    """Check settings that are already parsed. Raises ConfigError with every fault."""
    try:
        return Config.model_validate(_tuples(dict(raw)))
    except ValidationError as error:
        faults = [_sentence(detail, text) for detail in error.errors(include_url=False)]
        raise ConfigError(path, faults) from error


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ConfigError(path, ["There is no such file. Name another with --config."]) from error
    except UnicodeDecodeError as error:
        raise ConfigError(path, ["It cannot be read: it is no UTF-8 text."]) from error
    except OSError as error:
        why = error.strerror or str(error)
        raise ConfigError(path, [f"It cannot be read: {why}. Name a file."]) from error


def _tuples(value: Any) -> Any:
    """TOML arrays as tuples and whole numbers as they are: strict mode wants exact types."""
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    return value


# What a type of fault says is allowed; {names} are filled from the fault's own figures.
ALLOWED: Mapping[str, str] = {
    "greater_than_equal": "it must be {ge:g} or more",
    "less_than_equal": "it must be {le:g} or less",
    "finite_number": "it must be a finite number",
    "float_type": "it must be a number",
    "int_type": "it must be a whole number",
    "int_from_float": "it must be a whole number",
    "string_type": "it must be a text in quotes",
    "bool_type": "it must be true or false",
    "tuple_type": "it must be a list in square brackets",
    "dict_type": "it must be a table",
    "model_type": "it must be a table",
    "literal_error": "it must be {expected}",
    "too_short": "it must have at least {min_length} parts",
    "too_long": "it must have at most {max_length} parts",
    "string_too_short": "it must have at least {min_length} character",
    "string_too_long": "it must have at most {max_length} characters",
    "string_pattern_mismatch": "it must hold no control characters",
}


def _sentence(detail: ErrorDetails, text: str) -> str:
    parts = [str(part) for part in detail["loc"]]
    key = ".".join(parts) or "the file"
    line = find_line(text, parts)
    where = f" (line {line})" if line else ""
    if detail["type"] == "extra_forbidden":
        return f"{key}{where} is no setting of armlabd. Remove it, or see config.toml for its name."
    if detail["type"] == "missing":
        return f"{key}{where} is missing. Add it; config.toml shows the form."
    words = ALLOWED.get(detail["type"])
    reason = detail["msg"].removeprefix("Value error, ").rstrip(".")
    if words is not None:
        reason = words.format(**detail.get("ctx", {}))
    return f"{key} = {detail['input']!r}{where} is not allowed: {reason}."


def find_line(text: str, parts: list[str]) -> int | None:
    """The line of a key (dotted path of tables, array indices and the key); None if not found."""
    names = [part for part in parts if not part.isdigit()]
    index = next((int(part) for part in parts if part.isdigit()), 0)
    for depth in range(len(names), 0, -1):
        line = _search(text, names[: depth - 1], names[depth - 1], index)
        if line:
            return line
    return None


def _search(text: str, table: list[str], key: str, index: int) -> int | None:
    current: list[str] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*(\[\[?)\s*([^\]]+?)\s*\]", line)
        if header:
            current = [part.strip().strip('"') for part in header[2].split(".")]
            name = ".".join(current)
            seen[name] = seen.get(name, -1) + 1
            array_hit = header[1] == "[[" and seen[name] != index
            if current == [*table, key] and not array_hit:
                return number
            continue
        hit = current == table and re.match(rf'\s*"?{re.escape(key)}"?\s*=', line)
        if hit and seen.get(".".join(current), 0) in (0, index):
            return number
    return None
