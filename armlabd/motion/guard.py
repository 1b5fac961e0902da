"""The guard: every set-point is checked again here, by rules of its own, before it can leave.

It trusts nobody above: not the planner, not the gate. A program is accepted whole or refused, and
each goal is checked once more in the cycle that sends it. Nothing is clamped. An arm that stands
outside a limit (limp, folded, pushed by hand) may move only so that no violation grows, slowly.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from math import isfinite
from operator import and_, le, sub
from typing import Any, NamedTuple, Protocol

from armlabd.arm.joints import JOINT_NAMES, Pose
from armlabd.arm.limits import Limits
from armlabd.motion.fence import EDGE, KEEP, Depth, violation
from armlabd.verdict import Code

OUTSIDE_SPEED_DPS = 10.0  # while outside a limit; design: a limp arm comes back gently
OUTSIDE_GRIP_PPS = 30.0
START_TOLERANCE_DEG = 3.0  # program start against measured pose: sag (1 deg) and backlash (1 deg)
START_TOLERANCE_PERCENT = 6.0  # the jaw's percent is 1.1 degrees and squeezed jaws give way
# An arm that rests this little outside is not slowed down: what was measured has sagged already,
# and sags once more in the books (`fence`).
SLACK_DEG, SLACK_M = 0.5, 0.006
NOISE_DEG, NOISE_M = 0.2, 0.001  # two readings of a limp arm differ by two steps
SLICE = 12  # points per slice: at 8 to 25 us each (100 deep in boxes) about half a millisecond


class Fault(NamedTuple):
    """Why a program or a goal is refused: which point, which limit, its value, what is allowed."""

    code: Code
    sentence: str
    point: int
    limit: str
    value: float
    allowed: float

    def facts(self) -> dict[str, Any]:
        """The facts without the words."""
        return {
            "point": self.point,
            "limit": self.limit,
            "value": round(self.value, 5),
            "allowed": round(self.allowed, 5),
        }


class ProgramLike(Protocol):
    """What the guard needs of an `arm.path.Program`."""

    @property
    def points(self) -> Sequence[Pose]:
        """Set-points in order, the first is the start."""

    @property
    def dt_s(self) -> float:
        """Seconds between two set-points."""


# --- whole programs --------------------------------------------------------------------------


def check_program(program: ProgramLike, limits: Limits, start: Pose) -> Fault | None:
    """The first fault of a program that is to start at `start` (measured), or None."""
    checking = check_in_slices(program.points, program.dt_s, limits, start)
    while True:
        try:
            next(checking)
        except StopIteration as done:
            fault: Fault | None = done.value
            return fault


def check_in_slices(
    points: Sequence[Pose], dt_s: float, limits: Limits, start: Pose
) -> Generator[None, None, Fault | None]:
    """`check_program` that pauses about every half millisecond, for a loop that must not wait."""
    if len(points) < 1:
        return Fault(Code.BAD_PROGRAM, "The program has no set-points.", 0, "length", 0, 1)
    fault = _check_start(points[0], start)
    if fault is not None:
        return fault
    rates = Rates(limits, dt_s)
    standing = violation(start, limits)
    depths = _check_depths(0, points[0], standing, limits, noise=True)
    if isinstance(depths, Fault):
        return _has_sunk(depths) if standing else depths
    before = now = points[0]
    for number in range(len(points) + 1):
        after = points[number + 1] if number + 1 < len(points) else now
        fault = _check_numbers(number + 1, after) or rates.check(number, before, now, after)
        if fault is not None:
            return fault
        depths = _check_depths(number + 1, after, depths, limits)
        if isinstance(depths, Fault):
            return depths
        if depths and (fault := rates.check_slow(number + 1, now, after, depths)):
            return fault
        before, now = now, after
        if number % SLICE == SLICE - 1:
            yield
    return _check_end(len(points) - 1, depths, standing)


def _check_start(first: Pose, start: Pose) -> Fault | None:
    fault = _check_numbers(0, first)
    if fault is not None:
        return fault
    for index, name in enumerate(JOINT_NAMES):
        apart = abs(first[index] - start[index])
        allowed = START_TOLERANCE_DEG if index < 5 else START_TOLERANCE_PERCENT
        if apart > allowed:
            unit = "degrees" if index < 5 else "percent"
            return Fault(
                Code.OLD_STATE,
                f"The program starts {apart:.1f} {unit} away from where {name} is; at most "
                f"{allowed:g} are allowed. Plan again from the present pose.",
                0,
                f"start:{name}",
                apart,
                allowed,
            )
    return None


def _has_sunk(fault: Fault) -> Fault:
    """A limp arm that is still sinking: a plan from a moment ago starts deeper, or elsewhere."""
    sentence = (
        f"The arm is outside a limit ({fault.limit}) and has moved since this was planned. Let it "
        "come to rest and plan again from where it is."
    )
    return fault._replace(code=Code.OLD_STATE, sentence=sentence)


def _check_numbers(number: int, pose: Pose) -> Fault | None:
    if isfinite(sum(pose)):
        return None
    for name, value in zip(JOINT_NAMES, pose, strict=True):
        if not isfinite(value):
            sentence = f"Set-point {number} has no number for {name}. Send six finite numbers."
            return Fault(Code.BAD_PROGRAM, sentence, number, f"number:{name}", 0.0, 0.0)
    return None


def _check_depths(
    number: int,
    pose: Pose,
    before: tuple[Depth, ...],
    limits: Limits,
    noise: bool = False,
) -> tuple[Depth, ...] | Fault:
    """The violations of `pose`, if none is new and none is deeper than before; else the fault."""
    depths = violation(pose, limits)
    if not depths:
        return depths
    allowed = {depth.name: depth.depth for depth in before}
    for depth in depths:
        extra = KEEP if not noise else NOISE_M if depth.unit == "m" else NOISE_DEG
        if depth.depth > allowed.get(depth.name, -1.0) + extra:
            return _outside(number, depth)
    return depths


def _check_end(number: int, depths: tuple[Depth, ...], standing: tuple[Depth, ...]) -> Fault | None:
    """A program that starts outside must have brought the arm nearer to the inside."""
    deep = [depth for depth in depths if depth.depth > _slack(depth)]
    if not deep or sum(d.depth for d in depths) < sum(d.depth for d in standing) - KEEP:
        return None
    return _outside(number, deep[0])


def _slack(depth: Depth) -> float:
    return SLACK_M if depth.unit == "m" else SLACK_DEG


class Rates:
    """Speed, step and acceleration between set-points `dt_s` apart, for arm and gripper."""

    def __init__(self, limits: Limits, dt_s: float) -> None:
        self.dt_s = dt_s
        arm_step = min(limits.speed_dps * dt_s, limits.step_deg) * (1.0 + EDGE)
        grip_step = min(limits.grip_speed_pps * dt_s, limits.grip_step_percent) * (1.0 + EDGE)
        arm_bend = limits.acceleration_dps2 * dt_s * dt_s * (1.0 + EDGE) + KEEP
        grip_bend = limits.grip_acceleration_pps2 * dt_s * dt_s * (1.0 + EDGE) + KEEP
        self.steps = (arm_step,) * 5 + (grip_step,)
        self._most = tuple(step + KEEP for step in self.steps)
        self.bends = (arm_bend,) * 5 + (grip_bend,)

    def check(self, number: int, before: Pose, now: Pose, after: Pose) -> Fault | None:
        """Speed from `now` to `after` and the change of speed around `now`."""
        ways = tuple(map(sub, after, now))
        steps = tuple(map(abs, ways))
        bends = tuple(map(abs, map(sub, ways, map(sub, now, before))))
        if all(map(le, steps, self.steps)) and all(map(le, bends, self.bends)):
            return None
        sound = map(and_, map(le, steps, self.steps), map(le, bends, self.bends))
        index = list(sound).index(False)
        if not steps[index] <= self.steps[index]:
            return self._too_fast(number + 1, index, steps[index])
        return self._too_sudden(number, index, bends[index])

    def check_step(self, number: int, now: Pose, after: Pose) -> Fault | None:
        """Speed alone: what the cycle that sends a goal asks."""
        steps = tuple(map(abs, map(sub, after, now)))
        if all(map(le, steps, self._most)):
            return None
        index = list(map(le, steps, self._most)).index(False)
        return self._too_fast(number, index, steps[index])

    def check_slow(
        self, number: int, now: Pose, after: Pose, depths: tuple[Depth, ...]
    ) -> Fault | None:
        """The low speed that holds while a limit is violated by more than sag explains."""
        if all(depth.depth <= _slack(depth) for depth in depths):
            return None
        for index in range(6):
            slow = (OUTSIDE_SPEED_DPS if index < 5 else OUTSIDE_GRIP_PPS) * self.dt_s
            step = abs(after[index] - now[index])
            if step > slow * (1.0 + EDGE) + KEEP:
                return self._too_fast(number, index, step, slow, " while outside a limit")
        return None

    def _too_fast(
        self, number: int, index: int, step: float, most: float | None = None, when: str = ""
    ) -> Fault:
        allowed = (self.steps[index] if most is None else most) / self.dt_s
        name, unit = JOINT_NAMES[index], "deg/s" if index < 5 else "%/s"
        speed = step / self.dt_s
        sentence = (
            f"Set-point {number} moves {name} at {speed:.1f} {unit}; at most {allowed:.1f} "
            f"{unit} are allowed{when}. Slow the motion down."
        )
        return Fault(Code.TOO_FAST, sentence, number, f"speed:{name}", speed, allowed)

    def _too_sudden(self, number: int, index: int, bend: float) -> Fault:
        square = self.dt_s * self.dt_s
        allowed = self.bends[index] / square
        name, unit = JOINT_NAMES[index], "deg/s2" if index < 5 else "%/s2"
        sentence = (
            f"Set-point {number} accelerates {name} by {bend / square:.0f} {unit}; at most "
            f"{allowed:.0f} {unit} are allowed. Start and end motions gently."
        )
        limit = f"acceleration:{name}"
        return Fault(Code.TOO_FAST, sentence, number, limit, bend / square, allowed)


def _outside(number: int, depth: Depth) -> Fault:
    kind, _, rest = depth.name.partition(":")
    code = Code.JOINT_LIMIT if kind == "travel" else Code.PATH_BLOCKED
    what = {
        "travel": f"puts {rest} at {depth.value:.1f}; its end is {depth.allowed:.1f}",
        "floor": f"puts the {rest} at z {depth.value:.4f} m; the lowest is {depth.allowed:.4f} m",
        "reach": f"puts the {rest} {depth.value:.3f} m out; the farthest is {depth.allowed:.3f} m",
        "box": f"puts the {rest.rpartition(':')[2]} {depth.depth:.3f} m into "
        f"{rest.rpartition(':')[0]}",
    }[kind]
    sentence = f"Set-point {number} {what}. Choose another way, or bring the arm inside first."
    return Fault(code, sentence, number, depth.name, depth.value, depth.allowed)


# --- the last look, in the cycle that sends --------------------------------------------------


class LastLook:
    """Checks each goal right before it is sent, against the goal that the servos have now."""

    def __init__(self, limits: Limits, dt_s: float) -> None:
        self.limits = limits
        self._rates = Rates(limits, dt_s)
        self._goal: Pose | None = None
        self._depths: tuple[Depth, ...] = ()

    def pin(self, goal: Pose) -> None:
        """The servos now hold `goal`: where they were found when torque came on."""
        self._goal = goal
        self._depths = violation(goal, self.limits)

    def check(self, goal: Pose) -> Fault | None:
        """None when `goal` may be sent next; it then counts as sent."""
        last = self._goal
        if last is None:
            sentence = "No goal may be sent before the arm was pinned where it is."
            return Fault(Code.OLD_STATE, sentence, 0, "pin", 0.0, 0.0)
        fault = _check_numbers(0, goal) or self._rates.check_step(0, last, goal)
        if fault is not None:
            return fault
        depths = _check_depths(0, goal, self._depths, self.limits)
        if isinstance(depths, Fault):
            return depths
        if depths and (fault := self._rates.check_slow(0, last, goal, depths)):
            return fault
        self._goal, self._depths = goal, depths
        return None
