"""What leaves the daemon's memory for a model or a disk is the table, and nothing around it."""

from __future__ import annotations

from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from armlabd.perceive.boxes import Rect
from armlabd.perceive.camera import Frame
from armlabd.perceive.errors import MarkerError
from armlabd.perceive.scene import Scene, observe
from armlabd.perceive.view import only_inside, rect_of, view
from armlabd.table import MARKERS

ROOM = (10, 20, 30)


def with_room(picture: np.ndarray) -> np.ndarray:
    """Something of its own colour wherever no tag and no block lies: the rim of the picture."""
    room = picture.copy()
    room[:30], room[-30:], room[:, :25], room[:, -25:] = ROOM, ROOM, ROOM, ROOM
    return room


def turned(picture: np.ndarray) -> np.ndarray:
    """The same table by a camera that hangs askew, so that no edge is level."""
    source = np.float32([[0, 0], [640, 0], [640, 480], [0, 480]])
    goal = np.float32([[60, 30], [600, 5], [630, 470], [10, 440]])
    warp = cv2.getPerspectiveTransform(source, goal)
    return cv2.warpPerspective(picture, warp, (640, 480), borderValue=ROOM)


def same(scene: Scene, other: Scene) -> bool:
    """The same places, to a tenth of a millimetre."""
    return len(scene.objects) == len(other.objects) and all(
        a.label == b.label and abs(a.x - b.x) < 1e-4 and abs(a.y - b.y) < 1e-4
        for a, b in zip(scene.objects, other.objects, strict=True)
    )


@pytest.mark.parametrize("hang", [lambda p: p, turned], ids=["level", "askew"])
def test_nothing_of_the_room_is_left_and_every_pixel_of_the_workspace_is(
    draw: SimpleNamespace, hang: object
) -> None:
    picture = hang(with_room(draw.raised(draw.TEXTBOOK)))  # type: ignore[operator]
    seen = view(draw.frame(picture), draw.RAISED)
    kept = seen.table.image
    assert not (kept == ROOM).all(axis=2).any()
    corners = np.array([[x, y] for x in (0.10, 0.28) for y in (-0.15, 0.15)])
    area = np.round(seen.homography.to_pixels(corners[[0, 1, 3, 2]])).astype(np.int32)
    inside = cv2.fillConvexPoly(np.zeros(kept.shape[:2], np.uint8), area, 1) > 0
    assert np.array_equal(kept[inside], picture[inside])
    assert not kept[0].any()
    assert not kept[:, 0].any()


def test_a_kept_picture_can_be_measured_again_and_shows_the_same_scene(
    draw: SimpleNamespace,
) -> None:
    seen = view(draw.frame(with_room(draw.raised(draw.TEXTBOOK))), draw.RAISED)
    again = observe(Frame(seen.table.image, 0.0, "kept"), draw.RAISED)
    assert len(seen.scene.objects) == 3
    assert same(again, seen.scene)


def test_the_part_holds_the_markers_and_is_smaller_than_the_picture(draw: SimpleNamespace) -> None:
    seen = view(draw.frame(draw.empty_table()), draw.RAISED)
    left, top, right, bottom = seen.part.left, seen.part.top, seen.part.right, seen.part.bottom
    for marker in MARKERS:
        for x, y in marker.corners():
            u, v = draw.pixel(x, y)
            assert left <= u <= right
            assert top <= v <= bottom
    assert (right - left) * (bottom - top) < 0.85 * 640 * 480


def test_an_outline_beyond_the_pictures_rim_keeps_the_part_inside_it() -> None:
    beyond = np.array([[-12.5, -3.0], [570.2, -3.0], [570.2, 400.0], [-12.5, 400.0]])
    image = np.full((386, 564, 3), 200, np.uint8)
    assert rect_of(beyond, image) == Rect(0, 0, 564, 386)
    assert np.array_equal(only_inside(image, beyond), image)


def test_without_markers_there_is_no_view_so_nothing_is_kept(draw: SimpleNamespace) -> None:
    with pytest.raises(MarkerError, match="Marker 2 was not seen"):
        view(draw.frame(draw.empty_table(skip=(2,))), draw.RAISED)
