"""The plan checker: named rules over the whole plan, before anything moves.

All faults are reported, each by step; the first rule in order that is broken names the outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from armlabd.arm.joints import Pose
from armlabd.arm.kinematics import forward
from armlabd.check import order
from armlabd.check.carry import CarryRules, Point3, carried_well
from armlabd.check.form import known_tools, values_in_range
from armlabd.check.forward import Mover, Simulation, simulate
from armlabd.check.report import VALID, Fault, Report
from armlabd.config.model import CheckConfig
from armlabd.gate.moves import MoveSettings, plan_motion
from armlabd.gate.tools import ToolTable
from armlabd.plan.context import SeenScene
from armlabd.plan.plan import Plan
from armlabd.table import BLOCK_HEIGHT_M
from armlabd.verdict import Code

# The rules in order and the outcome each names. R7, R8 and R11 warn unless the check is strict.
OUTCOMES: Mapping[str, str] = {
    "R1": "Uses a tool that does not exist",
    "R2": "Value out of range",
    "R3": "Missing status check",
    "R4": "Gripper closed on approach",
    "R5": "No grasp check before lifting",
    "R6": "Out of reach",
    "R7": "Carries too low",
    "R8": "Drops or bumps what it holds",
    "R9": "Stop in a plan",
    "R10": "Too long",
    "R11": "Sweeps blocks aside",
}
RULES = tuple(OUTCOMES)


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What a plan is checked against.

    `table` holds the tools with live ranges. `pose` and `holding` say where the arm will be when
    the plan starts; with `pose` or `settings` None reach is not checked (rules only). `scene`, if
    known, lets R8 see the blocks in the way. `strict` turns warnings into faults. Metres, seconds.
    """

    table: ToolTable
    pose: Pose | None = None
    holding: bool = False
    settings: MoveSettings | None = None
    scene: SeenScene | None = None
    max_steps: int = 60
    max_duration_s: float = 300.0
    max_drop_m: float = 0.06
    block_height_m: float = BLOCK_HEIGHT_M
    strict: bool = False
    mover: Mover = plan_motion

    @classmethod
    def of(
        cls,
        check: CheckConfig,
        table: ToolTable,
        settings: MoveSettings,
        pose: Pose | None,
        *,
        holding: bool = False,
        scene: SeenScene | None = None,
        block_height_m: float = BLOCK_HEIGHT_M,
    ) -> CheckContext:
        """The context of the settings' [check] for an arm at `pose`; None: reach is not checked."""
        return cls(
            table,
            pose,
            holding,
            settings,
            scene,
            check.max_steps,
            check.max_duration_s,
            check.max_drop_m,
            block_height_m,
            check.strict,
        )


def check_plan(plan: Plan, context: CheckContext) -> Report:
    """Check every rule on every step. Raises nothing: a fault is a value."""
    faults = [*known_tools(plan, context.table), *values_in_range(plan, context.table)]
    bad_steps = {fault.step for fault in faults}
    faults += order.status_first(plan)
    faults += order.open_on_approach(plan, context.holding)
    start = None if context.pose is None else forward(context.pose).grasp
    faults += order.grasp_checked(plan, start[2] if start else None)
    faults += order.no_stop(plan)
    faults += order.not_too_long(plan, context.max_steps)
    simulation = _simulated(plan, context, bad_steps)
    if simulation is not None:
        faults += simulation.faults
        faults += _too_slow(simulation, context)
    warnings = list(_carrying(plan, context, start))
    if context.strict:
        faults, warnings = faults + warnings, []
    duration_s = simulation.duration_s if simulation else 0.0
    return Report(outcome_of(faults), _sorted(faults), _sorted(warnings), duration_s)


def outcome_of(faults: list[Fault]) -> str:
    """The words of the first rule, in order, that is broken."""
    broken = {fault.rule for fault in faults}
    return next((words for rule, words in OUTCOMES.items() if rule in broken), VALID)


def _sorted(faults: list[Fault]) -> tuple[Fault, ...]:
    return tuple(sorted(faults, key=lambda fault: (fault.step, RULES.index(fault.rule))))


def _simulated(plan: Plan, context: CheckContext, bad_steps: set[int]) -> Simulation | None:
    if context.pose is None or context.settings is None or len(plan.steps) > context.max_steps:
        return None  # a plan that is too long is refused anyway; do not spend time on it
    return simulate(
        plan,
        context.table,
        context.settings,
        context.pose,
        holding=context.holding,
        skip=bad_steps,
        max_duration_s=context.max_duration_s,
        mover=context.mover,
    )


def _too_slow(simulation: Simulation, context: CheckContext) -> Iterator[Fault]:
    if simulation.duration_s > context.max_duration_s:
        text = (
            f"the plan moves for more than {context.max_duration_s:g} s, the longest allowed; "
            "split it or move faster"
        )
        yield Fault(0, "R10", Code.TOO_LONG, text)


def _carrying(plan: Plan, context: CheckContext, start: Point3 | None) -> Iterator[Fault]:
    rules = CarryRules(context.max_drop_m, context.block_height_m)
    if context.settings is not None:
        rules = CarryRules(context.max_drop_m, context.block_height_m, _grasp(context.settings))
    objects = tuple(context.scene.objects) if context.scene is not None else ()
    yield from carried_well(plan, rules, start=start, holding=context.holding, objects=objects)


def _grasp(settings: MoveSettings) -> Point3:
    return forward(Pose(*settings.home)).grasp
