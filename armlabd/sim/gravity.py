"""What the weight of the links does to each joint of the virtual arm.

Masses (kg) from the public model's URDF; each link's weight is taken half-way between its joint
and the next. Torques are given as fractions of a servo's full torque, 2.94 N m.
"""

from __future__ import annotations

from armlabd.sim.geometry import Links, Points, Vec, column, origin

FULL_TORQUE_NM = 2.94
GRAVITY_MPS2 = 9.81
UPPER_ARM_KG = 0.103
FOREARM_KG = 0.104
WRIST_KG = 0.079
GRIPPER_KG = 0.087
JAW_KG = 0.012

Torques = tuple[float, float, float, float, float]


def _middle(a: Vec, b: Vec) -> Vec:
    return ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2, (a[2] + b[2]) / 2)


def gravity_torques(links: Links, points: Points, held_kg: float = 0.0) -> Torques:
    """The weight's torque on pan, lift, elbow, wrist and roll, positive = towards more degrees.

    `held_kg` hangs at the tool point. The pan axis stands upright, so it feels none.
    """
    hand = points.roll_origin
    weights: tuple[tuple[float, Vec, int], ...] = (  # kg, where, joints from lift on that feel it
        (UPPER_ARM_KG, _middle(points.shoulder, points.elbow), 1),
        (FOREARM_KG, _middle(points.elbow, points.wrist), 2),
        (WRIST_KG, _middle(points.wrist, hand), 3),
        (GRIPPER_KG, _middle(hand, points.tool), 4),
        (JAW_KG, _middle(points.hinge, points.moving_tip), 4),
        (held_kg, points.tool, 4),
    )
    joints = (links.upper_arm, links.lower_arm, links.wrist, links.gripper)
    torques = [0.0]
    for number, frame in enumerate(joints, start=1):
        (px, py, _), (ax, ay, _) = origin(frame), column(frame, 2)
        # axis . (r x F) with F = (0, 0, -m g)
        sum_kgm = sum(
            kg * (ay * (at[0] - px) - ax * (at[1] - py))
            for kg, at, felt in weights
            if felt >= number
        )
        torques.append(sum_kgm * GRAVITY_MPS2 / FULL_TORQUE_NM)
    return (torques[0], torques[1], torques[2], torques[3], torques[4])
