from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armlabd.bench.stops import Stops, match


class Told(NamedTuple):
    body: dict[str, Any]
    sent_ns: int
    answered_ns: int


def frame(t_ns: int, kind: str = "torque_off", broadcast: bool = True) -> dict[str, Any]:
    return {"seq": 1, "kind": kind, "t_ns": t_ns, "ids": [1, 2, 3, 4, 5, 6], "broadcast": broadcast}


@pytest.mark.parametrize(
    ("sent", "stamps", "expected"),
    [
        ([], [], []),
        ([10], [], [None]),
        ([10], [9], [None]),
        ([10], [10], [10]),
        ([10], [9, 11, 12], [11]),
        ([10, 20], [12, 21], [12, 21]),
        ([10, 20], [21], [None, 21]),
        ([10, 20], [20], [None, 20]),
        ([10, 20], [19], [19, None]),
        ([10, 20, 30], [11, 12, 13, 31], [11, None, 31]),
    ],
)
def test_a_stop_is_matched_with_the_first_frame_before_the_next_stop(
    sent: list[int], stamps: list[int], expected: list[int | None]
) -> None:
    assert match(sent, stamps) == expected


@given(
    st.lists(st.integers(0, 200), unique=True, max_size=20).map(sorted),
    st.lists(st.integers(0, 200), max_size=40).map(sorted),
)
def test_no_frame_is_counted_for_two_stops_and_none_before_its_stop(
    sent: list[int], stamps: list[int]
) -> None:
    found = match(sent, stamps)
    assert len(found) == len(sent)
    for index, stamp in enumerate(found):
        end = sent[index + 1] if index + 1 < len(sent) else 10**9
        between = [one for one in stamps if sent[index] <= one < end]
        assert stamp == (between[0] if between else None)


@pytest.mark.parametrize(
    "other", [frame(11, "goal"), frame(11, "torque_on"), frame(11, broadcast=False)]
)
def test_only_a_broadcast_torque_off_counts_as_the_frame_of_a_stop(other: dict[str, Any]) -> None:
    stops = Stops()
    stops.add([Told({"confirmed": 6}, 10, 40)], [other])
    assert (stops.asked, stops.unseen) == (1, 1)
    stops.add([Told({"confirmed": 6}, 50, 90)], [frame(55)])
    assert (stops.asked, stops.unseen) == (2, 1)
    assert stops.frame_ms[1] == 5e-6


@pytest.mark.parametrize(
    ("confirmed", "seen", "frame_ms", "confirmed_ms", "failed"),
    [
        (6, True, [1.0], [3.0], 0),
        (5, True, [1.0], [], 0),
        (None, True, [1.0], [], 0),
        (6, False, [3.0], [3.0], 0),  # the frame was lost: counted when all had confirmed
        (5, False, [], [], 1),
    ],
)
def test_a_stop_is_timed_by_its_frame_and_by_its_confirmation(
    confirmed: int | None,
    seen: bool,
    frame_ms: list[float],
    confirmed_ms: list[float],
    failed: int,
) -> None:
    stops = Stops()
    answer = Told({"confirmed": confirmed}, 0, 3_000_000)
    stops.add([answer], [frame(1_000_000)] if seen else [])
    assert (stops.frame_ms, stops.confirmed_ms) == (frame_ms, confirmed_ms)
    assert stops.unconfirmed == (confirmed != 6)
    assert stops.unseen == (not seen)
    assert stops.failed == failed
