from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import pytest

from armlabd.arm.joints import ARM_JOINTS
from armlabd.arm.limits import CEILINGS, Box, LimitError, Limits, intersect_travel, tighten

NOT_NUMBERS = [True, "10", None, math.nan, math.inf, [1.0]]


@pytest.mark.parametrize("name", ["speed_dps", "acceleration_dps2", "reach_m"])
class TestUpperCeilings:
    def test_the_ceiling_itself_is_allowed(self, name: str) -> None:
        assert tighten(**{name: getattr(CEILINGS, name)}) == CEILINGS

    def test_just_inside_is_taken(self, name: str) -> None:
        value = getattr(CEILINGS, name) * 0.999
        assert getattr(tighten(**{name: value}), name) == value

    def test_just_outside_is_refused_with_the_ceiling(self, name: str) -> None:
        ceiling = getattr(CEILINGS, name)
        with pytest.raises(LimitError, match=f"{name} .* at most {ceiling:g}"):
            tighten(**{name: ceiling * 1.001})

    @pytest.mark.parametrize("value", [0, -1.0, *(v for v in NOT_NUMBERS if v is not None)])
    def test_no_positive_number_is_refused(self, name: str, value: Any) -> None:
        with pytest.raises(LimitError, match=name):
            tighten(**{name: value})


@pytest.mark.parametrize(("floor", "allowed"), [(0.012, True), (0.0119, False), (0.5, True)])
def test_the_floor_only_rises(floor: float, allowed: bool) -> None:
    if allowed:
        assert tighten(floor_m=floor).floor_m == floor
    else:
        with pytest.raises(LimitError, match=r"floor_m .* from 0\.012"):
            tighten(floor_m=floor)


@pytest.mark.parametrize("name", ARM_JOINTS)
@pytest.mark.parametrize("end", [0, 1])
def test_travel_at_inside_and_outside_both_ends(name: str, end: int) -> None:
    ceiling = CEILINGS.travel_deg[ARM_JOINTS.index(name)]
    outward = -0.1 if end == 0 else 0.1

    def with_end(value: float) -> Limits:
        pair = (value, ceiling[1]) if end == 0 else (ceiling[0], value)
        return tighten(travel_deg={name: pair})

    assert with_end(ceiling[end]) == CEILINGS
    inside = with_end(ceiling[end] - outward)
    assert inside.travel_deg[ARM_JOINTS.index(name)][end] == ceiling[end] - outward
    with pytest.raises(LimitError, match=name):
        with_end(ceiling[end] + outward)


@pytest.mark.parametrize("pair", [(10.0, -10.0), (5.0, 5.0), (1.0,), "ab", (math.nan, 1.0), 3])
def test_a_travel_that_is_no_range_is_refused(pair: Any) -> None:
    with pytest.raises(LimitError, match="shoulder_pan"):
        tighten(travel_deg={"shoulder_pan": pair})


def test_an_unknown_joint_is_named() -> None:
    with pytest.raises(LimitError, match="knee is no joint"):
        tighten(travel_deg={"knee": (0.0, 1.0)})


def test_tightening_twice_never_widens() -> None:
    tight = tighten(speed_dps=30)
    with pytest.raises(LimitError, match="at most 30"):
        tighten(tight, speed_dps=31)


def test_keep_out_boxes_add_up() -> None:
    first, second = (Box(n, (0.0, 0.1), (0.0, 0.1), (0.0, 0.1)) for n in ("cup", "lamp"))
    limits = tighten(tighten(keep_out=[first]), keep_out=[second])
    assert limits.boxes() == (CEILINGS.base_box, first, second)


def test_a_box_turned_inside_out_is_refused() -> None:
    with pytest.raises(LimitError, match="'cup' has y"):
        tighten(keep_out=[Box("cup", (0.0, 0.1), (0.1, 0.0), (0.0, 0.1))])


@pytest.mark.parametrize(
    ("point", "depth"),
    [
        ((0.5, 0.5, 0.5), 0.5),
        ((0.1, 0.5, 0.5), 0.1),
        ((0.5, 0.98, 0.5), 0.02),
        ((0.5, 0.5, 1.0), 0.0),
        ((0.5, 0.5, 1.1), -0.1),
        ((-0.2, 0.5, 1.1), -0.2),
    ],
)
def test_depth_in_a_box_is_to_the_nearest_face(
    point: tuple[float, float, float], depth: float
) -> None:
    box = Box("cube", (0.0, 1.0), (0.0, 1.0), (0.0, 1.0))
    assert box.depth_m(point) == pytest.approx(depth)


def test_a_calibration_cuts_travel_but_never_widens_it() -> None:
    limits = intersect_travel(CEILINGS, {"shoulder_pan": (-50, 50), "wrist_roll": (-180, 180)})
    assert limits.travel_deg[0] == (-50, 50)
    assert limits.travel_deg[1:] == CEILINGS.travel_deg[1:]


def test_a_calibration_that_leaves_no_travel_is_refused() -> None:
    with pytest.raises(LimitError, match="Calibrate the arm again"):
        intersect_travel(CEILINGS, {"elbow_flex": (100.0, 120.0)})


def test_limits_survive_json() -> None:
    box = Box("lamp", (0.0, 0.1), (0.0, 0.1), (0.0, 0.1))
    limits = tighten(speed_dps=30, travel_deg={"wrist_roll": (-90, 90)}, keep_out=[box])
    assert Limits.from_dict(json.loads(json.dumps(limits.as_dict()))) == limits


WIDER: list[Mapping[str, Any]] = [
    {"speed_dps": 61},
    {"acceleration_dps2": 401},
    {"step_deg": 0.66},
    {"grip_speed_pps": 101},
    {"grip_step_percent": 2},
    {"grip_acceleration_pps2": 801},
    {"reach_m": 0.44},
    {"floor_m": 0.011},
    {"tip_floor_m": 0.0},
    {"grip_percent": [-1, 100]},
    {"grip_percent": [0, 101]},
    {"travel_deg": [[-111, 110], [-100, 100], [-97, 97], [-95, 95], [-157, 160]]},
    {"travel_deg": [[-110, 110]]},
    {"travel_deg": 7},
    {"travel_deg": [1, 2, 3, 4, 5]},
    {"base_box": {"name": "the base", "x": [0, 1], "y": [0, 1], "z": [0, 1]}},
    {"keep_out": [{"name": "lamp"}]},
    {"keep_out": None},
    {"speed_dps": True},
    {"extra": 1},
]


@pytest.mark.parametrize("change", WIDER, ids=str)
def test_no_file_can_widen_a_ceiling(change: Mapping[str, Any]) -> None:
    with pytest.raises(LimitError):
        Limits.from_dict({**CEILINGS.as_dict(), **change})


def test_a_missing_limit_is_refused() -> None:
    values = CEILINGS.as_dict()
    del values["floor_m"]
    with pytest.raises(LimitError, match="floor_m"):
        Limits.from_dict(values)


@pytest.mark.parametrize("name", ["speed_dps", "acceleration_dps2"])
def test_row_33_a_whole_number_is_a_number_and_a_text_or_a_truth_is_none(name: str) -> None:
    assert getattr(tighten(**{name: 10}), name) == 10.0
    assert isinstance(getattr(tighten(**{name: 10}), name), float)
    for wrong in ("10", True, [10], float("nan")):
        with pytest.raises(LimitError, match=f"{name} = .* must be a number"):
            tighten(**{name: wrong})
