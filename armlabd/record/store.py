"""Run folders: what a run was asked, saw, planned and did, one folder each, the newest kept."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armlabd.durable import append_line, fsync_folder, write_atomic

RUN_ID = re.compile(r"run-\d{6,12}")
FILE_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,60}")
TRACE = "trace.jsonl"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """One run's folder."""

    id: str
    path: Path

    def write_json(self, name: str, content: Any) -> None:
        """Replace `name`.json, old or new at any power cut. Raises OSError, ValueError."""
        text = json.dumps(content, indent=1, default=str)
        self.write_bytes(f"{name}.json", text.encode("utf-8", "replace") + b"\n")

    def write_bytes(self, name: str, content: bytes) -> None:
        """Replace the file `name`, for example a picture. Raises OSError, ValueError."""
        write_atomic(self.path / _safe(name), content)

    def append_trace(self, row: Mapping[str, Any]) -> None:
        """Add one fsynced line to the run's trace. Raises OSError."""
        text = json.dumps(row, separators=(",", ":"), default=str)
        append_line(self.path / TRACE, text.encode("utf-8", "replace"))

    def read_json(self, name: str) -> Any:
        """What `name`.json holds; None when it is missing or torn."""
        try:
            return json.loads((self.path / _safe(f"{name}.json")).read_bytes())
        except (OSError, ValueError):
            return None

    def trace(self) -> list[Any]:
        """The rows of the trace; a torn line is left out."""
        try:
            lines = (self.path / TRACE).read_bytes().split(b"\n")
        except OSError:
            return []
        return [row for line in lines if (row := _parse(line)) is not None]


class RunStore:
    """All run folders, at most `keep` of them: making one removes the oldest beyond that."""

    def __init__(self, folder: Path, keep: int = 200) -> None:
        self._folder, self._keep = folder, keep

    def create(self, goal: str) -> RunFolder:
        """A new folder with the goal in it. Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True)
        known = self.list()
        number = int(known[0].removeprefix("run-")) + 1 if known else 1
        run = RunFolder(f"run-{number:06d}", self._folder / f"run-{number:06d}")
        run.path.mkdir(mode=0o700)
        fsync_folder(self._folder)
        run.write_json("goal", {"goal": goal})
        self._prune()
        return run

    def list(self) -> list[str]:
        """The ids of the runs kept, newest first."""
        try:
            names = [item.name for item in self._folder.iterdir() if RUN_ID.fullmatch(item.name)]
        except FileNotFoundError:
            return []
        return sorted(names, key=lambda name: int(name.removeprefix("run-")), reverse=True)

    def load(self, run_id: str) -> RunFolder | None:
        """The folder of a run, or None when the id is malformed or no such run is kept."""
        path = self._folder / run_id if RUN_ID.fullmatch(run_id) else None
        return RunFolder(run_id, path) if path is not None and path.is_dir() else None

    def _prune(self) -> None:
        for old in self.list()[self._keep :]:
            shutil.rmtree(self._folder / old, ignore_errors=True)


def _safe(name: str) -> str:
    if not FILE_NAME.fullmatch(name) or ".." in name:
        raise ValueError(f"{name!r} is no name for a file in a run's folder.")
    return name


def _parse(line: bytes) -> Any | None:
    try:
        return json.loads(line) if line.strip() else None
    except ValueError:
        return None
