"""What the weight of the links makes the joints hang."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armlabd.arm.joints import DEGREES_PER_STEP, HOME, Pose
from armlabd.arm.kinematics import inverse
from armlabd.arm.limits import TRAVEL_DEG
from armlabd.arm.sag import GRAVITY_MPS2, NM_PER_DEG, expected_sag, weight_nm

poses = st.tuples(*(st.floats(*ends) for ends in TRAVEL_DEG), st.floats(0.0, 100.0)).map(
    lambda values: Pose(*values)
)


def test_the_push_of_a_servo_is_what_was_reported_1500_g_at_10_cm_hang_20_to_30_steps() -> None:
    hangs = 1.5 * GRAVITY_MPS2 * 0.10 / NM_PER_DEG
    assert 20 <= hangs / DEGREES_PER_STEP <= 30


@pytest.mark.parametrize(("x", "lift"), [(0.15, 0.14), (0.20, 0.41), (0.25, 0.66), (0.28, 0.82)])
def test_the_farther_out_the_more_the_shoulder_hangs(x: float, lift: float) -> None:
    sag = expected_sag(inverse(x, 0.0, 0.04, grip_percent=50.0))
    assert sag[1] == pytest.approx(lift, abs=0.01)
    assert sag[2] == pytest.approx(0.48, abs=0.01)
    assert sag[3] == pytest.approx(0.0, abs=0.01), "the hand hangs straight down"


@given(poses, st.floats(-110.0, 110.0))
def test_sag_does_not_depend_on_where_the_arm_is_panned_to(pose: Pose, pan: float) -> None:
    assert expected_sag(pose._replace(pan=pan)) == pytest.approx(expected_sag(pose), abs=1e-9)
    assert expected_sag(pose)[0] == expected_sag(pose)[4] == 0.0


@given(poses, st.integers(1, 127))
def test_half_the_gain_hangs_twice_as_far(pose: Pose, gain: int) -> None:
    soft, hard = expected_sag(pose, (gain,) * 5), expected_sag(pose, (2 * gain,) * 5)
    assert soft == pytest.approx([2.0 * deg for deg in hard])


def test_an_arm_that_leans_back_hangs_backwards() -> None:
    back = Pose(0.0, -100.0, -90.0, 0.0, 0.0)
    assert all(nm < 0.0 for nm in weight_nm(back)[:2])
    assert all(nm > 0.0 for nm in weight_nm(HOME._replace(lift=0.0))[:2])
