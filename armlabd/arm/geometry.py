"""The SO-101's geometry as a planar arm on a turntable, exact: where every checked point is.

Source: the joint frames of the public SO-101 drawing ("new calibration": zero = middle of range).
In the plane that turns with the pan joint the arm is two links and a hand. What the textbook's
planar chain leaves out is kept here: the tool frame lies on the fixed jaw's face, 7.9 mm beside
the roll axis, so roll moves it sideways out of that plane.

Hand coordinates: `across` points from the fixed jaw to the moving one (the opening direction),
`along` is where the fingers point, both turn with roll. Metres and degrees, base frame.
"""

from __future__ import annotations

from math import atan2, cos, degrees, hypot, radians, sin
from typing import NamedTuple

from armlabd.arm.joints import Pose

Vector = tuple[float, float, float]

PAN_AXIS_X_M = 0.0388353  # the pan axis stands here, on the middle line
SHOULDER_OUT_M = 0.0303992  # lift axis in front of the pan axis
SHOULDER_Z_M = 0.1166  # 0.0624 + 0.0542, lift axis above the table
UPPER_OUT_M, UPPER_UP_M = 0.028, 0.11257  # lift axis to elbow axis at zero
FORE_OUT_M, FORE_UP_M = 0.1349, 0.0052  # elbow axis to wrist axis at zero
HAND_M = 0.0611  # wrist axis to the origin of the roll axis
LINK_SIDE_M = -0.0182778  # the arm's frames sit this far to the left (minus: right) of the plane
ROLL_SIDE_M = LINK_SIDE_M + 0.0181  # the roll axis nearly returns to it
ROLL_ZERO_RAD = 0.0486795  # the jaws open 2.79 degrees aside of the plane at roll 0

FACE_ACROSS_M = -0.0079  # inner face of the fixed jaw, from the roll axis
HAND_SIDE_M = -0.000218  # tool frame and jaws, third direction of the hand
TOOL_ALONG_M = 0.0981274
FIXED_TIP_ALONG_M = 0.1044  # measured on the published jaw
HINGE_ACROSS_M, HINGE_SIDE_M, HINGE_ALONG_M = 0.0202, 0.0188, 0.0234
JAW_LENGTH_M = 0.082  # hinge to moving jaw tip, measured on the published jaw
BLOCK_ALONG_M = 0.03  # the gripper's motor and its holder, around the roll axis
ROOT_ACROSS_M, ROOT_ALONG_M = -0.024, 0.05  # where the fixed jaw leaves that block
# The jaw turns 110 degrees from closed to open. Closed, its tip meets the fixed face: that fixes
# the angle of the tip, and the gaps that follow agree with the measured table within 2 mm.
JAW_CLOSED_RAD = -radians(20.04)
JAW_RAD_PER_PERCENT = radians(1.10)

# Gap between the jaws at tool height by gripper percent: mean of what a physics model of the
# published jaws shows 90 mm and 98 mm below the roll origin.
GAP_M: tuple[tuple[float, float], ...] = (
    (0.0, 0.00375),
    (10.0, 0.018),
    (15.0, 0.0245),
    (20.0, 0.031),
    (25.0, 0.038),
    (30.0, 0.0455),
)
MAX_GRASP_OFFSET_M = 0.0205  # best place of a block's centre, 18 to 23 mm from the fixed face


class Reach(NamedTuple):
    """Every point of one pose that is planned or guarded, base frame, metres."""

    tool: Vector  # the drawing's tool frame, on the fixed jaw's inner face
    grasp: Vector  # midway between the jaws as they stand, at most 20.5 mm from the fixed face
    wrist: Vector  # wrist flex axis
    elbow: Vector  # elbow axis
    fixed_tip: Vector
    moving_tip: Vector
    hinge: Vector  # of the moving jaw
    roll_origin: Vector  # on the roll axis, where hand coordinates start
    pitch_deg: float  # 0 level, 90 straight down
    yaw_deg: float  # direction in which the jaws open, anticlockwise from +x, -180..180


def gap_m(grip_percent: float) -> float:
    """Gap between the jaws at tool height; beyond 30 % the table's last slope goes on."""
    low = GAP_M[0]
    for high in GAP_M[1:]:
        if grip_percent <= high[0]:
            break
        low = high
    else:
        low, high = GAP_M[-2], GAP_M[-1]
    slope = (high[1] - low[1]) / (high[0] - low[0])
    return max(0.0, low[1] + slope * (grip_percent - low[0]))


def grasp_offset_m(grip_percent: float) -> float:
    """How far the grasp point is from the fixed jaw's face, along the opening direction."""
    return min(gap_m(grip_percent) / 2.0, MAX_GRASP_OFFSET_M)


class Plane(NamedTuple):
    """The arm in the upright plane that turns with the pan joint: (out, left, z), metres.

    `out` is from the pan axis, `left` aside of the plane. The links' points lie on their joint
    frames, all else where it is.
    """

    corner: Vector  # where the upper arm bends forward to its elbow
    elbow: Vector
    wrist: Vector
    roll_origin: Vector
    block: Vector  # the far end of the gripper's motor block, on the roll axis
    fixed_root: Vector  # where the fixed jaw leaves the block, in the middle of the jaw
    tool: Vector
    fixed_tip: Vector
    hinge: Vector
    moving_tip: Vector
    across: Vector  # the opening direction, length 1


def plane_of(pose: Pose, sag_deg: float = 0.0) -> Plane:
    """`pose` without its pan; lift and elbow `sag_deg` lower. Must stay cheap: 100 Hz guard."""
    _, lift, elbow, wrist, roll, grip = pose
    turn = radians(lift + sag_deg)
    c, s = cos(turn), sin(turn)
    corner_out, corner_z = SHOULDER_OUT_M + UPPER_UP_M * s, SHOULDER_Z_M + UPPER_UP_M * c
    elbow_out, elbow_z = corner_out + UPPER_OUT_M * c, corner_z - UPPER_OUT_M * s
    turn += radians(elbow + sag_deg)
    c, s = cos(turn), sin(turn)
    wrist_out = elbow_out + FORE_OUT_M * c + FORE_UP_M * s
    wrist_z = elbow_z + FORE_UP_M * c - FORE_OUT_M * s
    turn += radians(wrist)
    c, s = cos(turn), sin(turn)  # the hand's direction `along` is (c, 0, -s)
    roll_out, roll_z = wrist_out + HAND_M * c, wrist_z - HAND_M * s
    turn = radians(roll) - ROLL_ZERO_RAD
    cos_roll, sin_roll = cos(turn), sin(turn)
    across_out, across_z = s * cos_roll, c * cos_roll
    # Everything of the jaws but the hinge lies at one distance along the third direction.
    out = roll_out - HAND_SIDE_M * s * sin_roll
    left = ROLL_SIDE_M + HAND_SIDE_M * cos_roll
    z = roll_z - HAND_SIDE_M * c * sin_roll
    face_out, face_z = out + FACE_ACROSS_M * across_out, z + FACE_ACROSS_M * across_z
    face_left = left + FACE_ACROSS_M * sin_roll
    turn = JAW_CLOSED_RAD + JAW_RAD_PER_PERCENT * grip
    jaw_across = HINGE_ACROSS_M + JAW_LENGTH_M * sin(turn)
    jaw_along = HINGE_ALONG_M + JAW_LENGTH_M * cos(turn)
    return Plane(
        (corner_out, LINK_SIDE_M, corner_z),
        (elbow_out, LINK_SIDE_M, elbow_z),
        (wrist_out, LINK_SIDE_M, wrist_z),
        (roll_out, ROLL_SIDE_M, roll_z),
        (roll_out + BLOCK_ALONG_M * c, ROLL_SIDE_M, roll_z - BLOCK_ALONG_M * s),
        (
            out + ROOT_ACROSS_M * across_out + ROOT_ALONG_M * c,
            left + ROOT_ACROSS_M * sin_roll,
            z + ROOT_ACROSS_M * across_z - ROOT_ALONG_M * s,
        ),
        (face_out + TOOL_ALONG_M * c, face_left, face_z - TOOL_ALONG_M * s),
        (face_out + FIXED_TIP_ALONG_M * c, face_left, face_z - FIXED_TIP_ALONG_M * s),
        (
            roll_out
            + HINGE_ACROSS_M * across_out
            - HINGE_SIDE_M * s * sin_roll
            + HINGE_ALONG_M * c,
            ROLL_SIDE_M + HINGE_ACROSS_M * sin_roll + HINGE_SIDE_M * cos_roll,
            roll_z + HINGE_ACROSS_M * across_z - HINGE_SIDE_M * c * sin_roll - HINGE_ALONG_M * s,
        ),
        (
            out + jaw_across * across_out + jaw_along * c,
            left + jaw_across * sin_roll,
            z + jaw_across * across_z - jaw_along * s,
        ),
        (across_out, sin_roll, across_z),
    )


def forward(pose: Pose) -> Reach:
    """Where the arm is at `pose`; any angles, no limits checked."""
    plane = plane_of(pose)
    pan_rad = radians(pose.pan)
    cos_pan, sin_pan = cos(pan_rad), sin(pan_rad)

    def place(point: Vector) -> Vector:
        out, left, z = point
        x = PAN_AXIS_X_M + out * cos_pan + left * sin_pan
        return (x, left * cos_pan - out * sin_pan, z)

    offset = grasp_offset_m(pose.grip)
    (out, left, z), (across_out, across_left, across_z) = plane.tool, plane.across
    grasp = (out + offset * across_out, left + offset * across_left, z + offset * across_z)
    return Reach(
        place(plane.tool),
        place(grasp),
        place(plane.wrist),
        place(plane.elbow),
        place(plane.fixed_tip),
        place(plane.moving_tip),
        place(plane.hinge),
        place(plane.roll_origin),
        pose.lift + pose.elbow + pose.wrist,
        yaw_of(pan_rad, across_out, across_left),
    )


def yaw_of(pan_rad: float, across_out: float, across_left: float) -> float:
    """Yaw in degrees, -180..180, of a direction given in the plane's frame."""
    yaw = degrees(atan2(across_left, across_out) - pan_rad)
    return (yaw + 180.0) % 360.0 - 180.0


UPPER_M = hypot(UPPER_OUT_M, UPPER_UP_M)  # 0.1160
FORE_M = hypot(FORE_OUT_M, FORE_UP_M)  # 0.1350
UPPER_RISE_RAD = atan2(UPPER_UP_M, UPPER_OUT_M)  # elevation of the links at zero
FORE_RISE_RAD = atan2(FORE_UP_M, FORE_OUT_M)
