"""How well the house sees: scenes whose truth is known, looked at and compared.

Whoever can draw a table (a test, the bench) gives the pictures; this room does not know how.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from armlabd.perceive.camera import Frame
from armlabd.perceive.scene import Scene, SceneSettings, observe


@dataclass(frozen=True, slots=True)
class Truth:
    """Where a block really is: metres in the base frame, degrees modulo 90."""

    label: str
    x: float
    y: float
    yaw_deg: float


@dataclass(slots=True)
class Score:
    """Errors over many scenes. Every list has one number per block, `look_s` one per scene."""

    position_mm: list[float] = field(default_factory=list)
    yaw_deg: list[float] = field(default_factory=list)
    look_s: list[float] = field(default_factory=list)
    missed: int = 0  # blocks not seen, or seen more than once
    invented: int = 0  # objects beyond the true ones

    def add(self, scene: Scene, truths: Sequence[Truth]) -> None:
        """Compare one scene with its truth."""
        self.invented += max(0, len(scene.objects) - len(truths))
        for truth in truths:
            found = scene.find(truth.label)
            if len(found) != 1:
                self.missed += 1
                continue
            self.position_mm.append(1000 * math.hypot(found[0].x - truth.x, found[0].y - truth.y))
            self.yaw_deg.append(yaw_apart_deg(found[0].yaw_deg, truth.yaw_deg))

    def as_dict(self) -> dict[str, float]:
        """Means and worst values, rounded, for a report."""
        return {
            "blocks": len(self.position_mm) + self.missed,
            "missed": self.missed,
            "invented": self.invented,
            "mean_mm": round(_mean(self.position_mm), 3),
            "worst_mm": round(max(self.position_mm, default=0.0), 3),
            "mean_yaw_deg": round(_mean(self.yaw_deg), 3),
            "worst_yaw_deg": round(max(self.yaw_deg, default=0.0), 3),
            "mean_look_ms": round(1000 * _mean(self.look_s), 1),
        }


def score_scenes(scenes: Iterable[tuple[Frame, Sequence[Truth]]], settings: SceneSettings) -> Score:
    """Look at each frame and compare. Raises MarkerError where a frame cannot be measured."""
    score = Score()
    for frame, truths in scenes:
        began_s = time.perf_counter()
        scene = observe(frame, settings)
        score.look_s.append(time.perf_counter() - began_s)
        score.add(scene, truths)
    return score


def random_truths(rng: random.Random, settings: SceneSettings) -> tuple[Truth, ...]:
    """One block of each of one or more kinds, anywhere in the area, any yaw, not touching."""
    count = rng.randint(1, len(settings.objects))
    placed: list[Truth] = []
    for kind in rng.sample(settings.objects, count):
        apart_m = 1.5 * max(other.size_m for other in settings.objects)
        while True:
            x = rng.uniform(settings.area.x_min, settings.area.x_max)
            y = rng.uniform(settings.area.y_min, settings.area.y_max)
            if all(math.hypot(x - other.x, y - other.y) >= apart_m for other in placed):
                break
        placed.append(Truth(kind.label, x, y, rng.uniform(-45.0, 45.0)))
    return tuple(placed)


def yaw_apart_deg(a_deg: float, b_deg: float) -> float:
    """Degrees between two yaws of a square, 0..45."""
    return abs((a_deg - b_deg + 45.0) % 90.0 - 45.0)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
