"""A judge of goals on the wire: by the limits and the goals before, whatever the core believes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from armlabd.arm.calibration import Calibration
from armlabd.arm.joints import DEGREES_PER_STEP, SERVO_IDS, Pose
from armlabd.arm.limits import CEILINGS, Limits
from armlabd.motion.guard import violation

ROUNDING = 1.01 * DEGREES_PER_STEP  # two goals, each rounded to the nearest count
Goals = Iterable[tuple[float, Mapping[int, int] | None]]


def judge_goals(goals: Goals, calibration: Calibration, limits: Limits) -> int:
    """Judge (when, raw goal by servo id) in order; None in place of goals means torque off.

    The first goal after a torque-off pins the arm where it is. Each other one must be within a step
    of the one before, and no deeper in any forbidden region. Returns how many were judged.
    """
    last: Pose | None = None
    counts: dict[int, int] = {}
    judged = 0
    for at_s, written in goals:
        if written is None:
            last = None
            continue
        counts |= written
        if set(counts) != set(SERVO_IDS):
            continue
        pose = calibration.from_raw([counts[servo_id] for servo_id in SERVO_IDS])
        if last is not None:
            _judge_step(at_s, last, pose, limits)
            judged += 1
        last = pose
    return judged


def _judge_step(at_s: float, last: Pose, pose: Pose, limits: Limits) -> None:
    steps = [abs(a - b) for a, b in zip(pose, last, strict=True)]
    assert max(steps[:5]) <= CEILINGS.step_deg + ROUNDING, (at_s, last, pose)
    assert steps[5] <= CEILINGS.grip_step_percent + 0.1, (at_s, last, pose)
    known = {depth.name: depth.depth for depth in violation(last, limits)}
    for depth in violation(pose, limits):
        slack = 0.002 if depth.unit == "m" else 0.1
        assert depth.depth <= known.get(depth.name, 0.0) + slack, (at_s, depth)
