"""Scenes and a way to say in one line what a planner's answer does. Not a test."""

from __future__ import annotations

import math
from dataclasses import dataclass

from armlabd.plan.context import PlanContext
from armlabd.plan.plan import Plan
from armlabd.plan.question import Question, Stop


@dataclass(frozen=True)
class Seen:
    label: str
    x: float
    y: float
    yaw_deg: float = 0.0
    size_m: float = 0.03


@dataclass(frozen=True)
class Scene:
    objects: tuple[Seen, ...] = ()


BIN = (0.20, -0.10)
ONE_EACH = Scene(
    (
        Seen("red block", 0.22, 0.09),
        Seen("blue block", 0.14, 0.12, 20.0),
        Seen("green block", 0.20, 0.0, -30.0),
    )
)
TWO_RED = Scene(
    (
        Seen("red block", 0.24, 0.09),
        Seen("red block", 0.15, 0.02),
        Seen("green block", 0.25, -0.02),
    )
)
RED_IN_BIN = Scene((Seen("red block", 0.20, -0.10), Seen("green block", 0.20, 0.05)))
ONLY_BLUE = Scene((Seen("blue block", 0.18, 0.05),))
EMPTY = Scene()
SCENES = {
    "one": ONE_EACH,
    "two": TWO_RED,
    "binned": RED_IN_BIN,
    "blue": ONLY_BLUE,
    "empty": EMPTY,
}


def context(scene: Scene, **changes: object) -> PlanContext:
    return PlanContext(scene, {"bin": BIN}, **changes)  # type: ignore[arg-type]


def ending(answer: Plan | Question | Stop, scene: Scene) -> str:
    """ "pick red, put bin, home"; "? ambiguous"; "stop"."""
    if isinstance(answer, Stop):
        return "stop"
    if isinstance(answer, Question):
        return f"? {answer.code}"
    assert answer.steps[0].tool == "get_status"
    assert [step.tool for step in answer.steps].count("get_status") == 1
    said: list[str] = []
    at: tuple[float, float] | None = None
    carries = False
    for step in answer.steps[1:]:
        if step.tool == "move_to_pose":
            at = (step.args["x"], step.args["y"])
            moved = f"at {at[0]:.2f} {at[1]:.2f} {step.args['z']:.2f}"
        elif step.tool == "close_gripper":
            carries = step.expect is not None
            said.append(f"pick {_name(at, scene)}" if carries else "close")
        elif step.tool == "open_gripper":
            before = said[-1].split()[0] if said else ""
            lets_go = carries or (before != "put" and at is not None and not said)
            said.append(f"put {_place(at)}" if lets_go else f"open {step.args['percent']:g}")
            carries = False
        else:
            said.append({"go_home": "home", "look": "look"}[step.tool])
    said = [one for i, one in enumerate(said) if not _approach(said, i)]
    if at is not None and not any(one.startswith(("pick", "put")) for one in said):
        said = [one for one in said if not one.startswith("open")]
        said.insert(0, moved)
    return ", ".join(said) or "status"


def _approach(said: list[str], index: int) -> bool:
    """An opening whose only use is the grip that follows it."""
    follows = said[index + 1] if index + 1 < len(said) else ""
    return said[index].startswith("open") and follows.startswith("pick")


def _name(at: tuple[float, float] | None, scene: Scene) -> str:
    assert at is not None
    nearest = min(scene.objects, key=lambda seen: math.dist((seen.x, seen.y), at))
    if math.dist((nearest.x, nearest.y), at) > 0.001:
        return "moved"  # a block that this plan itself put there, or nothing at all
    same = [seen for seen in scene.objects if seen.label == nearest.label]
    return nearest.label.split()[0] + (str(same.index(nearest) + 1) if len(same) > 1 else "")


def _place(at: tuple[float, float] | None) -> str:
    assert at is not None
    return "bin" if math.dist(at, BIN) < 0.045 else f"{at[0]:.2f} {at[1]:.2f}"
