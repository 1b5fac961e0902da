"""How the core ends: park, hold or release by a written policy, never by accident.

Parking ends with the torque off. A park that fails holds the arm where it is: dropping it would be
worse, and the servos hold without a core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from armlabd.bus.errors import PortLost
from armlabd.motion.job import Reply, cancelled
from armlabd.verdict import Code

if TYPE_CHECKING:
    from armlabd.motion.core import Core

LONGEST_S = 20.0  # the slowest park from anywhere takes about 15 s
RELEASE_TRIES = 5


class Leaving:
    """`policy` is empty while the core stays."""

    def __init__(self, core: Core) -> None:
        self.policy = ""
        self._core = core
        self._until_s = 0.0
        self._parking = False

    def begin(self, policy: str, now_s: float) -> None:
        """Leave by `policy`: park, hold or release. A second call changes nothing."""
        if not self.policy:
            self.policy = policy
            self._until_s = now_s + LONGEST_S

    def step(self, now_s: float) -> None:
        """Once per cycle."""
        core = self._core
        if not self.policy or core.finished:
            return
        if core.latch.stopped or not core.link.ready or now_s >= self._until_s:
            self._end()
        elif core.conductor.job is not None:
            if not self._parking:
                core.conductor.brake(cancelled(Code.CANCELLED, "The core is leaving."))
        elif self.policy == "hold" or not core.conductor.torque:
            self._end()
        elif self.policy == "release":
            self.release()
            self._end()
        else:
            self._park(now_s)

    def _park(self, now_s: float) -> None:
        core = self._core
        if self._parking:  # it has ended, and the torque is still on
            core.note("could not park; the arm holds where it is")
            self._end()
        elif core.requests.refusal(now_s, own=True) is None:
            self._parking = True
            core.conductor.start(core.requests.park(_nobody, own=True))

    def then_release(self, reply: Reply) -> Reply:
        """An answer that first switches the torque off when the park has arrived."""

        def answer(result: dict[str, Any]) -> None:
            if result.get("code") == str(Code.OK):
                result = {**result, "holding": False}
                if not self.release():
                    sentence = "Parked, but the torque could not be switched off everywhere."
                    result = {**result, "code": str(Code.BUS_LOST), "sentence": sentence}
            reply(result)

        return answer

    def release(self) -> bool:
        """Torque off without a stop, read back; True when all six confirmed."""
        core = self._core
        servos = core.link.servos
        core.conductor.unpin()
        if servos is None:
            return False
        try:
            for _ in range(RELEASE_TRIES):
                servos.torque_off()
                held = servos.held(retries=1)
                if len(held) == 6 and not any(servo.torque for servo in held.values()):
                    return True
        except PortLost:
            return False
        return False

    def _end(self) -> None:
        core = self._core
        core.marks.leave()
        core.latch.save(core.clock.monotonic())
        core.note(f"leaves ({self.policy})")
        core.finished = True


def _nobody(_: dict[str, Any]) -> None:
    """Nobody waits for this park."""
