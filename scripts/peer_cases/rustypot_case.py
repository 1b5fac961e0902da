"""rustypot's STS3215 controller: `rustypot_case.py PORT CONTROL`."""

from __future__ import annotations

import math
import sys
from importlib import import_module
from typing import Any

from steps import control, eventually, shown_deg, step

IDS = [1, 2, 3, 4, 5, 6]
GOAL_DEG = 20.0
NEAR_DEG = 1.5
OFFSET_RAD = -0.2  # negative, which two's complement gets wrong


def scan(arm: Any) -> str:
    """Ping six ids, and one that nobody has."""
    found = [id for id in range(1, 9) if arm.ping(id)]
    assert found == IDS, found
    return "six servos answer a ping"


def read(arm: Any, desk: str) -> str:
    """Positions of all six in one transaction, in radians and raw, against the truth."""
    radians = arm.sync_read_present_position(IDS)
    counts = arm.sync_read_raw_present_position(IDS)
    truth = shown_deg(desk)
    for joint in range(5):
        read_deg = (counts[joint] - 2047.5) * 360 / 4096
        assert abs(read_deg - truth[joint]) < 0.2, (joint, read_deg, truth)
    return f"six positions, pan {math.degrees(radians[0]):.1f} deg"


def move(arm: Any, desk: str) -> str:
    """Torque on, a goal in one sync write, arrived in truth, torque off."""
    arm.sync_write_raw_goal_position(IDS[:1], arm.sync_read_raw_present_position(IDS[:1]))
    arm.sync_write_torque_enable(IDS, [True] * len(IDS))
    goal = 2048 + round(GOAL_DEG * 4096 / 360)
    arm.sync_write_raw_goal_position([1], [goal])
    eventually(lambda: abs(shown_deg(desk)[0] - GOAL_DEG) < NEAR_DEG, f"pan at {GOAL_DEG} deg")
    arm.sync_write_torque_enable(IDS, [False] * len(IDS))
    eventually(lambda: not any(control(desk, "state")["torque"]), "torque off", 1.0)
    return f"pan to {shown_deg(desk)[0]:.1f} deg, torque off"


def calibrate(arm: Any, desk: str) -> str:
    """An offset written for good and read back; the position follows it."""
    control(desk, "limp", joints_deg=[0.0, -60.0, 60.0, 60.0, 0.0], held=True)
    before, old = arm.read_raw_present_position(1)[0], signed(arm.read_raw_homing_offset(1)[0])
    arm.write_lock(1, False)
    arm.write_homing_offset(1, OFFSET_RAD)
    arm.write_lock(1, True)
    new = signed(arm.read_raw_homing_offset(1)[0])
    assert new == round(OFFSET_RAD * 2048 / math.pi), new
    after = arm.read_raw_present_position(1)[0]
    assert abs((after - before) - (old - new)) <= 2, (before, after, old, new)
    return f"offset {old} to {new}: the position went from {before} to {after}"


def signed(raw: int) -> int:
    """Register 31: the sign is bit 11."""
    return -(raw & 2047) if raw & 2048 else raw


def main(port: str, desk: str) -> None:
    """All steps."""
    arm = import_module("rustypot").Sts3215PyController(port, 1_000_000, 0.1)
    step("scan", lambda: scan(arm))
    step("read", lambda: read(arm, desk))
    step("move", lambda: move(arm, desk))
    step("calibrate", lambda: calibrate(arm, desk))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
