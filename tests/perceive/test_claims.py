from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from armlabd.perceive.claims import Box, Claim, ClaimRules, Judged, check_claim
from armlabd.perceive.height import TABLE_LENS, Lens
from armlabd.perceive.markers import Homography, find_homography
from armlabd.table import Area

# The textbook's camera written down: x = 0.20 - 0.0009 (v - 240), y = 0.0009 (320 - u).
EXACT = Homography(np.array([[0, -9e-4, 0.416], [-9e-4, 0, 0.288], [0, 0, 1.0]]), 0.0)


def judge(box: Box, rules: ClaimRules | None = None, label: str = "red block") -> Judged:
    return check_claim(Claim(label, box, "model"), EXACT, rules or ClaimRules())


def around(u: float, v: float, side: float = 33.0) -> Box:
    return (u - side / 2, v - side / 2, u + side / 2, v + side / 2)


@pytest.mark.parametrize(
    ("box", "point", "truth", "error_mm"),
    [
        ((204, 200, 239, 235), (0.220, 0.089), (0.22, 0.09), 1.4),
        ((301, 224, 341, 260), (0.198, -0.001), (0.20, 0.00), 2.0),
        ((435, 275, 468, 312), (0.152, -0.118), (0.15, -0.12), 2.5),
    ],
)
def test_the_textbooks_boxes_give_the_textbooks_points_and_errors(
    draw: SimpleNamespace, box: Box, point: tuple, truth: tuple, error_mm: float
) -> None:
    homography = find_homography(draw.textbook(), draw.FLAT.markers)
    assert isinstance(homography, Homography)
    judged = check_claim(Claim("a block", box, "model"), homography, ClaimRules())
    assert judged.accepted
    assert judged.point is not None
    assert tuple(round(v, 3) for v in judged.point) == point
    # The textbook's corners are whole pixels, ours are finer: hence a tenth of a millimetre.
    off_mm = 1000 * float(np.hypot(*np.subtract(judged.point, truth)))
    assert off_mm == pytest.approx(error_mm, abs=0.1)


def test_the_invented_box_is_not_inside_and_has_no_point() -> None:
    judged = judge((650, 300, 700, 350))
    assert not judged.accepted
    assert judged.point is None
    assert "not inside" in judged.reasons[0]


@pytest.mark.parametrize(
    "box",
    [(0, 200, 33, 233), (607, 200, 640, 233), (300, 0, 333, 33), (300, 447, 333, 480)],
)
def test_the_edge_of_the_picture_is_inside(box: Box) -> None:
    assert not any("not inside" in reason for reason in judge(box).reasons)


@pytest.mark.parametrize(
    "box",
    [
        (-0.1, 200, 33, 233),
        (607, 200, 640.1, 233),
        (300, -0.1, 333, 33),
        (300, 447, 333, 480.1),
        (333, 200, 300, 233),
        (300, 233, 333, 200),
        (300, 200, 300, 233),
        (float("nan"), 200, 333, 233),
        (300, 200, float("inf"), 233),
        (True, 200, 33, 233),
    ],
)
def test_a_box_beyond_the_edge_or_turned_round_or_of_no_numbers_is_not_inside(box: Box) -> None:
    judged = judge(box)
    assert any("not inside" in reason for reason in judged.reasons)
    assert judged.point is None


@pytest.mark.parametrize("side", [10, 80])
def test_sides_of_10_and_80_pixels_are_the_size_of_a_block(side: float) -> None:
    assert judge(around(320, 240, side)).accepted


@pytest.mark.parametrize(("wide", "tall"), [(9.9, 33), (80.1, 33), (33, 9.9), (33, 80.1)])
def test_sides_beyond_are_not_the_size_of_a_block(wide: float, tall: float) -> None:
    judged = judge((320 - wide / 2, 240 - tall / 2, 320 + wide / 2, 240 + tall / 2))
    assert [reason for reason in judged.reasons if "not the size of a block" in reason]
    assert judged.point is None


def test_a_box_with_two_faults_is_refused_with_both_reasons() -> None:
    judged = judge((600, 200, 700, 233))
    assert len(judged.reasons) == 2


def test_a_place_outside_the_area_keeps_its_point() -> None:
    judged = judge(around(320, 100))
    assert judged.point == pytest.approx((0.326, 0.0))
    assert len(judged.reasons) == 1
    assert "outside the area" in judged.reasons[0]


@pytest.mark.parametrize(
    ("dx", "dy", "inside"),
    [
        (0.05, 0, True), (0.0501, 0, False), (-0.05, 0, True), (-0.0501, 0, False),
        (0, 0.04, True), (0, 0.0401, False), (0, -0.04, True), (0, -0.0401, False),
    ],
)  # fmt: skip
def test_the_ends_of_the_area_are_inside(dx: float, dy: float, inside: bool) -> None:
    rules = ClaimRules(area=Area(0.15, 0.25, -0.04, 0.04))
    claim = Claim("red block", around(320, 240), "colour", point=(0.20 + dx, dy))
    assert check_claim(claim, EXACT, rules).accepted is inside


def test_a_label_that_is_not_in_the_settings_is_refused() -> None:
    rules = ClaimRules(labels=frozenset({"red block"}))
    assert judge(around(320, 240), rules).accepted
    assert "not a known object" in judge(around(320, 240), rules, "red cup").reasons[0]


def test_a_detectors_own_doubt_is_a_reason() -> None:
    claim = Claim("red block", around(320, 240), "colour", (0.2, 0.0), 0.0, ("It is hidden.",))
    judged = check_claim(claim, EXACT, ClaimRules())
    assert judged.reasons == ("It is hidden.",)
    assert judged.point == (0.2, 0.0)


def test_a_models_box_around_a_raised_block_is_corrected_for_half_its_height(
    draw: SimpleNamespace,
) -> None:
    corners = [
        draw.pixel(0.25 + a, 0.12 + b, z)
        for a in (-0.015, 0.015) for b in (-0.015, 0.015) for z in (0.0, 0.03)
    ]  # fmt: skip
    box = (*np.min(corners, axis=0), *np.max(corners, axis=0))
    judged = judge(tuple(map(float, box)), ClaimRules(block_height_m=0.03))
    assert judged.point == pytest.approx((0.25, 0.12), abs=0.001)
    assert judge(tuple(map(float, box))).point != pytest.approx((0.25, 0.12), abs=0.003)


def test_the_height_correction_is_undone_by_its_inverse() -> None:
    points = np.array([[0.1, -0.15], [0.28, 0.15], [0.2, 0.0]])
    lens = Lens(0.21, 0.01, 0.5)
    assert lens.true_at(lens.seen_at(points, 0.03), 0.03) == pytest.approx(points)


def test_a_top_at_12_cm_from_the_nadir_seems_86_tenths_of_a_mm_off() -> None:
    seen = TABLE_LENS.seen_at(np.array([[0.20, 0.12]]), 0.03)
    assert 1000 * (seen[0, 1] - 0.12) == pytest.approx(8.57, abs=0.01)
