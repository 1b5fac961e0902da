"""The small parts: stream, legs, grip, cycles, disk, the thin start."""

from __future__ import annotations

import sys
from collections.abc import Generator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.arm.joints import HOME, Pose
from armlabd.arm.limits import CEILINGS
from armlabd.arm.path import joint_move
from armlabd.arm.profile import JERK_DPS3, JERK_PPS3
from armlabd.motion.cycles import Cycles
from armlabd.motion.disk import DirectDisk, ThreadDisk, Ticket
from armlabd.motion.grip import CYCLES, Grip
from armlabd.motion.guard import Rates, check_program
from armlabd.motion.job import plan_route
from armlabd.motion.legs import build_legs, leg_count, leg_points
from armlabd.motion.stream import Stream
from armlabd.motion.thin import _lazily

DT = 0.01
RATES = Rates(CEILINGS, DT)


def result_of(slices: Generator[None, None, Any]) -> Any:
    """What work in slices comes to."""
    while True:
        try:
            next(slices)
        except StopIteration as done:
            return done.value


# --- stream -----------------------------------------------------------------------------------


def test_a_stream_gives_out_every_point_once_and_ends_on_the_last() -> None:
    points = joint_move(HOME, HOME._replace(pan=20.0), 60.0, CEILINGS).points
    stream = Stream(points, RATES.bends)
    given_out = []
    while not stream.finished:
        given_out.append(stream.next())
    assert tuple(given_out) == points[1:]


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(*(st.floats(low, high) for low, high in CEILINGS.travel_deg)),
    st.floats(10.0, 60.0),
    st.floats(0.0, 1.0),
)
def test_braking_anywhere_stays_on_the_path_and_within_the_limits(
    goal: tuple[float, ...], speed: float, share: float
) -> None:
    points = joint_move(HOME, Pose(*goal, 50.0), speed, CEILINGS).points
    stream = Stream(points, RATES.bends)
    sent = [points[0], points[0]]
    for _ in range(int(share * (len(points) - 1))):
        sent.append(stream.next())
    stream.brake()
    cycles = 0
    while not stream.finished:
        sent.append(stream.next())
        cycles += 1
        assert cycles < 60, "60 deg/s at 400 deg/s2 is 15 cycles"
    sent.append(sent[-1])
    for number in range(1, len(sent) - 1):
        assert RATES.check(number, *sent[number - 1 : number + 2]) is None
    travel = [b - a for a, b in zip(points[0], points[-1], strict=True)]
    longest = max(range(6), key=lambda k: abs(travel[k]))
    if abs(travel[longest]) > 1.0:
        part = (sent[-1][longest] - points[0][longest]) / travel[longest]
        for k in range(6):
            assert sent[-1][k] == pytest.approx(points[0][k] + part * travel[k], abs=1e-6)


@pytest.mark.parametrize(("speed", "rest_s", "way_deg"), [(30.0, 0.08, 1.2), (60.0, 0.15, 4.6)])
def test_a_brake_is_sharp_because_gentle_ones_take_50_ms_and_a_third_of_the_way_more(
    speed: float, rest_s: float, way_deg: float
) -> None:
    stream = Stream(joint_move(HOME, HOME._replace(pan=90.0), speed, CEILINGS).points, RATES.bends)
    for _ in range(100):
        stream.next()
    braked, pan = 0, stream.now.pan
    stream.brake()
    while not stream.finished:
        stream.next()
        braked += 1
    most = CEILINGS.acceleration_dps2
    assert braked * DT <= rest_s + DT
    assert stream.now.pan - pan <= way_deg
    gentle_s = speed / most + most / JERK_DPS3  # a trapezoid of acceleration, at best
    assert gentle_s - braked * DT > 0.03
    assert speed * gentle_s / 2 > 1.3 * (stream.now.pan - pan)


def test_braking_before_the_first_point_moves_nothing() -> None:
    stream = Stream(joint_move(HOME, HOME._replace(pan=20.0), 60.0, CEILINGS).points, RATES.bends)
    stream.brake()
    assert stream.finished
    assert stream.now == HOME


# --- legs -------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    st.tuples(*(st.floats(low, high) for low, high in CEILINGS.travel_deg)),
    st.floats(0.0, 100.0),
    st.floats(1.0, 60.0),
)
def test_legs_keep_speed_and_acceleration(
    goal: tuple[float, ...], grip: float, speed: float
) -> None:
    end = Pose(*goal, grip)
    count = leg_count(HOME, end, speed, CEILINGS, DT)
    points = (HOME, HOME, *leg_points(HOME, end, count), end)
    assert points[-1] == end
    for number in range(1, len(points) - 1):
        assert RATES.check(number, *points[number - 1 : number + 2]) is None
        turn = max(
            abs(b - a) for a, b in zip(points[number - 1][:5], points[number][:5], strict=True)
        )
        assert turn <= speed * DT * (1 + 1e-9)
    for joint in range(6):
        values = [HOME[joint], HOME[joint], *(point[joint] for point in points), end[joint]]
        for _ in range(3):
            values = [b - a for a, b in pairwise(values)]
        jerk = max(map(abs, values)) / DT**3
        assert jerk <= (JERK_DPS3 if joint < 5 else JERK_PPS3) * (1 + 1e-6)


def test_legs_pass_through_every_corner() -> None:
    corners = (HOME, HOME._replace(pan=10.0), HOME._replace(pan=10.0, roll=30.0))
    building = build_legs(corners, 30.0, CEILINGS, DT)
    points = result_of(building)
    assert set(corners) <= set(points)
    assert points[0] == HOME
    assert points[-1] == corners[-1]


@pytest.mark.parametrize(
    "start",
    [
        HOME,
        Pose(100.0, -90.0, 60.0, 60.0, 0.0, 100.0),
        Pose(-40.0, -20.0, 40.0, 70.0, 90.0, 20.0),
        Pose(10.0, 25.0, 20.0, 40.0, -90.0, 0.0),
    ],
)
def test_there_is_a_route_to_park_from_everywhere(start: Pose) -> None:
    park = Pose(0.0, -98.0, 86.0, 75.0, 0.0, start.grip)
    planning = plan_route(start, park, HOME.with_grip(start.grip), 45.0, CEILINGS, DT)
    points = result_of(planning)
    assert isinstance(points, tuple), points
    assert points[-1] == park


# --- grip -------------------------------------------------------------------------------------


def contact(
    grip: Grip,
    *,
    goal: float = 10.0,
    at: float = 20.0,
    speed: float = 0.0,
    load: float = 30.0,
    cycles: int = CYCLES,
) -> bool:
    return [grip.touches(goal, at, speed, load) for _ in range(cycles)][-1]


def test_contact_needs_a_goal_ahead_a_standing_jaw_a_push_and_time() -> None:
    assert contact(Grip(30.0, 20.0))
    assert not contact(Grip(30.0, 20.0), cycles=CYCLES - 1)
    assert not contact(Grip(30.0, 20.0), goal=16.0)
    assert contact(Grip(30.0, 20.0), goal=15.9)
    assert not contact(Grip(30.0, 20.0), speed=-4.0)
    assert contact(Grip(30.0, 20.0), speed=-3.9)
    assert not contact(Grip(30.0, 20.0), load=4.9)
    assert contact(Grip(30.0, 20.0), load=-5.0)


def test_a_cycle_without_contact_starts_the_count_again() -> None:
    grip = Grip(30.0, 20.0)
    contact(grip, cycles=CYCLES - 1)
    grip.touches(10.0, 20.0, 50.0, 30.0)
    assert not contact(grip, cycles=CYCLES - 1)


@pytest.mark.parametrize(("percent", "holding"), [(5.0, False), (5.01, True), (0.0, False)])
def test_contact_below_five_percent_holds_nothing(percent: float, holding: bool) -> None:
    grip = Grip(30.0, 20.0)
    grip.take(percent)
    assert grip.holding is holding
    assert grip.squeeze is not None
    assert grip.squeeze >= 0.0


@pytest.mark.parametrize(
    ("percent", "holding"), [(20.0, True), (17.5, True), (17.4, False), (22.5, True), (22.6, False)]
)
def test_holding_lasts_while_the_opening_stays(percent: float, holding: bool) -> None:
    grip = Grip(30.0, 20.0)
    grip.take(20.0)
    grip.watch(percent, True)
    assert grip.holding is holding
    grip.watch(20.0, True)
    assert grip.holding is holding, "what was lost does not come back"


def test_holding_ends_with_the_torque() -> None:
    grip = Grip(30.0, 20.0)
    grip.take(20.0)
    grip.watch(20.0, False)
    assert not grip.holding
    assert grip.squeeze is None


def test_the_jaw_never_jumps_when_the_squeeze_ends() -> None:
    grip = Grip(30.0, 20.0)
    grip.take(20.0)
    goal = 16.0
    for wanted in (20.0, 21.0, 21.6, 22.6, 23.6, 24.6, 25.6, 26.6):
        after = grip.goal(wanted, 20.0, goal, 1.0)
        assert abs(after - goal) <= 1.0
        goal = after
    assert grip.squeeze is None
    assert goal > 20.0


# --- cycles -----------------------------------------------------------------------------------


def test_ticks_are_due_on_a_grid_whatever_a_tick_takes() -> None:
    cycles = Cycles(0.01, 100.0)
    for n in range(5):
        assert cycles.due_s == pytest.approx(100.0 + n * 0.01)
        cycles.begin(cycles.due_s + 0.001)
        cycles.end(cycles.due_s + 0.001, cycles.due_s + 0.004)
    assert cycles.overruns == 0
    assert cycles.report()["late_p99_us"] == 1000
    assert cycles.report()["longest_us"] == 3000


def test_a_late_tick_starts_the_grid_anew_and_is_counted() -> None:
    cycles = Cycles(0.01, 100.0)
    cycles.begin(100.0)
    cycles.end(100.0, 100.035)
    assert cycles.due_s == pytest.approx(100.035)
    assert cycles.overruns == 1


# --- disk -------------------------------------------------------------------------------------


def test_the_disk_thread_works_in_order_and_tells_what_failed(tmp_path: Path) -> None:
    disk, order = ThreadDisk(), list[int]()
    tickets = [disk.submit(lambda n=n: order.append(n)) for n in range(20)]  # type: ignore[misc]
    failed = disk.submit(lambda: (tmp_path / "no" / "where").write_text("x") and None)
    disk.close()
    assert order == list(range(20))
    assert all(ticket.ok for ticket in tickets)
    assert failed.done
    assert failed.error is not None
    assert "No such file" in failed.error
    assert disk.ended


def test_the_direct_disk_is_done_at_once() -> None:
    ticket = DirectDisk().submit(lambda: None)
    assert isinstance(ticket, Ticket)
    assert ticket.ok


# --- the thin start ---------------------------------------------------------------------------


def test_a_module_put_off_is_there_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "this_is_not", raising=False)
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    _lazily("colorsys")
    import colorsys

    assert type(colorsys).__name__ == "_Later"
    assert colorsys.rgb_to_hsv(1.0, 0.0, 0.0) == (0.0, 1.0, 1.0)
    assert type(sys.modules["colorsys"]).__name__ == "module"


def test_the_guard_passes_what_legs_make() -> None:
    goal = HOME._replace(pan=60.0, grip=80.0)
    count = leg_count(HOME, goal, 60.0, CEILINGS, DT)
    points = (HOME, *leg_points(HOME, goal, count))

    class Own:
        dt_s = DT

    own = Own()
    own.points = points  # type: ignore[attr-defined]
    assert check_program(own, CEILINGS, HOME) is None  # type: ignore[arg-type]
