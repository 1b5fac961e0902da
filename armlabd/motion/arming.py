"""Switching torque on without a jerk: goal := present on all joints, slowly, and verified.

Each step is one transaction, so that a stop can come in between. A switching-on that fails takes
back what it switched on.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from armlabd.arm.joints import JOINT_NAMES, SERVO_IDS
from armlabd.motion.servos import (
    FASTEST_STEPS_PER_S,
    FULL_ACCELERATION,
    GENTLE_ACCELERATION,
    GENTLE_STEPS_PER_S,
    Servos,
)

TRIES = 3
DRIFT_STEPS = 12  # 1 degree: moved by hand while the goals were being pinned

Arming = Generator[None, None, "tuple[int, ...] | str"]


def switch_on(servos: Servos, allowed: Callable[[], bool], grip_percent: float) -> Arming:
    """Pin all goals to where the joints are, then torque on; returns the counts, or what failed.

    `allowed` is asked right before anything is energised. Raises PortLost.
    """
    found = servos.held(retries=2)
    yield
    already = {id for id, servo in found.items() if servo.torque}
    servos.lock()
    servos.write_pace(GENTLE_STEPS_PER_S, GENTLE_ACCELERATION)
    yield
    if not servos.limit_gripper(grip_percent) and not servos.limit_gripper(grip_percent):
        return "The gripper does not take its torque limit."
    yield
    counts = yield from _pin(servos)
    if isinstance(counts, str):
        return counts
    if not allowed():
        return "Torque stays off: the arm was stopped meanwhile."
    for _ in range(TRIES):
        servos.torque_on()
        yield
        found = servos.held(retries=1)
        if len(found) == len(SERVO_IDS) and all(servo.torque for servo in found.values()):
            servos.write_pace(FASTEST_STEPS_PER_S, FULL_ACCELERATION)
            return counts
        if not allowed():
            break
    if not already:
        servos.torque_off()
    on = {id for id, servo in found.items() if servo.torque}
    off = ", ".join(JOINT_NAMES[id - 1] for id in SERVO_IDS if id not in on)
    return f"Torque did not come on at {off}. Check that servo's power and cable."


def _pin(servos: Servos) -> Arming:
    """Goal := present until the goals read back and nobody has moved the arm since."""
    for _ in range(TRIES):
        counts = yield from _present(servos)
        if counts is None:
            continue
        servos.write_goals(counts)
        yield
        found = servos.held(retries=1)
        yield
        again = yield from _present(servos)
        goals = tuple(found[id].goal for id in SERVO_IDS if id in found)
        if again is None or goals != counts:
            continue
        if max(abs(a - b) for a, b in zip(counts, again, strict=True)) <= DRIFT_STEPS:
            return counts
    return "The joints could not be pinned where they are: they do not answer, or are being moved."


def _present(servos: Servos) -> Generator[None, None, tuple[int, ...] | None]:
    feedback = servos.feedback(retries=1)
    yield
    if len(feedback) < len(SERVO_IDS):
        return None
    return tuple(feedback[id][0].position for id in SERVO_IDS)
