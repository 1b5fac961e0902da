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


def test_only_a_broadcast_torque_off_counts_as_the_frame_of_a_stop() -> None:
    stops = Stops()
    frames = [frame(11, "goal"), frame(12, "torque_on"), frame(13, broadcast=False)]
    stops.add([Told({"confirmed": 6}, 10, 20)], frames)
    assert (stops.asked, stops.unseen, stops.frame_ms) == (1, 1, [])
    stops.add([Told({"confirmed": 6}, 30, 40)], [frame(35)])
    assert (stops.asked, stops.unseen, stops.frame_ms) == (2, 1, [5e-6])


@pytest.mark.parametrize(("confirmed", "counted"), [(5, 0), (6, 1), (None, 0)])
def test_only_answers_confirmed_by_six_are_timed_as_confirmed(
    confirmed: int | None, counted: int
) -> None:
    stops = Stops()
    stops.add([Told({"confirmed": confirmed}, 0, 3_000_000)], [frame(1_000_000)])
    assert stops.frame_ms == [1.0]
    assert stops.confirmed_ms == [3.0] * counted
    assert stops.unconfirmed == 1 - counted
