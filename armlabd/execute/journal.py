"""What is kept of a run: its trace, its documents and its pictures, written beside the loop.

An fsync on a slow card can take longer than the lease: every write happens in a thread.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import Any

from armlabd.execute.run import Run
from armlabd.plan.planner import Planned

MAX_PICTURES = 8  # of one run; later scenes are kept without their picture
MAX_ROWS = 1000  # of the steps held in memory; the trace on disk has them all
SHOWN_EVENTS = ("step", "grasp_check", "lift", "leave_clear")


class RecordLostError(Exception):
    """Something of a run could not be written; the text says why."""


class Journal:
    """The writer of one run's folder. Every method raises RecordLostError."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.scenes = 0

    async def note(self, row: Mapping[str, Any]) -> None:
        """One line of the trace; steps and what belongs to them are also shown by the doors."""
        safe = finite(dict(row))
        if row.get("event") in SHOWN_EVENTS and len(self._run.steps) < MAX_ROWS:
            self._run.steps.append(safe)
        await self._write(self._run.folder.append_trace, safe)

    async def keep(self, name: str, content: Any) -> None:
        """Replace a document of the run."""
        await self._write(self._run.folder.write_json, name, finite(content))

    async def keep_scene(self, scene: Mapping[str, Any], picture: bytes | None) -> None:
        """What was seen, numbered, with the picture it was seen in."""
        self.scenes += 1
        name = f"picture-{self.scenes}.png"
        kept = picture is not None and self.scenes <= MAX_PICTURES
        self._run.scene = dict(scene)
        await self.keep(f"scene-{self.scenes}", scene)
        await self.note({"event": "scene", "picture": name if kept else None, **scene})
        if picture is not None and kept:
            await self.keep_picture(name, picture)

    async def keep_picture(self, name: str, picture: bytes) -> None:
        """One picture as a file."""
        await self._write(self._run.folder.write_bytes, name, picture)

    async def keep_planned(self, planned: Planned) -> None:
        """Who planned and how, with every attempt; the run shows the sums."""
        for number, attempt in enumerate(planned.attempts, 1):
            await self.note({"event": "attempt", "number": number, **attempt.to_dict()})
        self._run.planner = planned.to_dict()
        await self.note({"event": "planned", **self._run.planner})

    async def _write(self, write: Callable[..., None], *content: Any) -> None:
        try:
            await asyncio.to_thread(write, *content)
        except OSError as error:
            raise RecordLostError(str(error.strerror or error)) from error


def finite(value: Any) -> Any:
    """The value with NaN and infinities as words: JSON has none, and a brought plan may."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value
