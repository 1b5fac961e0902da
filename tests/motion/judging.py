"""A judge of goals on the wire: by the limits and the goals before, whatever the core believes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from armlabd.arm.calibration import Calibration
from armlabd.arm.joints import DEGREES_PER_STEP, SERVO_IDS, Pose
from armlabd.arm.limits import CEILINGS, Limits
from armlabd.motion.fence import violation

PERIOD_S = 0.01
MOST_LOST = 20  # cycles; ten misses in a row end a motion
ROUNDING = 1.01 * DEGREES_PER_STEP  # two goals, each rounded to the nearest count
Goals = Iterable[tuple[float, Mapping[int, int] | None]]


def judge_goals(
    goals: Goals, calibration: Calibration, limits: Limits, *, lossy: bool = False
) -> int:
    """Judge (when, raw goal by servo id) in order; None in place of goals means torque off.

    The first goal after a torque-off pins the arm where it is. Each other one must be within a step
    of the one before, and no deeper in any forbidden region. `lossy`: a frame may have been lost on
    the way to whoever heard them, so a step may span the cycles that went by. Returns how many
    were judged.
    """
    last: Pose | None = None
    last_s = 0.0
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
            cycles = max(1, round((at_s - last_s) / PERIOD_S)) if lossy else 1
            _judge_step(at_s, last, pose, limits, min(cycles, MOST_LOST))
            judged += 1
        last, last_s = pose, at_s
    return judged


def _judge_step(at_s: float, last: Pose, pose: Pose, limits: Limits, cycles: int) -> None:
    steps = [abs(a - b) for a, b in zip(pose, last, strict=True)]
    assert max(steps[:5]) <= CEILINGS.step_deg * cycles + ROUNDING, (at_s, last, pose)
    assert steps[5] <= CEILINGS.grip_step_percent * cycles + 0.1, (at_s, last, pose)
    known = {depth.name: depth.depth for depth in violation(last, limits)}
    for depth in violation(pose, limits):
        slack = 0.002 if depth.unit == "m" else 0.1
        assert depth.depth <= known.get(depth.name, 0.0) + slack, (at_s, depth)
