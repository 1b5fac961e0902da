"""The way inside: how an arm found limp, folded or pushed outside its limits comes back gently.

From where it stands a handful of directions is tried (lift the shoulder back, raise the wrist,
unfold the elbow, towards home, ...). Along each the arm goes as far as no violation grows; the
shortest way that ends inside wins, else the one that gains most is taken and the search goes on
from there. The result is a program like any other, and the guard checks it like any other.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import product
from typing import NamedTuple

from armlabd.arm.joints import Pose
from armlabd.arm.limits import Limits
from armlabd.arm.program import Program
from armlabd.motion.fence import KEEP, Depth, violation
from armlabd.motion.guard import OUTSIDE_SPEED_DPS, check_in_slices
from armlabd.motion.legs import build_legs

MARCH_DEG = 0.5  # stride of the search
FARTHEST_DEG = 120.0  # longest way along one direction
MORE_DEG = 4.0  # beyond the edge, so that the arm does not end on it
MOST_LEGS = 12
SPEED_DPS = OUTSIDE_SPEED_DPS * 0.95  # below the guard's figure by more than rounding
DT_S = 0.01

SCATTERED = 400
ENOUGH = 8  # ways tried in full
ROOTS = tuple(prime**0.5 for prime in (2, 3, 5, 7, 11, 13))  # never in step with one another

Direction = tuple[float, ...]


class Way(NamedTuple):
    """Where one direction leads: end pose, how far, what is still violated there."""

    end: Pose
    length_deg: float
    left: tuple[Depth, ...]

    @property
    def total(self) -> float:
        """The violations left, degrees and metres (1 mm = 0.1 degree) in one figure."""
        return _total(self.left)


def way_inside(pose: Pose, limits: Limits, home: Pose) -> Program | None:
    """A program that brings `pose` inside the limits at 10 deg/s or less; None when none is found.

    An arm that is inside already gets a program of one point.
    """
    search = find_way(pose, limits, home)
    while True:
        try:
            next(search)
        except StopIteration as done:
            program: Program | None = done.value
            return program


def find_way(
    pose: Pose, limits: Limits, home: Pose, dt_s: float = DT_S
) -> Generator[None, None, Program | None]:
    """`way_inside` that pauses about every half millisecond."""
    corners = [pose]
    left = violation(pose, limits)
    for _ in range(MOST_LEGS):
        if not left:
            break
        best = yield from _best_way(corners[-1], left, limits, home, dt_s)
        if best is None:
            return None
        corners.append(best.end)
        left = best.left
    if left:
        return None
    points = yield from build_legs(corners, SPEED_DPS, limits, dt_s)
    return Program(points, dt_s, "come inside")


def _best_way(
    start: Pose, left: tuple[Depth, ...], limits: Limits, home: Pose, dt_s: float
) -> Generator[None, None, Way | None]:
    """The best way of the likely directions, else of the scattered ones."""
    for directions in (_directions(start, left, limits, home), _scattered()):
        ways: list[Way] = []
        for direction in directions:
            way = yield from _march(start, direction, left, limits)
            if way is not None:
                ways.append(way)
                if not way.left and len(ways) > ENOUGH:
                    break
        for way in sorted(ways, key=_rank)[:ENOUGH]:
            points = yield from build_legs((start, way.end), SPEED_DPS, limits, dt_s)
            fault = yield from check_in_slices(points, dt_s, limits, start)
            if fault is None:
                return way
    return None


def _rank(way: Way) -> tuple[float, float]:
    return (way.total, way.length_deg)


def _total(depths: tuple[Depth, ...]) -> float:
    return sum(d.depth * (100.0 if d.unit == "m" else 1.0) for d in depths)


def _directions(
    start: Pose, left: tuple[Depth, ...], limits: Limits, home: Pose
) -> Generator[Direction, None, None]:
    """Directions of largest component 1, the gentle and likely ones first."""
    inward = _inward(start, limits)
    if any(inward):
        yield inward
    if all(depth.name.startswith("travel:") for depth in left):
        return
    for bend in sorted(product((-1.0, 0.0, 1.0), repeat=3), key=_gentleness):
        if any(bend):
            yield (0.0, *bend, 0.0, 0.0)
    towards = tuple(b - a for a, b in zip(start, home, strict=True))
    most = max(abs(part) for part in towards[:5])
    if most > MARCH_DEG:
        yield tuple(part / most for part in towards)
    for pan, lift in product((-1.0, 1.0), (0.0, -1.0)):
        yield (pan, lift, 0.0, 0.0, 0.0, 0.0)
    for roll in (-1.0, 1.0):
        yield (0.0, 0.0, 0.0, 0.0, roll, 0.0)
    yield (0.0, 0.0, 0.0, 0.0, 0.0, -1.0)  # a jaw on the table closes away from it


def _scattered() -> Generator[Direction, None, None]:
    """Evenly scattered directions, always the same: the last resort of a wedged arm."""
    for number in range(1, SCATTERED + 1):
        parts = [2.0 * (number * root % 1.0) - 1.0 for root in ROOTS]
        most = max(map(abs, parts))
        yield tuple(part / most for part in parts)


def _gentleness(bend: Direction) -> float:
    """Lift back and wrist up first: they raise the hand of an arm that has sunk forward."""
    lift, elbow, wrist = bend
    return lift + 0.5 * wrist + 0.25 * elbow


def _inward(start: Pose, limits: Limits) -> Direction:
    """For joints beyond their travel: straight back."""
    ranges = (*limits.travel_deg, limits.grip_percent)
    pairs = zip(start, ranges, strict=True)
    return tuple(1.0 if v < low else -1.0 if v > high else 0.0 for v, (low, high) in pairs)


def _march(
    start: Pose, direction: Direction, left: tuple[Depth, ...], limits: Limits
) -> Generator[None, None, Way | None]:
    """Along `direction` as long as no violation grows and something is gained."""
    pose, depths, length = start, left, 0.0
    more = MORE_DEG
    while length < FARTHEST_DEG and more > 0.0:
        step = Pose(*(a + MARCH_DEG * d for a, d in zip(pose, direction, strict=True)))
        after = violation(step, limits)
        if not _lessens(depths, after):
            break
        pose, depths, length = step, after, length + MARCH_DEG
        if not depths:
            more -= MARCH_DEG
        if int(length / MARCH_DEG) % 10 == 0:
            yield
    yield
    gained = _total(depths) < _total(left) - KEEP
    return Way(pose, length, depths) if gained else None


def _lessens(before: tuple[Depth, ...], after: tuple[Depth, ...]) -> bool:
    known = {depth.name: depth.depth for depth in before}
    return all(depth.depth <= known.get(depth.name, -1.0) for depth in after)
