"""What a planner is told: the scene, the places, the area and the answers given so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from armlabd.arm.limits import CEILINGS, Limits
from armlabd.table import BLOCK_HEIGHT_M, REACH, Area, Point


class SeenObject(Protocol):
    """An object of the checked scene: base frame, metres; yaw in degrees."""

    @property
    def label(self) -> str:
        """Its kind, as in [[objects]]."""

    @property
    def x(self) -> float:
        """Forward of the base, m."""

    @property
    def y(self) -> float:
        """Left of the base, m."""

    @property
    def yaw_deg(self) -> float:
        """Direction of one face, counter-clockwise from x."""

    @property
    def size_m(self) -> float:
        """Edge of the square seen from above, m."""


class SeenScene(Protocol):
    """The checked scene."""

    @property
    def objects(self) -> Sequence[SeenObject]:
        """Every object that passed the checks of perception."""


@dataclass(frozen=True, slots=True)
class Doubted:
    """Something perception saw and did not believe, or that lies where the hand does not go."""

    label: str
    reason: str


@dataclass(frozen=True, slots=True)
class PlanContext:
    """Everything a planner may use. It holds no way to the arm.

    `z_m` is the range of move_to_pose's z; `answers` maps a question's kind to what was chosen;
    `refusals` are sentences that earlier plans for this goal were refused with. What is `doubted`
    is never planned with: a question only says why it is none of the objects.
    """

    scene: SeenScene
    places: Mapping[str, Point] = field(default_factory=dict)
    area: Area = REACH
    holding: bool = False
    z_m: tuple[float, float] = (0.02, 0.07)
    speed_dps: float = 30.0
    max_tilt_deg: float = 25.0
    limits: Limits = CEILINGS
    block_height_m: float = BLOCK_HEIGHT_M  # 0: flat pictures, a block is then as high as wide
    answers: Mapping[str, str] = field(default_factory=dict)
    refusals: tuple[str, ...] = ()
    doubted: tuple[Doubted, ...] = ()
