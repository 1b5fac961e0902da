"""One job that a model can do (planning, looking), and who has it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from armlabd.daemon.choice import Choice
from armlabd.inference.backend import Backend, ModelState, Warmth

NOT_READY = (Warmth.ABSENT, Warmth.FAILED)
SWAPPING = "swapping"


@dataclass(slots=True)
class Seat:
    """A job. `wanted` is set while a swap goes on; `failure` says why the last one came to
    nothing; `state` is what the model was doing when it was last looked at, `missed` that it was
    not to be had since it was last loaded.
    """

    job: str
    choice: Choice
    by_person: bool = False
    backend: Backend | None = None
    state: ModelState | None = None
    wanted: Choice | None = None
    missed: bool = False
    failure: str = ""
    unkept: str = ""  # why the choice is not remembered
    swap: asyncio.Task[None] | None = field(default=None, repr=False)

    def take(self, choice: Choice, backend: Backend | None, by_person: bool) -> None:
        """The job is done by this one from now on."""
        self.choice, self.backend, self.by_person = choice, backend, by_person
        self.state, self.failure, self.missed = None, "", False

    def saw(self, state: ModelState | None) -> None:
        """It was looked at."""
        self.state = state
        self.missed = self.missed or (state is not None and state.warmth in NOT_READY)

    @property
    def is_back(self) -> bool:
        """It was missed, and can be loaded now."""
        return self.missed and self.state is not None and self.state.warmth is Warmth.COLD

    @property
    def warmth(self) -> str:
        """ "warm" for what needs no model."""
        if self.wanted is not None:
            return SWAPPING
        if self.backend is None:
            return str(Warmth.WARM)
        return str(Warmth.COLD if self.state is None else self.state.warmth)

    def told(self) -> dict[str, Any]:
        """For status and GET /models."""
        state = self.state
        return {
            "backend": self.choice.backend,
            "model": self.choice.model,
            "chosen_by": "a person" if self.by_person else "config",
            "state": self.warmth,
            "detail": "" if state is None else state.detail,
            "memory_bytes": None if state is None else state.memory_bytes,
            "facts": {} if state is None else dict(state.facts),
            "swapping_to": None if self.wanted is None else str(self.wanted),
            "last_swap": self.failure,
            "next": self._next(),
        }

    def _next(self) -> str:
        if self.wanted is not None:
            return f"Wait until {self.wanted} is loaded, or choose another."
        if self.state is None or not (self.state.detail or self.state.warmth in NOT_READY):
            return self.failure or self.unkept
        return " ".join(part for part in (self.state.detail, self.state.next) if part)
