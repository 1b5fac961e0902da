"""How the virtual arm was put together: what its servos' registers hold, joint by joint.

Raw positions are steps of 4096 a turn after the servo's own homing offset. Joint zero (the URDF's
"new calibration" zero) reads 2047.5 = the middle of the range. The gripper reads 2000 shut (jaw
-10 deg) and 3252 wide open (jaw 100 deg). Ranges cover the published joint limits; offsets are
invented, all different and none zero, so that code that forgets them is found out.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Final

STEPS_PER_TURN: Final = 4096
STEPS_PER_DEG: Final = STEPS_PER_TURN / 360.0
MIDDLE: Final = 2047.5
JAW_SHUT_DEG: Final = -10.0
JAW_TRAVEL_DEG: Final = 110.0
JAW_TRAVEL_STEPS: Final = 1252.0


@dataclass(frozen=True, slots=True)
class JointSpec:
    """One joint of the virtual arm, in the terms of LeRobot's calibration file."""

    id: int
    drive_mode: int
    homing_offset: int  # steps, register 31
    range_min: int  # steps, register 9
    range_max: int  # steps, register 11


JOINTS: Final[dict[str, JointSpec]] = {
    "shoulder_pan": JointSpec(1, 0, 85, 796, 3299),
    "shoulder_lift": JointSpec(2, 0, -212, 910, 3185),
    "elbow_flex": JointSpec(3, 0, 331, 944, 3151),
    "wrist_flex": JointSpec(4, 0, -97, 967, 3128),
    "wrist_roll": JointSpec(5, 0, 146, 227, 3868),
    "gripper": JointSpec(6, 0, -403, 2000, 3252),
}
SPECS: Final[tuple[JointSpec, ...]] = tuple(JOINTS.values())
GRIPPER: Final = 5  # its place in the chain, counted from 0


def calibration_json() -> str:
    """The virtual arm's calibration as a LeRobot file's text."""
    return json.dumps({name: asdict(spec) for name, spec in JOINTS.items()}, indent=2) + "\n"


def encoder_from_degrees(joint: int, degrees: float) -> float:
    """Encoder steps (before the homing offset) of joint 0..5 at an angle; 5 is the jaw's."""
    spec = SPECS[joint]
    if joint == GRIPPER:
        opened = (degrees - JAW_SHUT_DEG) / JAW_TRAVEL_DEG
        return spec.range_min + opened * JAW_TRAVEL_STEPS + spec.homing_offset
    return MIDDLE + degrees * STEPS_PER_DEG + spec.homing_offset


def degrees_from_encoder(joint: int, encoder: float) -> float:
    """The inverse of `encoder_from_degrees`."""
    spec = SPECS[joint]
    present = encoder - spec.homing_offset
    if joint == GRIPPER:
        return JAW_SHUT_DEG + (present - spec.range_min) / JAW_TRAVEL_STEPS * JAW_TRAVEL_DEG
    return (present - MIDDLE) / STEPS_PER_DEG


def jaw_degrees(percent: float) -> float:
    """Jaw angle of an opening in percent, 0 shut to 100 wide open."""
    return JAW_SHUT_DEG + percent / 100.0 * JAW_TRAVEL_DEG


def jaw_percent(degrees: float) -> float:
    """Opening in percent of a jaw angle."""
    return (degrees - JAW_SHUT_DEG) / JAW_TRAVEL_DEG * 100.0
