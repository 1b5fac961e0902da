"""A planner that is another planner: each plan goes to whichever is in use when it begins.

While a swap goes on a plan waits. A plan that is being made when a swap begins is given up, which
ends what its model generates, and is made anew by the next planner; a plan that is made already
is not touched.
"""

from __future__ import annotations

import asyncio

from armlabd.plan.context import PlanContext
from armlabd.plan.planner import Planned, Planner, Think


class Switch:
    """Holds the planner in use. `note` is what the last plan said of how it was made."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._settled = asyncio.Event()
        self._settled.set()
        self._moving = asyncio.Event()
        self.note = ""

    @property
    def name(self) -> str:
        """The name of the planner in use."""
        return self._planner.name

    def needs_scene(self, goal: str) -> bool:
        """What the planner in use says."""
        return self._planner.needs_scene(goal)

    def hold(self) -> None:
        """A swap begins: no plan begins, and one that is being made is given up."""
        self._settled.clear()
        self._moving.set()

    def go_on(self, planner: Planner | None = None) -> None:
        """The swap is over: with this planner, or with the one before."""
        if planner is not None:
            self._planner = planner
            self.note = ""
        self._moving.clear()
        self._settled.set()

    async def plan(
        self, goal: str, context: PlanContext, think: Think = asyncio.to_thread
    ) -> Planned:
        """What the planner in use plans."""
        while True:
            await self._settled.wait()
            planned = await self._try(goal, context, think)
            if planned is not None:
                self.note = planned.note
                return planned

    async def _try(self, goal: str, context: PlanContext, think: Think) -> Planned | None:
        """The plan; None when a swap began meanwhile."""
        work = asyncio.ensure_future(self._planner.plan(goal, context, think))
        moving = asyncio.ensure_future(self._moving.wait())
        try:
            await asyncio.wait((work, moving), return_when=asyncio.FIRST_COMPLETED)
            return work.result() if work.done() else None
        finally:
            moving.cancel()
            if not work.done():
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)
