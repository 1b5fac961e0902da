"""Every box format, written by an honest model, is undone to where the thing is in the frame."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.config.model import VisionConfig
from armlabd.perceive.boxes import (
    FORMATS,
    MOST_SIDE_PX,
    NAMES_ONLY,
    OUTSIDE,
    BoxFormat,
    Rect,
    Shown,
    show,
)

ALL = sorted(FORMATS)
FRAMES = {
    "wide": ((640, 480), Rect(36, 45, 604, 435)),
    "tall": ((480, 640), Rect(7, 12, 293, 633)),
    "square": ((500, 500), Rect(50, 50, 450, 450)),
    "odd": ((641, 479), Rect(1, 3, 538, 470)),
    "large": ((1920, 1080), Rect(100, 40, 1815, 1003)),
    "strip": ((640, 480), Rect(0, 200, 640, 263)),
}


def step_px(shown: Shown, side: int) -> float:
    """The finest step of the format in pixels of the frame along a side (0 across, 1 down)."""
    most = shown.form.most
    unit_px = 1.0 if most is None else shown.image.shape[1 - side] / most
    return shown.form.step * unit_px / shown.scale[side]


def written(shown: Shown, box: tuple[float, ...], digits: int | None = None) -> tuple[float, ...]:
    """What a model that sees exactly writes for a box of the frame; rounded to the form's step."""
    height, width = shown.image.shape[:2]
    left, top, right, bottom = (
        shown.part.left,
        shown.part.top,
        shown.part.right,
        shown.part.bottom,
    )
    side = max(right - left, bottom - top)
    across, down = (side, side) if shown.form.padded else (right - left, bottom - top)
    parts = [
        (value - corner) / length
        for value, corner, length in zip(box, (left, top) * 2, (across, down) * 2, strict=True)
    ]
    sides = (width, height) * 2
    numbers = [p * (shown.form.most or s) for p, s in zip(parts, sides, strict=True)]
    if digits is None:
        return tuple(numbers)
    return tuple(round(n / shown.form.step) * shown.form.step for n in numbers)


def painted(size: tuple[int, int], box: tuple[int, int, int, int]) -> np.ndarray:
    frame = np.full((size[1], size[0], 3), 120, np.uint8)
    frame[box[1] : box[3], box[0] : box[2]] = (0, 0, 255)
    return frame


def read_off(shown: Shown) -> tuple[float, ...]:
    """What a model that measures the picture it was given writes: the red rectangle's box."""
    red = (shown.image[:, :, 2] > 187) & (shown.image[:, :, 0] < 60)
    rows, columns = np.flatnonzero(red.any(axis=1)), np.flatnonzero(red.any(axis=0))
    pixels = (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
    height, width = shown.image.shape[:2]
    if shown.form.most is None:
        return tuple(float(p) for p in pixels)
    most = shown.form.most
    return tuple(p / side * most for p, side in zip(pixels, (width, height) * 2, strict=True))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("frame", sorted(FRAMES))
def test_a_painted_block_is_found_again_where_it_was_painted(name: str, frame: str) -> None:
    size, part = FRAMES[frame]
    left, top = part.left + 90, part.top + 11
    box = (left, top, left + 41, top + 37)
    shown = show(painted(size, box), part, FORMATS[name])
    found, faults = shown.undo(read_off(shown))
    assert not faults
    resized_px = [0.0 if s == 1.0 else 1.0 / s for s in shown.scale] * 2
    for got, true, slack in zip(found, box, resized_px, strict=True):
        assert abs(got - true) <= slack + 1e-9


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("frame", sorted(FRAMES))
def test_a_box_is_undone_exactly_and_a_rounded_one_within_half_a_step(
    name: str, frame: str
) -> None:
    size, part = FRAMES[frame]
    shown = show(np.zeros((size[1], size[0], 3), np.uint8), part, FORMATS[name])
    box = (part.left + 3.25, part.top + 5.5, part.left + 47.0, part.top + 44.75)
    exact, faults = shown.undo(written(shown, box))
    assert not faults
    assert exact == pytest.approx(box, abs=1e-6)
    rounded, faults = shown.undo(written(shown, box, digits=0))
    assert not faults
    for n, (got, true) in enumerate(zip(rounded, box, strict=True)):
        assert abs(got - true) <= step_px(shown, n % 2) / 2 + 1e-6


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("frame", sorted(FRAMES))
def test_the_edges_are_inside_after_rounding_and_a_step_further_is_not(
    name: str, frame: str
) -> None:
    size, part = FRAMES[frame]
    shown = show(np.zeros((size[1], size[0], 3), np.uint8), part, FORMATS[name])
    whole = (part.left, part.top, part.right, part.bottom)
    box, faults = shown.undo(written(shown, whole, digits=0))
    assert not faults
    for n, (got, true) in enumerate(zip(box, whole, strict=True)):
        assert abs(got - true) <= step_px(shown, n % 2) / 2 + 1e-6
        assert whole[n % 2] <= got <= whole[n % 2 + 2]
    for n, sign in enumerate((-1, -1, 1, 1)):
        beyond = list(whole)
        beyond[n] += sign * (step_px(shown, n % 2) * 0.51 + 1e-3)
        assert shown.undo(written(shown, tuple(beyond)))[1] == (OUTSIDE,)


@settings(max_examples=150, deadline=None)
@given(
    name=st.sampled_from(ALL),
    frame=st.sampled_from(sorted(FRAMES)),
    at=st.tuples(*[st.floats(0, 1)] * 4),
)
def test_no_box_of_the_picture_is_called_outside_by_rounding(
    name: str, frame: str, at: tuple[float, float, float, float]
) -> None:
    size, part = FRAMES[frame]
    shown = show(np.zeros((size[1], size[0], 3), np.uint8), part, FORMATS[name])
    width, height = part.size
    box = (
        part.left + at[0] * width,
        part.top + at[1] * height,
        part.left + at[2] * width,
        part.top + at[3] * height,
    )
    found, faults = shown.undo(written(shown, box, digits=0))
    assert not faults
    for n, (got, true) in enumerate(zip(found, box, strict=True)):
        assert abs(got - true) <= step_px(shown, n % 2) / 2 + 1e-5


@pytest.mark.parametrize("name", ALL)
def test_reversed_corners_stay_reversed_so_that_they_are_refused(name: str) -> None:
    size, part = FRAMES["wide"]
    shown = show(np.zeros((size[1], size[0], 3), np.uint8), part, FORMATS[name])
    x1, y1, x2, y2 = written(shown, (200, 200, 240, 240))
    (left, top, right, bottom), _ = shown.undo((x2, y2, x1, y1))
    assert left > right
    assert top > bottom


def test_the_pictures_have_the_form_that_the_names_promise() -> None:
    size, part = FRAMES["wide"]
    frame = np.full((size[1], size[0], 3), 255, np.uint8)
    plain = show(frame, part, FORMATS["pixels"]).image
    assert plain.shape == (390, 568, 3)
    padded = show(frame, part, FORMATS["thousand-padded"]).image
    assert padded.shape == (568, 568, 3)
    assert np.array_equal(padded[:390], plain)
    assert not padded[390:].any()
    resized = show(frame, part, FORMATS["pixels-resized"]).image
    assert resized.shape == (392, 560, 3)
    assert all(side % 28 == 0 for side in resized.shape[:2])


@pytest.mark.parametrize("name", ALL)
def test_no_model_is_shown_more_than_it_can_use(name: str) -> None:
    size, part = FRAMES["large"]
    shown = show(np.zeros((size[1], size[0], 3), np.uint8), part, FORMATS[name])
    assert max(shown.image.shape) <= MOST_SIDE_PX + 28 / 2


def test_a_picture_is_shown_pixel_by_pixel_where_nothing_makes_it_smaller() -> None:
    frame = np.random.default_rng(3).integers(0, 255, (480, 640, 3), np.uint8)
    part = Rect(10, 20, 300, 330)
    assert np.array_equal(show(frame, part, FORMATS["unit"]).image, frame[20:330, 10:300])
    assert cv2.imencode(".png", show(frame, part, FORMATS["unit"]).image)[0]


def test_every_format_of_the_settings_is_known_and_no_other() -> None:
    wanted = VisionConfig.model_json_schema()["properties"]["box_format"]["enum"]
    assert set(wanted) == {"auto", NAMES_ONLY, *FORMATS}


def test_a_format_says_what_the_far_edge_is_called() -> None:
    frame, part = np.zeros((480, 640, 3), np.uint8), Rect(0, 0, 640, 480)
    assert show(frame, part, BoxFormat("pixels")).far_edge() == 640
    assert show(frame, part, FORMATS["unit"]).far_edge() == 1
    assert show(frame, part, FORMATS["thousand-padded"]).far_edge() == 1000
