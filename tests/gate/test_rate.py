from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.clock import VirtualClock
from armlabd.config import Config
from armlabd.config.model import RateConfig
from armlabd.gate.rate import RateLimiter, SlidingWindow, Windows, WrongKeys

VECTOR = json.loads((Path(__file__).parents[1] / "vectors" / "http_status.json").read_text())


def test_ten_quick_calls_give_five_ok_and_five_to_wait() -> None:
    wanted = VECTOR["rate_limit"]
    limiter = RateLimiter(VirtualClock(), calls=wanted["max_calls"])
    answers = [limiter.call("laptop") for _ in range(wanted["burst"])]
    assert answers.count(None) == wanted["expect"]["200"]
    assert len([a for a in answers if a is not None]) == wanted["expect"]["429"]


def test_the_wait_it_names_is_the_truth() -> None:
    clock = VirtualClock(100.0)
    limiter = RateLimiter(clock, calls=2)
    assert limiter.call("a") is None
    clock.sleep(0.25)
    assert limiter.call("a") is None
    wait_s = limiter.call("a")
    assert wait_s == 0.75
    clock.sleep(0.5)
    assert limiter.call("a") == 0.25
    clock.sleep(0.25)
    assert limiter.call("a") is None
    assert limiter.call("a") == 0.25


def test_keys_do_not_share_a_bucket_but_share_the_cap_of_the_arm() -> None:
    limiter = RateLimiter(VirtualClock(), calls=2, arm_calls=3)
    assert [limiter.call("a"), limiter.call("a"), limiter.call("b")] == [None] * 3
    assert limiter.call("b") == 1.0
    assert limiter.call("c") == 1.0


def test_calls_reads_and_goals_have_buckets_of_their_own() -> None:
    limiter = RateLimiter(VirtualClock(), calls=1, reads=1, goals=1)
    for ask in (limiter.call, limiter.read, limiter.goal):
        assert ask("a") is None
        assert ask("a") == 1.0


def test_the_settings_are_used() -> None:
    limiter = RateLimiter.of(
        Config(rate=RateConfig(calls_per_s=3, reads_per_s=2, goals_per_s=1)), VirtualClock()
    )
    assert [limiter.call("a") for _ in range(4)] == [None, None, None, 1.0]
    assert [limiter.read("a") for _ in range(3)] == [None, None, 1.0]
    assert [limiter.goal("a") for _ in range(2)] == [None, 1.0]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 0.6), min_size=1, max_size=60), st.integers(1, 6))
def test_no_window_of_a_second_ever_holds_more_than_the_limit(
    gaps: list[float], limit: int
) -> None:
    clock = VirtualClock()
    window = SlidingWindow(clock, limit)
    taken: list[float] = []
    for gap in gaps:
        clock.sleep(gap)
        if window.wait_s() == 0.0:
            window.note()
            taken.append(clock.now_s)
    for index, start in enumerate(taken[: max(0, len(taken) - limit)]):
        assert taken[index + limit] >= start + 1.0


def test_memory_is_bounded_and_the_longest_unused_goes_first() -> None:
    clock = VirtualClock()
    windows = Windows(lambda: SlidingWindow(clock, 1), most=3)
    windows.of("a").note()
    for name in ("b", "c"):
        windows.of(name)
    assert windows.of("a").wait_s() == 1.0
    windows.of("d")
    assert len(windows) == 3
    assert windows.of("a").wait_s() == 1.0  # b went, not a
    assert windows.of("b").wait_s() == 0.0


def test_wrong_keys_are_slowed_per_address_and_only_there() -> None:
    clock = VirtualClock()
    guard = WrongKeys(clock)
    assert [guard.note("10.0.0.9") for _ in range(10)] == [None] * 10
    assert guard.note("10.0.0.9") == 60.0
    assert guard.note("10.0.0.10") is None
    clock.sleep(60.0)
    assert guard.note("10.0.0.9") is None


def test_case_67_one_key_has_one_bucket_whatever_address_it_claims() -> None:
    # The limiter is given the key's name and nothing of the request, so no header can split it.
    limiter = RateLimiter(VirtualClock(), calls=5)
    answers = [limiter.call("laptop") for _forwarded_for in ("1.1.1.1", "2.2.2.2") * 5]
    assert answers.count(None) == 5
