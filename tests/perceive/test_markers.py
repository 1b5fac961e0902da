from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from armlabd.perceive.errors import MarkerError
from armlabd.perceive.markers import MAX_ERROR_M, Homography, MarkerProblem, find_homography
from armlabd.perceive.scene import observe
from armlabd.table import MARKERS, Marker
from armlabd.verdict import Code


def problem_of(picture: np.ndarray) -> MarkerProblem:
    found = find_homography(picture, MARKERS)
    assert isinstance(found, MarkerProblem)
    return found


def test_sixteen_corners_fit_within_half_a_millimetre(draw: SimpleNamespace) -> None:
    found = find_homography(draw.textbook(), MARKERS)
    assert isinstance(found, Homography)
    assert found.worst_m < 0.0005


def test_pixels_and_metres_go_both_ways(draw: SimpleNamespace) -> None:
    found = find_homography(draw.textbook(), MARKERS)
    assert isinstance(found, Homography)
    table = np.array([[0.10, -0.15], [0.28, 0.15], [0.2, 0.0]])
    pixels = np.array([draw.pixel(x, y) for x, y in table])
    assert found.to_table(pixels) == pytest.approx(table, abs=0.0005)
    assert found.to_table(found.to_pixels(table)) == pytest.approx(table)


@pytest.mark.parametrize("skip", [(0,), (2,), (1, 3), (0, 1, 2, 3)])
def test_missing_markers_are_named_and_nothing_is_measured(
    draw: SimpleNamespace, skip: tuple[int, ...]
) -> None:
    problem = problem_of(draw.with_noise(draw.empty_table(skip=skip)))
    assert problem.missing == skip
    assert all(str(id_) in problem.sentence for id_ in skip)


def test_a_marker_seen_twice_is_named(draw: SimpleNamespace) -> None:
    picture = draw.with_noise(draw.empty_table())
    picture[200:280, 280:360] = picture[44:124, 36:116]  # a second marker 2
    problem = problem_of(picture)
    assert problem.doubled == (2,)
    assert "2 was seen more than once" in problem.sentence


def test_a_marker_that_is_not_ours_is_of_no_matter(draw: SimpleNamespace) -> None:
    others = (*MARKERS[:3], Marker(7, 0.34, -0.22))
    found = find_homography(draw.with_noise(draw.empty_table()), others)
    assert isinstance(found, MarkerProblem)
    assert found.missing == (7,)


def test_a_moved_marker_is_told_in_millimetres(draw: SimpleNamespace) -> None:
    problem = problem_of(draw.with_noise(draw.empty_table(moved={1: 0.03})))
    assert problem.worst_m is not None
    assert problem.worst_m > MAX_ERROR_M
    assert "mm off" in problem.sentence
    near = find_homography(draw.with_noise(draw.empty_table(moved={1: 0.001})), MARKERS)
    assert isinstance(near, Homography)


def test_observe_raises_the_problem_with_its_code(draw: SimpleNamespace) -> None:
    with pytest.raises(MarkerError, match="Marker 3 was not seen") as caught:
        observe(draw.frame(draw.empty_table(skip=(3,))), draw.RAISED)
    assert caught.value.code is Code.NO_MARKERS


@pytest.mark.parametrize("cut_px", range(0, 54, 6))
@pytest.mark.parametrize("card_mm", [5, 10, 15])
def test_tags_on_cards_are_seen_up_to_the_pictures_edge(
    draw: SimpleNamespace, card_mm: int, cut_px: int
) -> None:
    picture = draw.with_noise(draw.empty_table(card=card_mm / 50))
    cut = np.ascontiguousarray(picture[cut_px : 480 - cut_px, cut_px : 640 - cut_px])
    found = find_homography(cut, MARKERS)
    assert isinstance(found, Homography), found
    assert found.worst_m < 0.001


@pytest.mark.parametrize("id", [0, 1, 2, 3])
def test_a_tag_that_has_moved_a_centimetre_is_found_although_the_corners_fit(
    draw: SimpleNamespace, id: int
) -> None:
    problem = problem_of(draw.with_noise(draw.empty_table(moved={id: 0.01})))
    assert problem.worst_m is not None
    assert problem.worst_m < MAX_ERROR_M  # that alone would have let it pass
    assert problem.apart_m == pytest.approx(0.01, abs=0.002)
    assert "from where the other three put it, at most 5 mm" in problem.sentence


@pytest.mark.parametrize(("moved_m", "good"), [(0.002, True), (0.004, True), (0.0065, False)])
def test_a_tag_may_lie_a_few_millimetres_off(
    draw: SimpleNamespace, moved_m: float, good: bool
) -> None:
    found = find_homography(draw.with_noise(draw.empty_table(moved={2: moved_m})), MARKERS)
    assert isinstance(found, Homography if good else MarkerProblem)


def test_tags_that_lie_right_fit_each_other_within_a_millimetre(draw: SimpleNamespace) -> None:
    found = find_homography(draw.with_noise(draw.empty_table()), MARKERS)
    assert isinstance(found, Homography)
    assert found.worst_m < 0.0005
    assert found.apart_m < 0.001
