"""The virtual camera's projection, and drawing filled shapes in order of their distance.

Drawing is done at twice the picture's size and shrunk at the end, so that edges fall between
pixels without a bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from armlabd.sim.blocks import BGR, Solid
from armlabd.sim.geometry import Vec
from armlabd.table import CameraModel

Image = NDArray[np.uint8]
Pixels = NDArray[np.float64]  # N x 2: u to the right, v down

SCALE = 2  # drawn pixels per picture pixel, each way
_NEAR_M = 0.04  # what comes nearer to the lens than this is drawn as if it were this near
_SIDE_LIGHT = 0.55  # brightness of an upright face; a level one has 1
_SUBPIXEL_BITS = 4
_CIRCLE = np.stack(
    [np.cos(np.linspace(0, 2 * np.pi, 16, False)), np.sin(np.linspace(0, 2 * np.pi, 16, False))], 1
)


class Shape(NamedTuple):
    """A filled outline and how far from the lens it lies."""

    distance_m: float
    outline: Pixels
    colour: BGR


class Lens:
    """Projects base-frame points for one camera that looks straight down."""

    def __init__(self, camera: CameraModel) -> None:
        self.camera = camera
        self.centre = np.array([camera.x, camera.y, camera.height_m])

    def pixels(self, points: Sequence[Vec] | NDArray[np.float64]) -> Pixels:
        """Picture coordinates of points in metres; whole numbers are pixel centres."""
        camera = self.camera
        at = np.asarray(points, np.float64)
        scale = camera.focal_px / np.maximum(camera.height_m - at[:, 2], _NEAR_M)
        u = camera.width_px / 2 - scale * (at[:, 1] - camera.y)
        v = camera.height_px / 2 - scale * (at[:, 0] - camera.x)
        return np.stack([u, v], 1)

    def distance_m(self, point: Sequence[float] | NDArray[np.float64]) -> float:
        """How far a point lies from the lens."""
        return float(np.linalg.norm(np.asarray(point) - self.centre))

    def ball_pixels(self, centre: Vec, radius_m: float) -> Pixels:
        """The outline of a ball, taken as a circle."""
        height = max(self.camera.height_m - centre[2], _NEAR_M)
        radius_px = radius_m * self.camera.focal_px / height
        return np.asarray(self.pixels([centre])[0] + _CIRCLE * radius_px)


def rod(lens: Lens, start: Vec, end: Vec, radii_m: tuple[float, float], colour: BGR) -> list[Shape]:
    """A round link, cut into short pieces so that each can be sorted by its own distance."""
    a, b = np.array(start), np.array(end)
    pieces = max(1, int(np.linalg.norm(b - a) / 0.025))
    stops = np.linspace(0.0, 1.0, pieces + 1)
    balls = [
        lens.ball_pixels(tuple(a + (b - a) * t), radii_m[0] + (radii_m[1] - radii_m[0]) * t)
        for t in stops
    ]
    middles = [a + (b - a) * (t + 0.5 / pieces) for t in stops[:-1]]
    return [
        Shape(lens.distance_m(middle), hull(np.concatenate([one, two])), colour)
        for middle, one, two in zip(middles, balls[:-1], balls[1:], strict=True)
    ]


def lump(lens: Lens, corners: Sequence[Vec], colour: BGR) -> Shape:
    """A convex body in one colour."""
    middle = np.mean(np.array(corners), axis=0)
    return Shape(lens.distance_m(middle), hull(lens.pixels(corners)), colour)


def hull(points: Pixels) -> Pixels:
    """The convex outline around picture points."""
    return np.asarray(cv2.convexHull(points.astype(np.float32))[:, 0, :], np.float64)


def faces(lens: Lens, solid: Solid) -> list[Shape]:
    """The faces of a box that the lens sees; upright ones are darker."""
    centre = np.array(solid.centre)
    axes, half = np.array(solid.axes), np.array(solid.half_m)
    distance = lens.distance_m(centre)
    shapes: list[Shape] = []
    for index in range(3):
        for sign in (-1.0, 1.0):
            normal = sign * axes[index]
            middle = centre + normal * half[index]
            if normal @ (lens.centre - middle) <= 0:
                continue
            j, k = (index + 1) % 3, (index + 2) % 3
            u, v = axes[j] * half[j], axes[k] * half[k]
            outline = lens.pixels(
                np.array([middle + u + v, middle + u - v, middle - u - v, middle - u + v])
            )
            shapes.append(Shape(distance, outline, _lit(solid.colour, normal)))
    return shapes


def _lit(colour: BGR, normal: NDArray[np.float64]) -> BGR:
    """A colour as bright as its face is level, with a little light from the front left."""
    upright = _SIDE_LIGHT + 0.06 * float(normal[0] + normal[1])
    light = min(1.0, upright + (1.0 - upright) * max(0.0, float(normal[2])))
    return (round(colour[0] * light), round(colour[1] * light), round(colour[2] * light))


def paint(canvas: Image, shapes: Sequence[Shape]) -> None:
    """Fill shapes on a canvas of SCALE times the picture's size, the farthest first."""
    for shape in sorted(shapes, key=lambda one: -one.distance_m):
        fill(canvas, shape.outline, shape.colour, SCALE)


def fill(canvas: Image, outline: Pixels, colour: BGR, scale: int) -> None:
    """Fill one convex outline, given in picture pixels, on a canvas `scale` times as large."""
    # A pixel of the picture is scale x scale drawn ones around its own centre.
    at = outline * scale + (scale - 1) / 2
    whole = np.round(np.clip(at, -4000, 8000) * (1 << _SUBPIXEL_BITS)).astype(np.int32)
    cv2.fillConvexPoly(canvas, whole, colour, cv2.LINE_8, _SUBPIXEL_BITS)


def shrink(canvas: Image, camera: CameraModel) -> Image:
    """The canvas at the picture's own size."""
    size = (camera.width_px, camera.height_px)
    return np.asarray(cv2.resize(canvas, size, interpolation=cv2.INTER_AREA), np.uint8)
