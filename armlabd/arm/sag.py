"""How far the joints hang below their set-points, because a servo must be behind before it pushes.

A position servo pushes in proportion to how far it is from its goal, so a joint that carries weight
comes to rest beside it. How much the weight is follows from the masses of the public drawing, how
hard a servo pushes from its P gain.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, radians, sin

from armlabd.arm import geometry as g
from armlabd.arm.geometry import Vector, forward
from armlabd.arm.joints import Pose

GRAVITY_MPS2 = 9.81
# kg, each half-way between its joint and the next (URDF of the public drawing).
UPPER_KG, FOREARM_KG, WRIST_KG, GRIPPER_KG, JAW_KG = 0.103, 0.104, 0.079, 0.087, 0.012
# What an STS3215 (1:345, P 32) pushes per degree. Reported: 1.5 kg at 10 cm hang by 20 to 30 steps,
# which is 0.56 to 0.83; our model of the arm, 0.6 degrees in lift and elbow, gives the same.
NM_PER_DEG = 0.63
FACTORY_P = 32
Sag = tuple[float, float, float, float, float]


def expected_sag(pose: Pose, p_gains: Sequence[int] = (FACTORY_P,) * 5) -> Sag:
    """Degrees by which each arm joint hangs beyond its set-point with an empty hand, signed.

    Positive is towards more degrees: lift, elbow and wrist sink. Pan stands upright and roll holds
    no lever worth a name: 0. `p_gains` are register 21 of servos 1 to 5, above 0.
    """
    turns = weight_nm(pose)
    stiff = (NM_PER_DEG * p / FACTORY_P for p in p_gains[1:4])
    lift, elbow, wrist = (turn / nm for turn, nm in zip(turns, stiff, strict=True))
    return (0.0, lift, elbow, wrist, 0.0)


def weight_nm(pose: Pose) -> tuple[float, float, float]:
    """What the weight of the links turns lift, elbow and wrist with, N m; positive turns down."""
    reach = forward(pose)
    c, s = cos(radians(pose.pan)), sin(radians(pose.pan))

    def out(point: Vector) -> float:
        return (point[0] - g.PAN_AXIS_X_M) * c - point[1] * s

    shoulder, elbow, wrist = g.SHOULDER_OUT_M, out(reach.elbow), out(reach.wrist)
    hand = out(reach.roll_origin)
    beyond_wrist = (
        (WRIST_KG, (wrist + hand) / 2),
        (GRIPPER_KG, (hand + out(reach.tool)) / 2),
        (JAW_KG, (out(reach.hinge) + out(reach.moving_tip)) / 2),
    )
    beyond_elbow = (*beyond_wrist, (FOREARM_KG, (elbow + wrist) / 2))
    beyond_shoulder = (*beyond_elbow, (UPPER_KG, (shoulder + elbow) / 2))
    return (
        _turn_nm(beyond_shoulder, shoulder),
        _turn_nm(beyond_elbow, elbow),
        _turn_nm(beyond_wrist, wrist),
    )


def _turn_nm(weights: Sequence[tuple[float, float]], axis: float) -> float:
    return GRAVITY_MPS2 * sum(kg * (out - axis) for kg, out in weights)
