"""The core's state as it is pushed to the daemon: cheap every 20 ms, details less often."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from armlabd.arm.joints import Pose
from armlabd.motion.chain import servo_name
from armlabd.motion.fence import violation
from armlabd.motion.health import STATES
from armlabd.motion.messages import to_json

HALF = (
    "Some servos hold and some are limp: {names}. Support the arm; the next motion switches all of "
    "them on where they are, a stop lets all of them go."
)

if TYPE_CHECKING:
    from armlabd.motion.core import Core


# What a push tells when nothing else has changed.
PASSING = ("pose", "pose_age_s", "goal", "grip_percent")
_PASSING = (
    '{"state":{"pose":[%.3f,%.3f,%.3f,%.3f,%.3f,%.3f],"grip_percent":%.2f,"goal":%s,'
    '"pose_age_s":%.4f}}\n'
)
_AGE = b'{"state":{"pose_age_s":%.4f}}\n'


def lasting(core: Core, now_s: float) -> tuple[object, ...] | None:
    """What everything else in the state comes from; None while stopped, when it is much more."""
    if core.latch.cause is not None:
        return None
    link, job = core.link, core.conductor.job
    return (
        link.servos,
        link.found,
        link.working,
        link.state,
        link.detail,
        core.watch.warnings,
        core.conductor.torque,
        job,
        core.conductor.grip.holding,
        core.button.state,
        core.lease.alive(now_s),
    )


def passing(core: Core, now_s: float, pose: Pose, same: bool) -> bytes:
    """The push of what changes while nothing else does; `same`: pose and goal are known."""
    age_s = core.measured.age_s(now_s)
    if same:
        return _AGE % age_s
    goal = to_json(core.conductor.goal)
    return (_PASSING % (*pose, pose.grip, goal, age_s)).encode()


def quick_state(core: Core) -> dict[str, Any]:
    """What changes from push to push."""
    now_s = core.clock.monotonic()
    measured, conductor, link = core.measured, core.conductor, core.link
    pose, job = measured.pose, conductor.job
    return {
        "connected": link.reading,
        "state": link.state,
        "next": f"{link.detail} {STATES[link.state] or _warnings(core)}".strip(),
        "stopped": core.latch.stopped,
        "stop": _stop(core),
        "simulated": core.settings.simulated,
        "pose": _rounded(pose),
        "pose_age_s": None if not measured.counts else round(measured.age_s(now_s), 4),
        "goal": None if conductor.goal is None else list(conductor.goal),
        "torque": conductor.torque,  # of any servo; `next` names those that are limp all the same
        "moving": job is not None,
        "holding": conductor.grip.holding,
        "grip_percent": None if pose is None else round(pose.grip, 2),
        "calibrated": link.calibration is not None and link.state != "calibration_differs",
        "button": core.button.state,
        "button_why": core.button.why,
        "lease": core.lease.alive(now_s),
        "run": None if job is None else job.run,
        "settings_digest": core.digest,
        "pid": core.pid,
    }


def _warnings(core: Core) -> str:
    """What the watch warns of, and servos that were found limp while the others held."""
    limp = core.link.limp
    if not limp or not core.conductor.torque or core.conductor.goal is not None:
        return core.watch.warnings
    names = ", ".join(servo_name(id) for id in limp)
    return f"{HALF.format(names=names)} {core.watch.warnings}".strip()


def _rounded(pose: Pose | None) -> list[float] | None:
    return None if pose is None else [round(value, 3) for value in pose]


def _stop(core: Core) -> dict[str, Any]:
    cause, lane = core.latch.cause, core.lane
    if cause is None:
        return {}
    return {
        "cause": cause.code,
        "sentence": f"{cause.sentence} {core.button.why}".strip(),
        "since": cause.since,
        "by": cause.by,
        "written": lane.written,
        "confirmed": lane.confirmed,
        "latency_us": lane.latency_us,
        "of": 6,
        "held": lane.held,
        "grip_kept": lane.grip_kept,
        "on_disk": core.latch.on_disk,
        "disk_error": core.latch.disk_error,
        "told": lane.sentence if lane.count else "",
    }


def slow_state(core: Core) -> dict[str, Any]:
    """What a person looks at: pushed twice a second, and merged into the state by the client."""
    pose = core.measured.pose
    return {
        "servos": core.watch.servos(),
        "inside": pose is None or not violation(pose, core.link.limits, 0.0),
        "counters": _counters(core),
        "cycle": core.cycles.report(),
        "scheduling": core.scheduling,
        "button_line": core.button.details(),
        "notes": list(core.notes)[-10:],
    }


def _counters(core: Core) -> dict[str, Any]:
    bus = core.link.counters.snapshot()
    return {
        "goals_sent": core.conductor.goals_sent,
        "stops": core.lane.count,
        "misses_in_a_row": core.measured.misses,
        "bad_requests": core.requests.bad,
        "transactions": bus.transactions,
        "retries": bus.retries,
        "misses": {str(cause): count for cause, count in bus.causes.items()},
        "noise_bytes": bus.noise_bytes,
        "stray_frames": bus.stray_frames,
        "discarded_bytes": bus.discarded_bytes,
        "drains": bus.drains,
        "echoes": bus.echoes,
        "foreign": bus.foreign,
        "jumps": core.measured.jumps.count,
        "supply_rest_v": core.watch.supply.rest_v,
        "supply_lowest_v": core.watch.supply.lowest_v,
        **core.link.report(),
    }
