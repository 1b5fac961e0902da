"""What to do when something goes wrong: one table, read from the top.

Retry once what chance could explain; replan when a refusal says how; ask a person on repetition,
ambiguity or a stop; a person's stop outranks everything. Source: the textbook's recovery table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from armlabd.verdict import Code


class Action(StrEnum):
    """The four things that can be done."""

    RETRY = "Retry once"
    REPLAN = "Replan"
    ASK = "Ask a human"
    STOP = "Stop the arm"


@dataclass(frozen=True, slots=True)
class Situation:
    """What happened, in the terms the table reads.

    event: "grasp_check", "refusal", "status", "scene", "look" or "user_message". `attempt` counts
    from 1. `times_in_a_row` counts refusals of the same step for the same cause.
    """

    event: str
    holding: bool | None = None
    attempt: int = 1
    max_attempts: int = 2
    cause: Code | None = None
    times_in_a_row: int = 1
    stopped: bool = False
    matches: int | None = None
    objects: int | None = None
    user_stop: bool = False
    retry_after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do, by which principle, and how long to wait before it."""

    action: Action
    principle: str
    wait_s: float = 0.0


REPLANNABLE = frozenset(
    {Code.OUT_OF_RANGE, Code.UNREACHABLE, Code.JOINT_LIMIT, Code.PATH_BLOCKED, Code.GRASP_FAILED}
)
PASSING = frozenset({Code.RATE, Code.OLD_STATE})  # a wait alone may mend it
STOP_CAUSES = frozenset({Code.STOPPED, Code.LEASE_LOST, Code.BUS_LOST, Code.CORE_LOST})
RATE_WAIT_S = 1.0  # the limiter's window


def _is_stopped(s: Situation) -> bool:
    return s.stopped or (s.event == "refusal" and s.cause in STOP_CAUSES)


def _is_repeated(s: Situation) -> bool:
    if s.event == "grasp_check":
        return s.holding is False and s.attempt >= s.max_attempts
    if s.event == "refusal":
        return s.times_in_a_row > 1
    return s.event == "look" and s.objects == 0 and s.attempt > 1


def _is_ambiguous(s: Situation) -> bool:
    return s.event == "scene" and s.matches != 1


def _is_chance(s: Situation) -> bool:
    missed = s.event == "grasp_check" and s.holding is False
    return missed or (s.event == "look" and s.objects == 0) or s.cause in PASSING


Row = tuple[Callable[[Situation], bool], Action, str]
TABLE: tuple[Row, ...] = (
    (lambda s: s.user_stop, Action.STOP, "user says stop"),
    (_is_stopped, Action.ASK, "stop"),
    (_is_repeated, Action.ASK, "repeated failure"),
    (_is_ambiguous, Action.ASK, "ambiguity"),
    (
        lambda s: s.event == "refusal" and s.cause in REPLANNABLE,
        Action.REPLAN,
        "refusal tells the fix",
    ),
    (_is_chance, Action.RETRY, "chance"),
    (lambda _: True, Action.ASK, "nothing in the table fits"),
)


def decide(situation: Situation) -> Decision:
    """The first row of the table that fits the situation."""
    for fits, action, principle in TABLE:
        if fits(situation):
            return Decision(action, principle, _wait_s(situation, action))
    raise AssertionError("the last row fits everything")


def _wait_s(situation: Situation, action: Action) -> float:
    if action is not Action.RETRY or situation.event != "refusal":
        return 0.0
    floor_s = RATE_WAIT_S if situation.cause is Code.RATE else 0.1
    return max(floor_s, situation.retry_after_s)


_CAUSE_WORDS = {"rate_limit": Code.RATE, "needs_confirmation": Code.NOT_ALLOWED}


def situation_from(facts: Mapping[str, Any], means_stop: Callable[[str], bool]) -> Situation:
    """A situation from loose facts (the form of the recovery vectors)."""
    message = facts.get("text") or facts.get("user_message") or ""
    cause = _CAUSE_WORDS.get(str(facts.get("cause")))
    if cause is None and "cause" in facts:
        cause = Code(str(facts["cause"]))
    return Situation(
        event=str(facts["event"]),
        holding=facts.get("holding_something"),
        attempt=int(facts.get("attempt", facts.get("looks", 1))),
        max_attempts=int(facts.get("max_attempts", 2)),
        cause=cause,
        times_in_a_row=int(facts.get("times_in_a_row", 1)),
        stopped=bool(facts.get("stopped", False)),
        matches=facts.get("matching_objects"),
        objects=facts.get("objects"),
        user_stop=means_stop(message),
    )
