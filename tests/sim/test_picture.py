from __future__ import annotations

import cv2
import numpy as np
import pytest

from armlabd.sim import jaws
from armlabd.sim.blocks import Bin, Block
from armlabd.sim.geometry import Joints, arm_points
from armlabd.sim.lens import Lens
from armlabd.sim.picture import Image, arm_shapes, render
from armlabd.sim.world import World
from armlabd.table import CAMERA, MARKERS, REACH

HOME: Joints = (0.0, -90.0, 60.0, 60.0, 0.0)
VIEW: Joints = (100.0, -90.0, 60.0, 60.0, 0.0)
LOW: Joints = (0.0, 5.0, 20.0, 65.0, 0.0)  # hand straight down, tool 15 mm up
SHUT = -10.0
SCALE_PX = 500 / 0.45  # pixels per metre on the table


def book_world() -> World:
    """The textbook's scene."""
    places = {"red": (0.22, 0.09), "blue": (0.15, -0.12), "green": (0.20, 0.00)}
    return World([Block(f"{name} block", x, y) for name, (x, y) in places.items()], None)


def coloured(image: Image, low: int, high: int, least_value: int = 70) -> Image:
    """Where the picture shows a strong colour of a hue, brighter than a level."""
    hsv = cv2.cvtColor(image, cv2.COLOR_BGR2HSV)
    mask = cv2.inRange(hsv, np.array([low, 120, least_value]), np.array([high, 255, 255]))
    return np.asarray(mask, np.uint8)


def middle(mask: Image) -> tuple[float, float]:
    v, u = np.nonzero(mask)
    return float(u.mean()), float(v.mean())


def table_pixel(x: float, y: float) -> tuple[float, float]:
    return 320 - SCALE_PX * y, 240 - SCALE_PX * (x - 0.20)


def test_a_picture_has_the_cameras_size_and_three_bytes_a_pixel():
    image = render(World(), VIEW, SHUT)
    assert image.shape == (480, 640, 3)
    assert image.dtype == np.uint8


@pytest.mark.parametrize("noise_seed", [None, 1, 7])
def test_all_four_markers_are_found_where_the_table_has_them(noise_seed):
    image = render(World(), VIEW, SHUT, noise_seed=noise_seed)
    dictionary = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
    corners, ids, _ = cv2.aruco.ArucoDetector(dictionary).detectMarkers(image)
    found = {int(i): c[0] for i, c in zip(ids.ravel(), corners, strict=True)}
    assert sorted(found) == [0, 1, 2, 3]
    for marker in MARKERS:
        wanted = [table_pixel(x, y) for x, y in marker.corners()]
        assert np.abs(found[marker.id] - np.array(wanted)).max() < 1.0


def test_noise_comes_from_its_seed_and_has_the_wanted_size():
    world = book_world()
    clean = render(world, VIEW, SHUT).astype(int)
    one = render(world, VIEW, SHUT, noise_seed=1)
    assert np.array_equal(one, render(world, VIEW, SHUT, noise_seed=1))
    assert not np.array_equal(one, render(world, VIEW, SHUT, noise_seed=2))
    patch = (one.astype(int) - clean)[20:40, 200:440]
    assert patch.std() == pytest.approx(4.0, rel=0.05)
    assert abs(patch.mean()) < 0.15
    assert clean[20:40, 200:440].min() == clean[20:40, 200:440].max() == 150


@pytest.mark.parametrize(
    ("x", "y", "hue"), [(0.20, 0.0, (45, 75)), (0.15, -0.12, (100, 130)), (0.22, 0.09, (0, 10))]
)
def test_the_flat_picture_shows_33_pixel_squares_on_the_table(x, y, hue):
    mask = coloured(render(book_world(), HOME, SHUT, noise_seed=1, flat=True), *hue)
    assert middle(mask) == pytest.approx(table_pixel(x, y), abs=0.34)  # 0.3 mm
    v, u = np.nonzero(mask)
    assert 33 <= np.ptp(u) + 1 <= 35
    assert 33 <= np.ptp(v) + 1 <= 35


def test_the_flat_picture_has_no_arm_and_no_bin():
    flat = render(World(), HOME, SHUT, flat=True)
    assert np.all(flat[200:280, 380:500] == 150)
    assert np.all(flat[440:, 200:440] == 150)


@pytest.mark.parametrize(
    ("x", "y", "hue"), [(0.20, 0.0, (45, 75)), (0.15, -0.12, (100, 130)), (0.26, 0.14, (0, 10))]
)
def test_a_blocks_top_is_seen_30_mm_nearer_and_so_farther_from_the_middle(x, y, hue):
    colour = {45: "green", 100: "blue", 0: "red"}[hue[0]]
    image = render(World([Block(f"{colour} block", x, y)], None), VIEW, SHUT)
    top = coloured(image, *hue, least_value=190)  # sides are darker
    u, v = 320 - 500 * y / 0.42, 240 - 500 * (x - 0.20) / 0.42
    assert middle(top) == pytest.approx((u, v), abs=0.4)
    assert np.sqrt(np.count_nonzero(top)) == pytest.approx(0.03 * 500 / 0.42, abs=0.8)


def test_off_the_middle_a_darker_side_shows_towards_the_lens_and_in_the_middle_none():
    off = render(World([Block("blue block", 0.20, 0.12)], None), VIEW, SHUT)
    every, top = coloured(off, 100, 130), coloured(off, 100, 130, least_value=190)
    side = every & ~top
    assert np.count_nonzero(side) > 100
    assert middle(side)[0] > middle(top)[0]  # the block is left of the lens, its side to the right
    centred = render(World([Block("blue block", 0.20, 0.0)], None), VIEW, SHUT)
    every, top = coloured(centred, 100, 130), coloured(centred, 100, 130, least_value=190)
    assert np.count_nonzero(every & ~top) <= 150  # the mixed pixels of its edge


def test_a_turned_block_shows_its_corners():
    square = coloured(render(World([Block("green block", 0.2, 0.0)], None), VIEW, SHUT), 45, 75)
    turned = World([Block("green block", 0.2, 0.0, yaw_deg=45.0)], None)
    diamond = coloured(render(turned, VIEW, SHUT), 45, 75)
    assert np.ptp(np.nonzero(diamond)[1]) > np.ptp(np.nonzero(square)[1]) * 1.3
    assert np.count_nonzero(diamond) == pytest.approx(np.count_nonzero(square), rel=0.05)


@pytest.mark.parametrize("pan", [95.0, 100.0, 105.0])
def test_the_view_pose_hides_nothing_of_the_working_area_nor_a_marker(pan):
    empty, seen = World([], None), (pan, *VIEW[1:])
    blank = render(empty, VIEW, SHUT, flat=True)
    for jaw in (SHUT, jaws.jaw_deg(50)):
        changed = np.any(render(empty, seen, jaw) != blank, axis=2)
        for height in (0.0, 0.03):  # blocks in the area may stand anywhere in it
            scale = 500 / (0.45 - height)
            left, right = (round(320 - scale * y) for y in (REACH.y_max, REACH.y_min))
            top, bottom = (round(240 - scale * (x - 0.20)) for x in (REACH.x_max, REACH.x_min))
            assert not changed[top - 18 : bottom + 18, left - 18 : right + 18].any()
        for marker in MARKERS:
            u, v = (round(c) for c in table_pixel(marker.x, marker.y))
            assert not changed[v - 36 : v + 36, u - 36 : u + 36].any()


def test_at_home_the_hand_hides_some_of_the_table():
    world = World([Block("green block", 0.20, 0.0)], None)
    at_home = coloured(render(world, HOME, SHUT), 45, 75)
    aside = coloured(render(world, VIEW, SHUT), 45, 75)
    assert np.count_nonzero(at_home) < 0.8 * np.count_nonzero(aside)


@pytest.mark.parametrize("q", [HOME, VIEW, LOW, (0.0, 0.0, 0.0, 0.0, 0.0), (-40.0, -40, 0, 0, 50)])
def test_the_arm_and_the_bin_have_no_colour_that_could_be_a_block(q):
    image = render(World([], Bin()), q, jaws.jaw_deg(50))
    assert cv2.cvtColor(image, cv2.COLOR_BGR2HSV)[..., 1].max() < 60


def test_the_bin_is_seen_where_it_stands_and_markers_stay_untouched():
    with_bin = render(World([], Bin(0.20, -0.10)), VIEW, SHUT)
    without = render(World([], None), VIEW, SHUT)
    v, u = np.nonzero(np.any(with_bin != without, axis=2))
    assert (u.min(), u.max()) == pytest.approx((375 - 3, 320 + 0.153 * 500 / 0.43), abs=3)
    assert (v.min(), v.max()) == pytest.approx((240 - 61.6, 240 + 61.6), abs=2)


def test_a_block_in_the_bin_is_seen():
    image = render(World([Block("red block", 0.20, -0.10)], Bin()), VIEW, SHUT)
    assert np.count_nonzero(coloured(image, 0, 10)) > 1000


def holding_green() -> tuple[World, Joints, float]:
    """A world whose green block the jaws have closed on."""
    tool = arm_points(LOW, SHUT).tool
    q = LOW
    world = World([Block("green block", tool[0] + 0.02, tool[1])], None)
    assert 0.005 < tool[2] < 0.03, "the pose of this test must be low over the table"
    jaw = jaws.jaw_deg(45)
    for _ in range(600):
        stop = world.step(0.002, q, jaw, True, (True,) * 6).grip_block_deg
        jaw = max(jaw - 0.2, -10.0 if stop is None else stop)
    assert world.held == "green block"
    return world, q, jaw


def test_a_held_block_is_drawn_raised_where_the_hand_has_it():
    world, _, jaw = holding_green()
    world.step(0.002, HOME, jaw, True, (True,) * 6)
    centre = world.solids()[0].centre
    assert centre[2] > 0.08
    u, v = Lens(CAMERA).pixels([centre])[0]
    mask = coloured(render(world, HOME, jaw), 45, 75)
    seen_u, seen_v = middle(mask)
    assert abs(seen_u - u) < 25
    assert abs(seen_v - v) < 25
    assert np.ptp(np.nonzero(mask)[1]) > 0.03 * 500 / 0.42  # nearer, so larger than on the table


def test_the_hand_is_over_a_block_that_lies_on_the_table_and_a_block_over_what_it_hides():
    shapes = arm_shapes(Lens(CAMERA), LOW, SHUT)
    wrist = min(shape.distance_m for shape in shapes)
    assert wrist < 0.42  # nearer to the lens than a block's top
    tool = arm_points(LOW, SHUT).tool
    world = World([Block("red block", tool[0] - 0.03, tool[1])], None)
    covered = np.count_nonzero(coloured(render(world, LOW, SHUT), 0, 10))
    assert covered < 0.7 * np.count_nonzero(coloured(render(world, VIEW, SHUT), 0, 10))
