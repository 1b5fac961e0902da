"""Alignment on the virtual arm: the true fingertip on four points, servos that show another."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import dist

import pytest
from scripted_person import Act, Bench, Scripted

from armlabd.arm.calibration import Calibration, calibration_of
from armlabd.arm.geometry import forward
from armlabd.motion.calibrate import Task
from armlabd.motion.calibrate_align import BACK, Visit, alignment_of, told, touch_all, visits
from armlabd.motion.calibrate_bus import CalibrateError
from armlabd.sim.calibration import calibration_json
from armlabd.sim.geometry import arm_points
from armlabd.sim.hidden import HiddenErrors
from armlabd.table import MARKERS

OWN = calibration_of(json.loads(calibration_json()))
ASKED = visits(tuple((f"marker {m.id}", (m.x, m.y, 0.0)) for m in MARKERS))
Where = Callable[[Visit], tuple[float, float, float]]


def toucher(where: Where = lambda visit: visit.point, skips: tuple[str, ...] = ()) -> Scripted:
    def answer(person: Scripted, task: Task) -> Act:
        visit = next(v for v in ASKED if (v.name, v.posture == BACK) == (task.name, task.back))
        if visit.title in skips:
            yield "skip"
        slope, roll_deg = ("flat", 80.0) if task.back else ("steep", 0.0)
        person.arm.touch(where(visit), slope, roll_deg)
        yield None
        yield ""

    return Scripted(None, answer)  # type: ignore[arg-type]


def aligned(bench: Bench, person: Scripted) -> Calibration:
    person.arm = bench.arm
    fit = touch_all(bench.bus(), person, OWN, ASKED)
    return OWN.aligned(alignment_of(fit, "today"))


def tip_error_mm(bench: Bench, calibration: Calibration) -> float:
    """The worst distance between where the tip is believed and where it truly is."""
    worst = 0.0
    for pose in (
        (0.0, -10.0, 60.0, 40.0, 0.0),
        (40.0, 10.0, 50.0, 30.0, 60.0),
        (-50, -30, 80, 40, 0),
    ):
        bench.arm.put(pose, 0.0, held=True)
        bench.arm.advance(bench.arm.now_s + 0.1)
        bench.clock.advance_to(bench.arm.now_s)
        read = calibration.from_raw(bench.bus().sure_positions())
        believed = calibration.placement.to_table(forward(read).fixed_tip)
        joints, jaw = bench.arm.true_deg()
        worst = max(worst, dist(believed, arm_points(joints, jaw).fixed_tip))
    return worst * 1e3


@pytest.mark.parametrize("seed", range(6))
def test_with_alignment_the_tip_is_where_it_is_believed(seed: int) -> None:
    bench = Bench.made(hidden=HiddenErrors.drawn(seed))
    assert tip_error_mm(bench, OWN) > 6.0
    calibration = aligned(bench, toucher())
    assert calibration.alignment is not None
    assert calibration.alignment.residual_mm < 5.0
    assert tip_error_mm(bench, calibration) < 5.0


def test_nothing_is_written_to_the_servos_and_the_arm_stays_limp() -> None:
    bench = Bench.made(hidden=HiddenErrors.drawn(1))
    before = bench.bus().registers()
    aligned(bench, toucher())
    assert bench.bus().registers() == before
    assert not any(servo.torque_on for servo in bench.arm.servos)


def test_a_point_touched_beside_is_named_and_may_be_touched_again() -> None:
    bench, first = Bench.made(hidden=HiddenErrors.drawn(1)), True

    def where(visit: Visit) -> tuple[float, float, float]:
        nonlocal first
        x, y, z = visit.point
        if visit == ASKED[4] and first:
            first = False
            return x - 0.03, y + 0.01, z
        return visit.point

    person = toucher(where)
    aligned(bench, person)
    assert any(f"{ASKED[4].title} is off by" in text for text in person.said)


def test_touches_that_never_fit_are_refused_in_the_end() -> None:
    bench = Bench.made()

    def where(visit: Visit) -> tuple[float, float, float]:
        x, y, z = visit.point
        return x - 0.03 * (visit.name == "marker 2"), y, z

    with pytest.raises(CalibrateError, match=r"off by .* mm, allowed are 5.*Nothing was changed"):
        aligned(bench, toucher(where))


def test_a_posture_that_does_not_go_is_skipped() -> None:
    bench = Bench.made(hidden=HiddenErrors.drawn(2))
    calibration = aligned(bench, toucher(skips=(ASKED[1].title, ASKED[7].title)))
    assert tip_error_mm(bench, calibration) < 5.0


def test_three_points_are_too_few() -> None:
    skips = tuple(visit.title for visit in ASKED if visit.name == "marker 0")
    with pytest.raises(CalibrateError, match="3 different points"):
        aligned(Bench.made(), toucher(skips=skips))


def test_a_hand_that_trembles_is_asked_to_hold_still(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, person, count = Bench.made(), toucher(), 0
    person.arm = bench.arm
    bus = bench.bus()
    real = bus.sure_positions

    def trembling() -> tuple[int, ...]:
        nonlocal count
        count += 1
        seen = real()
        return (seen[0] + 7 * (count == 5), *seen[1:])

    monkeypatch.setattr(bus, "sure_positions", trembling)
    touch_all(bus, person, OWN, ASKED)
    assert sum("Hold it still" in text for text in person.said) == 1


def test_case_49_an_arm_with_another_calibration_is_not_aligned() -> None:
    bench = Bench.made()
    bench.arm.servos[2].write(31, (100).to_bytes(2, "little"))
    with pytest.raises(CalibrateError, match="do not hold this arm's calibration"):
        aligned(bench, toucher())


def test_the_result_is_told_in_millimetres() -> None:
    bench, person = Bench.made(hidden=HiddenErrors.drawn(1)), toucher()
    person.arm = bench.arm
    lines = told(touch_all(bench.bus(), person, OWN, ASKED))
    assert len(lines) == 7
    assert "the touches hardly tell" in lines[4]
    assert "mm at the worst touch" in lines[-1]
