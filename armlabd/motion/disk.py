"""Writing to disk without making the loop wait: work is queued and done elsewhere, in order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Protocol

Work = Callable[[], None]


class Ticket:
    """One piece of work: `done` once it was tried, `error` when it failed."""

    __slots__ = ("done", "error")

    def __init__(self) -> None:
        self.done = False
        self.error: str | None = None

    @property
    def ok(self) -> bool:
        """True when the work is done and did not fail."""
        return self.done and self.error is None


class Disk(Protocol):
    """Where the core hands its writes."""

    def submit(self, work: Work) -> Ticket:
        """Do `work` after everything submitted before it; OSError ends up in the ticket."""

    def close(self) -> None:
        """Finish what was submitted."""


def _carry_out(work: Work, ticket: Ticket) -> None:
    try:
        work()
    except OSError as error:
        ticket.error = str(error.strerror or error)
    ticket.done = True


class DirectDisk:
    """Does the work at once: for tests, and where nothing else is going on."""

    def submit(self, work: Work) -> Ticket:
        """Do `work` now."""
        ticket = Ticket()
        _carry_out(work, ticket)
        return ticket

    def close(self) -> None:
        """Nothing is left to do."""


class ThreadDisk:
    """One helper thread: an fsync of 20 ms on a memory card must not hold up a stop."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[tuple[Work, Ticket] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="disk", daemon=True)
        self._thread.start()

    def submit(self, work: Work) -> Ticket:
        """Queue `work`."""
        ticket = Ticket()
        self._queue.put((work, ticket))
        return ticket

    def close(self) -> None:
        """Finish what was submitted, for at most two seconds."""
        self._queue.put(None)
        self._thread.join(2.0)

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            _carry_out(*job)
