"""Switching torque on without a jerk: goal := present on all joints, slowly, and verified.

Each step is one transaction, so that a stop can come in between. A switching-on that fails takes
back what it switched on.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator

from armlabd.arm.joints import DEGREES_PER_STEP, JOINT_NAMES, SERVO_IDS
from armlabd.bus.errors import NoAnswer
from armlabd.bus.registers import REGISTERS
from armlabd.motion.guard import START_TOLERANCE_DEG
from armlabd.motion.servos import (
    FASTEST_STEPS_PER_S,
    FULL_ACCELERATION,
    GENTLE_ACCELERATION,
    GENTLE_STEPS_PER_S,
    Servos,
)

TRIES = 3
LIMITS_ADDRESS = REGISTERS["min_position_limit"].address
TURNS_BACK_STEPS = round(START_TOLERANCE_DEG / DEGREES_PER_STEP)
# What lies in the way of a servo that turns back by itself no program has looked at: it pushes with
# this much power, half again what holds the stretched arm up.
TURNING_POWER, FULL_POWER = 0.4, 1.0
NEAR_STEPS = 24  # of its end: a servo with a load stops a little before
STUCK_READS = 300  # without any motion: some seconds
DRIFT_STEPS = 12  # 1 degree: moved by hand while the goals were being pinned

Counts = tuple[int, ...]
Arming = Generator[None, None, "Counts | str"]
Ends = list[tuple[int, int]]


def switch_on(servos: Servos, allowed: Callable[[], bool], grip_percent: float) -> Arming:
    """Pin all goals to where the joints are, then torque on; returns the counts, or what failed.

    `allowed` is asked right before anything is energised. Servos that lie beyond their own limits
    turn back by themselves, slowly and with little power, before it returns. Raises PortLost.
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
    ends, own = yield from _ends(servos)
    here = yield from _present(servos)
    weak = here is not None and _turns_back(here, ends)
    fault = yield from _power(servos, own, TURNING_POWER if weak else FULL_POWER)
    if fault is not None:
        return fault
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
            if _turns_back(counts, ends):
                counts = yield from _come_within(servos, counts, ends, allowed)
            fault = (yield from _power(servos, own, FULL_POWER)) if weak else None
            if fault is not None or isinstance(counts, str):
                return counts if isinstance(counts, str) else str(fault)
            servos.write_pace(FASTEST_STEPS_PER_S, FULL_ACCELERATION)
            return counts
        if not allowed():
            break
    if not already:
        servos.torque_off()
    on = {id for id, servo in found.items() if servo.torque}
    off = ", ".join(JOINT_NAMES[id - 1] for id in SERVO_IDS if id not in on)
    return f"Torque did not come on at {off}. Check that servo's power and cable."


def _ends(servos: Servos) -> Generator[None, None, tuple[Ends, list[int]]]:
    """The servos' own limits, registers 9 and 11, and full power, 16; empty where one is mute."""
    found = servos.master.sync_read(SERVO_IDS, LIMITS_ADDRESS, 9, retries=2)
    yield
    if len(found) < len(SERVO_IDS):
        return [], []
    rows = [struct.unpack("<HH3xH", found[id].data) for id in SERVO_IDS]
    return [(low, high) for low, high, _ in rows], [power for _, _, power in rows]


def _power(servos: Servos, own: list[int], share: float) -> Generator[None, None, str | None]:
    """Give the joints of the arm this share of their own full power; what failed, or None."""
    for id, power in zip(SERVO_IDS[:5], own, strict=False):
        try:
            servos.master.write(id, "torque_limit", round(power * share), retries=2)
        except NoAnswer:
            return f"{JOINT_NAMES[id - 1]} does not take its torque limit."
        yield
    return None


def _turns_back(counts: Counts, ends: Ends) -> bool:
    """True when servos would turn by more than a program's start may be off."""
    return bool(ends) and max(_beyond(counts, ends)) > TURNS_BACK_STEPS


def _within(counts: Counts, ends: Ends) -> Counts:
    """Where the servos themselves will go from `counts`."""
    return tuple(min(max(n, low), high) for n, (low, high) in zip(counts, ends, strict=True))


def _come_within(servos: Servos, counts: Counts, ends: Ends, allowed: Callable[[], bool]) -> Arming:
    """Wait while servos turn back to their own limits, where the joints are beyond them.

    A servo clamps a goal beyond registers 9 and 11: switched on there it turns straight back by
    itself. That happens at the gentle pace, and only then goals are pinned anew. An arm that lies
    within its limits, or hardly beyond them, waits for nothing.
    """
    stuck, last = 0, counts
    while stuck < STUCK_READS:
        if not allowed():
            return "Torque stays off: the arm was stopped meanwhile."
        now = yield from _present(servos)
        if now is None:
            stuck += 1
            continue
        if not any(depth > NEAR_STEPS for depth in _beyond(now, ends)):
            within = _within(now, ends)
            servos.write_goals(within)
            yield
            return within
        stuck = stuck + 1 if now == last else 0
        last = now
    return "A joint lies beyond its range and does not come back. Move it inside by hand."


def _beyond(counts: Counts, ends: Ends) -> list[int]:
    """How far each count is outside its ends; 0 inside."""
    return [max(0, low - n, n - high) for n, (low, high) in zip(counts, ends, strict=True)]


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


def _present(servos: Servos) -> Generator[None, None, Counts | None]:
    feedback = servos.feedback(retries=1)
    yield
    if len(feedback) < len(SERVO_IDS):
        return None
    return tuple(feedback[id][0].position for id in SERVO_IDS)
