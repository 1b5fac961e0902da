"""Who holds the arm: one run at a time, one motion at a time, and nothing revives what was stopped.

Stops are counted, not flagged: a run or a motion remembers the count it began with, so a stop that
was cleared in between still ends it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Holder:
    """A key's run, or one call of a key."""

    key: str
    run: str | None = None
    tool: str | None = None

    @property
    def words(self) -> str:
        """The holder as a refusal names it."""
        if self.run is not None:
            return f"run {self.run} of the key {self.key!r}"
        return f"a call of {self.tool} by the key {self.key!r}"


class Hold:
    """The hold on one arm."""

    def __init__(self) -> None:
        self.stops = 0
        self._run: Holder | None = None
        self._run_stops = 0
        self._moving: Holder | None = None

    @property
    def words(self) -> str | None:
        """Who holds the arm; None when it is free."""
        holder = self._run or self._moving
        return None if holder is None else holder.words

    def note_stop(self) -> None:
        """Count a stop."""
        self.stops += 1

    def take(self, holder: Holder) -> None:
        """Give the arm to a run; ask `words` first whether it is free."""
        self._run, self._run_stops = holder, self.stops

    def release(self, run_id: str) -> None:
        """Free the arm if this run holds it."""
        if self.is_run(run_id):
            self._run = None

    def is_run(self, run_id: str) -> bool:
        """True when this run holds the arm."""
        return self._run is not None and self._run.run == run_id

    def was_stopped(self, run_id: str) -> bool:
        """True when a stop came after this run took the arm."""
        return self.is_run(run_id) and self.stops != self._run_stops

    def in_the_way(self, run_id: str | None) -> str | None:
        """Who keeps a motion of this run (None: a call of its own) from beginning."""
        if self._moving is not None:
            return self._moving.words
        if run_id is None:
            return None if self._run is None else self._run.words
        if self.is_run(run_id):
            return None
        return f"run {run_id} no longer" if self._run is None else self._run.words

    @contextmanager
    def motion(self, holder: Holder) -> Iterator[int]:
        """Hold the arm for one motion; gives the count of stops it began with."""
        self._moving = holder
        try:
            yield self.stops
        finally:
            self._moving = None
