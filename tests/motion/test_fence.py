"""The fence: each limit at its end, just inside, just outside; and its short cuts lose nothing."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import cos, dist, radians, sin
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_fence import plain_violation, sagged

from armlabd.arm.body import GROUPS, ends_of, placed
from armlabd.arm.geometry import plane_of
from armlabd.arm.joints import HOME, JOINT_NAMES, PARK, VIEW, Pose
from armlabd.arm.kinematics import forward, inverse, reach_down
from armlabd.arm.limits import BASE_BOX, CEILINGS, Box, Limits
from armlabd.motion import fence
from armlabd.motion.fence import SAG_DEG, SHOULDER, violation

FREE = replace(
    CEILINGS,
    floor_m=-9.0,
    tip_floor_m=-9.0,
    reach_m=9.0,
    base_box=Box("nothing", (8.0, 9.0), (8.0, 9.0), (8.0, 9.0)),
)
UPRIGHT = Pose(0.0, 0.0, 0.0, 0.0, 0.0, 50.0)  # upper arm upright, forearm and hand level


def names(pose: Pose, limits: Limits = CEILINGS) -> set[str]:
    return {depth.name for depth in violation(pose, limits)}


# --- positions --------------------------------------------------------------------------------


@pytest.mark.parametrize("joint", range(5))
@pytest.mark.parametrize("end", [0, 1])
def test_travel_ends_are_inside_and_beyond_is_named(joint: int, end: int) -> None:
    edge = CEILINGS.travel_deg[joint][end]
    out = 1 if end else -1
    at = HOME._replace(**{HOME._fields[joint]: edge})
    beyond = HOME._replace(**{HOME._fields[joint]: edge + 0.01 * out})
    within = HOME._replace(**{HOME._fields[joint]: edge - 0.01 * out})
    assert not names(at, FREE)
    assert not names(within, FREE)
    (depth,) = violation(beyond, FREE)
    assert depth.name == f"travel:{JOINT_NAMES[joint]}"
    assert depth.depth == pytest.approx(0.01)
    assert depth.allowed == edge


@pytest.mark.parametrize(
    ("percent", "outside"), [(0.0, False), (100.0, False), (-0.01, True), (100.01, True)]
)
def test_the_gripper_has_ends_too(percent: float, outside: bool) -> None:
    assert ("travel:gripper" in names(HOME._replace(grip=percent), FREE)) is outside


POINTS = {
    "floor:tool": (lambda r: r.tool, "floor_m"),
    "floor:wrist": (lambda r: r.wrist, "floor_m"),
    "floor:elbow": (lambda r: r.elbow, "floor_m"),
    "floor:hand": (lambda r: r.roll_origin, "floor_m"),
    "floor:jaw hinge": (lambda r: r.hinge, "floor_m"),
    "floor:fixed jaw": (lambda r: r.fixed_tip, "tip_floor_m"),
    "floor:moving jaw": (lambda r: r.moving_tip, "tip_floor_m"),
}


@pytest.mark.parametrize("name", POINTS)
def test_each_point_has_its_floor(name: str) -> None:
    point, floor = POINTS[name]
    z = min(point(forward(pose))[2] for pose in (HOME, sagged(HOME, SAG_DEG)))
    assert name not in names(HOME, replace(FREE, **{floor: z}))
    assert name not in names(HOME, replace(FREE, **{floor: z - 1e-4}))
    assert name in names(HOME, replace(FREE, **{floor: z + 1e-4}))


def test_the_ceilings_floors_are_those_of_the_design() -> None:
    assert (CEILINGS.floor_m, CEILINGS.tip_floor_m) == (0.012, 0.004)
    low = inverse(0.20, 0.0, 0.012, grip_percent=50.0)
    assert violation(low, CEILINGS, 0.0) == ()
    beyond = violation(inverse(0.20, 0.0, 0.0118, grip_percent=50.0), CEILINGS, 0.0)
    assert [depth.name for depth in beyond] == ["floor:tool"]


@pytest.mark.parametrize(("x", "least_m", "most_m"), [(0.15, 0.001, 0.003), (0.28, 0.0045, 0.0055)])
def test_a_commanded_pose_keeps_the_floor_with_its_sag(
    x: float, least_m: float, most_m: float
) -> None:
    pose = inverse(x, 0.0, 0.03)
    drop = forward(pose).tool[2] - forward(sagged(pose, SAG_DEG)).tool[2]
    assert least_m < drop < most_m
    assert "floor:tool" not in names(inverse(x, 0.0, CEILINGS.floor_m + drop + 2e-4))
    assert "floor:tool" in names(inverse(x, 0.0, CEILINGS.floor_m + drop - 2e-4))


def test_an_arm_that_leans_back_is_lower_as_commanded_and_held_to_that() -> None:
    back = Pose(0.0, -100.0, 90.0, 20.0, 0.0)
    assert forward(sagged(back, SAG_DEG)).elbow[2] > forward(back).elbow[2]
    z = forward(back).elbow[2]
    assert "floor:elbow" not in names(back, replace(FREE, floor_m=z))
    assert "floor:elbow" in names(back, replace(FREE, floor_m=z + 1e-4))


def test_the_reach_has_an_end() -> None:
    stretched = Pose(0.0, 80.0, -80.0, 0.0, 0.0)
    assert names(stretched, replace(FREE, reach_m=CEILINGS.reach_m)) == {"reach:tool"}
    assert not names(HOME, replace(FREE, reach_m=CEILINGS.reach_m))


# Part, which piece of which group, and on which side of it a box is put.
FACES: list[tuple[str, int, int, int, int]] = [
    ("upper arm", 0, 0, 0, -1), ("upper arm", 0, 0, 1, 1), ("upper arm", 0, 0, 1, -1),
    ("upper arm", 0, 1, 1, 1), ("upper arm", 0, 1, 2, 1), ("upper arm", 0, 1, 0, 1),
    ("forearm", 1, 0, 1, 1), ("forearm", 1, 0, 1, -1), ("forearm", 1, 0, 2, 1),
    ("hand", 2, 0, 1, 1), ("hand", 2, 0, 1, -1), ("hand", 2, 1, 2, -1),
    ("fixed jaw", 2, 2, 0, 1), ("moving jaw", 2, 4, 0, 1),
]  # fmt: skip


def _beside(pose: Pose, face: tuple[int, int, int, int], gap: float) -> Limits:
    """Limits with a small box at one side of a piece, `gap` away from its thickness."""
    group, index, axis, side = face
    piece, turn = GROUPS[group][index], radians(pose.pan)
    ends = [
        placed(plane_of(pose, sag), cos(turn), sin(turn))[end]
        for sag in (0.0, SAG_DEG)
        for end in (piece.start, piece.end)
    ]
    at = max(ends, key=lambda point: point[axis] * side)
    aside = piece.aside_m * (abs(sin(turn)), abs(cos(turn)), 0.0)[axis]
    edge = at[axis] * side + piece.radius_m + aside + gap
    sides = [(value - 1e-3, value + 1e-3) for value in at]
    sides[axis] = (min(edge * side, (edge + 2e-3) * side), max(edge * side, (edge + 2e-3) * side))
    return replace(FREE, keep_out=(Box("lamp", *sides),))


@pytest.mark.parametrize("pan", [0.0, 40.0, -90.0])
@pytest.mark.parametrize("face", FACES)
def test_no_part_enters_a_box_nor_comes_nearer_than_its_thickness(
    face: tuple[str, int, int, int, int], pan: float
) -> None:
    part, *where = face
    pose = UPRIGHT._replace(pan=pan)
    place = (where[0], where[1], where[2], where[3])
    if pan and where[2] != 2 and part in ("hand", "forearm", "upper arm"):
        place = (where[0], where[1], 2, 1)  # turned, its sides are other sides: look from above
    name = f"box:lamp:{part}"
    if where[:3] == [0, 0, 0] and pan:
        return  # the elbow is above the lower piece
    assert name in names(pose, _beside(pose, place, -1e-7))
    assert name in names(pose, _beside(pose, place, -1e-3))
    assert name not in names(pose, _beside(pose, place, 1e-7))


ANYWHERE = st.builds(
    Pose, *(st.floats(low, high) for low, high in (*CEILINGS.travel_deg, CEILINGS.grip_percent))
)
CUPS = (
    Box("cup", (0.18, 0.24), (0.03, 0.10), (0.0, 0.10)),
    Box("shelf", (-0.30, -0.10), (-0.30, 0.30), (0.20, 0.30)),
)


BOXES = st.builds(
    lambda x, y, z, w, d, h: Box("box", (x, x + w), (y, y + d), (z, z + h)),
    st.floats(-0.3, 0.4), st.floats(-0.3, 0.3), st.floats(-0.05, 0.4),
    st.floats(1e-4, 0.3), st.floats(1e-4, 0.3), st.floats(1e-4, 0.3),
)  # fmt: skip


def compare(pose: Pose, limits: Limits, sag: float) -> None:
    """The fence finds what the plain one finds, but for what is less than rounding."""
    plain = plain_violation(pose, limits, sag)
    found = {depth.name: depth.depth for depth in violation(pose, limits, sag)}
    for name in plain.keys() | found.keys():
        assert found.get(name, 0.0) == pytest.approx(plain.get(name, 0.0), abs=2e-9), name


@settings(max_examples=400, deadline=None)
@given(ANYWHERE, st.lists(BOXES, max_size=4) | st.just(CUPS), st.sampled_from([0.0, SAG_DEG]))
def test_the_short_cuts_change_nothing(pose: Pose, boxes: list[Box], sag: float) -> None:
    compare(pose, replace(CEILINGS, keep_out=tuple(boxes)), sag)


@settings(max_examples=200, deadline=None)
@given(ANYWHERE, st.integers(0, 7), st.floats(0, 1), st.tuples(*[st.floats(-0.08, 0.08)] * 3))
def test_the_short_cuts_change_nothing_right_beside_a_piece(
    pose: Pose, number: int, part: float, away: tuple[float, float, float]
) -> None:
    piece = [piece for group in GROUPS for piece in group][number]
    turn = radians(pose.pan)
    ends = placed(plane_of(pose, SAG_DEG), cos(turn), sin(turn))
    spot = [
        a + part * (b - a) + c
        for a, b, c in zip(ends[piece.start], ends[piece.end], away, strict=True)
    ]
    box = Box("nut", *((value - 1e-3, value + 1e-3) for value in spot))
    compare(pose, replace(FREE, keep_out=(box,)), SAG_DEG)


@settings(max_examples=200, deadline=None)
@given(ANYWHERE)
def test_sagging_moves_no_point_farther_than_the_short_cuts_allow(pose: Pose) -> None:
    before, after = ends_of(plane_of(pose)), ends_of(plane_of(pose, SAG_DEG))
    assert max(map(dist, before, after)) <= fence._SHIFT_M


STEPS = st.lists(
    st.tuples(*[st.floats(-4.0, 4.0)] * 6) | st.tuples(*[st.floats(-0.6, 0.6)] * 6), max_size=25
)


@settings(max_examples=150, deadline=None)
@given(ANYWHERE, STEPS, st.lists(BOXES, max_size=4) | st.just(CUPS))
def test_a_walk_is_looked_at_as_if_each_pose_stood_alone(
    pose: Pose, steps: list[tuple[float, ...]], boxes: list[Box]
) -> None:
    limits = replace(CEILINGS, keep_out=tuple(boxes))
    for number, step in enumerate(((0.0,) * 6, *steps)):
        pose = Pose(*(value + way for value, way in zip(pose, step, strict=True)))
        compare(pose, limits, SAG_DEG if number % 3 else 0.0)


@settings(max_examples=400, deadline=None)
@given(ANYWHERE, ANYWHERE, st.floats(0.0, 1.0))
def test_no_point_goes_farther_than_the_way_that_is_reckoned(
    start: Pose, other: Pose, share: float
) -> None:
    end = Pose(*(a + share * (b - a) for a, b in zip(start, other, strict=True)))
    assert farthest_m(start, end) <= fence.way_m(start, end) + 1e-9


@pytest.mark.parametrize("joint", range(6))
def test_the_way_of_a_stretched_arm_is_reckoned_in_full_and_hardly_more(joint: int) -> None:
    shares = []
    for pan, roll, percent in product((0.0, 45.0), range(-150, 161, 30), range(0, 101, 10)):
        start = Pose(pan, 76.0, -73.8, -2.2, float(roll), float(percent))
        end = Pose(*(value + 0.5 * (k == joint) for k, value in enumerate(start)))
        shares.append(farthest_m(start, end) / fence.way_m(start, end))
    assert 0.9 < max(shares) <= 1.0


def farthest_m(start: Pose, end: Pose) -> float:
    """How far the farthest point really goes, and what the links' width takes more of a box."""
    turns = radians(start.pan), radians(end.pan)
    wider = fence.LINKS_ASIDE_M * dist(*((abs(sin(turn)), abs(cos(turn))) for turn in turns))
    return max(map(dist, *(every_point(pose) for pose in (start, end)))) + wider


def every_point(pose: Pose) -> list[tuple[float, ...]]:
    """All that a look compares with anything: ends of pieces, and the points with a floor."""
    turn, reach = radians(pose.pan), forward(pose)
    points = [get(reach) for get, _ in POINTS.values()]
    return [*placed(plane_of(pose), cos(turn), sin(turn)), *points]


def test_a_pose_right_behind_a_free_one_is_not_believed_to_be_free() -> None:
    edge = CEILINGS.travel_deg[0][1]
    before = UPRIGHT._replace(pan=edge - 0.5)
    assert not names(before)
    assert names(before._replace(pan=edge + 1e-3)) == {"travel:shoulder_pan"}
    assert not names(before)
    assert names(before._replace(grip=100.01)) == {"travel:gripper"}
    assert names(before._replace(grip=float("nan"))) == {"travel:gripper"}


def test_poses_on_a_way_through_the_free_are_not_looked_at_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[Any] = []
    monkeypatch.setattr(fence, "plane_of", lambda *given: looked.append(given) or plane_of(*given))
    pose, limits = reach_down(0.2, 0.1, 0.06, yaw_deg=0.0), replace(CEILINGS)
    for step in range(100):
        assert not violation(pose._replace(pan=pose.pan + 0.3 * step), limits)
    assert 0 < len(looked) < 15


PANS = (0.0, 45.0, 90.0, -70.0, -135.0)
POSES = (
    UPRIGHT,
    HOME,
    PARK,
    Pose(0.0, 60.0, -20.0, -60.0, 120.0, 100.0),
    Pose(0.0, -60.0, 90.0, 95.0, -90.0, 70.0),
    Pose(0.0, 95.0, -90.0, 30.0, 45.0, 0.0),
)
AROUND = [way for way in product((-1, 0, 1), repeat=3) if any(way)]


@pytest.mark.parametrize("pose", POSES)
def test_whatever_just_touches_an_end_of_a_piece_from_anywhere_is_found(pose: Pose) -> None:
    for pan, sag in product(PANS, (0.0, SAG_DEG)):
        turned, turn = pose._replace(pan=pan), radians(pan)
        ends = placed(plane_of(turned, sag), cos(turn), sin(turn))
        for piece in (piece for group in GROUPS for piece in group):
            r, aside = piece.radius_m, piece.aside_m
            thick = (r + aside * abs(sin(turn)), r + aside * abs(cos(turn)), r)
            for end, way in product((ends[piece.start], ends[piece.end]), AROUND):
                near = [at + s * (t - 1e-7) for at, s, t in zip(end, way, thick, strict=True)]
                far = [at + 2e-3 * (s or 1) for at, s in zip(near, way, strict=True)]
                box = Box("nut", *((min(a, b), max(a, b)) for a, b in zip(near, far, strict=True)))
                assert f"box:nut:{piece.part}" in names(turned, replace(FREE, keep_out=(box,)))


@pytest.mark.parametrize("pose", POSES)
@pytest.mark.parametrize("name", POINTS)
def test_a_point_just_below_its_floor_is_found_in_any_pose(name: str, pose: Pose) -> None:
    point, floor = POINTS[name]
    for sag in (0.0, SAG_DEG):
        z = min(point(forward(one))[2] for one in (pose, sagged(pose, sag)))
        limits = replace(FREE, **{floor: z + 1e-7})
        assert name in {depth.name for depth in violation(pose, limits, sag)}
        others = {depth.name for depth in violation(pose, replace(FREE, **{floor: z}), sag)}
        assert name not in others


@pytest.mark.parametrize("pan", PANS)
def test_what_just_misses_a_piece_or_just_meets_it_is_as_the_plain_fence_says(pan: float) -> None:
    pose, turn = UPRIGHT._replace(pan=pan), radians(pan)
    ends = placed(plane_of(pose), cos(turn), sin(turn))
    for piece in (piece for group in GROUPS for piece in group):
        r, aside = piece.radius_m, piece.aside_m
        thick = (r + aside * abs(sin(turn)), r + aside * abs(cos(turn)), r)
        for end, axis, side, gap in product(
            (ends[piece.start], ends[piece.end]), range(3), (-1, 1), (-1e-6, 1e-6, 1e-3)
        ):
            sides = [(at - 1e-3, at + 1e-3) for at in end]
            near = end[axis] + side * (thick[axis] + gap)
            sides[axis] = (min(near, near + side * 2e-3), max(near, near + side * 2e-3))
            compare(pose, replace(FREE, keep_out=(Box("nut", *sides),)), 0.0)


# What of the arm must stay out of its own base: part, and which of `ends_of` are its ends.
OWN = [
    ("forearm", 2, 3), ("hand", 3, 4), ("hand", 4, 5), ("fixed jaw", 4, 11), ("moving jaw", 8, 12),
]  # fmt: skip


@pytest.mark.parametrize("pose", POSES)
def test_the_arms_own_base_is_compared_with_lines_from_end_to_end(pose: Pose) -> None:
    ends = placed(plane_of(pose), 1.0, 0.0)
    for (part, start, end), along in product(OWN, (0.0, 0.5, 1.0)):
        spot = [a + along * (b - a) for a, b in zip(ends[start], ends[end], strict=True)]
        limits = replace(FREE, base_box=Box("own", *((at - 1e-4, at + 1e-4) for at in spot)))
        assert f"box:own:{part}" in names(pose, limits), (part, along)
    for number in (0, 1):
        sides = [(at - 1e-4, at + 1e-4) for at in ends[number]]
        found = names(pose, replace(FREE, base_box=Box("own", *sides)))
        assert "box:own:upper arm" not in found


@pytest.mark.parametrize(
    ("pan", "x", "y"),
    [
        (0.0, (0.15, 0.9), (-0.9, 0.9)),
        (0.0, (0.15, 0.9), (-0.01, 0.01)),
        (-90.0, (0.0, 0.08), (0.1, 0.9)),
        (90.0, (0.0, 0.08), (-0.9, -0.1)),
        (-110.0, (-0.9, 0.01), (0.0, 0.9)),
    ],
)
def test_a_large_box_beside_the_base_is_met_by_the_upper_arm(
    pan: float, x: tuple[float, float], y: tuple[float, float]
) -> None:
    leaning = UPRIGHT._replace(pan=pan, lift=80.0)
    wall = Box("wall", x, y, (0.0, 0.3))
    assert "box:wall:upper arm" in names(leaning, replace(FREE, keep_out=(wall,)))


def test_each_violation_has_its_unit_and_what_was_allowed() -> None:
    post = Box("post", (0.06, 0.08), (-0.1, 0.1), (0.13, 0.18))
    limits = replace(CEILINGS, keep_out=(post,), reach_m=0.2, floor_m=0.24)
    pose = Pose(111.0, -101.0, 98.0, 96.0, 161.0, 101.0)
    units = {depth.name: depth.unit for depth in violation(pose, limits)}
    for name in JOINT_NAMES:
        assert units[f"travel:{name}"] == ("percent" if name == "gripper" else "deg")
    others = violation(UPRIGHT, limits)
    assert {depth.name.partition(":")[0] for depth in others} == {"reach", "floor", "box"}
    assert {depth.unit for depth in others} == {"m"}
    allowed = {depth.name: depth.allowed for depth in others}
    assert allowed["reach:tool"] == 0.2
    assert allowed["floor:tool"] == pytest.approx(0.24)
    assert allowed["box:post:upper arm"] == 0.0


FREELY = st.builds(Pose, *([st.floats(-180.0, 180.0)] * 5), st.floats(0.0, 100.0))


@settings(max_examples=200, deadline=None)
@given(FREELY)
def test_a_group_lies_within_its_span(pose: Pose) -> None:
    plane = plane_of(pose)
    ends = ends_of(plane)
    for span, numbers in zip(fence._spans(plane), ((0, 1, 2), (2, 3), range(3, 13)), strict=True):
        for out, left, z in (ends[number] for number in numbers):
            assert span[0] - 1e-9 <= out <= span[1] + 1e-9
            assert span[2] - 1e-9 <= z <= span[3] + 1e-9
            assert abs(left) <= span[4]


def test_no_upper_arm_reaches_a_box_that_it_is_not_compared_with() -> None:
    def beside(gap: float) -> Limits:
        x = 0.0388353 + fence.UPPER_REACH_M + gap
        return replace(FREE, keep_out=(Box("post", (x, x + 0.1), (-0.3, 0.3), (0.0, 0.5)),))

    level = UPRIGHT._replace(lift=76.0)
    reached = max(point[0] for point in ends_of(plane_of(level, SAG_DEG))[:3])
    assert reached + 0.0205 + 0.034 < fence.UPPER_REACH_M
    assert "box:post:upper arm" not in names(level, beside(1e-6))


@pytest.mark.parametrize("pan", [0.0, 90.0, 60.0])  # leaning away from the post
@pytest.mark.parametrize(("gap", "free"), [(-0.002, False), (-1e-7, False), (1e-7, True)])
def test_a_post_that_only_the_upper_arm_meets(pan: float, gap: float, free: bool) -> None:
    turn = radians(pan)
    shoulder = placed(plane_of(UPRIGHT), cos(turn), sin(turn))[0]
    x, y = shoulder[0], shoulder[1]
    wide = 0.0205 + 0.034 * abs(cos(turn)) + gap
    post = Box("post", (x - 0.01, x + 0.01), (y + wide, y + wide + 0.02), (0.13, 0.18))
    pose = UPRIGHT._replace(pan=pan)
    assert names(pose, replace(CEILINGS, keep_out=(post,))) == (
        set() if free else {"box:post:upper arm"}
    )


def test_the_base_is_no_obstacle_for_the_upper_arm_that_stands_on_it() -> None:
    for lift in (-100.0, 0.0, 100.0):
        assert not [name for name in names(UPRIGHT._replace(lift=lift)) if "upper arm" in name]


def test_a_look_costs_the_exact_figures_only_where_something_is_near(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[Any] = []
    monkeypatch.setattr(fence, "placed", lambda *given: looked.append(given) or placed(*given))
    for x, y in ((0.16, 0.0), (0.20, 0.10), (0.25, -0.05)):
        for z in (0.03, 0.05, 0.07):
            assert not violation(reach_down(x, y, z, yaw_deg=0.0), CEILINGS)
    for pose in (HOME, VIEW):
        assert not violation(pose, CEILINGS)
    assert looked == []
    assert not violation(PARK, CEILINGS)
    assert len(looked) == 2, "folded beside the base: before and after sagging"


def test_a_post_between_elbow_and_wrist_is_seen_by_the_forearm() -> None:
    reach = forward(UPRIGHT)
    x, _, z = (0.4 * a + 0.6 * b for a, b in zip(reach.elbow, reach.wrist, strict=True))
    post = Box("post", (x - 0.015, x + 0.015), (0.02, 0.04), (0.0, z - 0.01))
    assert names(UPRIGHT, replace(FREE, keep_out=(post,))) == {"box:post:forearm"}


def test_a_sheet_thinner_than_any_spacing_is_seen() -> None:
    elbow, wrist = placed(plane_of(HOME), 1.0, 0.0)[2:4]
    x = elbow[0] * 0.37 + wrist[0] * 0.63
    sheet = Box("sheet", (x, x + 1e-6), (-0.1, 0.1), (0.0, 0.5))
    assert "box:sheet:forearm" in names(HOME, replace(FREE, keep_out=(sheet,)))


def test_the_hand_stays_out_of_the_base() -> None:
    folded = Pose(0.0, 12.0, 54.0, 79.0, 0.0, 50.0)
    assert any(name.startswith(f"box:{BASE_BOX.name}:") for name in names(folded))


def test_the_reach_is_measured_from_the_shoulder() -> None:
    stretched = Pose(20.0, 80.0, -80.0, 0.0, 90.0)  # the tool is beside the plane
    (depth,) = violation(stretched, replace(FREE, reach_m=0.30))
    far = dist(forward(stretched).tool, SHOULDER)
    assert depth.value == pytest.approx(far)
    assert depth.depth == pytest.approx(far - 0.30)


@settings(max_examples=100, deadline=None)
@given(ANYWHERE, st.sampled_from(["elbow", "wrist", "hinge", "fixed_tip", "moving_tip"]))
def test_a_small_box_at_any_joint_is_seen(pose: Pose, part: str) -> None:
    x, y, z = getattr(forward(sagged(pose, SAG_DEG)), part)
    box = Box("nut", (x - 2e-3, x + 2e-3), (y - 2e-3, y + 2e-3), (z - 2e-3, z + 2e-3))
    assert violation(pose, replace(FREE, keep_out=(box,)))
