"""What the session says: refusals that come from the arm's state, and answers of success."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from armlabd.arm.joints import ARM_JOINTS, Pose
from armlabd.motion.guard import START_TOLERANCE_DEG, START_TOLERANCE_PERCENT
from armlabd.motion.messages import CoreState, MotionResult
from armlabd.verdict import Code, Verdict

MAX_POSE_AGE_S = 0.5  # fifty cycles of the core: older than this nothing is planned from it
NO_BUTTON = "no physical stop"


def stopped(state: CoreState | None) -> Verdict | None:
    """STOPPED while the latch is set."""
    if state is None or not state.stopped:
        return None
    cause = str(state.stop.get("sentence") or state.stop.get("cause") or "").rstrip(".")
    because = f" ({cause})" if cause else ""
    return Verdict.refused(
        Code.STOPPED,
        f"The arm is stopped{because}. Only a person can clear a stop: tell them, and wait.",
    )


def no_arm(state: CoreState | None) -> Verdict | None:
    """NO_ARM, NOT_CALIBRATED or OLD_STATE when the arm cannot be moved now."""
    if state is None:
        return Verdict.refused(
            Code.NO_ARM, "The motion core is not running. Wait for it, or ask for the status."
        )
    if not state.connected:
        todo = state.next or "Connect the arm and switch its power on."
        return Verdict.refused(Code.NO_ARM, f"The arm is not connected. {todo}")
    if not state.calibrated:
        return Verdict.refused(
            Code.NOT_CALIBRATED, "The arm is not calibrated, so it does not move. Calibrate it."
        )
    if state.pose is None or (state.pose_age_s or 0.0) > MAX_POSE_AGE_S:
        todo = state.next or "Try again in a moment; if this stays, look at the status."
        return Verdict.refused(Code.OLD_STATE, f"The arm's pose is not known right now. {todo}")
    return None


def busy(holder: str, wanted: str) -> Verdict:
    """BUSY, naming who holds the arm."""
    return Verdict.refused(
        Code.BUSY,
        f"{wanted} has to wait: {holder} holds the arm. Try again when it has ended, or cancel it.",
        holder=holder,
    )


def status(state: CoreState | None) -> Verdict:
    """What get_status answers; NO_ARM, with what is known, when there is no pose to tell."""
    if state is None:
        return no_arm(None) or Verdict(Code.OK)
    data: dict[str, Any] = {
        "stopped": state.stopped,
        "simulated": state.simulated,
        "connected": state.connected,
        "state": state.state,
        "next": state.next,
        "torque": state.torque,
        "moving": state.moving,
        "button": NO_BUTTON if state.button == "none" else state.button,
    }
    if state.stopped:
        data["stop"] = dict(state.stop)
    if state.pose is None:
        refusal = no_arm(state)
        sentence = refusal.sentence if refusal else "The arm's pose is not known."
        return Verdict(Code.NO_ARM, sentence, data)
    return Verdict(Code.OK, "", {**measured(state), **data})


def measured(state: CoreState) -> dict[str, Any]:
    """Joints (degrees, one decimal), gripper and whether something is held, as last read."""
    pose = state.pose
    found: dict[str, Any] = {"holding_something": state.holding}
    if pose is not None:
        grip = pose.grip if state.grip_percent is None else state.grip_percent
        found["gripper_percent"] = round(grip, 1)
        found["joints_deg"] = {
            name: round(value, 1) + 0.0 for name, value in zip(ARM_JOINTS, pose, strict=False)
        }
    return found


def done(tool: str, args: Mapping[str, float], holding: bool, grip_percent: float) -> Verdict:
    """The answer to a motion that was carried out and measured."""
    data = {"holding_something": holding, "gripper_percent": round(grip_percent, 1)}
    return Verdict(Code.OK, _sentence(tool, args, holding, grip_percent), data)


def _sentence(tool: str, args: Mapping[str, float], holding: bool, grip_percent: float) -> str:
    if tool == "move_to_pose":
        point = ", ".join(f"{axis} {args[axis]:.3f}" for axis in "xyz")
        return f"The hand is at {point} m; it moved at {args['speed_dps']:.1f} deg/s."
    if tool == "open_gripper":
        return f"The gripper is open to {args['percent']:.1f} %."
    if tool == "close_gripper" and holding:
        return f"The gripper holds something, {grip_percent:.1f} % open."
    if tool == "close_gripper":
        return f"The gripper is closed to {grip_percent:.1f} % and holds nothing."
    return {"go_home": "The arm is at home.", "look": "The arm stands aside."}.get(tool, "Done.")


def ended(result: MotionResult) -> Verdict:
    """A motion that did not end well, as the core told it."""
    data = {"holding_something": result.holding}
    sentence = result.sentence or "The motion did not end as asked. Look at the status."
    return Verdict(result.code, sentence, data)


def start_pose(state: CoreState) -> tuple[Pose, float]:
    """Where to plan from, and the gripper set-point to keep meanwhile (percent).

    From the set-points where torque holds them, so that sag is not walked down, else from what was
    read. A hand that holds something is planned with the opening that was read: that is where the
    object is; the set-point stays a little tighter and keeps the squeeze.
    """
    pose = state.pose
    if pose is None:
        raise ValueError("there is no pose to start from")  # no_arm() was not asked first
    goal = state.goal if state.torque else None
    if goal is None or not _near(goal, pose):
        return pose, pose.grip
    tight = abs(goal.grip - pose.grip) <= START_TOLERANCE_PERCENT
    kept = goal.grip if tight else pose.grip
    return goal.with_grip(pose.grip if state.holding else kept), kept


def _near(goal: Pose, pose: Pose) -> bool:
    pairs = zip(goal.arm, pose.arm, strict=True)
    return all(abs(a - b) <= START_TOLERANCE_DEG for a, b in pairs)
