"""What daemon and core say to each other over STATE/core.sock: one JSON object per line.

A request is `{"id": n, "do": WORD, ...}`; its answer `{"id": n, "answer": {...}}` comes when it is
known (a move answers when the arm has arrived). Every `push_s` the core pushes
`{"state": {...}}` with what has changed, once a second all of it with `{"details": {...}}` before
it. A stop is never queued behind anything.

| do | with | answer |
|---|---|---|
| hello | role "daemon" | settings digest, pid |
| lease | | none; the permission to move, for `lease_s` |
| move | program (packed), contact, torque_percent, run | a MotionResult |
| park, come_inside | run | a MotionResult |
| cancel | | come to rest on the path and hold |
| stop | cause, by | a StopResult |
| clear | by, role "operator" | code and sentence |
| goodbye | | the exit policy begins |
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from armlabd.arm.joints import Pose
from armlabd.verdict import Code

MAX_POINTS = 12_000  # two minutes at 100 Hz; taking in more would hold up a stop for over 2 ms
SHORT_BYTES = 64
MAX_LINE = 800_000  # bytes; such a program packed is 768 kB


to_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def encode(message: Mapping[str, Any]) -> bytes:
    """One message as one line."""
    return to_json(message).encode() + b"\n"


def encode_change(state: Mapping[str, Any], before: Mapping[str, Any]) -> bytes:
    """A push of what differs from the state pushed before, as one line; nobody keeps less."""
    changed = {name: value for name, value in state.items() if before.get(name, to_json) != value}
    return to_json({"state": changed}).encode() + b"\n"


class LineReader:
    """Cuts a byte stream into messages; a line that is no JSON object is dropped and counted."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._rest = bytearray()
        self._limit = limit
        self.bad = 0
        self._last_line = b""  # a renewal of the lease comes again and again
        self._last: list[dict[str, Any]] = []

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The messages completed by `data`. Raises ValueError for a line beyond the limit."""
        if not self._rest and data == self._last_line:
            return self._last
        self._rest += data
        if b"\n" not in data:
            self._check_length()
            return []
        *lines, rest = bytes(self._rest).split(b"\n")
        self._rest = bytearray(rest)
        self._check_length()
        messages = [message for line in lines if (message := self._parse(line)) is not None]
        if not rest and len(data) <= SHORT_BYTES and len(lines) == 1:
            self._last_line, self._last = data, messages
        return messages

    def _check_length(self) -> None:
        if len(self._rest) > self._limit:
            raise ValueError("a message is longer than this socket reads")

    def _parse(self, line: bytes) -> dict[str, Any] | None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            self.bad += bool(line.strip())
            return None
        return message


@dataclass(frozen=True, slots=True)
class MotionResult:
    """How a motion ended: `ok` only after every joint was read back within tolerance.

    `contact` is true when a closing gripper met something; `holding` when it still has it.
    `point`, `limit`, `value` and `allowed` name the set-point and the limit of a guard's refusal.
    """

    code: Code
    sentence: str = ""
    pose: Pose | None = None
    holding: bool = False
    grip_percent: float | None = None
    contact: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """True when the arm has arrived."""
        return self.code is Code.OK

    def as_dict(self) -> dict[str, Any]:
        """The form on the wire."""
        return {
            "code": str(self.code),
            "sentence": self.sentence,
            "pose": None if self.pose is None else list(self.pose),
            "holding": self.holding,
            "grip_percent": self.grip_percent,
            "contact": self.contact,
            "facts": dict(self.facts),
        }

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> MotionResult:
        """From the form on the wire."""
        return cls(
            Code(raw["code"]),
            str(raw.get("sentence", "")),
            _pose(raw.get("pose")),
            bool(raw.get("holding")),
            raw.get("grip_percent"),
            bool(raw.get("contact")),
            dict(raw.get("facts") or {}),
        )


@dataclass(frozen=True, slots=True)
class StopResult:
    """What a stop did: were bytes written, how many servos confirmed, how long to the last byte."""

    written: bool
    confirmed: int
    of: int
    sentence: str
    latency_us: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The form on the wire."""
        return {
            "written": self.written,
            "confirmed": self.confirmed,
            "of": self.of,
            "sentence": self.sentence,
            "latency_us": self.latency_us,
        }

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> StopResult:
        """From the form on the wire."""
        return cls(
            bool(raw["written"]),
            int(raw["confirmed"]),
            int(raw["of"]),
            str(raw["sentence"]),
            int(raw.get("latency_us", 0)),
        )


@dataclass(frozen=True, slots=True)
class CoreState:
    """What the core last pushed.

    `state` is one of `health.STATES`, `next` what to do about it. `pose` is measured (degrees,
    gripper percent), `goal` what the servos were last told while torque is on: plan from `goal`
    where there is one, so that sag is not walked down. `servos` holds per joint name temperature_c,
    voltage_v, load_percent, error. `notes` are the latest lines of the core's own diary.
    """

    connected: bool = False
    state: str = "absent"
    next: str = ""
    stopped: bool = True
    stop: Mapping[str, Any] = field(default_factory=dict)
    simulated: bool = False
    pose: Pose | None = None
    pose_age_s: float | None = None
    goal: Pose | None = None
    torque: bool = False
    moving: bool = False
    holding: bool = False
    grip_percent: float | None = None
    inside: bool = True
    servos: Mapping[str, Any] = field(default_factory=dict)
    calibrated: bool = False
    button: str = "none"
    button_why: str = ""
    button_line: Mapping[str, Any] = field(default_factory=dict)
    lease: bool = False
    run: str | None = None
    counters: Mapping[str, Any] = field(default_factory=dict)
    cycle: Mapping[str, Any] = field(default_factory=dict)
    scheduling: str = ""
    notes: tuple[str, ...] = ()
    settings_digest: str = ""
    pid: int = 0

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> CoreState:
        """From the form on the wire; unknown keys are passed over."""
        known = {name: raw[name] for name in cls.__slots__ if name in raw}
        known["pose"] = _pose(raw.get("pose"))
        known["goal"] = _pose(raw.get("goal"))
        known["notes"] = tuple(raw.get("notes") or ())
        return cls(**known)


def _pose(raw: object) -> Pose | None:
    if not isinstance(raw, (list, tuple)) or len(raw) != 6:
        return None
    return Pose(*(float(value) for value in raw))
