"""Alignment with a person: the limp arm's fingertip on known points of the table.

Each point is touched twice where reach allows, with the hand steep and with the hand laid back and
turned: one posture alone cannot tell a wrong elbow from a wrong wrist. Nothing is written to the
servos: what is found lies in the calibration file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from armlabd.arm.align import AlignError, Fit, Touch, align
from armlabd.arm.calibration import Calibration
from armlabd.arm.geometry import forward
from armlabd.arm.joints import ARM_JOINTS, JOINT_NAMES
from armlabd.arm.placement import Alignment, Vector
from armlabd.motion.calibrate import Person, Task, wait
from armlabd.motion.calibrate_bus import CalibrateError, CalibrationBus, differences

READINGS: Final = 10  # of one touch
READING_S: Final = 0.02
STILL: Final = 6  # counts that a joint may move meanwhile: half a degree
ROUNDS: Final = 3  # how often the worst touch may be done again
SKIP: Final = "skip"
UNSURE_DEG: Final = 3.0  # a zero known no better than this is not known


class Visit(NamedTuple):
    """One touch that is asked for."""

    name: str
    point: Vector
    posture: str

    @property
    def title(self) -> str:
        """The touch in words."""
        return f"{self.name}, {self.posture}"


STEEP: Final = "the hand as steep as it goes"
BACK: Final = "the hand laid back and turned by a quarter"


def visits(points: Sequence[tuple[str, Vector]]) -> tuple[Visit, ...]:
    """Both postures over every point."""
    return tuple(Visit(name, at, posture) for name, at in points for posture in (STEEP, BACK))


def touch_all(
    bus: CalibrationBus, person: Person, calibration: Calibration, asked: Sequence[Visit]
) -> Fit:
    """Have every visit touched and fit zeros and base. Raises CalibrateError and PortLost.

    A worst touch that does not fit may be done again.
    """
    bus.check_servos()
    bus.make_limp()
    _check_same(bus, calibration)
    person.say(
        "Shut the jaws. For each point put the tip of the FIXED jaw on it, hold still and press "
        f"Enter; type {SKIP} for a posture that does not go."
    )
    done: dict[Visit, Touch] = {}
    for visit in asked:
        _touch(bus, person, calibration, visit, done)
    for _ in range(ROUNDS):
        try:
            return align(tuple(done.values()))
        except AlignError as error:
            person.say(error.sentence)
            if error.worst is None:
                raise CalibrateError(f"{error.sentence} Nothing was changed.") from error
            _touch(bus, person, calibration, tuple(done)[error.worst], done)
    try:
        return align(tuple(done.values()))
    except AlignError as error:
        raise CalibrateError(f"{error.sentence} Nothing was changed.") from error


def _check_same(bus: CalibrationBus, calibration: Calibration) -> None:
    lines = differences(bus.registers(), calibration)
    if lines:
        raise CalibrateError(
            f"The servos do not hold this arm's calibration ({'; '.join(lines)}). Run armlabd "
            "calibrate first, or armlabd calibration import."
        )


def _touch(
    bus: CalibrationBus,
    person: Person,
    calibration: Calibration,
    visit: Visit,
    done: dict[Visit, Touch],
) -> None:
    """One touch, until it was held still; `done` takes it in. Skipped: it stays out."""
    x, y, z = visit.point
    task = Task("touch", visit.name, visit.point, visit.posture == BACK)
    person.ask(f"{visit.title}: x {x:.3f}, y {y:+.3f}, z {z:.3f} m, then press Enter.", task)
    plain = calibration.aligned(None)
    while True:
        line = wait(bus, person, lambda seen: _where(plain, seen))
        if line.strip().lower() == SKIP:
            done.pop(visit, None)
            return
        counts = _still(bus)
        if counts is None:
            person.ask("The arm moved. Hold it still, then press Enter.", task)
            continue
        done[visit] = Touch(visit.title, visit.point, plain.from_raw(counts))
        return


def _where(calibration: Calibration, seen: tuple[int, ...]) -> str:
    x, y, z = forward(calibration.from_raw(seen)).fixed_tip
    return f"the tip seems to be at x {x:.3f}, y {y:+.3f}, z {z:+.3f} m"


def _still(bus: CalibrationBus) -> tuple[float, ...] | None:
    """The mean of several readings; None when a joint moved meanwhile."""
    rows = []
    for _ in range(READINGS):
        rows.append(bus.sure_positions())
        bus.clock.sleep(READING_S)
    columns = list(zip(*rows, strict=True))
    if any(max(column) - min(column) > STILL for column in columns[: len(ARM_JOINTS)]):
        return None
    return tuple(sum(column) / len(column) for column in columns)


def alignment_of(fit: Fit, date: str) -> Alignment:
    """What is kept of a fit: figures rounded to what they mean."""
    base = fit.base
    kept = type(base)(*(round(part, 5) for part in (base.x, base.y, base.z, base.yaw_deg)))
    zeros = tuple(round(zero, 3) for zero in fit.zero_deg)
    return Alignment(zeros, kept, round(fit.residual_mm, 2), date)


def told(fit: Fit) -> list[str]:
    """The result in lines for a person."""
    lines = []
    for name, zero, sigma in zip(JOINT_NAMES, fit.zero_deg, fit.sigma_deg, strict=False):
        unsure = "  (the touches hardly tell)" if sigma > UNSURE_DEG else ""
        lines.append(f"  {name:<14} zero {zero:+5.2f} deg, +-{sigma:.1f}{unsure}")
    base = fit.base
    lines.append(
        f"  base           {base.x * 1e3:+.1f}, {base.y * 1e3:+.1f}, {base.z * 1e3:+.1f} mm, "
        f"turned {base.yaw_deg:+.2f} deg"
    )
    lines.append(
        f"  residual       {fit.residual_mm:.1f} mm at the worst touch, {fit.rms_mm:.1f} mm rms"
    )
    return lines
