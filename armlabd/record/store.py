"""Run folders: what a run was asked, saw, planned and did, one folder each, the newest kept.

They are bounded in number, size and age. Age is the time that the board has run since, so that no
jump of a clock, and no years in a drawer, takes anything away.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
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


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is kept: number of runs, bytes of all together, seconds of the board's running time."""

    runs: int = 200
    size_bytes: int = 500 * 1024 * 1024
    age_s: int = 365 * 24 * 3600


class RunStore:
    """All run folders. Making one removes the oldest beyond the bounds, never the new one itself.

    `age_s` tells how long the board has run in all.
    """

    def __init__(
        self, folder: Path, bounds: Bounds = Bounds(), age_s: Callable[[], int] = lambda: 0
    ) -> None:
        self._folder, self._bounds, self._age_s = folder, bounds, age_s

    def create(self, goal: str) -> RunFolder:
        """A new folder with the goal in it. Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True)
        known = self.list()
        number = int(known[0].removeprefix("run-")) + 1 if known else 1
        run = RunFolder(f"run-{number:06d}", self._folder / f"run-{number:06d}")
        run.path.mkdir(mode=0o700)
        try:
            fsync_folder(self._folder)
            run.write_json("goal", {"goal": goal, "age_s": self._age_s()})
        except OSError:
            shutil.rmtree(run.path, ignore_errors=True)
            raise
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
        newest, *older = self.list()
        room = self._bounds.size_bytes - size_of(self._folder / newest)
        for place, run_id in enumerate(older, start=2):
            room -= size_of(self._folder / run_id)
            if place > self._bounds.runs or room < 0 or self._is_old(run_id):
                for old in older[place - 2 :]:
                    shutil.rmtree(self._folder / old, ignore_errors=True)
                return

    def _is_old(self, run_id: str) -> bool:
        """False too for a run of before ages were written down."""
        goal = RunFolder(run_id, self._folder / run_id).read_json("goal")
        born_s = goal.get("age_s") if isinstance(goal, dict) else None
        return isinstance(born_s, int) and self._age_s() - born_s > self._bounds.age_s


def size_of(folder: Path) -> int:
    """Bytes on disk of the files of one folder; what goes away meanwhile counts nothing."""
    total = 0
    with contextlib.suppress(OSError), os.scandir(folder) as files:
        for file in files:
            with contextlib.suppress(OSError):
                total += file.stat(follow_symlinks=False).st_blocks * 512
    return total


def _safe(name: str) -> str:
    if not FILE_NAME.fullmatch(name) or ".." in name:
        raise ValueError(f"{name!r} is no name for a file in a run's folder.")
    return name


def _parse(line: bytes) -> Any | None:
    try:
        return json.loads(line) if line.strip() else None
    except ValueError:
        return None
