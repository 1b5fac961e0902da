"""One motion from its request to its answer, and the plans the core makes itself."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from armlabd.arm.joints import ARM_JOINTS, Pose
from armlabd.arm.limits import Limits
from armlabd.arm.sag import Sag
from armlabd.motion.disk import Ticket
from armlabd.motion.fence import violation
from armlabd.motion.guard import START_TOLERANCE_DEG, Fault, check_in_slices
from armlabd.motion.inside import find_way
from armlabd.motion.legs import build_legs
from armlabd.motion.messages import MotionResult
from armlabd.motion.stream import Stream
from armlabd.motion.trim import fits
from armlabd.verdict import Code

Reply = Callable[[dict[str, Any]], None]
Points = Sequence[Pose]
Planned = Points | Fault | str
Planning = Generator[None, None, Planned]

NO_WAY = (
    "No gentle way inside the limits was found from here. Stop the arm, put it by hand above the "
    "table, and try again."
)


class Job:
    """What is being moved, how far it has come, and who waits for the answer.

    `phase`: plan (checked in slices), mark (on its way to disk), arm (torque comes on), stream,
    grip (after contact), settle (read back and trimmed), relax (goals drawn back to the arm).
    `own` marks the core's own moves, which need no lease. `again` plans anew, once, where servos
    that were switched on beyond their own limits have turned back.
    """

    def __init__(
        self,
        kind: str,
        planning: Planning,
        reply: Reply,
        *,
        contact: bool = False,
        torque_percent: float | None = None,
        run: str | None = None,
        own: bool = False,
        again: Callable[[Pose], Planning] | None = None,
    ) -> None:
        self.kind = kind
        self.planning = planning
        self.reply = reply
        self.contact = contact
        self.torque_percent = torque_percent
        self.run = run
        self.own = own
        self.again = again
        self.told = ""  # what else the answer says once it has arrived
        self.phase = "plan"
        self.points: Points = ()
        self.marked: Ticket | None = None  # the mark of motion on its way to disk
        self.stream: Stream | None = None
        self.ending: MotionResult | None = None  # the answer once the arm is at rest
        self.carries = True  # the trim may stay on during the whole motion
        self.until_s = 0.0  # of grip
        self.touched = False

    @property
    def in_motion(self) -> bool:
        """True once goals have left for it."""
        return self.phase in ("stream", "grip", "settle", "relax")

    def carry(self, trim: Sag, limits: Limits) -> None:
        """Have the plan looked at with `trim` added as well; `carries` tells the result."""
        if any(trim):
            self.planning = self._carried(self.planning, trim, limits)

    def _carried(self, planning: Planning, trim: Sag, limits: Limits) -> Planning:
        planned = yield from planning
        if not isinstance(planned, (Fault, str)):
            self.carries = yield from fits(planned, trim, limits)
        return planned

    def plan_again(self, pose: Pose) -> bool:
        """Plan once more from `pose`, where the servos have turned by themselves; False if not."""
        again, self.again = self.again, None
        if again is None:
            return False
        moved = {
            name: abs(a - b)
            for name, a, b in zip(ARM_JOINTS, self.points[0], pose, strict=False)
            if abs(a - b) > START_TOLERANCE_DEG
        }
        list_ = ", ".join(f"{name} {deg:.0f}" for name, deg in moved.items())
        self.told = f" First servos turned back into their range by themselves (degrees: {list_})."
        self.planning, self.phase = again(pose), "plan"
        return True

    def answer(self, result: MotionResult) -> None:
        """Tell whoever waits; once."""
        reply, self.reply = self.reply, _nobody
        reply(result.as_dict())


def _nobody(_: dict[str, Any]) -> None:
    """Nobody waits."""


def refusal(fault: Fault) -> MotionResult:
    """A guard's fault as the answer to a motion."""
    return MotionResult(fault.code, fault.sentence, facts=fault.facts())


def check_given(points: Points, dt_s: float, limits: Limits, start: Pose) -> Planning:
    """A program from outside: the same points, or the fault."""
    fault = yield from check_in_slices(points, dt_s, limits, start)
    return fault if fault is not None else points


def plan_inside(start: Pose, limits: Limits, home: Pose, dt_s: float) -> Planning:
    """The way inside from `start`; one point when it is inside already."""
    program = yield from find_way(start, limits, home, dt_s)
    if program is None:
        return NO_WAY
    return (yield from check_given(program.points, dt_s, limits, start))


def plan_route(
    start: Pose, goal: Pose, home: Pose, speed_dps: float, limits: Limits, dt_s: float
) -> Planning:
    """From anywhere to `goal`: inside first if need be, then the first route the guard passes."""
    way: Points = (start,)
    if violation(start, limits):
        program = yield from find_way(start, limits, home, dt_s)
        if program is None:
            return NO_WAY
        way = program.points
    begin = way[-1]
    lifted = begin._replace(lift=min(begin.lift, home.lift))
    above = home._replace(pan=begin.pan, roll=begin.roll)
    fault: Fault | None = None
    for corners in ((goal,), (above, goal), (lifted, above, goal), (lifted, goal)):
        route = yield from build_legs((begin, *corners), speed_dps, limits, dt_s)
        points = (*way, *route[1:])
        fault = yield from check_in_slices(points, dt_s, limits, start)
        if fault is None:
            return points
    return fault if fault is not None else NO_WAY


def cancelled(code: Code, sentence: str) -> MotionResult:
    """An ending without facts."""
    return MotionResult(code, sentence)
