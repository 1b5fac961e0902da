"""The folder of models on this board, and the lock that says what was fetched into it.

`lock.json` holds for each model the commit and the checksum of every file, as they were at the
first fetch. A folder without a lock was put there by a person and is taken as it is.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armlabd.durable import write_atomic

LOCK = "lock.json"
CONFIG = "config.json"  # what makes a folder a model
CHUNK = 1 << 20
HEX = 64


@dataclass(frozen=True, slots=True)
class Pinned:
    """What was fetched: the commit, and the sha256 of each file by its path."""

    repository: str
    revision: str
    files: Mapping[str, str]


class Store:
    """STATE/models. Nothing is kept in memory: what is fetched meanwhile is seen at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def folder_of(self, model: str) -> Path:
        """Where a model lies or would lie: a catalog name, or a folder that is named whole."""
        return Path(model) if model.startswith("/") else self.folder / safe_name(model)

    def is_here(self, model: str) -> bool:
        """True when the folder holds a model; whether it is whole its backend finds out."""
        return (self.folder_of(model) / CONFIG).is_file()

    def folders(self) -> tuple[str, ...]:
        """Names of the models that lie here."""
        try:
            found = sorted(path.name for path in self.folder.iterdir() if path.is_dir())
        except OSError:
            return ()
        return tuple(name for name in found if self.is_here(name))

    def bytes_of(self, model: str) -> int:
        """What the model's files take on disk."""
        files = self.folder_of(model).rglob("*")
        return sum(path.stat().st_size for path in files if path.is_file())

    def free_bytes(self) -> int:
        """What the disk under the store still takes. Raises OSError."""
        there = next(path for path in (self.folder, *self.folder.parents) if path.exists())
        return shutil.disk_usage(there).free

    def pinned(self, model: str) -> Pinned | None:
        """What was fetched of a model; None for one that was not, or when the lock is broken."""
        return _pinned(self._lock().get(model))

    def pin(self, model: str, pinned: Pinned) -> None:
        """Write down what was fetched. Raises OSError."""
        row = {"repository": pinned.repository, "revision": pinned.revision}
        lock = {**self._lock(), model: {**row, "files": dict(pinned.files)}}
        write_atomic(self.folder / LOCK, json.dumps(lock, indent=1, sort_keys=True).encode(), 0o644)

    def _lock(self) -> dict[str, Any]:
        try:
            found = json.loads((self.folder / LOCK).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


def safe_name(model: str) -> str:
    """A model's name as the name of one folder, never a way out of the store."""
    plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in model)
    return plain.lstrip(".") or "_"


def sha256_of(path: Path) -> str:
    """The checksum of a file. Raises OSError."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _pinned(row: object) -> Pinned | None:
    if not isinstance(row, dict):
        return None
    repository, revision, files = row.get("repository"), row.get("revision"), row.get("files")
    if not isinstance(repository, str) or not isinstance(revision, str):
        return None
    if not isinstance(files, dict) or not all(_is_sum(value) for value in files.values()):
        return None
    return Pinned(repository, revision, files)


def _is_sum(value: object) -> bool:
    return isinstance(value, str) and len(value) == HEX
