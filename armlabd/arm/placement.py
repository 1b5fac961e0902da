"""How the arm stands on the table, and how far its joints' zeros are off: what alignment finds.

Two frames: the table's (where the camera and the tools' x, y, z live) and the base's (where the
geometry of the arm lives). They are the same for an arm screwed down exactly on its mark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import cos, radians, sin
from typing import Any

from armlabd.arm.joints import ARM_JOINTS, is_number

Vector = tuple[float, float, float]

MAX_ZERO_DEG = 12.0  # a joint further off was swept or put together wrongly
MAX_SHIFT_M = 0.04  # a base further from its mark should be moved, not corrected
MAX_HEIGHT_M = 0.012  # no more than the floor's own height
MAX_TURN_DEG = 12.0
MAX_RESIDUAL_MM = 5.0  # of the worst point: more would miss blocks


@dataclass(frozen=True, slots=True)
class Placement:
    """The base frame in the table's frame: its origin (m) and its turn (deg, anticlockwise)."""

    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    yaw_deg: float = 0.0

    def to_base(self, x: float, y: float, z: float) -> Vector:
        """A point of the table, in the base frame; metres."""
        c, s = cos(radians(self.yaw_deg)), sin(radians(self.yaw_deg))
        dx, dy = x - self.x, y - self.y
        return c * dx + s * dy, c * dy - s * dx, z - self.z

    def to_table(self, point: Vector) -> Vector:
        """A point of the base frame, in the table's; metres."""
        c, s = cos(radians(self.yaw_deg)), sin(radians(self.yaw_deg))
        x, y, z = point
        return c * x - s * y + self.x, s * x + c * y + self.y, z + self.z


ON_ITS_MARK = Placement()


@dataclass(frozen=True, slots=True)
class Alignment:
    """What `calibrate --align` found.

    `zero_deg`: the angle of each joint at the middle of its range. `residual_mm`: how far off the
    worst touched point still is. `date`: the day, as the board's clock had it.
    """

    zero_deg: tuple[float, ...]
    base: Placement
    residual_mm: float
    date: str

    def as_dict(self) -> dict[str, Any]:
        """The form in the calibration file."""
        base = self.base
        return {
            "zero_deg": dict(zip(ARM_JOINTS, self.zero_deg, strict=True)),
            "base": {"x": base.x, "y": base.y, "z": base.z, "yaw_deg": base.yaw_deg},
            "residual_mm": self.residual_mm,
            "date": self.date,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Alignment:
        """Read the file form; check it with `fault_of` first."""
        zeros = tuple(float(values["zero_deg"][name]) for name in ARM_JOINTS)
        base = Placement(**{name: float(value) for name, value in values["base"].items()})
        return cls(zeros, base, float(values["residual_mm"]), values["date"])


def fault_of(values: object) -> str | None:
    """What is wrong with an alignment's file form, or None. Ends of ranges are inside."""
    parts = {"zero_deg", "base", "residual_mm", "date"}
    if not isinstance(values, Mapping) or set(values) != parts:
        return f"must have exactly {', '.join(sorted(parts))}"
    if not isinstance(values["date"], str) or len(values["date"]) > 40:
        return "must have a date of at most 40 characters"
    limits = {"x": MAX_SHIFT_M, "y": MAX_SHIFT_M, "z": MAX_HEIGHT_M, "yaw_deg": MAX_TURN_DEG}
    return (
        _beyond("zero_deg", values["zero_deg"], dict.fromkeys(ARM_JOINTS, MAX_ZERO_DEG))
        or _beyond("base", values["base"], limits)
        or _residual(values["residual_mm"])
    )


def _residual(value: object) -> str | None:
    if is_number(value) and 0.0 <= float(value) <= MAX_RESIDUAL_MM:  # type: ignore[arg-type]
        return None
    return f"has residual_mm = {value!r}; it must be a number from 0 to {MAX_RESIDUAL_MM:g}"


def _beyond(part: str, values: object, limits: Mapping[str, float]) -> str | None:
    if not isinstance(values, Mapping) or set(values) != set(limits):
        return f"must have in {part} exactly {', '.join(limits)}"
    for name, limit in limits.items():
        value = values[name]
        if not is_number(value) or abs(value) > limit:
            return f"has {part} {name} = {value!r}; allowed are -{limit:g} to {limit:g}"
    return None
