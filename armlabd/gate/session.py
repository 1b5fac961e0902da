"""RobotSession: the only way from the daemon to the arm.

Every call passes the same checks in the same order, whichever door it came through: tool, role,
rate, arguments, allowance, stop, busy, arm. A refusal is a Verdict. What could move leaves an
audit row before it moves (intent) and one after (outcome).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from armlabd.arm.limits import Limits
from armlabd.clock import Clock
from armlabd.config import Config
from armlabd.gate.rate import RateLimiter
from armlabd.gate.roles import Caller
from armlabd.gate.tools import ToolTable
from armlabd.record.audit import Audit
from armlabd.verdict import Verdict

Look = Callable[[], Awaitable[Verdict]]  # takes a picture and answers with the scene


class RobotSession:
    """One arm, one holder at a time."""

    def __init__(
        self,
        core: CoreLike,
        config: Config,
        limits: Limits,
        audit: Audit,
        clock: Clock,
        *,
        rate: RateLimiter | None = None,
        look: Look | None = None,
    ) -> None: ...

    @property
    def table(self) -> ToolTable:
        """The tool table with live ranges."""

    @property
    def holder(self) -> str | None:
        """Who holds the arm now: a run's id or a call; None when it is free."""

    async def call(
        self,
        tool: str,
        args: Mapping[str, Any],
        caller: Caller,
        *,
        run: str | None = None,
        door: bool = True,
    ) -> Verdict:
        """Carry out one tool call or refuse it. `door` False: a step of a run, not rate limited."""

    async def stop(self, caller: Caller, cause: str) -> Verdict:
        """Stop at once. Never limited, never refused; recorded after the frame is out."""

    async def clear(self, caller: Caller) -> Verdict:
        """Clear the stop: operators only. Resumes nothing."""

    def allowance(self, tools: tuple[str, ...], caller: Caller) -> Verdict | None:
        """The refusal if this caller may not move with all of these tools now, else None."""

    def take(self, run_id: str, caller: Caller) -> Verdict:
        """Give the arm to a run, or BUSY naming the holder."""

    def release(self, run_id: str) -> None:
        """Free the arm if this run holds it."""
