"""LeRobot's SO-101 follower with its own bus class: `lerobot_case.py PORT CONTROL FOLDER`.

Its calibration asks a person: the answers come over standard input from a thread that also plays
the person's hands, moving the limp virtual arm.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import standin
from steps import control, eventually, shown_deg, step

IDS = [1, 2, 3, 4, 5, 6]
MIDDLE = [0.0, 0.0, 0.0, 0.0, 0.0]
LOW = [-105.0, -95.0, -92.0, -90.0, 0.0]
HIGH = [105.0, 95.0, 92.0, 90.0, 0.0]
STEPS_OF_A_SWEEP = 40
STEP_S = 0.03
DWELL_S = 0.4  # at an end: a busy board reads seldom
GOAL_DEG = 15.0
NEAR_DEG = 2.0
ROUNDING = 25  # counts a swept end may be off: the hand moves in steps


class Hands:
    """The person: follows what LeRobot prints, moves the arm, presses Enter."""

    def __init__(self, desk: str) -> None:
        self._desk = desk
        reading, self._keys = os.pipe()
        sys.stdin = os.fdopen(reading, "r")
        self._thread = threading.Thread(target=self._work, daemon=True)
        self.trouble = ""

    def start(self) -> None:
        """From the first question on."""
        self._thread.start()

    def _work(self) -> None:
        try:
            self._pose(MIDDLE, 50.0)
            time.sleep(0.3)
            os.write(self._keys, b"\n")  # the middle
            time.sleep(1.0)  # offsets are written, then the ranges are recorded
            self._sweep()
            os.write(self._keys, b"\n")
        except Exception as error:
            self.trouble = str(error)
            os.write(self._keys, b"\n\n")

    def _sweep(self) -> None:
        """One joint after the other, to both ends and back to the middle."""
        for joint in range(4):
            for end in (LOW[joint], HIGH[joint], 0.0):
                self._one(joint, end)
        for percent in (0.0, 100.0, 50.0):
            self._pose(MIDDLE, percent)
            time.sleep(DWELL_S)

    def _one(self, joint: int, end: float) -> None:
        for k in range(1, STEPS_OF_A_SWEEP + 1):
            pose = list(MIDDLE)
            pose[joint] = end * k / STEPS_OF_A_SWEEP
            self._pose(pose, 50.0)
            time.sleep(STEP_S / 3)
        time.sleep(DWELL_S)

    def _pose(self, pose: list[float], percent: float) -> None:
        control(self._desk, "limp", joints_deg=pose, gripper_percent=percent, held=True)


def scan(bus: Any) -> str:
    """Its handshake (ids, models, firmware), then a broadcast ping."""
    bus.connect()
    found = bus.broadcast_ping()
    assert found == dict.fromkeys(IDS, 777), found
    return "handshake, and six servos of model 777 by broadcast ping"


def read(bus: Any, desk: str) -> str:
    """Raw positions of all six against the truth."""
    counts = bus.sync_read("Present_Position", normalize=False)
    truth = shown_deg(desk)
    for joint, name in enumerate(list(counts)[:5]):
        read_deg = (counts[name] - 2047.5) * 360 / 4096
        assert abs(read_deg - truth[joint]) < 0.2, (name, read_deg, truth)
    bus.disconnect()
    return "six positions by sync read"


def calibrate(robot: Any, desk: str) -> str:
    """The whole procedure as a person goes through it; the arm holds what the file says."""
    hands = Hands(desk)
    robot.bus.connect()
    hands.start()
    robot.calibrate()
    assert not hands.trouble, hands.trouble
    assert robot.bus.is_calibrated, "the servos do not hold what was written"
    file = json.loads(Path(robot.calibration_fpath).read_text())
    for joint, name in enumerate(list(file)[:4]):
        swept = (file[name]["range_max"] - file[name]["range_min"]) * 360 / 4096
        wanted = HIGH[joint] - LOW[joint]
        assert abs(swept - wanted) < ROUNDING * 360 / 4096, (name, swept, wanted)
    robot.bus.disconnect()
    pan = file["shoulder_pan"]
    return f"pan offset {pan['homing_offset']}, range {pan['range_min']} to {pan['range_max']}"


def move(robot: Any, desk: str) -> str:
    """Connect as every program of theirs does, go somewhere, arrive in truth, let go."""
    control(desk, "limp", joints_deg=MIDDLE, gripper_percent=50.0, held=True)
    robot.connect(calibrate=False)
    here = robot.get_observation()
    control(desk, "let_go")
    for k in range(1, 31):
        robot.send_action(
            {**here, "shoulder_pan.pos": here["shoulder_pan.pos"] + GOAL_DEG * k / 30}
        )
        time.sleep(0.02)
    eventually(lambda: abs(shown_deg(desk)[0] - GOAL_DEG) < NEAR_DEG, f"pan at {GOAL_DEG} deg")
    there = robot.get_observation()["shoulder_pan.pos"] - here["shoulder_pan.pos"]
    assert abs(there - GOAL_DEG) < NEAR_DEG, there
    robot.disconnect()
    assert not any(control(desk, "state")["torque"])
    return f"pan by {there:.1f} deg, torque off at the end"


def main(port: str, desk: str, folder: str) -> None:
    """All steps, in the order in which a person would."""
    os.environ["HF_LEROBOT_HOME"] = folder
    standin.install()
    module = import_module("lerobot.robots.so_follower")
    config = module.SO101FollowerConfig(port=port, id="peer", calibration_dir=Path(folder))
    robot = module.SO101Follower(config)
    step("scan", lambda: scan(robot.bus))
    step("read", lambda: read(robot.bus, desk))
    step("calibrate", lambda: calibrate(robot, desk))
    step("move", lambda: move(robot, desk))
    os._exit(0)  # the person's thread may still wait


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3])
