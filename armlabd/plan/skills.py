"""What the arm can do with a thing, as steps: pick up, put down, and the ten steps of both.

Figures: travel at z 0.07 m where it can be reached; grip at half the block's height and 5 mm,
never below the table's z minimum; open to 50 % for the approach and the release, because jaws
wide open hit the walls of a bin and at 20 % do not pass over a block; to 35 % in a crowd.
"""

from __future__ import annotations

from dataclasses import dataclass

from armlabd.plan.plan import CLOSE, Step

OPEN_PERCENT = 50.0
NARROW_PERCENT = 35.0  # where another block stands beside: 54 mm, a block and 12 mm on each side
HELD_PERCENT = 19.5  # what the jaws read on a 30 mm block
TRAVEL_Z_M = 0.07
LIFTED_Z_M = 0.05  # the least height that counts as lifted
OVER_MIDDLE_M = 0.005
HELD = {"holding_something": True}


@dataclass(frozen=True, slots=True)
class Grip:
    """Where and how something is gripped: metres in the base frame, yaw of the opening jaws."""

    name: str
    x: float
    y: float
    z: float
    yaw_deg: float
    above_z: float = TRAVEL_Z_M
    open_percent: float = OPEN_PERCENT


@dataclass(frozen=True, slots=True)
class Spot:
    """Where and how something is put down; `z` is where it is let go."""

    name: str
    x: float
    y: float
    z: float
    yaw_deg: float
    above_z: float = TRAVEL_Z_M
    open_percent: float = OPEN_PERCENT


def grasp_z(height_m: float, z_min: float = 0.02) -> float:
    """The height at which a thing is gripped, m: a little over its middle."""
    return max(z_min, round(height_m / 2 + OVER_MIDDLE_M, 4))


def move(place: Grip | Spot, z: float, speed_dps: float, note: str) -> Step:
    """One move of the grasp point to a place, at height `z` m."""
    args = {
        "x": round(place.x, 4),
        "y": round(place.y, 4),
        "z": round(z, 4),
        "speed_dps": speed_dps,
        "yaw_deg": round(place.yaw_deg, 1),
    }
    return Step("move_to_pose", args, note)


def status() -> Step:
    """The first step of every plan."""
    return Step("get_status", {}, "how the arm is before it moves")


def open_to(percent: float, note: str) -> Step:
    """Open the jaws to a percentage of their travel."""
    return Step("open_gripper", {"percent": percent}, note)


def home() -> Step:
    """The last step: clear of the table, the camera's view free."""
    return Step("go_home", {}, "clear of the table")


def pick_up(grip: Grip, speed_dps: float) -> tuple[Step, ...]:
    """Open, over it, down, close and expect to hold it, straight up."""
    return (
        open_to(grip.open_percent, "open before going down"),
        move(grip, grip.above_z, speed_dps, f"above the {grip.name}"),
        move(grip, grip.z, speed_dps, f"down to the {grip.name}"),
        Step(CLOSE, {}, f"grip the {grip.name}", HELD),
        move(grip, grip.above_z, speed_dps, f"lift the {grip.name}"),
    )


def put_down(spot: Spot, speed_dps: float) -> tuple[Step, ...]:
    """Over the place, down, let go. The hand stays low; `retreat` or `home` comes next."""
    return (
        move(spot, spot.above_z, speed_dps, f"above {spot.name}"),
        move(spot, spot.z, speed_dps, f"down to {spot.name}"),
        open_to(spot.open_percent, f"let go at {spot.name}"),
    )


def retreat(spot: Spot, speed_dps: float) -> Step:
    """Straight up from where something was let go, before the hand travels on."""
    return move(spot, spot.above_z, speed_dps, "straight up before travelling on")


def pick_and_place(grip: Grip, spot: Spot, speed_dps: float) -> tuple[Step, ...]:
    """The ten steps: status, open, above, down, close, lift, above, down, open, home."""
    return (status(), *pick_up(grip, speed_dps), *put_down(spot, speed_dps), home())
