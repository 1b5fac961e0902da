"""The arm's pieces hang where the published joint frames are, and are cut with boxes exactly."""

from __future__ import annotations

from math import cos, radians, sin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.arm import geometry as g
from armlabd.arm.body import GROUPS, Sides, cut_depth_m, placed
from armlabd.arm.geometry import Vector, plane_of
from armlabd.arm.joints import Pose
from armlabd.sim.geometry import link_frames, point_in

ANGLE = st.floats(-150.0, 150.0)
CUBE: Sides = (0.0, 0.1, 0.0, 0.1, 0.0, 0.1)
GROWN: Sides = (-0.01, 0.11, -0.01, 0.11, -0.01, 0.11)
MIDDLE_IN_LINK_M = 0.0203  # half way between the faces of the published links


@settings(max_examples=100, deadline=None)
@given(st.builds(Pose, ANGLE, ANGLE, ANGLE, ANGLE, ANGLE, st.floats(0.0, 100.0)))
def test_pieces_hang_between_the_published_joint_frames(pose: Pose) -> None:
    links, turn = link_frames(pose[:5]), radians(pose.pan)
    ends = placed(plane_of(pose), cos(turn), sin(turn))
    aside = MIDDLE_IN_LINK_M
    known = [
        (0, links.upper_arm, (0.0, 0.0, aside)),
        (1, links.upper_arm, (-0.11257, 0.0, aside)),
        (2, links.lower_arm, (0.0, 0.0, aside)),
        (3, links.wrist, (0.0, 0.0, aside)),
        (4, links.gripper, (0.0, 0.0, 0.0)),
        (5, links.gripper, (0.0, 0.0, -g.BLOCK_ALONG_M)),
        (6, links.gripper, (g.ROOT_ACROSS_M, g.HAND_SIDE_M, -g.ROOT_ALONG_M)),
        (8, links.gripper, (0.0202, 0.0188, -0.0234)),
    ]
    for number, frame, point in known:
        assert ends[number] == pytest.approx(point_in(frame, point), abs=1e-7), number
    for number, start, tip, part in ((7, 6, 11, 0.8), (9, 8, 12, 0.35), (10, 8, 12, 0.85)):
        between = [a + part * (b - a) for a, b in zip(ends[start], ends[tip], strict=True)]
        assert ends[number] == pytest.approx(between)


def test_every_piece_joins_the_next_and_none_is_thinner_than_the_part() -> None:
    pieces = [piece for group in GROUPS for piece in group]
    assert [(piece.start, piece.end) for piece in pieces] == [
        (0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (6, 7), (8, 9), (9, 10),
    ]  # fmt: skip
    # Farthest points of the published meshes from each piece, m: in the plane and aside of it.
    measured = {
        0: (0.0205, 0.0336), 1: (0.0205, 0.0336), 2: (0.0195, 0.0323), 3: (0.0200, 0.0330),
        4: (0.0378, 0.0), 5: (0.0138, 0.0), 6: (0.0229, 0.0), 7: (0.0149, 0.0),
    }  # fmt: skip
    for number, (radius_m, aside_m) in measured.items():
        assert radius_m <= pieces[number].radius_m <= radius_m + 0.0015
        assert aside_m <= pieces[number].aside_m <= aside_m + 0.002


@pytest.mark.parametrize(
    ("a", "b", "depth"),
    [
        ((0.05, 0.05, 0.05), (0.05, 0.05, 0.05), 0.05),  # a point
        ((-1.0, 0.05, 0.05), (1.0, 0.05, 0.05), 0.05),  # right through
        ((-1.0, 0.1, 0.05), (1.0, 0.1, 0.05), 0.0),  # along a face, which belongs to it
        ((-1.0, 0.0, 0.05), (1.0, 0.0, 0.05), 0.0),
        ((-1.0, 0.11, 0.05), (1.0, 0.11, 0.05), None),
        ((-1.0, 0.05, 0.05), (0.0, 0.05, 0.05), 0.0),
        ((-1.0, 0.05, 0.05), (-1e-6, 0.05, 0.05), None),
        ((-0.06, 0.05, 0.05), (0.05, -0.06, 0.05), None),  # past an edge
        ((0.05, 0.05, 0.2), (0.05, 0.05, 0.08), 0.02),
    ],
)
def test_a_piece_is_cut_with_a_box_exactly(a: tuple, b: tuple, depth: float | None) -> None:  # type: ignore[type-arg]
    for one, other in ((a, b), (b, a)):
        assert cut_depth_m(one, other, CUBE) == (None if depth is None else pytest.approx(depth))
    if depth == 0.0:
        assert cut_depth_m(a, b, GROWN) == pytest.approx(0.01)


POINT = st.tuples(*[st.floats(-0.2, 0.3)] * 3)


AWAY: Sides = (0.03, 0.13, -0.04, 0.06, 0.02, 0.12)


@settings(max_examples=200, deadline=None)
@given(POINT, POINT)
def test_a_cut_agrees_with_a_thousand_points_of_the_piece(a: Vector, b: Vector) -> None:
    ranges = (AWAY[0:2], AWAY[2:4], AWAY[4:6])

    def depth(t: float) -> float:
        point = [p + t * (q - p) for p, q in zip(a, b, strict=True)]
        pairs = zip(point, ranges, strict=True)
        return min(min(value - low, high - value) for value, (low, high) in pairs)

    deepest = max(depth(k / 1000) for k in range(1001))
    found = cut_depth_m(a, b, AWAY)
    if found is None:
        assert deepest < 1e-9
    else:
        assert found <= deepest + 0.001
        assert found >= 0.75 * deepest - 0.001, "the deepest of nine places in the cut"


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("side", [0, 1])
def test_a_point_is_as_deep_as_its_nearest_face_is_far(axis: int, side: int) -> None:
    point = [(AWAY[2 * k] + AWAY[2 * k + 1]) / 2 for k in range(3)]
    point[axis] = AWAY[2 * axis + side] + (0.01 if side == 0 else -0.01)
    where = (point[0], point[1], point[2])
    assert cut_depth_m(where, where, AWAY) == pytest.approx(0.01)
