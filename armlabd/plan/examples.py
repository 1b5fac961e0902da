"""Worked examples for a prompt: one table, goals for it, and the right answers in either form.

The names are none of the textbook's, so that an example that is copied names nothing that is there.
The first ones matter most: where the window is small only they are shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from armlabd.plan.schema import CLOSE, MUST_HOLD

Point = tuple[int, int]  # x and y, mm
THERE: Mapping[str, Point] = {
    "white cube": (210, 60),
    "pink cube": (180, -20),
    "gray cube": (150, 90),
    "shelf": (240, 100),
    "tray": (200, -90),
}
PUT_AT = ("shelf", "tray")  # which of these are places


@dataclass(frozen=True, slots=True)
class Example:
    """What is wanted, and the right answer as skills and as tool calls."""

    goal: str
    skills: Mapping[str, Any]
    tools: Mapping[str, Any]


def _plan(*steps: Mapping[str, Any]) -> dict[str, Any]:
    return {"answer": "plan", "steps": list(steps)}


def _put(name: str, place: str) -> dict[str, Any]:
    return {"skill": "pick_and_place", "object": name, "place": place}


def _move(name: str, z_mm: int) -> dict[str, Any]:
    x_mm, y_mm = THERE[name]
    return {"tool": "move_to_pose", "x_mm": x_mm, "y_mm": y_mm, "z_mm": z_mm}


_OPEN = {"tool": "open_gripper", "percent": 50}
_STATUS, _HOME = {"tool": "get_status"}, {"tool": "go_home"}


def _taken(name: str) -> tuple[dict[str, Any], ...]:
    close = {"tool": CLOSE, MUST_HOLD: True}
    return (_OPEN, _move(name, 70), _move(name, 20), close, _move(name, 70))


def _let_go(place: str) -> tuple[dict[str, Any], ...]:
    return (_move(place, 70), _move(place, 30), _OPEN)


def _same(answer: Mapping[str, Any], goal: str) -> Example:
    return Example(goal, answer, answer)


EXAMPLES = (
    Example(
        "please put the pink one on the tray",
        _plan(_put("pink cube", "tray")),
        _plan(_STATUS, *_taken("pink cube"), *_let_go("tray"), _HOME),
    ),
    _same({"answer": "impossible", "reason": "An arm cannot fly."}, "fly to the moon"),
    Example(
        "take the gray cube",
        _plan({"skill": "pick_up", "object": "gray cube"}),
        _plan(_STATUS, *_taken("gray cube")),
    ),
    Example("back to rest", _plan({"skill": "go_home"}), _plan(_STATUS, _HOME)),
    _same(
        {
            "answer": "unclear",
            "question": "Which cube shall I move?",
            "options": ["white cube", "pink cube", "gray cube"],
        },
        "move the cube",
    ),
    Example(
        "the white cube to the shelf, then the gray cube to the tray",
        _plan(_put("white cube", "shelf"), _put("gray cube", "tray")),
        _plan(
            *(_STATUS, *_taken("white cube"), *_let_go("shelf"), _move("shelf", 70)),
            *(*_taken("gray cube"), *_let_go("tray"), _HOME),
        ),
    ),
)
