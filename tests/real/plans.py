"""The textbook's ten-step plan as a client would send it, and its bad sister."""

from __future__ import annotations

from typing import Any

SPEED = 60
BIN = (0.20, -0.10)


def move(x: float, y: float, z: float, note: str) -> dict[str, Any]:
    args = {"x": x, "y": y, "z": z, "speed_dps": SPEED}
    return {"tool": "move_to_pose", "args": args, "note": note}


def ten_steps(x: float = 0.22, y: float = 0.09) -> dict[str, Any]:
    """Pick at x, y and place in the bin: the heights of the textbook."""
    return {
        "steps": [
            {"tool": "get_status", "args": {}, "note": "look before moving"},
            {"tool": "open_gripper", "args": {"percent": 50}, "note": "open"},
            move(x, y, 0.07, "above the block"),
            move(x, y, 0.03, "down to the block"),
            {
                "tool": "close_gripper",
                "args": {},
                "note": "grasp",
                "expect": {"holding_something": True},
            },
            move(x, y, 0.07, "lift"),
            move(*BIN, 0.07, "above the bin"),
            move(*BIN, 0.03, "down into the bin"),
            {"tool": "open_gripper", "args": {"percent": 50}, "note": "release"},
            {"tool": "go_home", "args": {}, "note": "clear of the table"},
        ]
    }


def bad_plan() -> dict[str, Any]:
    """An invented tool at step 4 and a z too low at step 5."""
    steps = ten_steps()["steps"][:3]
    steps.append({"tool": "wave_hello", "args": {}, "note": "an invented step"})
    steps.append({"tool": "move_to_pose", "args": {"x": 0.2, "y": 0.1, "z": 0.01}, "note": "low"})
    return {"steps": steps}
