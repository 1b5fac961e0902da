"""From a tool call to joint programs: the one function that does it, for moving and for checking.

`plan_motion` is pure: the same call from the same pose gives the same programs, whether the session
is about to run them or the checker simulates a whole plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from armlabd.arm.joints import Pose
from armlabd.arm.limits import Limits
from armlabd.arm.path import Program
from armlabd.config import Config
from armlabd.table import CAMERA, Area, CameraModel
from armlabd.verdict import Verdict

Pose5 = tuple[float, float, float, float, float]
CLEAR_Z_M = 0.05  # tool point at or above this is clear of the table (design §6)


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


@dataclass(frozen=True, slots=True)
class MoveSettings:
    """What `plan_motion` needs from the settings. Degrees, deg/s, metres."""

    limits: Limits
    home: Pose5
    view: Pose5
    park: Pose5
    speed_dps: float = 45.0  # of moves that name no speed
    max_tilt_deg: float = 25.0
    area: Area = Area()
    camera: CameraModel = CAMERA

    @classmethod
    def of(cls, config: Config, limits: Limits) -> MoveSettings:
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
            config.camera.model(CAMERA.width_px, CAMERA.height_px),
        )


def plan_motion(
    tool: str, args: Mapping[str, float], pose: Pose, holding: bool, settings: MoveSettings
) -> tuple[Leg, ...] | Verdict:
    """The legs of move_to_pose, open_gripper, close_gripper, go_home, look or park.

    `args` are validated and filled. No legs: the arm is already there. A Verdict: UNREACHABLE,
    JOINT_LIMIT, PATH_BLOCKED, TOO_FAST or OLD_STATE, and nothing should move.
    """
    raise NotImplementedError


def hides_table(pose: Pose, settings: MoveSettings) -> bool:
    """True when the arm stands between the camera and any part of the workspace."""
    raise NotImplementedError
