"""The hand of a person at the virtual arm: it puts the limp arm where asked and holds it there.

The hand sees where the links truly are, as a person does; the servos show something else by the
hidden zeros and the play. It knows the virtual arm's geometry only.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Final, NamedTuple

from armlabd.sim import calibration as cal
from armlabd.sim.geometry import Joints, Points, Vec, arm_points, link_frames
from armlabd.sim.gravity import gravity_torques
from armlabd.sim.hidden import HiddenErrors

SLOPES: Final = {"steep": range(90, 19, -5), "flat": range(15, 91, 5)}  # degrees below level
STARTS: Final = ((-50.0, 70.0), (0.0, 60.0), (40.0, 0.0))  # lift and elbow that the search tries
ROUNDS: Final = 40
STRIDE_DEG: Final = 15.0  # of one round, so that the search does not leap
CLOSE_M: Final = 1e-6
DIFF_DEG: Final = 1e-4
ABOVE_M: Final = 0.02  # wrist and elbow while the tip is on the table
SINK_M: Final = -0.001
SHUT_DEG: Final = cal.JAW_SHUT_DEG
SPARE_DEG: Final = 1.0  # from a joint's own end


class OutOfReach(ValueError):
    """No posture of this arm puts its fingertip there; the text says so."""


class Posture(NamedTuple):
    """Joint angles: as the links truly stand, and as the servos show them."""

    true: Joints
    shown: Joints


class PersonsHand:
    """Puts the fixed jaw's tip on points. `seed` decides to which side loose joints are pushed."""

    def __init__(self, hidden: HiddenErrors, seed: int = 0) -> None:
        self._hidden = hidden
        self._dice = random.Random(seed)

    def on(self, point: Vec, slope: str = "steep", roll_deg: float = 0.0) -> Posture:
        """A posture whose true fingertip is on `point` (m), hand steep or laid back as far as it
        goes. Raises OutOfReach.
        """
        for pitch in SLOPES[slope]:
            for true in _postures(point, float(pitch), roll_deg):
                shown = self._shown(true)
                if _is_free(true) and _within_travel(shown):
                    return Posture(true, shown)
        x, y, z = point
        raise OutOfReach(
            f"The fingertip does not reach ({x:.3f}, {y:.3f}, {z:.3f}) with the hand {slope}. "
            "Name a point nearer the arm."
        )

    def _shown(self, true: Joints) -> Joints:
        """What the servos show while the links stand at `true`."""
        weight = gravity_torques(link_frames(true), arm_points(true, SHUT_DEG))
        shown = []
        for joint, angle in enumerate(true):
            half = self._hidden.backlash_deg[joint] / 2
            play = self._dice.uniform(-half, half)
            if abs(weight[joint]) > 0.01:  # the weight takes up the play, see HiddenErrors.links
                play = math.copysign(half, weight[joint])
            shown.append(angle - self._hidden.zero_deg[joint] - play)
        return (shown[0], shown[1], shown[2], shown[3], shown[4])


def _postures(point: Vec, pitch_deg: float, roll_deg: float) -> Iterator[Joints]:
    """Angles that put the tip on `point` with the hand at this slope, from several starts."""
    pan = -math.degrees(math.atan2(point[1], point[0] - 0.0388353))
    for lift, elbow in STARTS:
        found = _search([pan, lift, elbow], point, pitch_deg, roll_deg)
        if found is not None:
            yield found


def _joints(q: list[float], pitch_deg: float, roll_deg: float) -> Joints:
    return (q[0], q[1], q[2], pitch_deg - q[1] - q[2], roll_deg)


def _search(q: list[float], point: Vec, pitch_deg: float, roll_deg: float) -> Joints | None:
    """Newton's method in pan, lift and elbow; None when it does not settle."""
    for _ in range(ROUNDS):
        here = _tip(_joints(q, pitch_deg, roll_deg))
        miss = [want - have for want, have in zip(point, here, strict=True)]
        if math.hypot(*miss) < CLOSE_M:
            return _joints([_turned(angle) for angle in q], pitch_deg, roll_deg)
        columns = []
        for k in range(3):
            moved = [angle + DIFF_DEG * (k == n) for n, angle in enumerate(q)]
            there = _tip(_joints(moved, pitch_deg, roll_deg))
            columns.append([(b - a) / DIFF_DEG for a, b in zip(here, there, strict=True)])
        step = _cramer(columns, miss)
        if step is None:
            return None
        q = [angle + max(-STRIDE_DEG, min(STRIDE_DEG, d)) for angle, d in zip(q, step, strict=True)]
    return None


def _tip(q: Joints) -> Vec:
    return arm_points(q, SHUT_DEG).fixed_tip


def _turned(angle: float) -> float:
    return (angle + 180.0) % 360.0 - 180.0


def _cramer(columns: list[list[float]], right: list[float]) -> list[float] | None:
    """Solve three equations given by columns; None when they hang together."""
    whole = _det(*columns)
    if abs(whole) < 1e-12:
        return None
    a, b, c = columns
    parts = (_det(right, b, c), _det(a, right, c), _det(a, b, right))
    return [part / whole for part in parts]


def _det(a: list[float], b: list[float], c: list[float]) -> float:
    return (
        a[0] * (b[1] * c[2] - b[2] * c[1])
        - a[1] * (b[0] * c[2] - b[2] * c[0])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
    )


def _is_free(true: Joints) -> bool:
    """Nothing but the tip is on the table."""
    points: Points = arm_points(true, SHUT_DEG)
    high = min(points.wrist[2], points.elbow[2], points.roll_origin[2])
    return high > ABOVE_M and points.moving_tip[2] > SINK_M


def _within_travel(shown: Joints) -> bool:
    """The servos can show these angles: within each joint's own ends."""
    for joint, angle in enumerate(shown):
        spec = cal.SPECS[joint]
        half = (spec.range_max - spec.range_min) / 2 / cal.STEPS_PER_DEG
        if abs(angle) > half - SPARE_DEG:
            return False
    return True
