from __future__ import annotations

import math

import pytest

from armlabd.arm.joints import (
    HOME,
    JOINT_NAMES,
    PARK,
    SERVO_IDS,
    VIEW,
    Pose,
    as_dict,
    is_number,
    pose_of,
)


def test_six_joints_carry_six_ids_in_order_from_the_base() -> None:
    assert len(JOINT_NAMES) == len(SERVO_IDS) == len(Pose._fields) == 6
    assert SERVO_IDS == (1, 2, 3, 4, 5, 6)


def test_a_pose_names_its_joints() -> None:
    assert as_dict(Pose(1, 2, 3, 4, 5, 6)) == dict(zip(JOINT_NAMES, range(1, 7), strict=True))
    assert Pose(1, 2, 3, 4, 5, 6).arm == (1, 2, 3, 4, 5)
    assert Pose(1, 2, 3, 4, 5, 6).with_grip(9) == (1, 2, 3, 4, 5, 9)


@pytest.mark.parametrize("value", [True, "1", None, math.nan, math.inf, -math.inf, [1]])
def test_booleans_text_and_infinities_are_no_numbers(value: object) -> None:
    assert not is_number(value)
    with pytest.raises(ValueError, match="six finite numbers"):
        pose_of([0, 0, 0, 0, 0, value])  # type: ignore[list-item]


@pytest.mark.parametrize("count", [0, 5, 7])
def test_a_pose_is_exactly_six_numbers(count: int) -> None:
    with pytest.raises(ValueError, match="six finite numbers"):
        pose_of([0.0] * count)


def test_the_named_poses_are_the_textbooks_home_and_its_relatives() -> None:
    assert HOME.arm == (0, -90, 60, 60, 0)
    assert VIEW.arm == (100, -90, 60, 60, 0)
    assert PARK.pan == 0
    assert pose_of(HOME) == HOME
