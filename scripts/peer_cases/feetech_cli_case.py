"""feetech-cli as a person types it: `feetech_cli_case.py PORT CONTROL`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from steps import control, eventually, shown_deg, step

FEETECH = Path(sys.executable).with_name("feetech")
PAN = "1"
GOAL_DEG = 20.0
COUNTS_PER_DEG = 4096 / 360
NEAR_DEG = 1.5


def feetech(port: str, *words: str) -> str:
    """One command; its output. Raises AssertionError when it fails."""
    command = [str(FEETECH), "--port", port, "--baudrate", "1000000", "--max-id", "8", *words]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if ran.returncode:
        raise AssertionError(f"feetech {' '.join(words)}: {ran.stdout} {ran.stderr}")
    return ran.stdout


def scan(port: str) -> str:
    """All six, and no other."""
    found = re.findall(r"id\s+(\d+)\s+model\s+(\d+)", feetech(port, "scan"))
    assert found == [(str(id), "777") for id in range(1, 7)], found
    return "six servos of model 777"


def read(port: str) -> str:
    """A register, and the whole table."""
    position = place(port)
    assert "firmware_major" in feetech(port, "info", PAN)
    return f"position {position}, and the whole table"


def place(port: str) -> int:
    """The pan servo's position as the command prints it."""
    found = re.search(r"= (-?\d+)", feetech(port, "read", PAN, "present_position"))
    assert found, "no number"
    return int(found[1])


def move(port: str, desk: str) -> str:
    """Torque on, a goal, arrived in truth, torque off."""
    feetech(port, "torque", PAN, "on")
    counts = str(2048 + round(GOAL_DEG * COUNTS_PER_DEG))
    feetech(port, "move", PAN, "--position", counts, "--speed", "1000")
    eventually(lambda: abs(shown_deg(desk)[0] - GOAL_DEG) < NEAR_DEG, f"pan at {GOAL_DEG} deg")
    feetech(port, "torque", PAN, "off")
    assert not any(control(desk, "state")["torque"])
    return f"pan to {shown_deg(desk)[0]:.1f} deg, torque off"


def calibrate(port: str, desk: str) -> str:
    """Its own calibration: the pose of now becomes zero."""
    control(desk, "limp", joints_deg=[30.0, -60.0, 60.0, 60.0, 0.0], held=True)
    feetech(port, "set-zero", PAN, "--yes")
    position = place(port)
    assert abs(position - 2048) <= 2, position
    return f"set-zero at 30 deg: the servo now reads {position}"


def main(port: str, desk: str) -> None:
    """All steps."""
    step("scan", lambda: scan(port))
    step("read", lambda: read(port))
    step("move", lambda: move(port, desk))
    step("calibrate", lambda: calibrate(port, desk))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
