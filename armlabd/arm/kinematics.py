"""Where the arm is, and which pose brings the grasp point somewhere: closed form and exact.

The arm has five joints: three place the grasp point, one sets the pitch of the hand (90 = straight
down), one the roll. How far the grasp point stands beside the pan plane depends on roll alone, so
pan follows from one right triangle and the rest is a two-link arm in that plane.
"""

from __future__ import annotations

from math import acos, atan2, cos, degrees, hypot, radians, sin, sqrt

from armlabd.arm import geometry as g
from armlabd.arm.geometry import Reach, forward, grasp_offset_m
from armlabd.arm.joints import ARM_JOINTS, Pose
from armlabd.arm.limits import CEILINGS, Limits
from armlabd.verdict import Code

__all__ = [
    "GeometryFault",
    "JointLimit",
    "Reach",
    "Unreachable",
    "best_yaw",
    "check_joints",
    "forward",
    "grasp_offset_m",
    "inverse",
    "inverse_plain",
    "is_clear",
    "reach_down",
]

DOWN_DEG = 90.0
GRASP_Z_M = 0.05  # at or below this height the hand points straight down
TILT_STEP_DEG = 0.5  # tilts are tried in this step
EDGE_DEG = 1e-9  # rounding of a pose computed to stand exactly on a limit
_TURNS = 60  # of the pan and roll coupling; each shrinks the error five times or more


class GeometryFault(ValueError):
    """A pose or path the arm cannot take; `sentence` is for people, `code` for tables."""

    code = Code.UNREACHABLE

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class Unreachable(GeometryFault):
    """The point is too far, too near or too high for the arm."""


class JointLimit(GeometryFault):
    """The pose would need a joint beyond its travel."""

    code = Code.JOINT_LIMIT

    def __init__(self, joint: str, value_deg: float, travel: tuple[float, float], at: str) -> None:
        low, high = travel
        super().__init__(
            f"{at} needs {joint} at {value_deg:.1f} degrees, outside its {low:g} to {high:g}. "
            "Choose a point nearer the middle of the table, lower, or another direction."
        )
        self.joint = joint
        self.value_deg = value_deg
        self.travel_deg = travel


def check_joints(pose: Pose, limits: Limits = CEILINGS, at: str = "this pose") -> Pose:
    """`pose` itself if its five joints are within travel, else JointLimit for the first outside.

    `at` opens the sentence.
    """
    for name, value, travel in zip(ARM_JOINTS, pose, limits.travel_deg, strict=False):
        if not travel[0] - EDGE_DEG <= value <= travel[1] + EDGE_DEG:
            raise JointLimit(name, value, travel, at)
    return pose


def inverse(
    x: float,
    y: float,
    z: float,
    *,
    pitch_deg: float = DOWN_DEG,
    roll_deg: float | None = None,
    yaw_deg: float | None = None,
    grip_percent: float = 50.0,
    limits: Limits | None = CEILINGS,
) -> Pose:
    """The pose whose grasp point is (x, y, z) m, with this pitch and this roll or opening yaw.

    Give roll or yaw (neither: roll 0). Raises Unreachable or JointLimit with a sentence; with
    `limits=None` joints may be anywhere.
    """
    across = g.FACE_ACROSS_M + grasp_offset_m(grip_percent)
    at = f"the point ({x:.3f}, {y:.3f}, {z:.3f})"
    if yaw_deg is not None:
        if roll_deg is not None:
            raise TypeError("give roll_deg or yaw_deg, not both")
        roll_deg = _roll_for_yaw(x, y, pitch_deg, yaw_deg, across, at)
    pose = _solve(x, y, z, pitch_deg, roll_deg or 0.0, across, at)._replace(grip=grip_percent)
    return pose if limits is None else check_joints(pose, limits, at)


def inverse_plain(x: float, y: float, z: float, pitch_deg: float = DOWN_DEG) -> Pose:
    """The textbook's chain: tool point without any sideways offset, roll 0. Limits not checked."""
    at = f"the point ({x:.3f}, {y:.3f}, {z:.3f})"
    c, s = cos(radians(pitch_deg)), sin(radians(pitch_deg))
    along = g.HAND_M + g.TOOL_ALONG_M
    out = hypot(x - g.PAN_AXIS_X_M, y) - along * c - g.FACE_ACROSS_M * s
    lift, elbow = _two_links(out, z + along * s - g.FACE_ACROSS_M * c, at)
    pan = -degrees(atan2(y, x - g.PAN_AXIS_X_M))
    return Pose(pan, lift, elbow, pitch_deg - lift - elbow, 0.0)


def _solve(
    x: float, y: float, z: float, pitch_deg: float, roll_deg: float, across: float, at: str
) -> Pose:
    roll_rad = radians(roll_deg) - g.ROLL_ZERO_RAD
    cos_roll, sin_roll = cos(roll_rad), sin(roll_rad)
    out, pan_rad = _turntable(
        x, y, g.ROLL_SIDE_M + across * sin_roll + g.HAND_SIDE_M * cos_roll, at
    )
    # The hand within the plane, from the wrist axis to the grasp point.
    c, s = cos(radians(pitch_deg)), sin(radians(pitch_deg))
    along = g.HAND_M + g.TOOL_ALONG_M
    normal = across * cos_roll - g.HAND_SIDE_M * sin_roll
    lift, elbow = _two_links(out - along * c - normal * s, z + along * s - normal * c, at)
    return Pose(degrees(pan_rad), lift, elbow, pitch_deg - lift - elbow, roll_deg)


def _turntable(x: float, y: float, left: float, at: str) -> tuple[float, float]:
    """Distance from the pan axis within its plane, and pan (rad), of a point `left` beside it."""
    dx = x - g.PAN_AXIS_X_M
    square = dx * dx + y * y - left * left
    if square <= 0.0:
        raise Unreachable(f"{at} is too near the pan axis. Choose a point farther out.")
    out = sqrt(square)
    # One arctangent of the turned vector: already within -180..180 degrees.
    return out, atan2(left * dx - out * y, out * dx + left * y)


def _two_links(out: float, z: float, at: str) -> tuple[float, float]:
    """Lift and elbow in degrees for a wrist axis at (out, z) in the plane; elbow above."""
    dx, dz = out - g.SHOULDER_OUT_M, z - g.SHOULDER_Z_M
    bend_cos = (dx * dx + dz * dz - g.UPPER_M**2 - g.FORE_M**2) / (2.0 * g.UPPER_M * g.FORE_M)
    if bend_cos > 1.0:
        raise Unreachable(
            f"{at} is out of reach. Choose a point nearer the arm, or another height."
        )
    if bend_cos < -1.0:
        raise Unreachable(f"{at} is too near the shoulder. Choose a point farther out.")
    bend = acos(bend_cos)
    rise = atan2(dz, dx) + atan2(g.FORE_M * sin(bend), g.UPPER_M + g.FORE_M * bend_cos)
    lift = g.UPPER_RISE_RAD - rise
    elbow = bend - g.UPPER_RISE_RAD + g.FORE_RISE_RAD
    return degrees(lift), degrees(elbow)


def _roll_for_yaw(
    x: float, y: float, pitch_deg: float, yaw_deg: float, across: float, at: str
) -> float:
    """Roll in degrees, -180..180, that opens the jaws towards `yaw_deg`.

    Straight down the roll axis is known at once: the grasp point minus the hand's own offset. A
    tilted hand shifts it by millimetres, and a few turns settle pan and roll together.
    """
    yaw_rad, s = radians(yaw_deg), sin(radians(pitch_deg))
    c_yaw, s_yaw = cos(yaw_rad), sin(yaw_rad)
    axis_x = x - across * c_yaw + g.HAND_SIDE_M * s_yaw
    axis_y = y - across * s_yaw - g.HAND_SIDE_M * c_yaw
    _, pan = _turntable(axis_x, axis_y, g.ROLL_SIDE_M, at)
    for _ in range(_TURNS):
        # The wanted direction seen from the plane, then the roll that shows it from above.
        roll_rad = atan2(s * sin(yaw_rad + pan), cos(yaw_rad + pan))
        left = g.ROLL_SIDE_M + across * sin(roll_rad) + g.HAND_SIDE_M * cos(roll_rad)
        _, better = _turntable(x, y, left, at)
        if abs(better - pan) < 1e-14:
            break
        pan = better
    roll_rad = atan2(s * sin(yaw_rad + pan), cos(yaw_rad + pan)) + g.ROLL_ZERO_RAD
    return (degrees(roll_rad) + 180.0) % 360.0 - 180.0


def reach_down(
    x: float,
    y: float,
    z: float,
    *,
    yaw_deg: float,
    grip_percent: float = 50.0,
    max_tilt_deg: float = 0.0,
    limits: Limits = CEILINGS,
) -> Pose:
    """The pose with the hand straight down, or above z 0.05 tilted as little as reaches.

    Tilts go up to `max_tilt_deg` in half degrees, outward tried before inward. When none reaches,
    the fault of the hand straight down is raised.
    """
    first: GeometryFault | None = None
    for pitch in _pitches(max_tilt_deg if z > GRASP_Z_M else 0.0):
        try:
            return inverse(
                x, y, z, pitch_deg=pitch, yaw_deg=yaw_deg, grip_percent=grip_percent, limits=limits
            )
        except GeometryFault as fault:
            first = first or fault
    assert first is not None
    raise first


def _pitches(max_tilt_deg: float) -> list[float]:
    steps = int(max_tilt_deg / TILT_STEP_DEG + 1e-9)
    tilts = [k * TILT_STEP_DEG for k in range(1, steps + 1)]
    return [DOWN_DEG, *(DOWN_DEG - sign * tilt for tilt in tilts for sign in (1.0, -1.0))]


def best_yaw(
    x: float,
    y: float,
    z: float,
    *,
    block_yaw_deg: float,
    grip_percent: float = 50.0,
    max_tilt_deg: float = 0.0,
    limits: Limits = CEILINGS,
) -> tuple[float, ...]:
    """The reachable opening directions square to a block, smallest |roll| first, -180..180 degrees.

    A square block can be taken from any of its four sides, and the moving jaw is on one side of the
    hand: four directions. One that puts a jaw into the base or a keep-out box is left out. Empty
    when none reaches.
    """
    found = []
    for quarter in range(4):
        yaw = (block_yaw_deg + 90.0 * quarter + 180.0) % 360.0 - 180.0
        try:
            pose = reach_down(
                x,
                y,
                z,
                yaw_deg=yaw,
                grip_percent=grip_percent,
                max_tilt_deg=max_tilt_deg,
                limits=limits,
            )
        except GeometryFault:
            continue
        if is_clear(pose, limits):
            found.append((abs(pose.roll), yaw))
    return tuple(yaw for _, yaw in sorted(found))


def is_clear(pose: Pose, limits: Limits = CEILINGS) -> bool:
    """True when tool, jaw tips and wrist are outside the base and every keep-out box."""
    reach = forward(pose)
    points = (reach.tool, reach.fixed_tip, reach.moving_tip, reach.wrist)
    return all(box.depth_m(point) <= 0.0 for box in limits.boxes() for point in points)
