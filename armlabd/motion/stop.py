"""The stop lane: latch in memory, first frame out, latch to disk, read back, tell the truth.

Nothing in here waits for a disk, a lock or another part of the core, and a stop that comes ten
times does the same ten times. While the latch is set `enforce` looks at every servo each cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from armlabd.arm.joints import SERVO_IDS
from armlabd.bus.errors import PortLost
from armlabd.clock import Clock
from armlabd.motion.latch import Latch
from armlabd.motion.messages import StopResult
from armlabd.motion.servos import ALL_OFF, ARM_IDS, ARM_OFF, GRIPPER_ID, Held, Servos

FRESH_S = 0.05  # older readings are not held on to: the arm may be elsewhere
CONFIRM_BUDGET_S = 0.04  # the daemon waits 0.1 s for the acknowledgement; the rest is `enforce`
TRIES = 4
AGAIN_S = 0.1  # torque-off repeated to servos that do not answer
OF = len(SERVO_IDS)
KEEPS_GRIP = "torque is off but for the gripper, which keeps what it holds"
UNREACHABLE = (
    "Bus unreachable: the stop reached no servo and the arm may still be driven: cut the power of "
    "the arm."
)


class Hold(NamedTuple):
    """What a stop may hold on to: counts measured and goals sent last, in joint order.

    `grips`: the jaws hold something.
    """

    counts: Sequence[int]
    goals: Sequence[int]
    at_s: float
    grips: bool = False


class StopLane:
    """Carries out stops. `held` is true while a stopped arm keeps its torque on purpose.

    `action`, joint by joint: torque_off lets go of all, hold of none, keep_grip of the arm but not
    of what the jaws hold.
    """

    def __init__(self, latch: Latch, clock: Clock, action: str) -> None:
        self.latch = latch
        self.held = False
        self.written = False
        self.grip_kept = False  # the jaws alone hold on
        self._sure: set[int] = set()  # servos read back as told, and not seen otherwise since
        self.latency_us = 0
        self.count = 0
        self._clock = clock
        self._action = action
        self._goals: dict[int, int] = {}  # of the joints that hold, by id
        self._again_s = 0.0

    # --- the stop itself

    def stop(
        self,
        servos: Servos | None,
        code: str,
        by: str,
        *,
        hold: Hold | None = None,
        received_s: float | None = None,
    ) -> StopResult:
        """Stop now. `hold` is what a holding stop may use; None, or too old: torque off.

        A port that is lost on the way gives `written` false, or what was confirmed before.
        """
        self.latch.set(code, by)
        self.count += 1
        self.written, self._sure = False, set()
        received_s = self._clock.monotonic() if received_s is None else received_s
        if servos is not None:
            try:
                self._first_frame(servos, hold)
                self.latency_us = self._latency_us(servos, received_s)
                self.latch.save(self._clock.monotonic())
                self._confirm(servos)
            except PortLost:
                pass  # the next cycle finds the port lost and says so
        self.latch.save(self._clock.monotonic())
        return StopResult(self.written, self.confirmed, OF, self.sentence, self.latency_us)

    def _first_frame(self, servos: Servos, hold: Hold | None) -> None:
        if self._may_hold(hold):
            assert hold is not None
            servos.write_goals(hold.counts[:5], ARM_IDS)
            self._goals = dict(zip(SERVO_IDS, (*hold.counts[:5], hold.goals[5]), strict=True))
            self.held = True
        else:
            self.held = False
            self._keep_grip(hold)
            self._let_go(servos)
        self.written = True

    def _keep_grip(self, hold: Hold | None) -> None:
        """Whether the jaws hold on: once they do, until the stop is cleared or the port is lost."""
        if self._action == "keep_grip" and hold is not None and hold.grips:
            self.grip_kept, self._goals = True, {GRIPPER_ID: hold.goals[5]}

    def _let_go(self, servos: Servos) -> None:
        """The frame that makes limp whatever does not hold on."""
        if self.grip_kept:
            servos.torque_off_arm()
        else:
            servos.torque_off()

    def _may_hold(self, hold: Hold | None) -> bool:
        if self._action != "hold" or hold is None:
            return False
        return self._clock.monotonic() - hold.at_s <= FRESH_S

    def _latency_us(self, servos: Servos, received_s: float) -> int:
        """From the event to the last byte of the frame on the wire."""
        wire_s = len(ARM_OFF if self.grip_kept else ALL_OFF) * 10 / servos.baud
        return round((self._clock.monotonic() - received_s + wire_s) * 1e6)

    def _confirm(self, servos: Servos) -> None:
        """Read back, and repeat to those not confirmed, within a bounded time."""
        give_up_s = self._clock.monotonic() + CONFIRM_BUDGET_S
        done: set[int] = set()
        for _ in range(TRIES):
            open_ids = [id for id in SERVO_IDS if id not in done]
            done |= self._good(servos.held(open_ids))
            self._sure = set(done)
            if len(done) == OF:
                return
            if not self.held:
                self._let_go(servos)  # the first may have met a late answer on the wire
            for id in open_ids:
                if self._clock.monotonic() >= give_up_s:
                    return
                if id not in done and not self._holds(id):
                    servos.torque_off_one(id)

    def _holds(self, id: int) -> bool:
        """Whether this servo keeps its torque on purpose."""
        return self.held or (self.grip_kept and id == GRIPPER_ID)

    def _good(self, found: dict[int, Held]) -> set[int]:
        return {id for id, servo in found.items() if self._is_as_told(id, servo)}

    def _is_as_told(self, id: int, servo: Held) -> bool:
        if self._holds(id):
            return servo.torque and servo.goal == self._goals.get(id)
        return not servo.torque

    # --- staying stopped

    def hold_on(self) -> None:
        """The arm was brought to rest and keeps its torque although latched (lease lost)."""
        self.held = True
        self.written, self._goals = True, {}

    def forget_hold(self) -> None:
        """The port was closed in between: what the servos do now is unknown."""
        self.held = self.grip_kept = False
        self._sure = set()

    def forget(self) -> None:
        """The bus is gone: nothing that was written or confirmed counts any more."""
        self.forget_hold()
        self.written = False

    def cleared(self) -> str:
        """A person has cleared the stop; in words, what holds all the same."""
        held, kept = self.held, self.grip_kept
        self.held = self.grip_kept = False
        if held:
            return "The arm holds still; nothing resumes."
        if kept:
            return "The gripper keeps what it holds: take it out, or open the jaws."
        return "Torque stays off until the next motion."

    @property
    def confirmed(self) -> int:
        """How many servos were read back as told. One that misses a reading stays confirmed."""
        return len(self._sure)

    def enforce(self, servos: Servos) -> dict[int, Held]:
        """Each cycle while latched: torque that is on goes off. Returns what was read.

        Raises PortLost.
        """
        found = servos.held()
        good = set(found) if self.held and not self._goals else self._good(found)
        self._sure = (self._sure | good) - (set(found) - good)
        if self.held:
            return found
        on = [id for id, servo in found.items() if servo.torque and not self._holds(id)]
        now_s = self._clock.monotonic()
        if on or (len(found) < OF and now_s >= self._again_s):
            self._again_s = now_s + AGAIN_S
            self._let_go(servos)
            self.written = True
        return found

    @property
    def sentence(self) -> str:
        """The truth about the last stop, in words."""
        if not self.written:
            return UNREACHABLE
        what = "holds still" if self.held else KEEPS_GRIP if self.grip_kept else "torque is off"
        if self.confirmed == OF:
            return f"Stopped: {what}, confirmed by all {OF} servos."
        return (
            f"Stop sent, but only {self.confirmed} of {OF} servos confirmed it: the arm may still "
            "be driven. It is being repeated; cut the power if the arm moves."
        )
