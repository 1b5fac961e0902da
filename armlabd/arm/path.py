"""From where the arm is to where it should be, as a program of set-points every 10 ms.

`joint_move` goes straight in joint space, `line_move` leads the grasp point along a straight line,
`lift_move` raises it, `grip_move` moves the jaws alone. Each starts exactly at its start, ends
exactly at its goal and at rest, and keeps every joint's speed, acceleration, jerk and step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import cbrt, ceil

from armlabd.arm.geometry import forward
from armlabd.arm.joints import JOINT_NAMES, Pose, is_number
from armlabd.arm.kinematics import (
    DOWN_DEG,
    EDGE_DEG,
    GeometryFault,
    JointLimit,
    Unreachable,
    check_joints,
    inverse,
)
from armlabd.arm.limits import Limits
from armlabd.arm.profile import GRID, Rates, Timing, curved_timing, law, straight_timing
from armlabd.arm.program import DT_S, Program, ProgramError, pack, unpack
from armlabd.verdict import Code

__all__ = [
    "DT_S",
    "Program",
    "ProgramError",
    "Target",
    "TooFast",
    "grip_move",
    "joint_move",
    "lift_move",
    "line_move",
    "one_sided",
    "pack",
    "still",
    "unpack",
]


@dataclass(frozen=True, slots=True)
class Target:
    """Where the grasp point should go: metres, base frame; pitch 90 is straight down.

    Give the opening yaw or the roll; with neither, the roll stays what it is.
    """

    x: float
    y: float
    z: float
    yaw_deg: float | None = None
    roll_deg: float | None = None
    pitch_deg: float = DOWN_DEG


def still(pose: Pose, note: str = "stay") -> Program:
    """A program of one point: nothing moves."""
    return Program((pose,), note=note)


class TooFast(GeometryFault):
    """A speed that is no number above zero and within the limits."""

    code = Code.TOO_FAST


def joint_move(start: Pose, goal: Pose, speed_dps: float, limits: Limits) -> Program:
    """Straight in joint space, all joints arriving together; the slowest sets the time.

    The start may be outside the limits (a limp arm), the goal may not: JointLimit.
    """
    rates = _rates(speed_dps, limits)
    check_joints(goal, limits, "the goal")
    _check_grip(goal.grip, limits)
    return _sampled(start, goal, _blend(start, goal), straight_timing, rates, "joint move")


def grip_move(start: Pose, percent: float, speed_pps: float, limits: Limits) -> Program:
    """The jaws alone to `percent` (0 closed, 100 open) at `speed_pps` percent per second."""
    if not is_number(speed_pps) or not 0 < speed_pps <= limits.grip_speed_pps:
        raise TooFast(_speed_sentence(speed_pps, limits.grip_speed_pps, "percent per second"))
    _check_grip(percent, limits)
    goal = start.with_grip(percent)
    rates = _rates(limits.speed_dps, limits, speed_pps)
    return _sampled(start, goal, _blend(start, goal), straight_timing, rates, "grip move")


def line_move(start: Pose, target: Target, speed_dps: float, limits: Limits) -> Program:
    """The grasp point along a straight line; pitch and roll change evenly, the grip stays.

    Raises Unreachable or JointLimit naming where on the line, TooFast for the speed. A joint that
    starts outside its travel may only come back in.
    """
    rates = _rates(speed_dps, limits)
    goal = _goal_of(start, target, limits)
    line = _line(start, goal)
    samples = [line(k / GRID) for k in range(GRID + 1)]
    _check_same(samples[0], start)
    _check_travel([start, *samples[1:]], limits)  # cheap and early: most faults show here
    program = _sampled(start, goal, line, lambda _, r: curved_timing(samples, r), rates, "line")
    _check_travel(program.points, limits)
    return program


def lift_move(
    start: Pose, height_m: float, speed_dps: float, limits: Limits, max_tilt_deg: float = 25.0
) -> Program:
    """Straight up until the grasp point is `height_m` above the table, or as far as reach allows.

    The hand tilts only where that gains height: by as little as needed, at most `max_tilt_deg`
    from straight down. Already as high, or no way up: a program that stays.
    """
    x, y, z = forward(start).grasp
    _rates(speed_dps, limits)
    for pitch, top in _tops(forward(start).pitch_deg, z, height_m, max_tilt_deg):
        target = Target(x, y, top, roll_deg=start.roll, pitch_deg=pitch)
        try:
            return line_move(start, target, speed_dps, limits)
        except GeometryFault:
            continue
    return still(start)


def one_sided(program: Program, speed_dps: float, limits: Limits) -> Program:
    """The program, and at its end a short way out and back where pan did not come from below.

    The play of a joint that carries no weight is left on the side it came from, 0.5 to 1 degree or
    1 to 4 mm at the hand; coming from one side always, the hand is at the same place each time. A
    program that leaves pan alone leaves its side alone. Raises JointLimit at the end of the travel.
    """
    pans = [point.pan for point in program.points]
    if max(pans) - min(pans) < STILL_DEG or _rise(pans) >= PLAY_DEG:
        return program
    goal = program.goal
    aside = goal._replace(pan=goal.pan - PLAY_DEG)
    out = joint_move(goal, aside, speed_dps, limits)
    back = joint_move(aside, goal, speed_dps, limits)
    return Program((*program.points, *out.points[1:], *back.points[1:]), DT_S, program.note)


def _rise(values: Sequence[float]) -> float:
    """By how much the values have risen without a break up to their end."""
    place = len(values) - 1
    while place and values[place - 1] <= values[place]:
        place -= 1
    return values[-1] - values[place]


PLAY_DEG = 1.2  # more than the play of a worn joint, about 1 degree (SO-ARM100#134)
STILL_DEG = 0.05  # of pan: it has not moved
SAME_POSE_DEG = 1e-6  # a pose and its own inverse agree far better than this
LIFT_STEP_M = 0.005  # heights tried by a lift
LIFT_TILT_STEP_DEG = 5.0
_EXACT = 1.0 + 1e-9  # a rounding of the last digits is not too fast

Path = Callable[[float], Pose]
Timer = Callable[[tuple[float, ...], Rates], Timing]


def _speed_sentence(value: float, top: float, unit: str) -> str:
    return (
        f"the speed {value!r} is not allowed: it must be above 0 and at most {top:g} {unit}. "
        "Choose a lower one."
    )


def _rates(speed_dps: float, limits: Limits, grip_pps: float | None = None) -> Rates:
    """The ceilings of this motion; a step per cycle is a speed too."""
    if not is_number(speed_dps) or not 0 < speed_dps <= limits.speed_dps:
        raise TooFast(_speed_sentence(speed_dps, limits.speed_dps, "degrees per second"))
    arm = min(speed_dps, limits.step_deg / DT_S)
    jaw = min(grip_pps or limits.grip_speed_pps, limits.grip_step_percent / DT_S)
    return Rates(
        (arm,) * 5 + (jaw,),
        (limits.acceleration_dps2,) * 5 + (limits.grip_acceleration_pps2,),
    )


def _check_grip(percent: float, limits: Limits) -> None:
    low, high = limits.grip_percent
    if not is_number(percent) or not low <= percent <= high:
        raise JointLimit(JOINT_NAMES[5], percent, (low, high), "the goal")


def _blend(start: Pose, goal: Pose) -> Path:
    travel = [b - a for a, b in zip(start, goal, strict=True)]
    return lambda s: Pose(*(a + t * s for a, t in zip(start, travel, strict=True)))


def _goal_of(start: Pose, target: Target, limits: Limits) -> Pose:
    roll = start.roll if target.yaw_deg is None and target.roll_deg is None else target.roll_deg
    return inverse(
        target.x,
        target.y,
        target.z,
        pitch_deg=target.pitch_deg,
        roll_deg=roll,
        yaw_deg=target.yaw_deg,
        grip_percent=start.grip,
        limits=limits,
    )


def _check_same(computed: Pose, start: Pose) -> None:
    if max(abs(a - b) for a, b in zip(computed, start, strict=True)) > SAME_POSE_DEG:
        raise Unreachable(
            "No straight line starts here, because the arm is folded the other way. "
            "Go home first, then move."
        )


def _line(start: Pose, goal: Pose) -> Path:
    """The path whose grasp point is on the straight line between two poses of equal grip."""
    a, b = forward(start), forward(goal)
    (x0, y0, z0), (x1, y1, z1) = a.grasp, b.grasp

    def at(s: float) -> Pose:
        try:
            return inverse(
                x0 + (x1 - x0) * s,
                y0 + (y1 - y0) * s,
                z0 + (z1 - z0) * s,
                pitch_deg=a.pitch_deg + (b.pitch_deg - a.pitch_deg) * s,
                roll_deg=start.roll + (goal.roll - start.roll) * s,
                grip_percent=start.grip,
                limits=None,
            )
        except GeometryFault as fault:
            raise Unreachable(f"{_where(s)}, {fault.sentence}") from fault

    return at


def _where(s: float) -> str:
    return f"On the straight line, {100 * s:.0f} % of the way"


def _sampled(start: Pose, goal: Pose, path: Path, timer: Timer, rates: Rates, note: str) -> Program:
    """The path at 100 Hz, ends exact, stretched until the set-points themselves keep the rates."""
    travel = tuple(b - a for a, b in zip(start, goal, strict=True))
    if not any(travel):
        return still(start, note)
    timing = timer(travel, rates)
    count = max(2, ceil(timing.duration_s / DT_S - 1e-9))
    while True:
        inner = (path(law(k / count, timing.ramp).s) for k in range(1, count))
        points = (start, *inner, goal)
        excess = _excess(points, rates)
        if excess <= _EXACT:
            return Program(points, DT_S, note)
        count = max(count + 1, ceil(count * excess))


def _excess(points: tuple[Pose, ...], rates: Rates) -> float:
    """By what factor the duration must grow: above 1 when a joint is too fast, sharp or jerky."""
    worst = 0.0
    for joint, (speed, acceleration, jerk) in enumerate(zip(*rates, strict=True)):
        values = [point[joint] for point in points]
        steps = [b - a for a, b in pairwise(values)]
        changes = [b - a for a, b in pairwise(steps)]
        # At rest before and after: the first and the last step are changes too, and so on.
        changes = [steps[0], *changes, -steps[-1]]
        thirds = [changes[0], *(b - a for a, b in pairwise(changes)), -changes[-1]]
        worst = max(worst, max(map(abs, steps)) / (speed * DT_S))
        worst = max(worst, (max(map(abs, changes)) / (acceleration * DT_S**2)) ** 0.5)
        worst = max(worst, cbrt(max(map(abs, thirds)) / (jerk * DT_S**3)))
    return worst


def _check_travel(points: Sequence[Pose], limits: Limits) -> None:
    """JointLimit where a joint leaves its travel, or goes farther out than it already was."""
    last = len(points) - 1
    for joint, (low, high) in enumerate(limits.travel_deg):
        allowed = EDGE_DEG
        for k, point in enumerate(points):
            outside = max(low - point[joint], point[joint] - high)
            if k and outside > allowed:
                name, value = JOINT_NAMES[joint], point[joint]
                raise JointLimit(name, value, (low, high), f"{_where(k / last)}, the arm")
            allowed = max(EDGE_DEG, outside)


def _tops(
    pitch_deg: float, z: float, height_m: float, max_tilt_deg: float
) -> Iterator[tuple[float, float]]:
    """Pitches and heights for a lift, the highest first and the pitch nearest to today's first."""
    widest = max(max_tilt_deg, abs(pitch_deg - DOWN_DEG))
    turns = [k * LIFT_TILT_STEP_DEG for k in range(int(2 * widest / LIFT_TILT_STEP_DEG) + 1)]
    pitches = [pitch_deg] + [pitch_deg + sign * t for t in turns[1:] for sign in (-1.0, 1.0)]
    pitches = [p for p in pitches if abs(p - DOWN_DEG) <= widest + EDGE_DEG]
    for step in range(max(0, ceil((height_m - z) / LIFT_STEP_M - 1e-9))):
        for pitch in pitches:
            yield pitch, height_m - step * LIFT_STEP_M
