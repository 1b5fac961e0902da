"""Everything the motion core is told at its start, as one JSON file written by the daemon.

The core reads no `config.toml`: the daemon has checked it and hands over plain figures. Ranges are
those of `config/model.py`; the limits may only be tighter than the ceilings of `arm/limits`.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any

from armlabd.arm.calibration import Calibration, CalibrationError, parse
from armlabd.arm.limits import CEILINGS, LimitError, Limits

Joints5 = tuple[float, float, float, float, float]

EXITS = ("park", "hold", "release")
STOP_ACTIONS = ("torque_off", "keep_grip", "hold")


class SettingsError(ValueError):
    """The settings cannot be used; the sentence says which and why."""


@dataclass(frozen=True, slots=True)
class CoreSettings:
    """The figures of one core process; joint angles in degrees, in the order of the joints.

    `calibration` is the text of a calibration file (our form or LeRobot's) or None; `limits` is
    the form of `arm.limits.as_dict`, or None for the ceilings.
    """

    state_dir: str
    port: str
    socket_dir: str = ""  # where it listens; "" = state_dir
    baud: int = 1_000_000
    simulated: bool = False
    calibration: str | None = None
    limits: dict[str, Any] | None = None
    home_pose: Joints5 = (0.0, -90.0, 60.0, 60.0, 0.0)
    view_pose: Joints5 = (100.0, -90.0, 60.0, 60.0, 0.0)
    park_pose: Joints5 = (0.0, -98.0, 86.0, 75.0, 0.0)
    speed_dps: float = 45.0  # of the core's own moves (park)
    grip_torque_percent: float = 30.0
    hold_torque_percent: float = 20.0
    exit: str = "park"
    stop_action: str = "torque_off"
    button_required: bool = False
    button_chip: str = ""  # its label; "sim" is the virtual arm's button; "" names no line
    button_line: str | int = ""  # its name, or its number on the chip
    button_pull_up: bool = True
    button_release_s: float = 0.2
    lease_s: float = 0.5
    orphan_s: float = 60.0
    heartbeat_s: float = 0.1
    tolerance_deg: float = 1.0  # beside the sag that the weight of the arm explains
    settle_s: float = 1.0
    period_s: float = 0.01  # 100 Hz
    push_s: float = 0.04  # state pushed to the daemon
    debug: bool = False

    def __post_init__(self) -> None:
        if self.exit not in EXITS:
            raise SettingsError(f"exit is {self.exit!r}; allowed: {', '.join(EXITS)}")
        if self.stop_action not in STOP_ACTIONS:
            allowed = ", ".join(STOP_ACTIONS)
            raise SettingsError(f"stop_action is {self.stop_action!r}; allowed: {allowed}")
        for name in ("home_pose", "view_pose", "park_pose"):
            _check_pose(name, getattr(self, name))
        for name in _POSITIVE:
            _check_positive(name, getattr(self, name))

    def to_json(self) -> str:
        """The file form; the same settings always give the same text."""
        return json.dumps(asdict(self), sort_keys=True)

    def digest(self) -> str:
        """A short name of these settings, to see whether a running core was given the same."""
        return f"{zlib.crc32(self.to_json().encode()):08x}"

    @classmethod
    def from_json(cls, text: str) -> CoreSettings:
        """Read the file form. Raises SettingsError for an unknown key, a wrong type or range."""
        try:
            raw = json.loads(text)
        except ValueError as error:
            raise SettingsError(f"the core's settings are no JSON: {error}") from None
        if not isinstance(raw, dict):
            raise SettingsError("the core's settings must be one JSON object")
        unknown = sorted(set(raw) - {field.name for field in fields(cls)})
        if unknown:
            raise SettingsError(f"unknown settings: {', '.join(unknown)}")
        try:
            poses = {k: tuple(v) for k, v in raw.items() if k.endswith("_pose")}
            return cls(**{**raw, **poses})
        except TypeError as error:
            raise SettingsError(f"the core's settings do not fit: {error}") from None


_POSITIVE = (
    "baud",
    "speed_dps",
    "grip_torque_percent",
    "hold_torque_percent",
    "lease_s",
    "orphan_s",
    "button_release_s",
    "heartbeat_s",
    "tolerance_deg",
    "settle_s",
    "period_s",
    "push_s",
)


def is_number(value: object) -> bool:
    """True for a finite int or float; booleans, text, NaN and infinities are not numbers."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _check_pose(name: str, value: object) -> None:
    if not isinstance(value, tuple) or len(value) != 5 or not all(is_number(v) for v in value):
        raise SettingsError(f"{name} must be five joint angles in degrees")


def _check_positive(name: str, value: float) -> None:
    if not is_number(value) or value <= 0:
        raise SettingsError(f"{name} is {value!r}; it must be a number above zero")


def limits_of(settings: CoreSettings) -> Limits:
    """The limits that the settings hand over, else the ceilings. Raises SettingsError."""
    if settings.limits is None:
        return CEILINGS
    try:
        return Limits.from_dict(settings.limits)
    except LimitError as error:
        raise SettingsError(error.sentence) from None


def calibration_of(settings: CoreSettings, note: Callable[[str], None]) -> Calibration | None:
    """The calibration that was handed over; None, with a note, when it cannot be used."""
    if settings.calibration is None:
        return None
    try:
        return parse(settings.calibration)
    except CalibrationError as error:
        note(f"the calibration cannot be used: {error.sentence}")
        return None
