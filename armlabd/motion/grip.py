"""The gripper's sense of touch: contact while closing, the squeeze that carries, and its loss.

Contact means: the goal runs ahead of the jaw, the jaw stands, and the motor pushes, for several
cycles. Then the goal is drawn back to slightly inside the jaw, and the torque cap is lowered: a
servo that keeps pushing overheats or trips.
"""

from __future__ import annotations

from armlabd.arm.calibration import Calibration
from armlabd.arm.joints import DEGREES_PER_STEP, Pose
from armlabd.arm.limits import Limits
from armlabd.motion.guard import OUTSIDE_GRIP_PPS

AHEAD_PERCENT = 4.0  # goal beyond the jaw; tracking lags by 2 to 3 at 60 percent per second
STILL_PPS = 4.0  # percent per second: the jaw stands
PUSH_PERCENT = 5.0  # of full motor power; above friction
CYCLES = 5  # in a row
SQUEEZE_PERCENT = 4.0  # goal inside the jaw while carrying
SOMETHING_PERCENT = 5.0  # below this the jaws have closed on nothing
KEEP_PERCENT = 2.5  # less than the squeeze, so that jaws that close on without it are noticed
OPENS_PERCENT = 1.5  # a program that moves the jaw by more than this means to


class Grip:
    """What the gripper has. `squeeze` is the goal (percent) that carries, else None."""

    def __init__(self, grip_torque_percent: float, hold_torque_percent: float) -> None:
        self.grip_torque = grip_torque_percent
        self.hold_torque = hold_torque_percent
        self.torque_percent = grip_torque_percent  # wanted in register 48
        self.squeeze: float | None = None
        self.contact_percent: float | None = None
        self.holding = False
        self._cycles = 0

    def begin(self, closing: bool, torque_percent: float | None) -> None:
        """A motion starts: a closing one forgets what was held and pushes with its own torque."""
        self._cycles = 0
        if closing:
            self.let_go()
            self.torque_percent = torque_percent or self.grip_torque

    def let_go(self) -> None:
        """Nothing is held any more: the gripper opens, closes anew, or went limp."""
        self.squeeze = self.contact_percent = None
        self.holding = False
        self.torque_percent = self.grip_torque

    def touches(self, goal: float, percent: float, speed_pps: float, load_percent: float) -> bool:
        """True once a closing jaw has met something. One call per fresh reading."""
        meets = (
            percent - goal > AHEAD_PERCENT
            and abs(speed_pps) < STILL_PPS
            and abs(load_percent) >= PUSH_PERCENT
        )
        self._cycles = self._cycles + 1 if meets else 0
        return self._cycles >= CYCLES

    def take(self, percent: float) -> None:
        """Contact at `percent`: squeeze a little, push no harder than holding needs."""
        self.contact_percent = percent
        self.squeeze = max(0.0, percent - SQUEEZE_PERCENT)
        self.holding = percent > SOMETHING_PERCENT
        self.torque_percent = self.hold_torque

    def settled(self, percent: float) -> None:
        """The squeeze has settled: this is the opening that carries."""
        if self.contact_percent is not None:
            self.contact_percent = percent
            self.holding = percent > SOMETHING_PERCENT

    def squeezes(self, goal: Pose | None) -> bool:
        """True once the jaw's goal is the squeeze."""
        return self.squeeze is None or goal is None or abs(goal.grip - self.squeeze) < 0.1

    def watch(self, percent: float, torque: bool) -> None:
        """While carrying: an opening that changed, or torque off, means it is gone."""
        if not torque:
            self.let_go()
        elif self.contact_percent is not None and self.holding:
            self.holding = abs(percent - self.contact_percent) <= KEEP_PERCENT

    def step(self, limits: Limits, dt_s: float, contact: bool) -> float:
        """How far the jaw's goal may go in one cycle, percent.

        A squeeze that is regained may not be quick: the arm can be outside a limit.
        """
        regained = self.squeeze is not None and not contact
        speed_pps = OUTSIDE_GRIP_PPS if regained else limits.grip_speed_pps
        return min(speed_pps * dt_s, limits.grip_step_percent)

    def goal(self, wanted: float, start: float, last: float, step: float) -> float:
        """The jaw's goal of this cycle, at most `step` from `last`.

        `wanted` is the program's, `start` where the program began: as long as the program leaves
        the jaw alone, a carried object keeps its squeeze.
        """
        if self.squeeze is not None:
            if abs(wanted - start) <= OPENS_PERCENT:
                wanted = self.squeeze
            else:
                self.let_go()
        return max(last - step, min(last + step, wanted))


def percent_per_step(calibration: Calibration | None) -> float:
    """How many percent of the gripper one count is; the sign does not matter here."""
    if calibration is None:
        return DEGREES_PER_STEP
    jaw = calibration.joints["gripper"]
    return 100.0 / (jaw.range_max - jaw.range_min)
