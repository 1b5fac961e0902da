"""Thinking beside the loop: planning and checking in threads, left behind when the run is over.

A planner that waits for a model is a task of the loop: it is cancelled when the run is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from armlabd.execute.run import Run
from armlabd.plan.context import PlanContext
from armlabd.plan.planner import Planned, Planner

P = ParamSpec("P")
T = TypeVar("T")
THREADS = 2  # their own: a planner that hangs never keeps the audit from being written


class OverError(Exception):
    """The run was cancelled or stopped from outside while it thought or waited."""


class Thinker:
    """Runs slow functions for runs."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="think")

    async def think(
        self, run: Run, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The function's answer. Raises OverError as soon as the run is over."""
        raise_if_over(run)
        work = asyncio.get_running_loop().run_in_executor(
            self._pool, lambda: function(*args, **kwargs)
        )
        return await _unless_over(run, work)

    async def plan(self, run: Run, planner: Planner, goal: str, context: PlanContext) -> Planned:
        """What a planner answers. Raises OverError as soon as the run is over; by then whatever
        the planner generates has been told to end.
        """
        raise_if_over(run)

        async def think(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
            return await self.think(run, function, *args, **kwargs)

        return await self.wait(run, planner.plan(goal, context, think))

    async def wait(self, run: Run, answer: Coroutine[Any, Any, T]) -> T:
        """What a task of the loop answers. Raises OverError as soon as the run is over; by then
        the task has been cancelled.
        """
        work = asyncio.ensure_future(answer)
        try:
            raise_if_over(run)
            return await _unless_over(run, work)
        finally:
            work.cancel()

    def close(self) -> None:
        """Take no more work; what hangs is left to the end of the process."""
        self._pool.shutdown(wait=False, cancel_futures=True)


async def _unless_over(run: Run, work: asyncio.Future[T]) -> T:
    over = asyncio.ensure_future(run.over.wait())
    try:
        await asyncio.wait((work, over), return_when=asyncio.FIRST_COMPLETED)
    finally:
        over.cancel()
        if not work.done():
            work.add_done_callback(_forget)
    raise_if_over(run)
    return work.result()


def raise_if_over(run: Run) -> None:
    """Raises OverError when the run was cancelled or stopped."""
    if run.over.is_set():
        raise OverError(run.id)


def _forget(work: asyncio.Future[T]) -> None:
    """Nobody waits for it any more; its exception is nobody's."""
    if not work.cancelled():
        work.exception()
