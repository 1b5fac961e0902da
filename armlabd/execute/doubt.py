"""What a model saw otherwise than the colours, and the question that it takes to go on.

The plan decides whether a person must be asked, not the planner: whatever wrote it, a plan that
closes the jaws on a disputed object is put to a person first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from armlabd.execute.questions import GIVE_UP, RECOVERY, TRY_AGAIN
from armlabd.perceive.compare import SAME_M
from armlabd.perceive.scene import Dispute, Scene, SceneObject
from armlabd.plan.plan import Plan
from armlabd.plan.question import Question
from armlabd.table import Point
from armlabd.verdict import Code

IT_IS = "yes, it is"


def disputed_target(
    plan: Plan, scene: Scene | None, sure: Sequence[SceneObject] = ()
) -> Dispute | None:
    """The first disputed object that a plan takes hold of and that nobody is `sure` of."""
    disputes = [d for d in (scene.disputed if scene is not None else ()) if not _in(d.item, sure)]
    return next(
        (
            one
            for x, y in grips(plan)
            for one in disputes
            if _apart_m(one.item, x, y) < _reach_m(one)
        ),
        None,
    )


def grips(plan: Plan) -> Iterator[Point]:
    """Where the jaws close, x and y in metres: the last point that the hand was sent to before."""
    at: Point | None = None
    for step in plan.steps:
        if step.tool == "move_to_pose":
            at = _point(step.args.get("x"), step.args.get("y"))
        elif step.tool == "close_gripper" and at is not None:
            yield at


def doubt_question(dispute: Dispute) -> Question:
    """What a person is asked about a disputed object."""
    item = dispute.item
    text = (
        f"{dispute.sentence} It lies at x {item.x:.3f}, y {item.y:z.3f}. Look at the table: is "
        f"it the {item.label}?"
    )
    return Question(text, (IT_IS, TRY_AGAIN, GIVE_UP), Code.AMBIGUOUS, RECOVERY)


def _reach_m(dispute: Dispute) -> float:
    """Jaws that close nearer to its centre than its own size take hold of it, or of it too."""
    return dispute.item.size_m


def _in(item: SceneObject, sure: Sequence[SceneObject]) -> bool:
    return any(item.label == o.label and _apart_m(item, o.x, o.y) <= SAME_M for o in sure)


def _apart_m(item: SceneObject, x: float, y: float) -> float:
    return math.hypot(item.x - x, item.y - y)


def _point(x: object, y: object) -> Point | None:
    """A point of a plan that may not have been checked yet."""
    if isinstance(x, int | float) and isinstance(y, int | float):
        return float(x), float(y)
    return None
