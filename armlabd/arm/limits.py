"""What the arm may never exceed: ceilings as constants, and settings that can only tighten them.

Nothing here clamps: a value beyond a limit is refused by whoever checks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeGuard

from armlabd.arm.joints import ARM_JOINTS, is_number

Range = tuple[float, float]


class LimitError(ValueError):
    """A limit that cannot be used; `sentence` says which, what is allowed and what to do."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Box:
    """An upright box in the base frame, metres; its faces belong to it."""

    name: str
    x: Range
    y: Range
    z: Range

    def depth_m(self, point: Sequence[float]) -> float:
        """How deep a point lies inside (to the nearest face); 0 or less means outside."""
        depth = point[0] - self.x[0]
        for side in (
            self.x[1] - point[0],
            point[1] - self.y[0],
            self.y[1] - point[1],
            point[2] - self.z[0],
            self.z[1] - point[2],
        ):
            depth = min(depth, side)
        return depth


# Travel: the textbook's table of the SO-101 (its chapter 1), the elbow as there (the drawing says
# 96.8), the roll cut where drawing (-157.2..162.8) and textbook (+-160) both allow it.
TRAVEL_DEG: tuple[Range, ...] = (
    (-110.0, 110.0),
    (-100.0, 100.0),
    (-97.0, 97.0),
    (-95.0, 95.0),
    (-157.0, 160.0),
)
# The body of the arm: the pan motor's housing and the column behind and under the shoulder. Tool,
# jaw tips and wrist stay out. Chosen so that every pose the tools can name is free (see tests).
BASE_BOX = Box("the base", (-0.06, 0.075), (-0.055, 0.055), (0.0, 0.10))


@dataclass(frozen=True, slots=True)
class Limits:
    """Every limit on a motion. Ends of ranges are inside."""

    travel_deg: tuple[Range, ...] = TRAVEL_DEG
    grip_percent: Range = (0.0, 100.0)
    speed_dps: float = 60.0  # per joint; the textbook's ceiling for every tool
    acceleration_dps2: float = 400.0  # a fifth of what the servo's register 41 can ask for
    step_deg: float = 0.65  # between two set-points 10 ms apart: 60 deg/s and 8 % for rounding
    grip_speed_pps: float = 100.0  # percent per second; a jaw's whole travel in a second
    grip_acceleration_pps2: float = 800.0
    grip_step_percent: float = 1.1  # between two set-points
    floor_m: float = 0.012  # tool point, wrist, elbow: the tool frame ends 6 mm above the jaw's tip
    tip_floor_m: float = 0.004  # jaw tips
    reach_m: float = 0.43  # tool from the pan axis at shoulder height: 1 cm short of stretched out
    base_box: Box = BASE_BOX
    keep_out: tuple[Box, ...] = ()

    def boxes(self) -> tuple[Box, ...]:
        """Every box that no checked point of the arm may enter."""
        return (self.base_box, *self.keep_out)

    def as_dict(self) -> dict[str, Any]:
        """The limits as plain JSON values; `from_dict` reads them back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Limits:
        """Limits from `as_dict`'s form; LimitError when they are not of that form or too wide."""
        return _from_dict(values)


CEILINGS = Limits()


def tighten(
    base: Limits = CEILINGS,
    *,
    travel_deg: Mapping[str, Range] | None = None,
    speed_dps: float | None = None,
    acceleration_dps2: float | None = None,
    floor_m: float | None = None,
    reach_m: float | None = None,
    keep_out: Sequence[Box] = (),
) -> Limits:
    """`base` with tighter limits; LimitError naming the first one that is wider or no number."""
    floor = base.floor_m if floor_m is None else _at_least("floor_m", floor_m, base.floor_m)
    return replace(
        base,
        travel_deg=_tighter_travel(base, travel_deg or {}),
        speed_dps=_at_most("speed_dps", speed_dps, base.speed_dps),
        acceleration_dps2=_at_most("acceleration_dps2", acceleration_dps2, base.acceleration_dps2),
        reach_m=_at_most("reach_m", reach_m, base.reach_m),
        floor_m=floor,
        keep_out=(*base.keep_out, *map(_checked_box, keep_out)),
    )


def intersect_travel(base: Limits, travel_deg: Mapping[str, Range]) -> Limits:
    """`base` with each joint's travel cut to what a calibration measured.

    A calibrated range may be wider than the ceiling: the ceiling then stays. LimitError when a
    joint would have no travel left.
    """
    pairs = []
    for name, (low, high) in zip(ARM_JOINTS, base.travel_deg, strict=True):
        wanted = travel_deg.get(name, (low, high))
        pair = (max(low, wanted[0]), min(high, wanted[1]))
        if not pair[0] < pair[1]:
            raise LimitError(
                f"{name} is calibrated to {wanted[0]:.1f} to {wanted[1]:.1f} degrees, which leaves "
                f"nothing of {low:g} to {high:g}. Calibrate the arm again."
            )
        pairs.append(pair)
    return replace(base, travel_deg=tuple(pairs))


def _at_most(name: str, value: float | None, ceiling: float) -> float:
    if value is None:
        return ceiling
    if not is_number(value) or not 0 < value <= ceiling:
        raise LimitError(
            f"{name} = {value!r} is not allowed: it must be a number above 0 and at most "
            f"{ceiling:g}. Choose a smaller one or leave it out."
        )
    return float(value)


def _at_least(name: str, value: float, floor: float) -> float:
    if not is_number(value) or not floor <= value <= 0.5:
        raise LimitError(
            f"{name} = {value!r} is not allowed: it must be a number from {floor:g} to 0.5. "
            "Choose a larger one or leave it out."
        )
    return float(value)


def _is_range(value: object) -> TypeGuard[Range]:
    return (
        isinstance(value, (tuple, list))
        and len(value) == 2
        and all(map(is_number, value))
        and value[0] < value[1]
    )


def _tighter_travel(base: Limits, wanted: Mapping[str, Range]) -> tuple[Range, ...]:
    unknown = sorted(set(wanted) - set(ARM_JOINTS))
    if unknown:
        raise LimitError(f"{unknown[0]} is no joint. The joints are: {', '.join(ARM_JOINTS)}.")
    pairs = dict(zip(ARM_JOINTS, base.travel_deg, strict=True))
    for name, pair in wanted.items():
        low, high = pairs[name]
        if not _is_range(pair) or pair[0] < low or pair[1] > high:
            raise LimitError(
                f"the travel of {name} = {pair!r} is not allowed: it must be [low, high] within "
                f"{low:g} to {high:g} degrees. Narrow it or leave it out."
            )
        pairs[name] = (float(pair[0]), float(pair[1]))
    return tuple(pairs[name] for name in ARM_JOINTS)


def _checked_box(box: Box) -> Box:
    for axis, pair in (("x", box.x), ("y", box.y), ("z", box.z)):
        if not _is_range(pair):
            raise LimitError(
                f"the box {box.name!r} has {axis} = {pair!r}: it must be [low, high] in metres "
                "with low below high."
            )
    return box


def _from_dict(values: Mapping[str, Any]) -> Limits:
    if not isinstance(values, Mapping):
        raise LimitError("the limits must be one JSON object.")
    names = set(CEILINGS.as_dict())
    if set(values) != names:
        wrong = sorted(set(values) ^ names)[0]
        raise LimitError(f"the limits must have exactly the known keys; {wrong!r} is not right.")
    limits = Limits(
        **{
            **values,
            "travel_deg": tuple(
                _pair("travel_deg", pair) for pair in _rows("travel_deg", values["travel_deg"])
            ),
            "grip_percent": _pair("grip_percent", values["grip_percent"]),
            "base_box": _box(values["base_box"]),
            "keep_out": tuple(map(_box, _rows("keep_out", values["keep_out"]))),
        }
    )
    _refuse_wider(limits)
    return limits


def _rows(name: str, value: object) -> Sequence[object]:
    if not isinstance(value, (list, tuple)):
        raise LimitError(f"{name} = {value!r} must be a list.")
    return value


def _pair(name: str, value: object) -> Range:
    if not _is_range(value):
        raise LimitError(f"{name} holds {value!r}, which is no [low, high] with low below high.")
    return float(value[0]), float(value[1])


def _box(value: object) -> Box:
    if not isinstance(value, Mapping) or set(value) != {"name", "x", "y", "z"}:
        raise LimitError(f"a box must have name, x, y and z, but got {value!r}.")
    sides = (_pair(f"box {axis}", value[axis]) for axis in "xyz")
    return Box(str(value["name"]), *sides)


def _refuse_wider(limits: Limits) -> None:
    """No file can widen what the constants say: every number is compared with its ceiling."""
    if len(limits.travel_deg) != len(ARM_JOINTS) or limits.base_box != CEILINGS.base_box:
        raise LimitError("the limits must have five joints and the arm's own base box.")
    _tighter_travel(CEILINGS, dict(zip(ARM_JOINTS, limits.travel_deg, strict=True)))
    if not 0.0 <= limits.grip_percent[0] < limits.grip_percent[1] <= 100.0:
        raise LimitError(f"grip_percent = {limits.grip_percent} is outside 0 to 100.")
    for name in _UPPER:
        _at_most(name, getattr(limits, name), getattr(CEILINGS, name))
    for name in ("floor_m", "tip_floor_m"):
        _at_least(name, getattr(limits, name), getattr(CEILINGS, name))


_UPPER = (
    "speed_dps",
    "acceleration_dps2",
    "step_deg",
    "grip_speed_pps",
    "grip_acceleration_pps2",
    "grip_step_percent",
    "reach_m",
)
