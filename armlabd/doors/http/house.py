"""What the door is given: the rooms behind it, and nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from armlabd.check.report import Report
from armlabd.clock import Clock
from armlabd.config import Config
from armlabd.execute.eye import Eye
from armlabd.execute.runs import RunManager
from armlabd.gate.rate import RateLimiter, WrongKeys
from armlabd.gate.roles import Caller, KeyRing
from armlabd.gate.session import RobotSession
from armlabd.plan.plan import Plan
from armlabd.verdict import Verdict


class Models(Protocol):
    """What there is of models, and who uses which."""

    async def listed(self) -> dict[str, Any]:
        """The answer of GET /models."""

    async def use(self, job: str, body: Mapping[str, Any], caller: Caller) -> Verdict:
        """Begin a swap for the job "planner" or "vision", or say why not."""


@dataclass(frozen=True, slots=True)
class House:
    """The rooms that requests are handed to."""

    config: Config
    clock: Clock
    session: RobotSession
    runs: RunManager
    eye: Eye
    keys: KeyRing
    rate: RateLimiter
    wrong_keys: WrongKeys
    status: Callable[[], dict[str, Any]]
    check: Callable[[Plan], Awaitable[Report]]
    models: Models
