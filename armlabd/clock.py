"""Monotonic time as an argument, so that a test can run an hour in a millisecond."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What every timed part of the house is given instead of `time`."""

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""

    def sleep(self, seconds: float) -> None:
        """Wait; zero or less returns at once."""


class SystemClock:
    """The board's own monotonic clock: seconds since an arbitrary start.

    Asked several times in every cycle of the core, so it is the system's own call, without one of
    ours around it.
    """

    monotonic = staticmethod(time.monotonic)

    def sleep(self, seconds: float) -> None:
        """Sleep on the real clock."""
        if seconds > 0:
            time.sleep(seconds)


class VirtualClock:
    """A clock that moves only when told to, or when somebody sleeps on it."""

    def __init__(self, start_s: float = 0.0) -> None:
        self.now_s = start_s

    def monotonic(self) -> float:
        """The virtual time in seconds."""
        return self.now_s

    def sleep(self, seconds: float) -> None:
        """Advance the clock; never backwards."""
        self.now_s += max(0.0, seconds)

    def advance_to(self, when_s: float) -> None:
        """Advance to `when_s`; an earlier time changes nothing."""
        self.now_s = max(self.now_s, when_s)
