"""The gauge of the soak sees growth, and none where there is none."""

from __future__ import annotations

import os

from gauge import MIB, Gauge, Sample, sample


def filled(rss: list[float], fds: list[int]) -> Gauge:
    pairs = enumerate(zip(rss, fds, strict=True))
    return Gauge("one", [Sample(60.0 * n, int(m * MIB), f, 3) for n, (m, f) in pairs])


def test_a_slope_is_seen_and_a_jump_or_the_warm_up_is_none() -> None:
    assert filled([50 + n / 60 for n in range(60)], [9] * 60).slope_mib_per_h(0) > 0.99
    jump = filled([50.0] * 30 + [90.0] + [50.0] * 29, [9] * 60)
    assert jump.slope_mib_per_h(0) == 0.0
    warm = filled([10.0 + n for n in range(20)] + [30.0] * 40, [9] * 60)
    assert warm.slope_mib_per_h(20 * 60.0) == 0.0


def test_what_is_held_for_a_moment_is_no_growth_and_hides_none() -> None:
    swings = [3.0 * (n * 7 % 5 < 2) * (1 + n / 300) for n in range(600)]
    calm = Gauge("one", [Sample(2.0 * n, int((50 + s) * MIB), 9, 3) for n, s in enumerate(swings)])
    assert abs(calm.slope_mib_per_h(480)) < 0.1
    grows = [50 + s + 2.0 * (2.0 * n) / 3600 for n, s in enumerate(swings)]
    rises = Gauge("one", [Sample(2.0 * n, int(m * MIB), 9, 3) for n, m in enumerate(grows)])
    assert 1.8 < rises.slope_mib_per_h(480) < 2.2


def test_descriptors_that_grow_are_seen() -> None:
    assert filled([1.0] * 30, list(range(30))).growth("descriptors", 0) == (4, 24)
    assert filled([1.0] * 30, [7] * 30).growth("descriptors", 0) == (7, 7)


def test_another_process_begins_anew_and_is_counted() -> None:
    gauge = Gauge("one")
    gauge.look(os.getpid(), 0.0)
    assert gauge.samples[0].rss_bytes > MIB
    assert gauge.samples[0].threads >= 1
    gauge.look(os.getppid(), 1.0)
    assert (gauge.restarts, len(gauge.samples)) == (1, 1)
    assert sample(2**22 - 1, 0.0) is None
