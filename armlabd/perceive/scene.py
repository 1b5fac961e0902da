"""A frame -> the checked scene: what lies on the table, what was not believed, what is unclear."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from armlabd.config.model import Config
from armlabd.perceive.camera import Frame
from armlabd.perceive.claims import (
    SIDE_MAX_PX,
    SIDE_MIN_PX,
    USUAL_SIZE_M,
    Box,
    Claim,
    ClaimRules,
    Judged,
    check_claim,
)
from armlabd.perceive.colour import find_blocks
from armlabd.perceive.errors import MarkerError
from armlabd.perceive.height import TABLE_LENS, Lens
from armlabd.perceive.markers import Homography, MarkerProblem, find_homography
from armlabd.table import BLOCK_HEIGHT_M, CAMERA, MARKERS, OBJECTS, REACH, Area, Marker, ObjectKind


@dataclass(frozen=True, slots=True)
class SceneSettings:
    """What a look needs to know about the table. Lens and heights in metres, base frame."""

    markers: tuple[Marker, ...] = MARKERS
    objects: tuple[ObjectKind, ...] = OBJECTS
    area: Area = REACH
    lens: Lens = TABLE_LENS
    block_height_m: float = BLOCK_HEIGHT_M

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """The settings of `config.toml`."""
        camera = config.camera
        return cls(
            markers=config.perceive.marker_table(),
            objects=config.object_kinds(),
            area=config.workspace.area(),
            lens=Lens(camera.x, camera.y, camera.height_m),
            block_height_m=config.perceive.block_height_m,
        )


@dataclass(frozen=True, slots=True)
class SceneObject:
    """A believed object: centre x, y in metres (base frame), yaw in (-45, 45], box in pixels."""

    label: str
    x: float
    y: float
    yaw_deg: float
    box: Box
    source: str
    size_m: float = 0.03

    def as_dict(self) -> dict[str, Any]:
        """The JSON form: metres to 0.1 mm, degrees and pixels to 0.1."""
        return {
            "label": self.label,
            "x": round(self.x, 4) + 0.0,  # no minus zero
            "y": round(self.y, 4) + 0.0,
            "yaw_deg": _shown_yaw_deg(self.yaw_deg),
            "box": [round(side, 1) for side in self.box],
            "source": self.source,
        }


@dataclass(frozen=True, slots=True)
class Dispute:
    """An object that a model saw otherwise; `sentence` says how. A person is asked before it is
    taken hold of.
    """

    item: SceneObject
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {**self.item.as_dict(), "reason": self.sentence}


@dataclass(frozen=True, slots=True)
class Scene:
    """What one frame shows. `taken_s` is monotonic; `rejected` keeps every reason.

    `disputed` are objects of `objects`; `notes` are sentences about the look, such as why a model
    has no part in it.
    """

    objects: tuple[SceneObject, ...]
    rejected: tuple[Judged, ...]
    taken_s: float
    source: str = ""
    disputed: tuple[Dispute, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ambiguous(self) -> Mapping[str, tuple[SceneObject, ...]]:
        """Labels that more than one object bears -> these objects. They are never merged."""
        found: dict[str, list[SceneObject]] = {}
        for item in self.objects:
            found.setdefault(item.label, []).append(item)
        return {label: tuple(items) for label, items in found.items() if len(items) > 1}

    def find(self, label: str) -> tuple[SceneObject, ...]:
        """Every object of this label; none, one, or several to choose from."""
        return tuple(item for item in self.objects if item.label == label)

    def age_s(self, now_s: float) -> float:
        """Seconds since the frame was taken."""
        return max(0.0, now_s - self.taken_s)

    def as_dict(self, now_s: float | None = None) -> dict[str, Any]:
        """The JSON form of GET /scene; `age_s` is None when no time is given."""
        return {
            "objects": [item.as_dict() for item in self.objects],
            "rejected": [_rejected_dict(judged) for judged in self.rejected],
            "ambiguous": [
                {"label": label, "candidates": [item.as_dict() for item in items]}
                for label, items in self.ambiguous.items()
            ],
            "disputed": [dispute.as_dict() for dispute in self.disputed],
            "notes": list(self.notes),
            "age_s": None if now_s is None else round(self.age_s(now_s), 3),
        }


def observe(frame: Frame, settings: SceneSettings, claims: Iterable[Claim] | None = None) -> Scene:
    """The scene of one frame. Raises MarkerError when the frame cannot be measured.

    `claims` are a model's; without them the blocks are found by colour. Both are judged alike.
    """
    return look_at(frame, measure(frame, settings), settings, claims)


def measure(frame: Frame, settings: SceneSettings) -> Homography:
    """From the frame's pixels to the table. Raises MarkerError."""
    homography = find_homography(frame.image, settings.markers)
    if isinstance(homography, MarkerProblem):
        raise MarkerError(homography.sentence)
    return homography


def look_at(
    frame: Frame,
    homography: Homography,
    settings: SceneSettings,
    claims: Iterable[Claim] | None = None,
) -> Scene:
    """The scene of a frame that has been measured."""
    if claims is None:
        claims = find_blocks(
            frame.image, homography, settings.objects, settings.lens, settings.block_height_m
        )
    rules = claim_rules(frame, settings)
    judged = [check_claim(claim, homography, rules) for claim in claims]
    sizes = {kind.label: kind.size_m for kind in settings.objects}
    return Scene(
        objects=tuple(_object(one, sizes) for one in judged if one.accepted),
        rejected=tuple(one for one in judged if not one.accepted),
        taken_s=frame.taken_s,
        source=frame.source,
    )


def claim_rules(frame: Frame, settings: SceneSettings) -> ClaimRules:
    """What claims about this frame are judged by."""
    height_px, width_px = frame.image.shape[:2]
    scale = width_px / CAMERA.width_px
    largest_m = max((kind.size_m for kind in settings.objects), default=USUAL_SIZE_M)
    return ClaimRules(
        area=settings.area,
        width_px=width_px,
        height_px=height_px,
        lens=settings.lens,
        block_height_m=settings.block_height_m,
        side_min_px=SIDE_MIN_PX * scale,
        side_max_px=SIDE_MAX_PX * max(1.0, largest_m / USUAL_SIZE_M) * scale,
        labels=frozenset(kind.label for kind in settings.objects),
    )


def _object(judged: Judged, sizes: Mapping[str, float]) -> SceneObject:
    claim, point = judged.claim, judged.point
    assert point is not None  # an accepted claim has one
    size_m = sizes[claim.label]
    yaw_deg = 0.0 if claim.yaw_deg is None else claim.yaw_deg
    return SceneObject(claim.label, *point, yaw_deg, claim.box, claim.source, size_m)


def _shown_yaw_deg(yaw_deg: float) -> float:
    rounded = round(yaw_deg, 1)
    return 45.0 if rounded == -45.0 else rounded + 0.0  # a square: the open end of the range


def _rejected_dict(judged: Judged) -> dict[str, Any]:
    claim = judged.claim
    place = {} if judged.point is None else dict(zip("xy", judged.point, strict=True))
    return {
        "label": claim.label,
        "box": [round(side, 1) for side in claim.box],
        "source": claim.source,
        **{axis: round(value, 4) + 0.0 for axis, value in place.items()},
        "reasons": list(judged.reasons),
    }
