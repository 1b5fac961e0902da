"""What a model may name: every object in view and every place, each under a name of its own.

A name is an id: it stands for one very object or place and is never read as words again. What a
label, a place or a goal says can add no name beyond these and can break out of none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from armlabd.plan import words as w
from armlabd.plan.context import PlanContext, SeenObject
from armlabd.plan.places import FREE_SPOT
from armlabd.plan.text import Coordinates, tokens_of

MAX_NAME = 40  # characters of a label or place inside a name
MAX_POINTS = 4  # points of a goal that become places
APART_M = 0.02  # two things nearer than this across are told apart by near and far
_BREAKING = str.maketrans(dict.fromkeys('<>"\\{}[]|`', " "))


@dataclass(frozen=True, slots=True)
class Place:
    """One way to say where: a named place, a point, beside an object, or (all None) a free spot."""

    named: str | None = None
    point: Coordinates | None = None
    beside: int | None = None  # index of the object


@dataclass(frozen=True, slots=True)
class Listed:
    """`objects`: name -> index in the scene. `places`: name -> what it stands for."""

    objects: Mapping[str, int]
    places: Mapping[str, Place]

    @classmethod
    def of(cls, goal: str, context: PlanContext, *, beside: bool = True) -> Listed:
        """The names of this scene, these places and the points of this goal.

        `beside` False leaves out "beside X" for each object, for small windows.
        """
        objects = _objects(context.scene.objects)
        return cls(objects, _places(goal, context, objects if beside else {}))


def plain_name(text: str) -> str:
    """A label on one line, without signs that mean something in a prompt, at most MAX_NAME long."""
    shown = "".join(c if c.isprintable() else " " for c in text).translate(_BREAKING)
    name = " ".join(shown.split()) or "thing"
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 3].rstrip()}..."


def _objects(seen: Sequence[SeenObject]) -> dict[str, int]:
    alike: dict[str, list[int]] = {}
    for index, item in enumerate(seen):
        alike.setdefault(plain_name(item.label), []).append(index)
    named: dict[int, str] = {}
    for label, group in alike.items():
        for index, tail in _tails(group, seen):
            named[index] = f"{label} ({tail})" if tail else label
    found: dict[str, int] = {}
    for index in sorted(named):
        found[_unused(named[index], found)] = index
    return found


def _tails(group: list[int], seen: Sequence[SeenObject]) -> list[tuple[int, str]]:
    """What tells things of one label apart; from left to right, or from near to far."""
    if len(group) == 1:
        return [(group[0], "")]
    across = sorted(group, key=lambda i: -seen[i].y)  # y points to the left
    apart = all(seen[a].y - seen[b].y >= APART_M for a, b in pairwise(across))
    if apart and len(group) <= 3:
        tails = ("left", "right") if len(group) == 2 else ("left", "middle", "right")
        return list(zip(across, tails, strict=True))
    outward = sorted(group, key=lambda i: math.hypot(seen[i].x, seen[i].y))
    if len(group) == 2:
        return list(zip(outward, ("near", "far"), strict=True))
    return [(i, f"{n} from left") for n, i in enumerate(across, 1)]


def _places(goal: str, context: PlanContext, objects: Mapping[str, int]) -> dict[str, Place]:
    found: dict[str, Place] = {}
    for name in context.places:
        found[_unused(plain_name(name), found)] = Place(named=name)
    for point in _points(goal):
        found.setdefault(f"x {point.x:g} y {point.y:g}", Place(point=point))
    found.setdefault(FREE_SPOT, Place())
    for name, index in objects.items():
        found[_unused(f"beside {name}", found)] = Place(beside=index)
    return found


def _points(goal: str) -> list[Coordinates]:
    points = tokens_of(goal, w.KNOWN).points
    return [p for p in points if math.isfinite(p.x) and math.isfinite(p.y)][:MAX_POINTS]


def _unused(name: str, taken: Mapping[str, object]) -> str:
    if name not in taken:
        return name
    return next(n for k in range(2, len(taken) + 3) if (n := f"{name} no {k}") not in taken)
