"""Rules R3 to R5, R9 and R10: the order, the length and the words of a plan. Pure, no geometry.

Definitions (ours, where the textbook is informal): a move goes down when its z is lower than the
move's before, or when it is the first and ends below 0.07 m. A lift is the first move after a
close whose z is higher than the z at which the jaws closed; going home from low down lifts too.
"""

from __future__ import annotations

from collections.abc import Iterator

from armlabd.check.report import Fault
from armlabd.plan.plan import CHECK, CLOSE, Plan, Step, check_as_expect
from armlabd.verdict import Code

MOVE, OPEN, HOME = "move_to_pose", "open_gripper", "go_home"
CLEAR_Z_M = 0.05  # lower than this the hand is at the table
HOME_Z_M = 0.13  # the grasp point at home, about
TRAVEL_Z_M = 0.07  # a first move that ends below this goes down
OPEN_ENOUGH_PERCENT = 25.0  # jaws at 20 % never pass over a 30 mm block, at 25 % they do
HELD_TEXT = '{"holding_something": true}'
MAX_REPEATS = 3


def fault(number: int, step: Step, rule: str, code: Code, what: str) -> Fault:
    """A fault whose sentence begins with the step and its tool."""
    return Fault(number, rule, code, f"step {number} ({step.tool}): {what}")


def number_of(step: Step, name: str) -> float | None:
    """A numeric argument, or None where it is missing or no finite number."""
    value = step.args.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e9 else None


def status_first(plan: Plan) -> Iterator[Fault]:
    """R3: the first step is get_status. A plan without steps does nothing and is refused."""
    if not plan.steps:
        yield Fault(0, "R3", Code.BAD_PLAN, "the plan has no steps, so it does nothing")
    elif plan.steps[0].tool != "get_status":
        what = "a plan starts with get_status; put it before this step"
        yield fault(1, plan.steps[0], "R3", Code.NO_STATUS_FIRST, what)


def open_on_approach(plan: Plan, holding: bool) -> Iterator[Fault]:
    """R4: the jaws are open before the first move down, unless they hold something."""
    passable, last_z = holding, None
    for number, step in enumerate(plan.steps, 1):
        if step.tool == OPEN:
            passable = _opened(step)
        elif step.tool == CLOSE:
            passable = True  # what follows carries, or R5 speaks
        elif step.tool == MOVE:
            z = number_of(step, "z")
            if _goes_down(z, last_z) and not passable:
                what = f"the hand goes down with the jaws closed; {OPEN} before this step"
                yield fault(number, step, "R4", Code.CLOSED_ON_APPROACH, what)
                passable = True  # one fault for one missing step
            last_z = last_z if z is None else z


def _opened(step: Step) -> bool:
    percent = number_of(step, "percent")
    return (100.0 if percent is None else percent) >= OPEN_ENOUGH_PERCENT


def _goes_down(z: float | None, last_z: float | None) -> bool:
    return z is not None and z < (TRAVEL_Z_M if last_z is None else last_z)


def grasp_checked(plan: Plan, start_z: float | None = None) -> Iterator[Fault]:
    """R5: after a close, holding_something is checked before any lift.

    `start_z` is the height of the grasp point before step 1, if known, m.
    """
    unchecked, closed_z, last_z = False, None, start_z
    for number, step in enumerate(plan.steps, 1):
        z = number_of(step, "z") if step.tool == MOVE else None
        if step.tool == CLOSE:
            unchecked, closed_z = not _asserts_held(step), last_z
        elif step.tool == OPEN or _asserts_held(step):
            unchecked = False
        elif unchecked and _lifts(step, z, closed_z):
            what = "lifts before the grasp was checked; give close_gripper the expect"
            yield fault(number, step, "R5", Code.NO_GRASP_CHECK, f"{what} {HELD_TEXT}")
            unchecked = False
        if step.tool == HOME:
            last_z = HOME_Z_M
        last_z = last_z if z is None else z


def _asserts_held(step: Step) -> bool:
    said = check_as_expect(step) if step.tool == CHECK else step.expect or {}
    return said.get("holding_something") is True


def _lifts(step: Step, z: float | None, closed_z: float | None) -> bool:
    if step.tool == HOME:
        return closed_z is not None and closed_z < CLEAR_Z_M
    return z is not None and (closed_z is None or z > closed_z)


def no_stop(plan: Plan) -> Iterator[Fault]:
    """R9: stop is not a step of a plan; it is there for people and for every door."""
    for number, step in enumerate(plan.steps, 1):
        if step.tool == "stop":
            what = "stop is no step of a plan; leave it out, the plan ends by itself"
            yield fault(number, step, "R9", Code.STOP_IN_PLAN, what)


def not_too_long(plan: Plan, max_steps: int) -> Iterator[Fault]:
    """R10: at most `max_steps` steps, and no run of steps more than three times in a row."""
    count = len(plan.steps)
    if count > max_steps:
        text = f"the plan has {count} steps, the most allowed is {max_steps}; split it"
        yield Fault(0, "R10", Code.TOO_LONG, text)
        return
    again = _repetition(plan.steps)
    if again is not None:
        at, length = again
        what = f"the {length} steps before this one are repeated more than {MAX_REPEATS} times"
        yield fault(at + 1, plan.steps[at], "R10", Code.TOO_LONG, what)


def _repetition(steps: tuple[Step, ...]) -> tuple[int, int] | None:
    """Index of the first step of the fourth equal run in a row, and the length of the run."""
    keys = [(step.tool, dict(step.args)) for step in steps]
    for length in range(1, len(keys) // (MAX_REPEATS + 1) + 1):
        same = 0
        for i in range(length, len(keys)):
            same = same + 1 if keys[i] == keys[i - length] else 0
            if same == MAX_REPEATS * length:
                return i - length + 1, length
    return None
