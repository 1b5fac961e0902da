"""Cause codes and verdicts: what every decision in the house is made of.

A refusal is a value (a `Verdict` whose `code` is not `Code.OK`), never an exception. Doors turn
codes into statuses through a table; nobody searches the words of a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Code(StrEnum):
    """The cause of a verdict. The comment says what is true when it is given."""

    OK = "ok"  # done, and measured where it could be
    # --- the request itself
    BAD_JSON = "bad_json"  # the body is no JSON
    NOT_AN_OBJECT = "not_an_object"  # the body is JSON but no object
    TOO_LARGE = "too_large"  # the body is longer than the door reads
    BAD_MEDIA_TYPE = "bad_media_type"  # the body is not declared as JSON
    NOT_FOUND = "not_found"  # no such address, run or question
    METHOD = "method_not_allowed"  # the address exists, the method does not
    UNKNOWN_TOOL = "unknown_tool"  # no such tool in the table
    MISSING = "missing_parameter"
    UNKNOWN_PARAMETER = "unknown_parameter"
    WRONG_TYPE = "wrong_type"
    OUT_OF_RANGE = "out_of_range"
    # --- who asks, from where, how often
    HOST = "host_refused"  # Host header names no address of this board
    ORIGIN = "origin_refused"  # a page from elsewhere
    BAD_KEY = "bad_key"  # key absent or wrong
    SLOW_DOWN = "too_many_wrong_keys"  # wrong keys from this address are slowed
    ROLE = "role"  # the key's role may not use this tool or route
    RATE = "rate_limit"
    NOT_ALLOWED = "not_allowed"  # no allowance for an agent's motion
    # --- the state of the house
    STOPPED = "stopped"  # the latch is set; only a person clears it
    BUSY = "busy"  # another run or call holds the arm
    NO_ARM = "no_arm"  # no core, no port or no servos
    NOT_CALIBRATED = "not_calibrated"  # a real arm without a calibration does not move
    NO_CAMERA = "no_camera"
    NO_MARKERS = "no_markers"  # the picture does not show the four markers
    CANNOT_CLEAR = "cannot_clear"  # the stop cannot be cleared yet
    OLD_STATE = "old_state"  # the last reading is too old to move on
    # --- geometry
    UNREACHABLE = "unreachable"
    JOINT_LIMIT = "joint_limit"
    PATH_BLOCKED = "path_blocked"  # floor, base or keep-out box on the way
    TOO_FAST = "too_fast"  # a set-point beyond the speed, acceleration or step ceiling
    BAD_PROGRAM = "bad_program"  # a joint program that is not well-formed
    # --- how a motion ended
    STALLED = "stalled"  # did not arrive
    SERVO_FAULT = "servo_fault"  # a servo is there and not well: the sentence says what
    BUS_LOST = "bus_lost"
    LEASE_LOST = "lease_lost"  # the daemon fell silent
    CORE_LOST = "core_lost"  # the motion core fell silent
    CANCELLED = "cancelled"
    GRASP_FAILED = "grasp_failed"  # the jaws closed on nothing
    # --- plans
    EXPECTATION = "expectation_failed"  # a step's `expect` was not met
    NO_STATUS_FIRST = "no_status_first"
    CLOSED_ON_APPROACH = "closed_on_approach"
    NO_GRASP_CHECK = "no_grasp_check"
    DRAGS = "drags"  # a held object travels low (warning)
    DROPS = "drops"  # a release too high or a carry too low (warning)
    STOP_IN_PLAN = "stop_in_plan"
    TOO_LONG = "too_long"
    BAD_PLAN = "bad_plan"  # not of the form of a plan
    # --- seeing and understanding
    NOT_UNDERSTOOD = "not_understood"
    OBJECT_MISSING = "object_missing"
    AMBIGUOUS = "ambiguous"
    UNKNOWN_PLACE = "unknown_place"
    ANSWER_TIMEOUT = "answer_timeout"
    IMPOSSIBLE = "impossible"  # the planner says that the arm cannot do this
    # --- models
    NO_MODEL = "no_model"  # not on this board, or no such backend
    MODEL_MEMORY = "model_memory"  # does not fit the memory that is free
    MODEL_LOST = "model_lost"  # worker or server gone, or it failed to load
    MODEL_TIMEOUT = "model_timeout"  # loading or answering took too long
    MODEL_ANSWER = "model_answer"  # what it wrote is not of the schema
    # --- the daemon
    BAD_CONFIG = "bad_config"
    DISK = "disk"  # a record could not be written
    INTERNAL = "internal"  # a bug of ours


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a request: a code, a sentence and the facts behind it."""

    code: Code
    sentence: str
    parameter: str | None = None
    value: object = None
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a request.

    `sentence` says what, what is allowed and what to do next. `data` is the answer's content.
    `problems` holds every fault at once; `code` is then the first problem's code.
    """

    code: Code
    sentence: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    retry_after_s: float | None = None

    @property
    def ok(self) -> bool:
        """True when the request was carried out."""
        return self.code is Code.OK

    @classmethod
    def refused(cls, code: Code, sentence: str, **data: Any) -> Verdict:
        """A refusal with one cause."""
        return cls(code, sentence, data)

    @classmethod
    def of_problems(cls, problems: tuple[Problem, ...]) -> Verdict:
        """A refusal that reports every problem; the sentences are joined for people."""
        sentence = " ".join(problem.sentence for problem in problems)
        return cls(problems[0].code, sentence, problems=problems)

    def as_dict(self) -> dict[str, Any]:
        """The JSON form that every door gives: ok + data, or ok false + code + error."""
        if self.ok:
            message = {"message": self.sentence} if self.sentence else {}
            return {"ok": True, **message, **self.data}
        answer: dict[str, Any] = {"ok": False, "code": str(self.code), "error": self.sentence}
        if len(self.problems) > 1:
            answer["problems"] = [
                {"code": str(p.code), "error": p.sentence, "parameter": p.parameter}
                for p in self.problems
            ]
        if self.retry_after_s is not None:
            answer["retry_after"] = self.retry_after_s
        return {**answer, **self.data}
