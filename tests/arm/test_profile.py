from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.arm.profile import JERK_DPS3, RAMPS, Rates, law, sharpest_jerk, straight_timing

ramps = st.sampled_from(RAMPS)
RATES = Rates((60.0,) * 5 + (100.0,), (400.0,) * 5 + (800.0,))


@pytest.mark.parametrize("ramp", RAMPS)
def test_the_law_starts_and_ends_at_rest_without_a_jerk(ramp: float) -> None:
    assert law(0.0, ramp) == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)
    assert law(1.0, ramp) == pytest.approx((1.0, 0.0, 0.0), abs=1e-9)
    assert law(0.5, ramp).s == pytest.approx(0.5)


@settings(deadline=None)
@given(ramps, st.floats(0.0005, 0.9995))
def test_speed_and_acceleration_are_the_laws_own_derivatives(ramp: float, u: float) -> None:
    h = 1e-5
    before, here, after = law(u - h, ramp), law(u, ramp), law(u + h, ramp)
    assert (after.s - before.s) / (2 * h) == pytest.approx(here.speed, abs=1e-3)
    assert (after.speed - before.speed) / (2 * h) == pytest.approx(here.acceleration, abs=0.05)


@settings(deadline=None)
@given(ramps, st.floats(0, 1))
def test_peak_speed_is_at_most_1_4_times_the_mean(ramp: float, u: float) -> None:
    assert 0.0 <= law(u, ramp).speed <= 1.4 + 1e-9


@settings(deadline=None)
@given(ramps, st.floats(0, 1), st.floats(0, 1))
def test_the_path_is_never_walked_back(ramp: float, u: float, v: float) -> None:
    assert law(min(u, v), ramp).s <= law(max(u, v), ramp).s + 1e-12


def test_a_long_move_is_nearly_as_short_as_its_speed_allows() -> None:
    timing = straight_timing((180.0, 0, 0, 0, 0, 0), RATES)
    assert 180 / 60 < timing.duration_s < 1.1 * 180 / 60


def test_the_slowest_joint_sets_the_time() -> None:
    alone = straight_timing((0, 0, 90.0, 0, 0, 0), RATES)
    assert straight_timing((10, -20, 90.0, 30, 5, 50), RATES) == alone
    assert straight_timing((10, -20, 90.0, 30, 5, 100), RATES) == alone
    assert straight_timing((10, -20, 30.0, 30, 5, 100), RATES) < alone


@settings(deadline=None)
@given(ramps, st.floats(0.001, 0.999))
def test_the_jerk_of_the_law_is_never_more_than_said(ramp: float, u: float) -> None:
    h = 1e-5
    jerk = (law(u + h, ramp).acceleration - law(u - h, ramp).acceleration) / (2 * h)
    assert abs(jerk) <= sharpest_jerk(ramp) * (1 + 1e-3)
    start = (law(h, ramp).acceleration - law(0.0, ramp).acceleration) / h
    assert start == pytest.approx(sharpest_jerk(ramp), rel=1e-3)


@pytest.mark.parametrize("travel", [0.5, 3.0, 10.0])
def test_a_short_move_takes_its_time_from_the_jerk(travel: float) -> None:
    timing = straight_timing((travel, 0, 0, 0, 0, 0), RATES)
    jerk = travel * sharpest_jerk(timing.ramp) / timing.duration_s**3
    assert jerk == pytest.approx(JERK_DPS3)
    free = straight_timing((travel, 0, 0, 0, 0, 0), RATES._replace(jerk=(1e9,) * 6))
    assert free.duration_s < timing.duration_s
