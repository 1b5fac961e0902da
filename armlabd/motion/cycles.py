"""How well the 100 Hz schedule is kept: lateness of ticks, overruns, longest cycle."""

from __future__ import annotations

from array import array
from typing import Any

WINDOW = 512  # ticks, about five seconds


class Cycles:
    """Tick n is due at start + n * period; a late one restarts the schedule and is counted."""

    def __init__(self, period_s: float, now_s: float) -> None:
        self.period_s = period_s
        self.due_s = now_s
        self.ticks = 0
        self.overruns = 0
        self.longest_s = 0.0
        self._late_s = array("d", bytes(8 * WINDOW))  # flat: written in every cycle

    def begin(self, now_s: float) -> None:
        """A tick starts."""
        late_s = now_s - self.due_s
        self._late_s[self.ticks % WINDOW] = late_s if late_s > 0.0 else 0.0
        self.ticks += 1

    def end(self, started_s: float, now_s: float) -> None:
        """A tick is done: when the next is due, now or by the schedule."""
        if now_s - started_s > self.longest_s:
            self.longest_s = now_s - started_s
        self.due_s += self.period_s
        if self.due_s < now_s:
            self.overruns += 1
            self.due_s = now_s

    def report(self) -> dict[str, Any]:
        """Figures for status; lateness over the last five seconds, microseconds."""
        late = sorted(self._late_s[: min(self.ticks, WINDOW)]) or [0.0]
        return {
            "ticks": self.ticks,
            "overruns": self.overruns,
            "late_p50_us": round(late[len(late) // 2] * 1e6),
            "late_p99_us": round(late[min(len(late) - 1, len(late) * 99 // 100)] * 1e6),
            "longest_us": round(self.longest_s * 1e6),
        }
