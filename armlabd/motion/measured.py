"""The last full reading of the six servos, and how old it is."""

from __future__ import annotations

from armlabd.arm.calibration import Calibration
from armlabd.arm.joints import SERVO_IDS, Pose
from armlabd.bus.registers import Feedback

FOREVER_S = 1e9


class Measured:
    """`pose` is None without a calibration; `counts` is empty before the first full reading."""

    def __init__(self) -> None:
        self.pose: Pose | None = None
        self.counts: tuple[int, ...] = ()
        self.feedback: dict[int, Feedback] = {}
        self.at_s = -FOREVER_S
        self.misses = 0  # cycles in a row without a full reading
        self.silent: tuple[int, ...] = ()  # the servos that were missing in the last of them

    def take(
        self, found: dict[int, tuple[Feedback, float]], calibration: Calibration | None
    ) -> bool:
        """Take over a cycle's answers; False, and counted, unless all six are there."""
        if len(found) < len(SERVO_IDS):
            self.misses += 1
            self.silent = tuple(id for id in SERVO_IDS if id not in found)
            return False
        self.misses, self.silent = 0, ()
        self.feedback = {id: feedback for id, (feedback, _) in found.items()}
        self.counts = tuple(found[id][0].position for id in SERVO_IDS)
        self.at_s = min(at_s for _, at_s in found.values())
        self.pose = None if calibration is None else calibration.from_raw(self.counts)
        return True

    def forget(self) -> None:
        """The port was closed: nothing is known any more."""
        self.pose, self.counts, self.feedback = None, (), {}
        self.at_s, self.misses = -FOREVER_S, 0

    def age_s(self, now_s: float) -> float:
        """Seconds since the servos were asked."""
        return now_s - self.at_s
