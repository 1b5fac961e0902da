"""The last full reading of the six servos, and how old it is."""

from __future__ import annotations

from armlabd.arm.calibration import Calibration
from armlabd.arm.joints import SERVO_IDS, Pose
from armlabd.bus.registers import Feedback
from armlabd.motion.servos import Found, Sight

FOREVER_S = 1e9


class Measured:
    """`pose` is None without a calibration; `counts` is empty before the first full reading."""

    def __init__(self) -> None:
        self.pose: Pose | None = None
        self.counts: tuple[int, ...] = ()
        self.at_s = -FOREVER_S
        self.misses = 0  # cycles in a row without a full reading
        self._feedback: dict[int, Feedback] | Sight = {}
        self._calibration: Calibration | None = None  # which `pose` was made with

    @property
    def feedback(self) -> dict[int, Feedback]:
        """Everything the servos said, by id; taken apart when somebody wants it."""
        if isinstance(self._feedback, Sight):
            self._feedback = self._feedback.feedback()
        return self._feedback

    def take(self, found: Sight | Found, calibration: Calibration | None) -> bool:
        """Take over a cycle's answers; False, and counted, unless all six are there."""
        if isinstance(found, Sight):
            self._feedback, self.at_s, counts = found, found.at_s, found.counts
        elif len(found) < len(SERVO_IDS):
            self.misses += 1
            return False
        else:
            self._feedback = {id: feedback for id, (feedback, _) in found.items()}
            counts = tuple(found[id][0].position for id in SERVO_IDS)
            self.at_s = min(at_s for _, at_s in found.values())
        self.misses = 0
        if counts != self.counts or calibration is not self._calibration:
            self.pose = None if calibration is None else calibration.from_raw(counts)
            self.counts, self._calibration = counts, calibration
        return True

    def forget(self) -> None:
        """The port was closed: nothing is known any more."""
        self.pose, self.counts, self._feedback = None, (), {}
        self._calibration = None
        self.at_s, self.misses = -FOREVER_S, 0

    def age_s(self, now_s: float) -> float:
        """Seconds since the servos were asked."""
        return now_s - self.at_s
