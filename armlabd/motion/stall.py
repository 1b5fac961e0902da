"""When a joint does not follow: blocked, overloaded, or given up by its servo."""

from __future__ import annotations

from operator import sub

from armlabd.arm.joints import JOINT_NAMES, SERVO_IDS, Pose
from armlabd.bus.registers import error_names
from armlabd.motion.measured import Measured
from armlabd.motion.servos import CUTTING_BITS

FOLLOWING_DEG = 8.0  # at 60 deg/s a healthy servo trails by 2 to 4
FOLLOWING_PERCENT = 12.0  # the gripper runs at 100 percent per second with a low torque cap
PUSHING_DEG = 3.0  # this far behind and pushing hard without moving is a stall too
HIGH_LOAD = 600  # 0.1 % of full power
HIGH_CURRENT = 250  # of 6.5 mA, 1.6 A; a blocked servo draws 2.7 A
STANDING = 20  # steps per second, 2 deg/s
FOR_S = 0.3


class Stall:
    """Times how long each joint has not followed."""

    def __init__(self) -> None:
        self._since_s: dict[int, float] = {}

    def reset(self) -> None:
        """A new motion begins."""
        self._since_s.clear()

    def _follows(self, goal: Pose, measured: Measured, jaw_free: bool) -> bool:
        """A few comparisons that prove what the long look would find: nothing."""
        sight, pose = measured.sight, measured.pose
        if sight is None or pose is None or self._since_s or any(sight.statuses()):
            return False
        behind: tuple[float, ...] = tuple(map(abs, map(sub, goal, pose)))
        return max(behind if jaw_free else behind[:5]) <= PUSHING_DEG

    def look(self, goal: Pose, measured: Measured, now_s: float, jaw_free: bool) -> str | None:
        """The sentence once a joint has not followed for 0.3 s; one call per fresh reading."""
        assert measured.pose is not None
        if self._follows(goal, measured, jaw_free):
            return None
        for index, id in enumerate(SERVO_IDS):
            if index == 5 and not jaw_free:
                continue
            servo = measured.feedback[id]
            if servo.status & CUTTING_BITS:
                names = ", ".join(error_names(servo.status & CUTTING_BITS))
                return (
                    f"{JOINT_NAMES[index]} gave way ({names}). Take the load off the arm, then "
                    "stop and clear it: that resets the servo."
                )
            behind = abs(goal[index] - measured.pose[index])
            hard = abs(servo.load) >= HIGH_LOAD or abs(servo.current) >= HIGH_CURRENT
            pushing = hard and abs(servo.velocity) < STANDING
            allowed = FOLLOWING_DEG if index < 5 else FOLLOWING_PERCENT
            if behind <= allowed and not (pushing and behind > PUSHING_DEG):
                self._since_s.pop(index, None)
            elif now_s - self._since_s.setdefault(index, now_s) >= FOR_S:
                return (
                    f"{JOINT_NAMES[index]} does not follow: {behind:.1f} behind its goal. Look for "
                    "what is in the way, then plan again from where the arm is."
                )
        return None
