"""From the checked config to what the motion core is told."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TypedDict

from armlabd.arm.calibration import Calibration, CalibrationError, parse
from armlabd.arm.geometry import forward
from armlabd.arm.joints import ARM_JOINTS, Pose
from armlabd.arm.limits import Box, LimitError, Limits, tighten
from armlabd.arm.own import own_limits, own_pose
from armlabd.config import Config
from armlabd.config.stop import ButtonConfig
from armlabd.gate.moves import CLEAR_Z_M
from armlabd.motion.boards import wanted_line
from armlabd.motion.fence import violation
from armlabd.motion.settings import CoreSettings
from armlabd.verdict import Code

log = logging.getLogger(__name__)


class StartError(Exception):
    """The daemon cannot start as configured; the sentence says why and what to do."""

    code = Code.BAD_CONFIG


def limits_of(config: Config) -> Limits:
    """The ceilings of the arm, tightened by [limits] and [[workspace.keep_out]].

    Raises StartError.
    """
    try:
        return _tightened(config)
    except LimitError as error:
        raise StartError(f"The [limits] or [[workspace.keep_out]] do not fit: {error}") from error


def _tightened(config: Config) -> Limits:
    own = config.limits
    boxes = tuple(Box(box.name, box.x, box.y, box.z) for box in config.workspace.keep_out)
    return tighten(
        travel_deg={
            "shoulder_pan": own.shoulder_pan_deg,
            "shoulder_lift": own.shoulder_lift_deg,
            "elbow_flex": own.elbow_flex_deg,
            "wrist_flex": own.wrist_flex_deg,
            "wrist_roll": own.wrist_roll_deg,
        },
        speed_dps=own.speed_dps,
        acceleration_dps2=own.acceleration_dps2,
        floor_m=own.floor_m,
        keep_out=boxes,
    )


def _check_poses(config: Config, limits: Limits) -> None:
    """Poses that the guard would refuse. Raises StartError; a park pose is only warned of.

    Without a park pose the arm is held at the end instead; without a home nothing works.
    """
    motion = config.motion
    for name, angles in (("home_pose", motion.home_pose), ("view_pose", motion.view_pose)):
        pose = Pose(*angles, 0.0)
        height_m = forward(pose).tool[2]
        why = _broken(pose, limits)
        if why is None and height_m < CLEAR_Z_M:
            why = f"the tool point is at z {height_m:.3f} m, less than {CLEAR_Z_M:g} m"
        if why is not None:
            raise StartError(f"[motion] {name} cannot be used: {why}. Choose other angles.")
    why = _broken(Pose(*motion.park_pose, 0.0), limits)
    if why is not None:
        log.warning("[motion] park_pose cannot be used (%s): at the end the arm is held", why)


def _broken(pose: Pose, limits: Limits) -> str | None:
    """The limit that a pose breaks most, in words."""
    deepest = max(violation(pose, limits), key=lambda depth: depth.depth, default=None)
    if deepest is None:
        return None
    return f"it breaks the limit {deepest.name} by {deepest.depth:.3g} {deepest.unit}"


def fitted(config: Config, calibration: Calibration | None) -> Config:
    """The settings for one arm: travel, floor and poses of rest as its calibration allows.

    Every room is then told the same. Raises StartError.
    """
    if calibration is None:
        return config
    wanted = limits_of(config)
    try:
        own = own_limits(wanted, calibration)
    except LimitError as error:
        raise StartError(f"The calibration leaves the arm no room: {error}") from error
    travel = {f"{name}_deg": pair for name, pair in zip(ARM_JOINTS, own.travel_deg, strict=True)}
    poses = {
        name: own_pose(getattr(config.motion, name), wanted, own)
        for name in ("home_pose", "view_pose", "park_pose")
    }
    return config.model_copy(
        update={
            "limits": config.limits.model_copy(update={**travel, "floor_m": own.floor_m}),
            "motion": config.motion.model_copy(update=poses),
        }
    )


def calibration_text(config: Config, state: Path) -> str | None:
    """The text of the arm's calibration; None when there is none yet. Raises StartError."""
    if not config.arm.calibration:
        return file_text(state / "calibration.json")
    path = Path(config.arm.calibration)
    text = file_text(path)
    if text is None:
        raise StartError(
            f"The calibration {path} cannot be read: there is no such file. Correct [arm] "
            "calibration, or leave it out and run armlabd calibrate."
        )
    return text


def file_text(path: Path) -> str | None:
    """The text of a calibration file that can be used; None when it is not there.

    Raises StartError.
    """
    try:
        text = path.read_text(encoding="utf-8")
        parse(text)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise StartError(f"The calibration {path} cannot be read: {error}.") from error
    except CalibrationError as error:
        raise StartError(f"The calibration {path} cannot be used: {error}") from error
    return text


class ButtonLine(TypedDict):
    """What the core is told of the stop button's line."""

    button_chip: str
    button_line: str | int
    button_pull_up: bool
    button_release_s: float


def button_line(button: ButtonConfig) -> ButtonLine:
    """The line of the board, with chip and line of the settings in the place of the board's."""
    wanted = wanted_line(button.board, button.chip, button.line)
    return ButtonLine(
        button_chip=wanted.chip,
        button_line=wanted.line,
        button_pull_up=wanted.pull_up,
        button_release_s=button.release_s,
    )


def core_settings(
    config: Config, state: Path, *, port: str, calibration: str | None, simulated: bool
) -> CoreSettings:
    """Everything the core is told. Raises StartError."""
    motion = config.motion
    limits = limits_of(config)
    _check_poses(config, limits)
    return CoreSettings(
        state_dir=str(state),
        port=port,
        baud=config.arm.baud,
        simulated=simulated,
        calibration=calibration,
        limits=limits.as_dict(),
        home_pose=motion.home_pose,
        view_pose=motion.view_pose,
        park_pose=motion.park_pose,
        speed_dps=min(motion.speed_dps, config.limits.speed_dps),
        grip_torque_percent=motion.grip_torque_percent,
        hold_torque_percent=motion.hold_torque_percent,
        exit=motion.exit,
        stop_action=config.stop.action,
        button_required=config.stop.button.required,
        **button_line(config.stop.button),
        lease_s=motion.lease_s,
        orphan_s=motion.orphan_s,
        heartbeat_s=motion.heartbeat_s,
        tolerance_deg=motion.tolerance_deg,
        settle_s=motion.settle_s,
        debug=config.log.level == "debug",
    )
