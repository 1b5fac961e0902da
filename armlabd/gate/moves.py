"""From a tool call to joint programs: the one function that does it, for moving and for checking.

`plan_motion` is pure: the same call from the same pose gives the same programs, whether the session
is about to run them or the checker simulates a whole plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import hypot

from armlabd.arm.geometry import forward
from armlabd.arm.joints import Pose
from armlabd.arm.kinematics import GeometryFault
from armlabd.arm.limits import Limits
from armlabd.arm.path import Program, grip_move, joint_move, lift_move, one_sided
from armlabd.arm.placement import ON_ITS_MARK, Placement
from armlabd.config import Config
from armlabd.gate.sight import hides
from armlabd.gate.ways import NoWay, aims, around, first_reachable, guarded, refusal_of, straight
from armlabd.motion.fence import violation
from armlabd.motion.inside import way_inside
from armlabd.table import CAMERA, REACH, Area, CameraModel
from armlabd.verdict import Code, Verdict

Pose5 = tuple[float, float, float, float, float]
CLEAR_Z_M = 0.05  # tool point at or above this is clear of the table (design §6)
LIFT_Z_M = 0.07  # how high a lift goes where reach allows: the top of what tools may name
HEIGHT_EDGE_M = 0.003  # sag of an arm that was sent to exactly the clear height
SAME_POINT_M = 0.006  # the hand is over the same point: sag and backlash move it this much
OPEN_PERCENT = 50.0  # wide enough that the grasp point no longer depends on how wide
OPEN_PPS = 100.0  # percent per second
CLOSE_PPS = 60.0  # slower: the jaws meet something on the way


@dataclass(frozen=True, slots=True)
class Leg:
    """One joint program. `contact`: ends early, and well, when the jaws meet something."""

    program: Program
    contact: bool = False
    note: str = ""

    @property
    def end(self) -> Pose:
        """Where the leg ends if nothing gets in the way."""
        return self.program.points[-1]


Legs = tuple[Leg, ...]


@dataclass(frozen=True, slots=True)
class MoveSettings:
    """What `plan_motion` needs from the settings. Degrees, deg/s, metres.

    `base` is where the base stands on the table: tools name points of the table, the geometry of
    the arm knows the base, and this file is where the one becomes the other.
    """

    limits: Limits
    home: Pose5
    view: Pose5
    park: Pose5
    speed_dps: float = 45.0  # of moves that name no speed
    max_tilt_deg: float = 25.0
    area: Area = REACH
    camera: CameraModel = CAMERA
    base: Placement = ON_ITS_MARK

    @classmethod
    def of(cls, config: Config, limits: Limits, base: Placement | None = None) -> MoveSettings:
        """The settings of a config, within limits already tightened by it."""
        motion = config.motion
        return cls(
            limits,
            motion.home_pose,
            motion.view_pose,
            motion.park_pose,
            min(motion.speed_dps, limits.speed_dps),
            motion.max_tilt_deg,
            config.workspace.area(),
            config.camera.model(),
            base or ON_ITS_MARK,
        )


def plan_motion(
    tool: str, args: Mapping[str, float], pose: Pose, holding: bool, settings: MoveSettings
) -> tuple[Leg, ...] | Verdict:
    """The legs of move_to_pose, open_gripper, close_gripper, go_home, look, lift or park.

    `args` are validated and filled; `pose` is where the arm is (degrees, gripper percent). No legs:
    the arm is already there. A Verdict: UNREACHABLE, JOINT_LIMIT, PATH_BLOCKED or TOO_FAST, and
    nothing should move. An arm outside its limits first comes inside.
    """
    try:
        inside, start = _come_inside(pose, settings)
        legs = (*inside, *_PLANNERS[tool](start, args, settings))
        if tool == "move_to_pose" and not holding:
            legs = _from_one_side(legs, args["speed_dps"], settings.limits)
    except NoWay as reason:
        return reason.verdict
    return tuple(leg for leg in legs if len(leg.program.points) > 1)


def regripped(legs: Legs, grip_percent: float) -> Legs:
    """The same motions of the arm with another gripper set-point throughout."""
    return tuple(
        replace(
            leg,
            program=replace(
                leg.program, points=tuple(p.with_grip(grip_percent) for p in leg.program.points)
            ),
        )
        for leg in legs
    )


def hides_table(pose: Pose, settings: MoveSettings) -> bool:
    """True when the arm stands between the camera and any part of the workspace."""
    return hides(pose, settings.area, settings.camera, settings.base)


def _come_inside(pose: Pose, settings: MoveSettings) -> tuple[tuple[Leg, ...], Pose]:
    """Nothing for an arm inside its limits, else the way in; and where the rest starts."""
    if not violation(pose, settings.limits):
        return (), pose
    program = way_inside(pose, settings.limits, Pose(*settings.home, pose.grip))
    if program is None:
        sentence = (
            "The arm stands outside its limits and no safe way inside was found. Stop it, move it "
            "by hand to the middle of its travel, clear the stop, and call go_home."
        )
        raise NoWay(Verdict.refused(Code.PATH_BLOCKED, sentence))
    return (Leg(program, note="come inside"),), program.goal


def _move_to_pose(start: Pose, args: Mapping[str, float], settings: MoveSettings) -> Legs:
    x, y, z = settings.base.to_base(args["x"], args["y"], args["z"])
    speed, yaw = args["speed_dps"], args.get("yaw_deg")
    if yaw is not None:
        yaw -= settings.base.yaw_deg
    here = forward(start).grasp
    same_point = _is_over(start, x, y)
    targets = aims(start, x, y, z, yaw, same_point, settings.max_tilt_deg)
    target, goal = first_reachable(start, targets, settings.limits)
    try:
        return (Leg(straight(start, target, speed, settings.limits), note="straight"),)
    except NoWay:
        if here[2] >= CLEAR_Z_M - HEIGHT_EDGE_M:
            return _around(start, goal, speed, settings)
        lift = _lift_first(start, settings)  # low down, another way would drag things along
        if not lift:
            raise
    top = lift[-1].end
    try:
        return (*lift, Leg(straight(top, target, speed, settings.limits), note="straight"))
    except NoWay:
        return (*lift, *_around(top, goal._replace(grip=top.grip), speed, settings))


def _from_one_side(legs: Legs, speed_dps: float, limits: Limits) -> Legs:
    """Above the table, before a hand goes straight down to grasp, pan always comes from one side.

    Lower down it would drag things along. Where the way out is not free the plain way is taken.
    """
    if not legs or forward(legs[-1].end).grasp[2] < CLEAR_Z_M - HEIGHT_EDGE_M:
        return legs
    try:
        program = guarded(one_sided(legs[-1].program, speed_dps, limits), limits)
    except (GeometryFault, NoWay):
        return legs
    return (*legs[:-1], replace(legs[-1], program=program))


def _around(start: Pose, goal: Pose, speed: float, settings: MoveSettings) -> Legs:
    return tuple(
        Leg(program, note="around") for program in around(start, goal, speed, settings.limits)
    )


def _lift_first(start: Pose, settings: MoveSettings) -> Legs:
    """Straight up until clear of the table; nothing when reach does not allow that."""
    try:
        lift = _lift(start, {}, settings)
    except NoWay:
        return ()
    clear = bool(lift) and forward(lift[-1].end).grasp[2] >= CLEAR_Z_M - HEIGHT_EDGE_M
    return lift if clear else ()


def _is_over(pose: Pose, x: float, y: float) -> bool:
    """True when the hand is over (x, y) already, as its jaws are or as they were before closing."""
    spots = (forward(pose).grasp, forward(pose.with_grip(OPEN_PERCENT)).grasp)
    return any(hypot(spot[0] - x, spot[1] - y) <= SAME_POINT_M for spot in spots)


def _open_gripper(start: Pose, args: Mapping[str, float], settings: MoveSettings) -> Legs:
    return (Leg(_jaws(start, args["percent"], OPEN_PPS, settings), note="open"),)


def _close_gripper(start: Pose, _: Mapping[str, float], settings: MoveSettings) -> Legs:
    shut = settings.limits.grip_percent[0]
    return (Leg(_jaws(start, shut, CLOSE_PPS, settings), contact=True, note="close"),)


def _jaws(start: Pose, percent: float, rate_pps: float, settings: MoveSettings) -> Program:
    try:
        rate_pps = min(rate_pps, settings.limits.grip_speed_pps)
        return guarded(grip_move(start, percent, rate_pps, settings.limits), settings.limits)
    except GeometryFault as fault:
        raise NoWay(refusal_of(fault)) from fault


def _lift(start: Pose, _: Mapping[str, float], settings: MoveSettings) -> Legs:
    """Straight up until clear of the table, or as far as reach allows."""
    if forward(start).grasp[2] >= CLEAR_Z_M and forward(start).tool[2] >= CLEAR_Z_M:
        return ()
    try:
        up = lift_move(start, LIFT_Z_M, settings.speed_dps, settings.limits, settings.max_tilt_deg)
    except GeometryFault as fault:
        raise NoWay(refusal_of(fault)) from fault
    return (Leg(guarded(up, settings.limits), note="lift"),)


def _go_to(joints: Pose5, start: Pose, settings: MoveSettings) -> Legs:
    lift = _lift(start, {}, settings)
    top = lift[-1].end if lift else start
    goal = Pose(*joints, top.grip)
    programs = around(top, goal, settings.speed_dps, settings.limits) if top != goal else ()
    return (*lift, *(Leg(program, note="around") for program in programs))


def _go_home(start: Pose, _: Mapping[str, float], settings: MoveSettings) -> Legs:
    return _go_to(settings.home, start, settings)


def _look(start: Pose, _: Mapping[str, float], settings: MoveSettings) -> Legs:
    if not hides_table(start, settings):
        return ()
    return _go_to(settings.view, start, settings)


def _park(start: Pose, _: Mapping[str, float], settings: MoveSettings) -> Legs:
    """Home, then down to the resting pose, which may be lower than home."""
    home = _go_to(settings.home, start, settings)
    top = home[-1].end if home else start
    goal = Pose(*settings.park, top.grip)
    try:
        down = joint_move(top, goal, settings.speed_dps, settings.limits)
    except GeometryFault as fault:
        raise NoWay(refusal_of(fault)) from fault
    return (*home, Leg(guarded(down, settings.limits), note="park"))


_PLANNERS: Mapping[str, Callable[[Pose, Mapping[str, float], MoveSettings], Legs]] = {
    "move_to_pose": _move_to_pose,
    "open_gripper": _open_gripper,
    "close_gripper": _close_gripper,
    "go_home": _go_home,
    "look": _look,
    "lift": _lift,
    "park": _park,
}
