from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armlabd.bench import bars
from armlabd.bench.figures import Bar, Figure, Spread, percentile

samples_of_any_kind = st.lists(st.floats(-1e9, 1e9, allow_nan=False), min_size=1, max_size=50)


@pytest.mark.parametrize(
    ("count", "percent", "expected"),
    [
        (100, 99, 99),
        (100, 99.01, 100),
        (100, 100, 100),
        (100, 1, 1),
        (100, 0, 1),
        (101, 99, 100),
        (2000, 99, 1980),
        (10, 99, 10),
        (10, 90, 9),
        (10, 50, 5),
        (11, 50, 6),
        (2, 50, 1),
        (3, 50, 2),
        (1, 0, 1),
        (1, 50, 1),
        (1, 100, 1),
    ],
)
def test_a_percentile_is_the_sample_of_the_nearest_rank(
    count: int, percent: float, expected: float
) -> None:
    assert percentile(range(count, 0, -1), percent) == expected


def test_no_samples_have_no_percentile() -> None:
    with pytest.raises(ValueError, match="no samples"):
        percentile([], 50)


@pytest.mark.parametrize("percent", [-0.001, 100.001, float("nan")])
def test_a_percentile_outside_0_to_100_is_refused(percent: float) -> None:
    with pytest.raises(ValueError, match="0 to 100"):
        percentile([1.0], percent)


@given(samples_of_any_kind, st.floats(0, 100))
def test_enough_samples_lie_at_or_below_a_percentile(samples: list[float], percent: float) -> None:
    found = percentile(samples, percent)
    assert found in samples
    assert sum(one <= found for one in samples) >= len(samples) * percent / 100 - 1e-9


@given(samples_of_any_kind)
def test_a_spread_rises_from_median_to_maximum(samples: list[float]) -> None:
    spread = Spread.of(samples)
    assert spread.count == len(samples)
    assert spread.median <= spread.p90 <= spread.p99 <= spread.maximum == max(samples)


@pytest.mark.parametrize(
    ("value", "open_end", "inside_end"),
    [
        (1.999, "held", "held"),
        (2.0, "missed", "held"),
        (2.001, "missed", "missed"),
        (float("nan"), "missed", "missed"),
        (float("inf"), "missed", "missed"),
    ],
)
def test_a_bar_is_held_below_it_and_at_it_only_when_it_says_so(
    value: float, open_end: str, inside_end: str
) -> None:
    assert Bar(2.0).judge(value, 1) == open_end
    assert Bar(2.0, inside=True).judge(value, 1) == inside_end


@pytest.mark.parametrize(("count", "expected"), [(1999, "too few"), (2000, "held"), (2001, "held")])
def test_too_few_samples_never_hold_a_bar(count: int, expected: str) -> None:
    assert bars.STOP_AT_CORE_MS.judge(1.0, count) == expected


def test_a_miss_is_a_miss_however_few_samples_there_are() -> None:
    assert bars.STOP_AT_CORE_MS.judge(2.0, 3) == "missed"


def test_a_bar_is_about_the_part_of_the_spread_it_names() -> None:
    samples = [1.0] * 98 + [9.0, 9.0]
    assert Figure.of("x", "ms", samples, Bar(2.0), "median").verdict == "held"
    assert Figure.of("x", "ms", samples, Bar(2.0), "p90").verdict == "held"
    assert Figure.of("x", "ms", samples, Bar(2.0), "p99").verdict == "missed"
    assert Figure.of("x", "ms", samples, Bar(9.0, inside=True), "maximum").verdict == "held"


def test_a_figure_without_a_bar_has_no_verdict() -> None:
    figure = Figure.of("bare", "ms", [1.0, 2.0])
    assert figure.verdict is None
    assert figure.line() == "bare: median 1, p90 2, p99 2, max 2 ms (n 2)"
    assert "verdict" not in figure.as_dict()


def test_a_figure_says_its_bar_and_how_it_stands() -> None:
    held = Figure.of("start", "s", [0.5], Bar(0.8), note="warm")
    assert held.line() == "start: 0.5 s; held (bar: under 0.8 s); warm"
    missed = Figure.of("stop", "ms", [1.0, 3.0], Bar(2.0, least=2000), "p99")
    assert missed.line().endswith("(n 2); MISSED (bar: p99 under 2 ms)")
    few = Figure.of("stop", "ms", [1.0, 1.5], Bar(2.0, least=2000), "p99")
    assert "TOO FEW SAMPLES to say, 2000 are needed" in few.line()


def test_a_figure_in_json_has_all_of_the_spread_and_the_verdict() -> None:
    assert Figure.of("ratio", "", [1.5], Bar(1.5, inside=True)).as_dict() == {
        "name": "ratio",
        "unit": "",
        "count": 1,
        "median": 1.5,
        "p90": 1.5,
        "p99": 1.5,
        "max": 1.5,
        "picked": "median",
        "value": 1.5,
        "bar": "at most 1.5",
        "verdict": "held",
    }


@pytest.mark.parametrize(
    ("bar", "limit", "at_the_limit"),
    [
        (bars.START_TO_CONNECTED_S, 0.8, "missed"),
        (bars.DAEMON_ABOVE_BARE_MIB, 12.0, "held"),
        (bars.CORE_MIB, 16.0, "missed"),
        (bars.GOAL_TO_MOTION_S, 0.2, "missed"),
        (bars.STOP_AT_CORE_MS, 2.0, "missed"),
        (bars.STOP_BY_HTTP_IDLE_MS, 5.0, "missed"),
        (bars.STOP_BY_HTTP_STRESS_MS, 15.0, "missed"),
        (bars.CYCLE_JITTER_MS, 1.0, "missed"),
        (bars.CYCLE_CPU_PERCENT, 3.0, "missed"),
        (bars.CYCLE_CPU_RATIO, 1.5, "held"),
        (bars.STOPS_FAILED, 0.0, "held"),
    ],
)
def test_the_bars_are_those_of_the_design(bar: Bar, limit: float, at_the_limit: str) -> None:
    assert bar.judge(limit, 2000) == at_the_limit
    assert bar.judge(limit - 1e-6, 2000) == "held"
    assert bar.judge(limit + 1e-6, 2000) == "missed"
