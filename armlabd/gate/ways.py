"""Ways through the workspace: joint programs tried in order, each checked by the guard's rules.

All functions raise `NoWay` with the verdict that says why nothing was found.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from armlabd.arm.geometry import forward
from armlabd.arm.joints import Pose
from armlabd.arm.kinematics import DOWN_DEG, GRASP_Z_M, GeometryFault, inverse
from armlabd.arm.limits import Limits
from armlabd.arm.path import Program, Target, joint_move, line_move
from armlabd.motion.guard import check_program
from armlabd.verdict import Code, Verdict

DIP_M = 0.005  # a joint move may sag this far below both of its ends
TILT_STEP_DEG = 1.0
ROLLS_DEG = (0.0, -30.0, 30.0, -60.0, 60.0, -90.0, 90.0)  # nearest to 0 first


class NoWay(Exception):
    """No program was found; `verdict` is the refusal."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.sentence)
        self.verdict = verdict


def refusal_of(fault: GeometryFault) -> Verdict:
    """A fault of the geometry as a refusal; the sentence starts with a capital."""
    sentence = fault.sentence[:1].upper() + fault.sentence[1:]
    return Verdict.refused(Code(fault.code), sentence)


def guarded(program: Program, limits: Limits) -> Program:
    """The program itself if the guard would accept it from its own start. Raises NoWay."""
    fault = check_program(program, limits, program.start)
    if fault is None:
        return program
    raise NoWay(Verdict.refused(fault.code, f"The way there is not free. {fault.sentence}"))


def aims(
    start: Pose, x: float, y: float, z: float, yaw_deg: float | None, keep_roll: bool, tilt: float
) -> Iterator[Target]:
    """Targets for one point, best first.

    Straight down before tilted (only above z 0.05, by `tilt` degrees at most); without a yaw the
    roll stays (`keep_roll`) or is as close to 0 as reach allows.
    """
    pitches = [DOWN_DEG]
    if z > GRASP_Z_M:
        steps = [k * TILT_STEP_DEG for k in range(1, int(tilt / TILT_STEP_DEG + 1e-9) + 1)]
        pitches += [DOWN_DEG + sign * step for step in steps for sign in (-1.0, 1.0)]
    rolls: tuple[float | None, ...] = (None,)
    if yaw_deg is None:
        rolls = (start.roll, *ROLLS_DEG) if keep_roll else ROLLS_DEG
    for roll in rolls:
        for pitch in pitches:
            yield Target(x, y, z, yaw_deg, roll, pitch)


def first_reachable(start: Pose, targets: Iterator[Target], limits: Limits) -> tuple[Target, Pose]:
    """The first target with a pose inside the limits, and that pose. Raises NoWay."""
    first: GeometryFault | None = None
    for target in targets:
        try:
            goal = inverse(
                target.x,
                target.y,
                target.z,
                pitch_deg=target.pitch_deg,
                roll_deg=target.roll_deg,
                yaw_deg=target.yaw_deg,
                grip_percent=start.grip,
                limits=limits,
            )
        except GeometryFault as fault:
            first = first or fault  # the hand straight down is what a person understands
            continue
        return target, goal
    assert first is not None  # there is always a first target
    raise NoWay(refusal_of(first))


def straight(start: Pose, target: Target, speed_dps: float, limits: Limits) -> Program:
    """The grasp point along a straight line. Raises NoWay."""
    try:
        return guarded(line_move(start, target, speed_dps, limits), limits)
    except GeometryFault as fault:
        raise NoWay(refusal_of(fault)) from fault


def around(start: Pose, goal: Pose, speed_dps: float, limits: Limits) -> tuple[Program, ...]:
    """In joint space, never lower than the lower end by more than 5 mm.

    Tried in order: all joints at once; fold, then pan; pan, then fold. Raises NoWay.
    """
    folded = goal._replace(pan=start.pan)
    panned = start._replace(pan=goal.pan)
    reason: NoWay | None = None
    for corners in ((start, goal), (start, folded, goal), (start, panned, goal)):
        try:
            return tuple(
                _level(joint_move(a, b, speed_dps, limits), limits)
                for a, b in pairwise(corners)
                if a != b
            )
        except GeometryFault as fault:
            reason = reason or NoWay(refusal_of(fault))
        except NoWay as fault:
            reason = reason or fault
    assert reason is not None
    raise reason


def _level(program: Program, limits: Limits) -> Program:
    lowest_allowed = min(forward(p).tool[2] for p in (program.start, program.goal)) - DIP_M
    lowest = min(forward(point).tool[2] for point in program.points)
    if lowest < lowest_allowed:
        raise NoWay(
            Verdict.refused(
                Code.PATH_BLOCKED,
                f"The way there sinks to {lowest:.3f} m; it may not go below "
                f"{lowest_allowed:.3f} m. Lift the hand first, or go home and come from there.",
            )
        )
    return guarded(program, limits)
