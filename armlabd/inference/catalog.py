"""`models/catalog.toml`: what to use on which board. Data, checked as it is read."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

BACKENDS = ("ollama", "smolvlm")
MB = 1_000_000
NAME = "catalog.toml"


class CatalogError(Exception):
    """The catalog cannot be used; the sentence says where and what is needed."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of the catalog; the file explains every field."""

    id: str
    backend: str
    licence: str
    good_for: str
    board: str
    disk_mb: int
    memory_mb: int
    can: tuple[str, ...]
    box_format: str = "none"
    repository: str = ""
    revision: str = "main"
    sha256: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """What doors show of it."""
        return {
            "licence": self.licence,
            "good_for": self.good_for,
            "board": self.board,
            "disk_bytes": self.disk_mb * MB,
            "memory_bytes": self.memory_mb * MB,
            "can": list(self.can),
            "box_format": self.box_format,
        }


@dataclass(frozen=True, slots=True)
class Catalog:
    """All of them. `fault`: why there are none."""

    entries: tuple[Entry, ...] = ()
    fault: str = ""

    def find(self, backend: str, model: str) -> Entry | None:
        """The entry of that name for that backend."""
        found = (one for one in self.entries if (one.backend, one.id) == (backend, model))
        return next(found, None)


def places() -> tuple[Path, ...]:
    """Where the file may lie: beside the package in a checkout, or where it was installed."""
    checkout = Path(__file__).parents[2] / "models" / NAME
    return checkout, Path(sys.prefix) / "share" / "armlabd" / NAME


def read_catalog(path: Path | None = None) -> Catalog:
    """The catalog; an empty one that says why when it cannot be read."""
    chosen = path or next((one for one in places() if one.exists()), places()[0])
    try:
        return Catalog(parse(tomllib.loads(chosen.read_text(encoding="utf-8"))))
    except (OSError, ValueError, CatalogError) as error:
        return Catalog(fault=f"The catalog {chosen} cannot be used: {error}")


def parse(raw: Mapping[str, Any]) -> tuple[Entry, ...]:
    """The entries of a parsed file. Raises CatalogError."""
    listed = raw.get("model")
    if set(raw) != {"model"} or not isinstance(listed, list):
        raise CatalogError("it must hold [[model]] tables and nothing else")
    entries = tuple(_entry(number, item) for number, item in enumerate(listed, start=1))
    names = [(entry.backend, entry.id) for entry in entries]
    if len(set(names)) != len(names):
        raise CatalogError("a model is listed twice")
    return entries


def _entry(number: int, item: object) -> Entry:
    where = f"[[model]] number {number}"
    if not isinstance(item, dict):
        raise CatalogError(f"{where} is no table")
    known = {one.name: one for one in fields(Entry)}
    unknown = sorted(set(item) - set(known))
    needed = {n for n, f in known.items() if f.default is f.default_factory is MISSING}
    missing = sorted(needed - set(item))
    if unknown or missing:
        raise CatalogError(f"{where}: unknown {unknown}, missing {missing}")
    for name, value in item.items():
        if not _fits(str(known[name].type), value):
            raise CatalogError(f"{where}: {name} = {value!r} must be {known[name].type}")
    if item["backend"] not in BACKENDS:
        raise CatalogError(f"{where}: backend must be one of {', '.join(BACKENDS)}")
    if (item["backend"] == "smolvlm") != bool(item.get("repository")):
        raise CatalogError(f"{where}: a folder has a repository, a tag has none")
    return Entry(**{**item, "can": tuple(item["can"])})


def _fits(kind: str, value: object) -> bool:
    if kind == "str":
        return isinstance(value, str) and bool(value)
    if kind == "int":
        return isinstance(value, int) and not isinstance(value, bool) and value > 0
    if kind.startswith("tuple"):
        return isinstance(value, list) and all(isinstance(v, str) for v in value)
    return isinstance(value, dict) and all(isinstance(v, str) for v in value.values())
