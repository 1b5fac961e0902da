"""What the camera above the virtual table sees.

The textbook's camera: a pinhole looking straight down, image up = +x, image right = -y, with four
printed markers on a gray table. Blocks have height here, so that their sides show and their tops
lie nearer to the lens; `flat=True` gives the textbook's own picture with squares on the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

import cv2
import numpy as np

from armlabd.sim import jaws
from armlabd.sim.blocks import BGR, Bin, Solid
from armlabd.sim.geometry import Frame, Joints, Links, Points, Vec, in_hand, link_frames, points_of
from armlabd.sim.lens import SCALE, Image, Lens, Shape, faces, fill, lump, paint, rod, shrink
from armlabd.sim.world import World
from armlabd.table import CAMERA, MARKERS, CameraModel

TABLE_GRAY = 150
SIGMA = 4.0  # gray levels of noise
_BELL = tuple(NormalDist().inv_cdf((level + 0.5) / 256) for level in range(256))
_TAG_PX = 200
_RIM_PX = 30
_BACKGROUND_SCALE = 4
_FLOOR: BGR = (172, 176, 178)  # the bin's floor and walls: hardly any colour
_WALL: BGR = (112, 116, 118)
_LINK: BGR = (62, 58, 56)  # the arm: dark, hardly any colour
_HAND: BGR = (48, 46, 45)
_JAW: BGR = (78, 76, 74)
_BASE: BGR = (40, 40, 42)


def render(
    world: World,
    q_deg: Joints,
    jaw_deg: float,
    camera: CameraModel = CAMERA,
    noise_seed: int | None = None,
    sigma: float = SIGMA,
    flat: bool = False,
) -> Image:
    """A picture, blue-green-red, of the table, the blocks and the arm as they stand.

    `noise_seed` None leaves the noise out. `flat` shows the textbook's table: blocks as flat
    squares, neither bin nor arm.
    """
    solids = world.solids()
    image = draw_flat(solids, camera) if flat else draw(solids, world.bin, q_deg, jaw_deg, camera)
    return image if noise_seed is None else noisy(image, noise_seed, sigma)


def draw(
    solids: Sequence[Solid],
    bin_: Bin | None,
    q_deg: Joints,
    jaw_deg: float,
    camera: CameraModel = CAMERA,
) -> Image:
    """The picture without noise, from a snapshot of the world; may run in another thread."""
    lens = Lens(camera)
    canvas = _background(camera, bin_).copy()
    shapes = arm_shapes(lens, q_deg, jaw_deg)
    for solid in solids:
        shapes += faces(lens, solid)
    if bin_ is not None:
        shapes += _walls(lens, bin_)
    paint(canvas, shapes)
    return shrink(canvas, camera)


def draw_flat(solids: Sequence[Solid], camera: CameraModel = CAMERA) -> Image:
    """The textbook's picture without noise: blocks as squares on the table, nothing else."""
    canvas = _background(camera, None).copy()
    _flat_blocks(canvas, solids, Lens(camera))
    return shrink(canvas, camera)


def noisy(image: Image, seed: int, sigma: float = SIGMA) -> Image:
    """The picture with Gaussian noise; the same seed gives the same noise.

    A random byte picks one of 256 equally likely levels of the bell curve: five times as fast as
    a true normal number per pixel, and no different to an eye or a threshold.
    """
    draws = np.frombuffer(np.random.default_rng(seed).bytes(image.size), np.uint8)
    levels = np.rint(np.array(_BELL) * sigma).astype(np.int16)
    noise = levels[draws].reshape(image.shape)
    return np.asarray(cv2.add(image, noise, dtype=cv2.CV_8U), np.uint8)


def _flat_blocks(canvas: Image, solids: Sequence[Solid], lens: Lens) -> None:
    for solid in solids:
        c, half = solid.centre, solid.half_m[0]
        u, v = solid.axes[0], solid.axes[1]
        corners: list[Vec] = [
            (c[0] + half * (a * u[0] + b * v[0]), c[1] + half * (a * u[1] + b * v[1]), 0.0)
            for a, b in ((1, 1), (1, -1), (-1, -1), (-1, 1))
        ]
        fill(canvas, lens.pixels(corners), solid.colour, SCALE)


# --- what never moves


@lru_cache(maxsize=8)
def _background(camera: CameraModel, bin_: Bin | None) -> Image:
    """Table, markers and the bin's floor, at SCALE times the picture's size."""
    lens, scale = Lens(camera), _BACKGROUND_SCALE
    size = (camera.height_px * scale, camera.width_px * scale)
    canvas: Image = np.full((*size, 3), TABLE_GRAY, np.uint8)
    for marker in MARKERS:
        _print_marker(canvas, lens, marker.id, marker.corners(), scale)
    if bin_ is not None:
        half = bin_.inner_m / 2
        corners: list[Vec] = [
            (bin_.x + a * half, bin_.y + b * half, 0.0)
            for a, b in ((1, 1), (1, -1), (-1, -1), (-1, 1))
        ]
        fill(canvas, lens.pixels(corners), _FLOOR, scale)
    half_size = (camera.width_px * SCALE, camera.height_px * SCALE)
    return np.asarray(cv2.resize(canvas, half_size, interpolation=cv2.INTER_AREA), np.uint8)


def _print_marker(
    canvas: Image,
    lens: Lens,
    number: int,
    corners: tuple[tuple[float, float], ...],
    scale: int,
) -> None:
    """Lay one tag with its white rim on the table."""
    dictionary = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
    tag = cv2.aruco.generateImageMarker(dictionary, number, _TAG_PX)
    paper = np.full((_TAG_PX + 2 * _RIM_PX,) * 2, 255, np.uint8)
    paper[_RIM_PX:-_RIM_PX, _RIM_PX:-_RIM_PX] = tag
    # Corners are the tag's outer edges, half a pixel outside its outermost pixel centres.
    low, high = _RIM_PX - 0.5, _RIM_PX + _TAG_PX - 0.5
    source = np.array([[low, low], [high, low], [high, high], [low, high]], np.float32)
    at = lens.pixels([(x, y, 0.0) for x, y in corners]) * scale + (scale - 1) / 2
    warp = cv2.getPerspectiveTransform(source, at.astype(np.float32))
    size = (canvas.shape[1], canvas.shape[0])
    printed = cv2.warpPerspective(paper, warp, size)
    covered = cv2.warpPerspective(np.full_like(paper, 255), warp, size) > 127
    canvas[covered] = printed[covered][:, None]


def _box(low: Vec, high: Vec) -> list[Vec]:
    return [
        (x, y, z) for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])
    ]


def _walls(lens: Lens, bin_: Bin) -> list[Shape]:
    """The bin's four walls."""
    inner, outer = bin_.inner_m / 2, bin_.inner_m / 2 + bin_.wall_m
    x, y, top = bin_.x, bin_.y, bin_.height_m
    spans = (
        ((-outer, -outer), (-inner, outer)), ((inner, -outer), (outer, outer)),
        ((-outer, -outer), (outer, -inner)), ((-outer, inner), (outer, outer)),
    )  # fmt: skip
    return [
        lump(lens, _box((x + a, y + b, 0.0), (x + c, y + d, top)), _WALL)
        for (a, b), (c, d) in spans
    ]


# --- the arm


def arm_shapes(lens: Lens, q_deg: Joints, jaw_deg: float) -> list[Shape]:
    """The arm's outline, cut small enough to be sorted among the blocks by distance."""
    links = link_frames(q_deg)
    points = points_of(links, jaw_deg)
    base = lump(lens, _box((-0.03, -0.035, 0.0), (0.072, 0.035, 0.06)), _BASE)
    return [base, *_link_shapes(lens, links, points), *_jaw_shapes(lens, links.gripper, jaw_deg)]


def _link_shapes(lens: Lens, links: Links, points: Points) -> list[Shape]:
    hand = links.gripper
    pan: Vec = (links.shoulder[3], links.shoulder[7], links.shoulder[11])
    palm = in_hand(hand, 0.0, 0.010, 0.035)
    return [
        *rod(lens, pan, points.shoulder, (0.030, 0.026), _LINK),
        *rod(lens, points.shoulder, points.elbow, (0.022, 0.022), _LINK),
        *rod(lens, points.elbow, points.wrist, (0.020, 0.020), _LINK),
        *rod(lens, points.wrist, points.roll_origin, (0.020, 0.020), _LINK),
        *rod(lens, points.roll_origin, palm, (0.024, 0.020), _HAND),
    ]


def _jaw_shapes(lens: Lens, hand: Frame, jaw_deg: float) -> list[Shape]:
    """Both jaws as bars 16 mm wide, in three pieces each from the palm to the tip."""
    tip_opening, tip_depth = jaws.moving_tip(jaw_deg)
    fixed = ((-0.008, 0.030), (0.0, jaws.FIXED_TIP_DEPTH_M))
    moving = ((jaws.HINGE_OPENING_M + 0.003, jaws.HINGE_DEPTH_M), (tip_opening, tip_depth))
    shapes: list[Shape] = []
    for part in range(3):
        low, high = part / 3, (part + 1) / 3
        ends = [_between(fixed[0], fixed[1], t) for t in (low, high)]
        bar = [(-0.008, ends[0][1]), (0.0, ends[0][1]), (-0.008, ends[1][1]), (0.0, ends[1][1])]
        shapes.append(_bar(lens, hand, bar))
        inner = [_between(moving[0], moving[1], t) for t in (low, high)]
        shapes.append(_bar(lens, hand, [*inner, *(_outside(moving, at) for at in inner)]))
    return shapes


def _between(a: tuple[float, float], b: tuple[float, float], t: float) -> tuple[float, float]:
    return (a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t)


def _outside(
    jaw: tuple[tuple[float, float], tuple[float, float]], at: tuple[float, float]
) -> tuple[float, float]:
    """The point of the moving jaw's back opposite a point of its inner face, 8 mm away."""
    along = (jaw[1][0] - jaw[0][0], jaw[1][1] - jaw[0][1])
    length = max(1e-9, float(np.hypot(*along)))
    return (at[0] + 0.008 * along[1] / length, at[1] - 0.008 * along[0] / length)


def _bar(lens: Lens, hand: Frame, outline: list[tuple[float, float]]) -> Shape:
    corners = [
        in_hand(hand, across, opening, depth)
        for opening, depth in outline
        for across in (-0.008, 0.008)
    ]
    return lump(lens, corners, _JAW)
