"""What the table looks like: markers, camera, blocks, places. Base frame: x forward, y left, m.

Figures: the textbook's synthetic table (its chapter 14). A picture has its origin at the top left,
u to the right (the base's -y), v down (the base's -x).
"""

from __future__ import annotations

from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Marker:
    """One printed square tag (ArUco DICT_4X4_50) lying on the table."""

    id: int
    x: float  # m, centre
    y: float  # m, centre
    size_m: float = 0.05  # outer edge of the black square

    def corners(self) -> tuple[Point, Point, Point, Point]:
        """Base-frame corners in OpenCV's order: top left first as the camera sees it."""
        half = self.size_m / 2
        signs = ((1, 1), (1, -1), (-1, -1), (-1, 1))
        return tuple((self.x + sx * half, self.y + sy * half) for sx, sy in signs)  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class CameraModel:
    """A pinhole camera that looks straight down; image up = +x, image right = -y."""

    width_px: int = 640
    height_px: int = 480
    focal_px: float = 500.0
    x: float = 0.20  # m, the point under the lens
    y: float = 0.0
    height_m: float = 0.45  # m above the table


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """A kind of object that may lie on the table, known by its colour and its size."""

    label: str
    hue: tuple[tuple[int, int], ...]  # inclusive ranges, OpenCV hue 0..179
    size_m: float = 0.03  # edge of the square seen from above


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle of the table, ends inside, in metres."""

    x_min: float = 0.10
    x_max: float = 0.28
    y_min: float = -0.15
    y_max: float = 0.15

    def contains(self, x: float, y: float) -> bool:
        """True for a point inside or on the edge."""
        return self.x_min <= x <= self.x_max and self.y_min <= y <= self.y_max


MARKERS: tuple[Marker, ...] = (
    Marker(0, 0.06, 0.22),
    Marker(1, 0.06, -0.22),
    Marker(2, 0.34, 0.22),
    Marker(3, 0.34, -0.22),
)
CAMERA = CameraModel()
OBJECTS: tuple[ObjectKind, ...] = (
    ObjectKind("red block", ((0, 10), (170, 179))),
    ObjectKind("green block", ((45, 75),)),
    ObjectKind("blue block", ((100, 130),)),
)
PLACES: dict[str, Point] = {"bin": (0.20, -0.10)}
REACH = Area()
BLOCK_HEIGHT_M = 0.03
MIN_SATURATION = 120  # a block's colour, OpenCV 0..255
MIN_VALUE = 70
