"""The six joints: names, servo ids, units, and the pose that every other file speaks in.

Degrees are joint degrees: zero is the middle of the calibrated range (the drawing's zero pose:
upper arm upright, forearm and hand level and pointing forward). The gripper is in percent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

JOINT_NAMES: tuple[str, ...] = (
    "shoulder_pan",
    "shoulder_lift",
    "elbow_flex",
    "wrist_flex",
    "wrist_roll",
    "gripper",
)
ARM_JOINTS: tuple[str, ...] = JOINT_NAMES[:5]
SERVO_IDS: tuple[int, ...] = (1, 2, 3, 4, 5, 6)

STEPS_PER_TURN = 4096  # STS3215: one turn of the magnet is 4096 counts
DEGREES_PER_STEP = 360.0 / STEPS_PER_TURN


class Pose(NamedTuple):
    """Where the six joints are: five in degrees, the gripper in percent (0 closed, 100 open).

    Base frame: x forward, y left, z up. Positive pan turns the hand to -y (clockwise from above);
    positive lift leans forward; positive elbow and wrist lower the hand; positive roll turns the
    jaws anticlockwise seen from above when the hand points straight down.
    """

    pan: float
    lift: float
    elbow: float
    wrist: float
    roll: float
    grip: float = 0.0

    @property
    def arm(self) -> tuple[float, float, float, float, float]:
        """The five joints without the gripper, degrees."""
        return self[:5]

    def with_grip(self, grip_percent: float) -> Pose:
        """The same arm with the jaws at `grip_percent`."""
        pan, lift, elbow, wrist, roll, _ = self  # `_replace` takes five times as long
        return Pose(pan, lift, elbow, wrist, roll, grip_percent)


ZERO = Pose(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
HOME = Pose(0.0, -90.0, 60.0, 60.0, 0.0, 0.0)  # the tool stands 0.13 m above the table
# Resting: folded low, the tool 16 mm above the table. A limp arm ends up at 7 mm with the hand
# tilted 25 degrees, so that switching torque off here drops it little.
PARK = Pose(0.0, -98.0, 86.0, 75.0, 0.0, 0.0)
VIEW = HOME._replace(pan=100.0)  # the same, swung aside: nothing of the table is hidden


def is_number(value: object) -> bool:
    """True for a finite int or float; booleans, text, NaN and infinities are not numbers."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value)


def pose_of(values: Iterable[float]) -> Pose:
    """A pose from six numbers in joint order; ValueError for any other count or no number."""
    numbers = tuple(values)
    if len(numbers) != 6 or not all(map(is_number, numbers)):
        raise ValueError(f"a pose is six finite numbers in the order {', '.join(JOINT_NAMES)}")
    return Pose(*map(float, numbers))


def as_dict(pose: Pose) -> dict[str, float]:
    """The pose by joint name: degrees, the gripper in percent."""
    return dict(zip(JOINT_NAMES, pose, strict=True))
