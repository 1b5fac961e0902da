"""Pictures drawn for these tests alone, from the pinhole formula, apart from the virtual arm's."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from armlabd.clock import VirtualClock
from armlabd.perceive.camera import Frame
from armlabd.perceive.scene import SceneSettings
from armlabd.table import CAMERA, MARKERS

TESTS = str(Path(__file__).parents[1])
if TESTS not in sys.path:
    sys.path.insert(0, TESTS)  # sight_stand_in lies one folder up

BGR = {"red block": (0, 0, 255), "green block": (0, 200, 0), "blue block": (255, 0, 0)}
SHIFT = 4  # sub-pixel bits of OpenCV's polygon filler


@dataclass(frozen=True)
class Block:
    label: str
    x: float
    y: float
    yaw_deg: float = 0.0


TEXTBOOK = (
    Block("red block", 0.22, 0.09),
    Block("blue block", 0.15, -0.12),
    Block("green block", 0.20, 0.00),
)


def pixel(x: float, y: float, z: float = 0.0) -> tuple[float, float]:
    scale = CAMERA.focal_px / (CAMERA.height_m - z)
    return (
        CAMERA.width_px / 2 - scale * (y - CAMERA.y),
        CAMERA.height_px / 2 - scale * (x - CAMERA.x),
    )


def empty_table(
    skip: tuple[int, ...] = (), moved: dict[int, float] | None = None, card: float = 0.15
) -> np.ndarray:
    """Gray table with the markers; `skip` leaves some out, `moved` shifts some along x (m).

    `card` is the white around a marker, as a part of its edge.
    """
    rim = round(200 * card)
    picture = np.full((CAMERA.height_px, CAMERA.width_px, 3), 150, np.uint8)
    dictionary = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
    for marker in MARKERS:
        if marker.id in skip:
            continue
        tag = cv2.aruco.generateImageMarker(dictionary, marker.id, 200)
        tag = cv2.copyMakeBorder(tag, rim, rim, rim, rim, cv2.BORDER_CONSTANT, value=255)
        shift = (moved or {}).get(marker.id, 0.0)
        goal = np.float32([pixel(x + shift, y) for x, y in marker.corners()])
        source = np.float32(
            [[rim, rim], [200 + rim, rim], [200 + rim, 200 + rim], [rim, 200 + rim]]
        )
        warp = cv2.getPerspectiveTransform(source, goal)
        size = (CAMERA.width_px, CAMERA.height_px)
        laid = cv2.warpPerspective(cv2.cvtColor(tag, cv2.COLOR_GRAY2BGR), warp, size)
        where = cv2.warpPerspective(np.full(tag.shape[:2], 255, np.uint8), warp, size)
        picture[where > 127] = laid[where > 127]
    return picture


def with_noise(picture: np.ndarray, seed: int = 1) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(0, 4, picture.shape)
    return np.clip(picture + noise, 0, 255).astype(np.uint8)


def textbook_picture(blocks: tuple[Block, ...] = TEXTBOOK, seed: int = 1) -> np.ndarray:
    """The textbook's flat picture: blocks are squares that lie in the table plane."""
    picture = empty_table()
    for block in blocks:
        u, v = pixel(block.x, block.y)
        half = CAMERA.focal_px / CAMERA.height_m * 0.015
        first, last = (round(u - half), round(v - half)), (round(u + half), round(v + half))
        cv2.rectangle(picture, first, last, BGR[block.label], -1)
    return with_noise(picture, seed)


def corners_of(block: Block, size_m: float) -> list[tuple[float, float]]:
    turn, half = np.radians(block.yaw_deg), size_m / 2
    return [
        (
            block.x + half * (a * np.cos(turn) - b * np.sin(turn)),
            block.y + half * (a * np.sin(turn) + b * np.cos(turn)),
        )
        for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))
    ]


def fill(picture: np.ndarray, points: list[tuple[float, float]], colour: tuple) -> None:
    scaled = np.round(np.array(points) * (1 << SHIFT)).astype(np.int32)
    cv2.fillConvexPoly(picture, scaled, colour, cv2.LINE_8, SHIFT)


def raised_picture(
    blocks: tuple[Block, ...],
    seed: int = 1,
    shades: tuple[float, float] = (0.65, 0.5),
    height_m: float = 0.03,
    size_m: float = 0.03,
) -> np.ndarray:
    """Blocks as boxes in true perspective; sides are drawn at two shades of the top's colour."""
    picture = empty_table()
    for block in sorted(blocks, key=lambda b: -np.hypot(b.x - CAMERA.x, b.y - CAMERA.y)):
        foot = corners_of(block, size_m)
        colour = np.array(BGR[block.label])
        for number, (a, b) in enumerate(pairwise([*foot, foot[0]])):
            face = [pixel(*a), pixel(*b), pixel(*b, height_m), pixel(*a, height_m)]
            fill(picture, face, tuple(float(c) for c in colour * shades[number % 2]))
        fill(picture, [pixel(*c, height_m) for c in foot], BGR[block.label])
    return with_noise(picture, seed)


def random_blocks(rng: np.random.Generator, size_m: float = 0.03) -> tuple[Block, ...]:
    """One to three blocks of different colours anywhere in reach, not touching."""
    blocks: list[Block] = []
    for label in rng.permutation(list(BGR))[: rng.integers(1, 4)]:
        while True:
            x, y = rng.uniform(0.10, 0.28), rng.uniform(-0.15, 0.15)
            if all(np.hypot(x - b.x, y - b.y) > 2.2 * size_m for b in blocks):
                break
        blocks.append(Block(str(label), x, y, rng.uniform(-45, 45)))
    return tuple(blocks)


FLAT = SceneSettings(block_height_m=0.0)
RAISED = SceneSettings()


def frame_of(picture: np.ndarray, taken_s: float = 0.0) -> Frame:
    return Frame(picture, taken_s, "test")


@pytest.fixture
def draw() -> SimpleNamespace:
    """The drawing functions above, for tests that cannot import this file."""
    return SimpleNamespace(
        Block=Block,
        TEXTBOOK=TEXTBOOK,
        FLAT=FLAT,
        RAISED=RAISED,
        pixel=pixel,
        empty_table=empty_table,
        with_noise=with_noise,
        textbook=textbook_picture,
        raised=raised_picture,
        random_blocks=random_blocks,
        frame=frame_of,
    )


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(100.0)
