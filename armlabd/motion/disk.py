"""Writing to disk without making the loop wait: work is queued and done elsewhere, in order."""

from __future__ import annotations

import _thread
from _queue import SimpleQueue
from collections.abc import Callable
from typing import Protocol

Work = Callable[[], None]
CLOSE_S = 2.0


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
    """One helper thread: an fsync of 20 ms on a memory card must not hold up a stop.

    Made without `threading` and `queue`, which are 0.3 MB of what is not needed here.
    """

    def __init__(self) -> None:
        self._queue: SimpleQueue[tuple[Work, Ticket] | None] = SimpleQueue()
        self._running = _thread.allocate_lock()
        self._running.acquire()
        _thread.start_new_thread(self._run, ())

    def submit(self, work: Work) -> Ticket:
        """Queue `work`."""
        ticket = Ticket()
        self._queue.put((work, ticket))
        return ticket

    def close(self) -> None:
        """Finish what was submitted, for at most two seconds."""
        self._queue.put(None)
        if self._running.acquire(timeout=CLOSE_S):
            self._running.release()

    @property
    def ended(self) -> bool:
        """True once the thread is done, after `close`."""
        return not self._running.locked()

    def _run(self) -> None:
        try:
            while (job := self._queue.get()) is not None:
                _carry_out(*job)
        finally:
            self._running.release()
