"""What a warm servo may still be asked for: less speed, less grip, before it has to stop."""

from __future__ import annotations

from collections.abc import Mapping

from armlabd.arm.joints import SERVO_IDS
from armlabd.bus.registers import Feedback
from armlabd.motion.grip import Grip
from armlabd.motion.measured import Measured
from armlabd.motion.thresholds import SLOWEST_SHARE, WEAKEST_SHARE, share_left


def speed_share(feedback: Mapping[int, Feedback]) -> float:
    """The share of a program's speed that the warmest servo may take part in."""
    warmest = max(servo.temperature for servo in feedback.values())
    return share_left(warmest, SLOWEST_SHARE.value)


def grip_percent(grip: Grip, measured: Measured) -> float:
    """Percent for register 48; a warm gripper that holds something holds it with less."""
    if grip.squeeze is None or not measured.counts:
        return grip.torque_percent
    share = share_left(measured.feedback[SERVO_IDS[5]].temperature, WEAKEST_SHARE.value)
    return grip.torque_percent if share == 1.0 else round(grip.torque_percent * share)
