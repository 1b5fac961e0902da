"""How fast along a path: one smooth time law, stretched until every joint keeps its limits.

A path is a map from s in 0..1 to six joint values. The law s(u), u in 0..1 of the duration, speeds
up over a share `ramp` of the time, cruises, and slows down as it began. Its acceleration is half a
sine wave, so it starts and ends at zero, and its change, the jerk, has a ceiling. Long moves use a
short ramp (low peak speed for the same time), short ones a long ramp (low acceleration): of a few
ramps the one with the shortest duration is taken. Peak over mean speed is 1 / (1 - ramp), at most
1.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cbrt, cos, pi, sin, sqrt
from typing import NamedTuple

RAMPS: tuple[float, ...] = (0.04, 0.07, 0.1, 0.14, 0.2, 2.0 / 7.0)
GRID = 96  # places along the path and the time at which a path is weighed

# The change of acceleration. A joint gets its full 400 deg/s2 in no less than 80 ms: longer than a
# servo takes to follow (30 to 60 ms), so that it never sees a step, and slower than the arm rings.
JERK_DPS3 = 8000.0
JERK_PPS3 = 16_000.0  # the gripper, percent: the same 80 ms to its 800 percent/s2


class Rates(NamedTuple):
    """Ceilings of the six joints: five in degrees, the gripper in percent; per s, s2 and s3."""

    speed: tuple[float, ...]
    acceleration: tuple[float, ...]
    jerk: tuple[float, ...] = (JERK_DPS3,) * 5 + (JERK_PPS3,)


class Law(NamedTuple):
    """Where along the path at a moment (u), and first and second derivative by u."""

    s: float
    speed: float
    acceleration: float


def law(u: float, ramp: float) -> Law:
    """The time law at u in 0..1 of the duration."""
    if u > 0.5:
        mirror = law(1.0 - u, ramp)
        return Law(1.0 - mirror.s, mirror.speed, -mirror.acceleration)
    peak = 1.0 / (1.0 - ramp)
    if u >= ramp:
        return Law(peak * (u - ramp / 2.0), peak, 0.0)
    phase = pi * u / ramp
    return Law(
        peak * (u - ramp / pi * sin(phase)) / 2.0,
        peak * (1.0 - cos(phase)) / 2.0,
        peak * pi / ramp * sin(phase) / 2.0,
    )


class Timing(NamedTuple):
    """A chosen time law: its duration and its ramp."""

    duration_s: float
    ramp: float


def straight_timing(travel: Sequence[float], rates: Rates) -> Timing:
    """The shortest timing for joints that all move evenly by `travel`."""
    speed = max(abs(t) / v for t, v in zip(travel, rates.speed, strict=True))
    acceleration = max(abs(t) / a for t, a in zip(travel, rates.acceleration, strict=True))
    jerk = max(abs(t) / j for t, j in zip(travel, rates.jerk, strict=True))
    return min(
        Timing(
            max(
                speed / (1 - ramp),
                sqrt(acceleration * pi / (2 * ramp * (1 - ramp))),
                cbrt(jerk * sharpest_jerk(ramp)),
            ),
            ramp,
        )
        for ramp in RAMPS
    )


def sharpest_jerk(ramp: float) -> float:
    """The third derivative of the law by u where it is largest: where a ramp starts and ends."""
    return pi * pi / (2 * ramp * ramp * (1 - ramp))


def curved_timing(samples: Sequence[Sequence[float]], rates: Rates) -> Timing:
    """The shortest timing for a path known at evenly spaced s, first and last included."""
    firsts, seconds = _derivatives(samples)
    return min(Timing(_duration_s(firsts, seconds, ramp, rates), ramp) for ramp in RAMPS)


def _derivatives(
    samples: Sequence[Sequence[float]],
) -> tuple[list[list[float]], list[list[float]]]:
    """First and second derivative by s in every sample but the two ends."""
    count = len(samples) - 1
    firsts, seconds = [], []
    for before, here, after in zip(samples, samples[1:], samples[2:], strict=False):
        firsts.append([(b - a) * count / 2 for a, b in zip(before, after, strict=True)])
        seconds.append(
            [(a - 2 * h + b) * count * count for a, h, b in zip(before, here, after, strict=True)]
        )
    return firsts, seconds


def _duration_s(
    firsts: list[list[float]], seconds: list[list[float]], ramp: float, rates: Rates
) -> float:
    """The duration at which no joint exceeds its speed or acceleration on the grid of moments."""
    slowest, sharpest, hardest = 0.0, 0.0, 0.0
    jerk = sharpest_jerk(ramp)
    top = len(firsts) - 1
    for moment in range(GRID + 1):
        s, ds, dds = law(moment / GRID, ramp)
        place = min(top, max(0, round(s * (top + 2)) - 1))
        ramps = not ramp < moment / GRID < 1.0 - ramp
        for first, second, v, a, j in zip(firsts[place], seconds[place], *rates, strict=True):
            slowest = max(slowest, abs(first * ds) / v)
            sharpest = max(sharpest, abs(second * ds * ds + first * dds) / a)
            if ramps:  # the larger part of it; the set-points themselves are measured later
                hardest = max(hardest, abs(first) * jerk / j)
    return max(slowest, sqrt(sharpest), cbrt(hardest))
