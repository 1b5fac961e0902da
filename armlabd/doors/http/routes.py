"""The route table: method, address, least role, which bucket counts it, and the handler's name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from armlabd.gate.roles import Role


class Bucket(Enum):
    """Which rate limit counts a request. NONE: the session counts it, or nothing does."""

    NONE = "none"
    READ = "read"
    GOAL = "goal"


@dataclass(frozen=True, slots=True)
class Route:
    """One address. `role` None: open to everybody, no key."""

    method: str
    path: str
    role: Role | None
    bucket: Bucket
    handler: str

    @property
    def recorded(self) -> bool:
        """True where a refusal belongs in the audit: what is asked could move or change things."""
        return self.method != "GET" and self.handler != "check_plan"


ROUTES: tuple[Route, ...] = (
    Route("GET", "/", None, Bucket.NONE, "page"),
    Route("GET", "/page/{file}", None, Bucket.NONE, "page"),
    Route("GET", "/healthz", None, Bucket.NONE, "healthz"),
    Route("POST", "/stop", Role.READER, Bucket.NONE, "stop"),
    Route("POST", "/stop/clear", Role.OPERATOR, Bucket.NONE, "clear"),
    Route("GET", "/tools", Role.READER, Bucket.READ, "tools"),
    Route("POST", "/call/{tool}", Role.READER, Bucket.NONE, "call"),
    Route("GET", "/status", Role.READER, Bucket.READ, "status"),
    Route("GET", "/scene", Role.READER, Bucket.READ, "scene"),
    Route("GET", "/camera.jpg", Role.READER, Bucket.READ, "camera"),
    Route("POST", "/plans/check", Role.AGENT, Bucket.GOAL, "check_plan"),
    Route("POST", "/plans/run", Role.AGENT, Bucket.GOAL, "run_plan"),
    Route("POST", "/goals", Role.AGENT, Bucket.GOAL, "goal"),
    Route("GET", "/runs", Role.READER, Bucket.READ, "runs"),
    Route("GET", "/runs/{id}", Role.READER, Bucket.READ, "run"),
    Route("DELETE", "/runs/{id}", Role.AGENT, Bucket.NONE, "cancel"),
    Route("GET", "/questions", Role.READER, Bucket.READ, "questions"),
    Route("POST", "/questions/{id}", Role.OPERATOR, Bucket.NONE, "answer"),
    Route("GET", "/models", Role.READER, Bucket.READ, "models"),
    Route("PUT", "/models/planner", Role.OPERATOR, Bucket.GOAL, "use_planner"),
    Route("PUT", "/models/vision", Role.OPERATOR, Bucket.GOAL, "use_vision"),
)
STOP_LANE = frozenset({"/stop", "/call/stop"})
