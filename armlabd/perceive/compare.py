"""The colours' scene beside a model's opinion of it: what agrees, what is disputed.

The scene is always the colours'. A model adds no object and moves none: where it agrees nothing
changes; an object it sees otherwise, or not at all, stays and is disputed, so that a person is
asked before it is taken hold of; what it alone sees is listed as rejected. Nothing is averaged.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from armlabd.perceive.claims import Claim, ClaimRules, Judged, check_claim
from armlabd.perceive.markers import Homography
from armlabd.perceive.scene import Dispute, Scene, SceneObject
from armlabd.table import Point

NEAR_M = 0.02  # a model's box is loose; two blocks that touch are 30 mm apart
SAME_M = 0.01  # the same object in two pictures of a table on which nothing moved


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a model said of a picture: judged claims, counts of names, or a `note` why nothing.

    `told` is its own text and what it cost, for a run's trace.
    """

    model: str
    claims: tuple[Judged, ...] | None = None
    counts: Mapping[str, int] | None = None
    note: str = ""
    told: Mapping[str, Any] = field(default_factory=dict)


def judge_all(
    claims: Iterable[Claim], homography: Homography, rules: ClaimRules
) -> tuple[Judged, ...]:
    """Each claim of a model, judged as the colours' are."""
    return tuple(check_claim(claim, homography, rules) for claim in claims)


def compared(first: Scene, second: Scene, opinion: Opinion) -> Scene:
    """The second look's scene with the opinion that a model formed of the first."""
    if opinion.note:
        return replace(second, notes=(*second.notes, opinion.note))
    claims = opinion.claims or ()
    if not same_table(first, second, claims):
        note = f"Something moved while {opinion.model} looked: what it said is not used."
        return replace(second, notes=(*second.notes, note))
    if opinion.counts is not None:
        return _with_counts(second, opinion.model, opinion.counts)
    return _with_claims(second, opinion.model, claims)


def same_table(first: Scene, second: Scene, claims: Sequence[Judged] = ()) -> bool:
    """True when the colours see the same objects at the same places in both pictures.

    An object that only the second look found may be one that a model had claimed.
    """
    gone = [item for item in first.objects if not _has(item, second.objects)]
    new = [item for item in second.objects if not _has(item, first.objects)]
    return not gone and all(any(_means(one, item) for one in claims) for item in new)


def _has(item: SceneObject, others: Sequence[SceneObject]) -> bool:
    return any(
        item.label == other.label and _apart_m((item.x, item.y), other) <= SAME_M
        for other in others
    )


def _means(one: Judged, item: SceneObject) -> bool:
    return one.accepted and one.claim.label == item.label and _near(one, item)


def _with_claims(scene: Scene, model: str, claims: Sequence[Judged]) -> Scene:
    said: dict[int, list[Judged]] = {number: [] for number in range(len(scene.objects))}
    alone: list[Judged] = []
    rejected = [one for one in claims if not one.accepted]
    for one in (one for one in claims if one.accepted):
        number = _nearest(one, scene.objects)
        if number is None:
            alone.append(one)
        elif any(one.claim.label == other.claim.label for other in said[number]):
            rejected.append(_doubt(one, f"{model} says this object twice."))
        else:
            said[number].append(one)
            if one.claim.label != scene.objects[number].label:
                there = scene.objects[number].label
                rejected.append(_doubt(one, f"The colours see a {there} there."))
    rejected += [_doubt(one, f"Only {model} sees this; the colours do not.") for one in alone]
    disputed = [_dispute(scene.objects[n], model, ones, alone) for n, ones in said.items()]
    return replace(
        scene,
        rejected=(*scene.rejected, *rejected),
        disputed=tuple(one for one in disputed if one is not None),
    )


def _nearest(one: Judged, objects: Sequence[SceneObject]) -> int | None:
    """The number of the object that a claim is about; None when it is about none of them."""
    assert one.point is not None  # an accepted claim has one
    near = [
        (_apart_m(one.point, item), number)
        for number, item in enumerate(objects)
        if _near(one, item)
    ]
    return min(near)[1] if near else None


def _near(one: Judged, item: SceneObject) -> bool:
    return one.point is not None and _apart_m(one.point, item) <= NEAR_M


def _dispute(
    item: SceneObject, model: str, said: Sequence[Judged], alone: Sequence[Judged]
) -> Dispute | None:
    """What a model says otherwise of an object: another name, nothing there, or one more of it."""
    others = sorted({one.claim.label for one in said} - {item.label})
    more = [one.point for one in alone if one.claim.label == item.label and one.point]
    if others:
        saw = f"says {' and '.join(others)}"
    elif not said:
        saw = "sees none there"
    elif more:
        saw = f"sees another one at x {more[0][0]:.3f}, y {more[0][1]:z.3f}"
    else:
        return None
    return Dispute(item, f"The colours see a {item.label}, {model} {saw}.")


def _with_counts(scene: Scene, model: str, counts: Mapping[str, int]) -> Scene:
    """A count knows no place: a wrong one puts every object of the name in doubt."""
    seen = Counter(item.label for item in scene.objects)
    said = {
        label: f"The colours see {seen[label]} of {label}, {model} sees {number}."
        for label, number in counts.items()
        if number != seen[label]
    }
    return replace(
        scene,
        disputed=tuple(Dispute(o, said[o.label]) for o in scene.objects if o.label in said),
        notes=(*scene.notes, *(text for label, text in said.items() if not seen[label])),
    )


def _doubt(one: Judged, reason: str) -> Judged:
    return Judged(one.claim, one.point, (*one.reasons, reason))


def _apart_m(point: Point, item: SceneObject) -> float:
    return math.hypot(point[0] - item.x, point[1] - item.y)
