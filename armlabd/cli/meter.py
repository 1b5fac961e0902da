"""How far a fetch is: a bar on a terminal, a line a file elsewhere, nothing for other programs."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

from armlabd.cli.show import say

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

MB = 1_000_000


class Meter:
    """Shows one line of progress a name. Use it as a context."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._tasks: dict[str, TaskID | None] = {}
        self._bars = None if quiet or not sys.stdout.isatty() else _bars()

    def show(self, name: str, done: int, total: int) -> None:
        """So many bytes of a file are here; `total` 0: not told."""
        if self._quiet:
            return
        if self._bars is not None:
            self._draw(self._bars, name, done, total)
        elif name not in self._tasks:
            self._tasks[name] = None
            say(f"  {name}" + (f"  {total / MB:,.1f} MB" if total else ""))

    def _draw(self, bars: Progress, name: str, done: int, total: int) -> None:
        task = self._tasks.get(name)
        if task is None:
            task = self._tasks[name] = bars.add_task(name[-50:], total=total or None)
        bars.update(task, completed=done, total=total or None)

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bars is not None:
            self._bars.stop()


def _bars() -> Progress:
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
