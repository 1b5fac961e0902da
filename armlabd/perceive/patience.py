"""An end to waiting for calls that may never return: each runs in a thread that can be left."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Hung(Exception):
    """A call did not come back in time, or the one before still has not. The text says which."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class _Job(Generic[T]):
    """One call in its own thread. `left` is set when nobody waits for it any more."""

    def __init__(self, call: Callable[[Callable[[], bool]], T], name: str) -> None:
        self._call, self.left = call, threading.Event()
        self.answer: T | None = None
        self.error: BaseException | None = None
        # A daemon thread: what hangs in a driver must not keep the process from leaving.
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def _run(self) -> None:
        try:
            self.answer = self._call(self.left.is_set)
        except BaseException as error:  # whoever waits raises it
            self.error = error


class Patience:
    """Waits for one call at a time. While a call that was left still hangs no other is started."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._hanging: threading.Thread | None = None

    def wait(self, call: Callable[[Callable[[], bool]], T], limit_s: float) -> T:
        """What `call` answers within `limit_s`, or its exception. Raises Hung.

        `call` is given a function that says whether it was left: then it must let go of whatever
        it opened.
        """
        if self._hanging is not None and self._hanging.is_alive():
            raise Hung(
                f"{self._name} still hangs since an earlier look: its driver does not answer. "
                "Unplug the camera and plug it in again."
            )
        job = _Job(call, self._name)
        job.thread.start()
        job.thread.join(limit_s)
        if job.thread.is_alive():
            job.left.set()
            self._hanging = job.thread
            raise Hung(
                f"{self._name} did not answer within {limit_s:g} s. Another program may hold it, "
                "or its driver hangs: unplug the camera, plug it in, then look again."
            )
        if job.error is not None:
            raise job.error
        return job.answer  # type: ignore[return-value]
