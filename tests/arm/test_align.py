from __future__ import annotations

import random
from math import dist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.arm.align import AlignError, Touch, align, shifted, solve
from armlabd.arm.geometry import forward
from armlabd.arm.joints import Pose
from armlabd.arm.placement import Placement

# Two postures over each of four spread points: what the joints would read if nothing were off.
POSES = (
    Pose(-84.0, -50.0, 75.0, 60.0, 0.0),
    Pose(-84.0, 5.0, 60.0, -20.0, 80.0),
    Pose(84.0, -50.0, 75.0, 60.0, -80.0),
    Pose(84.0, 5.0, 60.0, -20.0, 0.0),
    Pose(-36.0, 40.0, 20.0, -15.0, 0.0),
    Pose(-36.0, 30.0, -5.0, 20.0, 80.0),
    Pose(36.0, 40.0, 20.0, -15.0, -80.0),
    Pose(36.0, 30.0, -5.0, 20.0, 0.0),
)
ZEROS = (1.5, -3.0, 2.5, -4.0, 3.0)
STAND = Placement(0.004, -0.006, 0.001, 1.5)


def touches(zeros: tuple[float, ...], base: Placement, noise_m: float = 0.0) -> list[Touch]:
    """What a person with a steady hand gives: the true tip, and joints that read without zeros."""
    dice = random.Random(1)
    found = []
    for number, true in enumerate(POSES, 1):
        point = base.to_table(forward(true).fixed_tip)
        x, y, z = (part + dice.gauss(0.0, noise_m) for part in point)
        read = shifted(true, tuple(-zero for zero in zeros))
        found.append(Touch(f"point {number}", (x, y, z), read))
    return found


def aim_error_mm(zeros: tuple[float, ...], base: Placement, given: list[Touch]) -> float:
    """The worst place where a pose sent by the found alignment puts the grasp point."""
    fit = solve(given)
    worst = 0.0
    for true in POSES:
        sent = shifted(shifted(true, tuple(-zero for zero in zeros)), fit.zero_deg)
        believed = fit.base.to_table(forward(sent).grasp)
        worst = max(worst, dist(believed, base.to_table(forward(true).grasp)))
    return worst * 1e3


def test_an_arm_without_errors_has_zeros_of_zero() -> None:
    fit = align(touches((0.0,) * 5, Placement()))
    assert max(map(abs, fit.zero_deg)) < 1e-6
    assert fit.residual_mm < 1e-6


def test_zeros_and_base_are_found_together() -> None:
    fit = align(touches(ZEROS, STAND))
    # Lift, elbow and wrist show well; pan and the turn of the base only as their sum.
    for joint in (1, 2, 3):
        assert fit.zero_deg[joint] == pytest.approx(ZEROS[joint], abs=1.2)
    assert fit.zero_deg[0] - fit.base.yaw_deg == pytest.approx(0.0, abs=1.0)
    assert fit.residual_mm < 0.5
    assert aim_error_mm(ZEROS, STAND, touches(ZEROS, STAND)) < 1.0


def test_a_hand_that_shakes_by_a_millimetre_is_good_enough() -> None:
    given = touches(ZEROS, Placement(), noise_m=0.001)
    assert align(given).rms_mm < 2.0
    assert aim_error_mm(ZEROS, Placement(), given) < 3.0


@settings(max_examples=20, deadline=None)
@given(st.tuples(*[st.floats(-4.0, 4.0)] * 5))
def test_any_zeros_within_four_degrees_are_found(zeros: tuple[float, ...]) -> None:
    given = touches(zeros, Placement())
    assert align(given).residual_mm < 0.5
    assert aim_error_mm(zeros, Placement(), given) < 1.0


def test_what_the_touches_do_not_tell_is_said() -> None:
    level = [touch for touch in touches(ZEROS, STAND) if touch.pose.roll < 20.0]
    sigma = solve(level).sigma_deg
    assert sigma[4] > 3.0  # roll, not turned: hardly seen
    assert max(sigma[1:4]) < sigma[4] / 2


def test_a_point_that_is_wrong_is_named_and_refused() -> None:
    given = touches(ZEROS, STAND)
    x, y, z = given[2].point
    given[2] = Touch("marker 2", (x + 0.02, y, z), given[2].pose)
    with pytest.raises(AlignError, match="marker 2 is off by"):
        align(given)


def test_the_residual_may_be_five_millimetres_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    given = touches(ZEROS, STAND, noise_m=0.001)
    worst = solve(given).residual_mm
    monkeypatch.setattr("armlabd.arm.align.MAX_RESIDUAL_MM", worst)
    assert align(given).residual_mm == worst
    monkeypatch.setattr("armlabd.arm.align.MAX_RESIDUAL_MM", worst - 1e-9)
    with pytest.raises(AlignError, match="do not fit"):
        align(given)


def test_fewer_than_four_points_are_refused() -> None:
    with pytest.raises(AlignError, match="3 different points"):
        align(touches(ZEROS, STAND)[:3])
    same = [touches(ZEROS, STAND)[0]] * 5
    with pytest.raises(AlignError, match="1 different point"):
        align(same)


def test_points_in_one_place_are_refused() -> None:
    one = touches(ZEROS, STAND)[0]
    x, y, z = one.point
    near = [Touch(str(k), (x + 0.01 * k, y, z), one.pose) for k in range(4)]
    with pytest.raises(AlignError, match="within 30 mm"):
        align(near)


def test_a_zero_that_no_rightly_swept_arm_has_is_refused() -> None:
    with pytest.raises(AlignError, match="zero of elbow_flex would be off"):
        align(touches((0.0, 0.0, 18.0, 0.0, 0.0), Placement()))


def test_a_base_far_from_its_mark_is_refused() -> None:
    with pytest.raises(AlignError, match="Put it on its mark"):
        align(touches((0.0,) * 5, Placement(0.06, 0.0, 0.0, 0.0)))
