"""The plan simulated: the very programs that execution would send, from where the arm will be.

A close is assumed to end on an object; an expectation that fails on the day ends the run. A step
that cannot be reached is a fault and the simulation goes on from the last pose that could.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from armlabd.arm.joints import Pose
from armlabd.check.order import OPEN, fault
from armlabd.check.report import Fault
from armlabd.gate.moves import Leg, MoveSettings, plan_motion
from armlabd.gate.tools import ToolTable, filled
from armlabd.plan.plan import CLOSE, Plan, Step
from armlabd.verdict import Code, Verdict

HELD_GRIP_PERCENT = 19.5  # a held 30 mm block reads 19.1 to 19.7 %
Mover = Callable[[str, Mapping[str, float], Pose, bool, MoveSettings], "tuple[Leg, ...] | Verdict"]


@dataclass(slots=True)
class Simulation:
    """What came of it. `before` maps a step's number to the pose it starts from."""

    pose: Pose
    holding: bool
    faults: list[Fault] = field(default_factory=list)
    before: dict[int, Pose] = field(default_factory=dict)
    duration_s: float = 0.0


def simulate(
    plan: Plan,
    table: ToolTable,
    settings: MoveSettings,
    start: Pose,
    *,
    holding: bool = False,
    skip: Collection[int] = (),
    max_duration_s: float = 3600.0,
    mover: Mover = plan_motion,
) -> Simulation:
    """Run the plan in thought. Steps in `skip` (1-based) are left out.

    `duration_s` counts the motions only. Beyond `max_duration_s` nothing more is simulated.
    """
    run = Simulation(start, holding)
    for number, step in enumerate(plan.steps, 1):
        if run.duration_s > max_duration_s:
            break
        run.before[number] = run.pose
        if number not in skip and step.tool in table and table[step.tool].name != "stop":
            _simulate_step(run, number, step, table, settings, mover)
    return run


def _simulate_step(
    run: Simulation,
    number: int,
    step: Step,
    table: ToolTable,
    settings: MoveSettings,
    mover: Mover,
) -> None:
    tool = table[step.tool]
    if not tool.moves and step.tool != "look":  # looking may swing the arm aside
        return
    legs = mover(step.tool, filled(tool, step.args), run.pose, run.holding, settings)
    if isinstance(legs, Verdict):
        if legs.code is not Code.OK:
            run.faults.append(fault(number, step, "R6", legs.code, legs.sentence))
        return
    run.duration_s += sum((len(leg.program.points) - 1) * leg.program.dt_s for leg in legs)
    open_before = run.pose.grip
    if legs:
        run.pose = legs[-1].end
    if step.tool == CLOSE:
        run.pose = run.pose.with_grip(min(open_before, HELD_GRIP_PERCENT))
        run.holding = True
    elif step.tool == OPEN:
        run.holding = False
