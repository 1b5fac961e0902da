"""Where every part of the virtual arm is, from the published joint frames of the SO-101.

Source: the URDF of the public SO-101 model ("new calibration", zero = middle of the travel). Each
joint is a fixed frame in its parent followed by a turn about its own z axis; nothing is simplified,
and nothing is shared with the product's kinematics, so that the two can check each other.
Metres; base frame x forward, y left, z up. Plain mathematics: it runs 500 times a second.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armlabd.sim import jaws

Vec = tuple[float, float, float]
# A rigid frame as three rows of four: rotation and, in the fourth column, the origin.
Frame = tuple[float, float, float, float, float, float, float, float, float, float, float, float]
Joints = tuple[float, float, float, float, float]  # degrees: pan, lift, elbow, wrist, roll

_PI = math.pi
# name, origin in the parent (m), roll-pitch-yaw of the frame in the parent (rad)
_JOINT_ORIGINS: tuple[tuple[str, Vec, Vec], ...] = (
    ("shoulder_pan", (0.0388353, 0.0, 0.0624), (_PI, 0.0, -_PI)),
    ("shoulder_lift", (-0.0303992, -0.0182778, -0.0542), (-_PI / 2, -_PI / 2, 0.0)),
    ("elbow_flex", (-0.11257, -0.028, 0.0), (0.0, 0.0, _PI / 2)),
    ("wrist_flex", (-0.1349, 0.0052, 0.0), (0.0, 0.0, -_PI / 2)),
    ("wrist_roll", (0.0, -0.0611, 0.0181), (_PI / 2, 0.0486795, _PI)),
)
# The tool frame in the gripper link: on the fixed jaw's inner face. Its z is the hand's axis.
TOOL_IN_GRIPPER: Vec = (-0.0079, -0.000218, -jaws.TOOL_DEPTH_M)
HINGE_IN_GRIPPER: Vec = (0.0202, 0.0188, -jaws.HINGE_DEPTH_M)


class Links(NamedTuple):
    """The frames of the five moving links, each at its own joint."""

    shoulder: Frame
    upper_arm: Frame
    lower_arm: Frame
    wrist: Frame
    gripper: Frame


class Points(NamedTuple):
    """Points (m) and unit directions of the arm in the base frame."""

    shoulder: Vec  # on the lift axis
    elbow: Vec
    wrist: Vec  # on the wrist flex axis
    roll_origin: Vec
    tool: Vec  # on the fixed jaw's inner face, 6 mm above that jaw's tip
    fixed_tip: Vec
    hinge: Vec  # of the moving jaw, in the plane of the tool point
    moving_tip: Vec  # the inner face's end
    opening: Vec  # from the fixed jaw to the moving one
    across: Vec  # along the jaws' width
    axis: Vec  # from the wrist to the finger tips


def _frame(origin: Vec, rpy: Vec) -> Frame:
    """A frame from the URDF's origin and roll-pitch-yaw: Rz(yaw) Ry(pitch) Rx(roll)."""
    (sr, cr), (sp, cp), (sy, cy) = ((math.sin(a), math.cos(a)) for a in rpy)
    x, y, z = origin
    return (
        cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr, x,
        sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr, y,
        -sp, cp * sr, cp * cr, z,
    )  # fmt: skip


def compose(a: Frame, b: Frame) -> Frame:
    """Frame `b`, given in frame `a`, in the frame that `a` is given in."""
    a0, a1, a2, ax, a4, a5, a6, ay, a8, a9, a10, az = a
    b0, b1, b2, bx, b4, b5, b6, by, b8, b9, b10, bz = b
    return (
        a0 * b0 + a1 * b4 + a2 * b8, a0 * b1 + a1 * b5 + a2 * b9,
        a0 * b2 + a1 * b6 + a2 * b10, a0 * bx + a1 * by + a2 * bz + ax,
        a4 * b0 + a5 * b4 + a6 * b8, a4 * b1 + a5 * b5 + a6 * b9,
        a4 * b2 + a5 * b6 + a6 * b10, a4 * bx + a5 * by + a6 * bz + ay,
        a8 * b0 + a9 * b4 + a10 * b8, a8 * b1 + a9 * b5 + a10 * b9,
        a8 * b2 + a9 * b6 + a10 * b10, a8 * bx + a9 * by + a10 * bz + az,
    )  # fmt: skip


def _turned(a: Frame, degrees: float) -> Frame:
    """Frame `a` turned about its own z axis."""
    angle = math.radians(degrees)
    s, c = math.sin(angle), math.cos(angle)
    a0, a1, a2, ax, a4, a5, a6, ay, a8, a9, a10, az = a
    return (
        a0 * c + a1 * s, a1 * c - a0 * s, a2, ax,
        a4 * c + a5 * s, a5 * c - a4 * s, a6, ay,
        a8 * c + a9 * s, a9 * c - a8 * s, a10, az,
    )  # fmt: skip


_ORIGINS: tuple[Frame, ...] = tuple(_frame(xyz, rpy) for _, xyz, rpy in _JOINT_ORIGINS)


def point_in(frame: Frame, point: Vec) -> Vec:
    """A point given in `frame`, in the base frame."""
    f0, f1, f2, fx, f4, f5, f6, fy, f8, f9, f10, fz = frame
    x, y, z = point
    return (
        f0 * x + f1 * y + f2 * z + fx,
        f4 * x + f5 * y + f6 * z + fy,
        f8 * x + f9 * y + f10 * z + fz,
    )


def origin(frame: Frame) -> Vec:
    """The origin of a frame."""
    return (frame[3], frame[7], frame[11])


def column(frame: Frame, index: int) -> Vec:
    """The unit vector of a frame's axis 0, 1 or 2."""
    return (frame[index], frame[index + 4], frame[index + 8])


def link_frames(q_deg: Joints) -> Links:
    """The frames of the moving links for five joint angles in degrees; no limits are applied."""
    pan = _turned(_ORIGINS[0], q_deg[0])
    lift = _turned(compose(pan, _ORIGINS[1]), q_deg[1])
    elbow = _turned(compose(lift, _ORIGINS[2]), q_deg[2])
    wrist = _turned(compose(elbow, _ORIGINS[3]), q_deg[3])
    roll = _turned(compose(wrist, _ORIGINS[4]), q_deg[4])
    return Links(pan, lift, elbow, wrist, roll)


def in_hand(gripper: Frame, across_m: float, opening_m: float, depth_m: float) -> Vec:
    """A base-frame point given by hand measures.

    `opening_m` from the fixed jaw's inner face towards the moving jaw, `across_m` along the jaws'
    width from their middle plane, `depth_m` below the gripper link's origin towards the tips.
    """
    x, y, _ = TOOL_IN_GRIPPER
    return point_in(gripper, (x + opening_m, y + across_m, -depth_m))


def points_of(links: Links, jaw_deg: float) -> Points:
    """The points of the arm for link frames already worked out."""
    hand = links.gripper
    tip_opening_m, tip_depth_m = jaws.moving_tip(jaw_deg)
    down = column(hand, 2)
    return Points(
        shoulder=origin(links.upper_arm),
        elbow=origin(links.lower_arm),
        wrist=origin(links.wrist),
        roll_origin=origin(hand),
        tool=point_in(hand, TOOL_IN_GRIPPER),
        fixed_tip=in_hand(hand, 0.0, 0.0, jaws.FIXED_TIP_DEPTH_M),
        hinge=in_hand(hand, 0.0, jaws.HINGE_OPENING_M, jaws.HINGE_DEPTH_M),
        moving_tip=in_hand(hand, 0.0, tip_opening_m, tip_depth_m),
        opening=column(hand, 0),
        across=column(hand, 1),
        axis=(-down[0], -down[1], -down[2]),
    )


def arm_points(q_deg: Joints, jaw_deg: float) -> Points:
    """The points of the arm for five joint angles and the jaw angle (-10 shut .. 100 open)."""
    return points_of(link_frames(q_deg), jaw_deg)
