"""The last full reading of the six servos, and how old it is.

At rest most readings are of the positions alone; everything else is then a little older.
"""

from __future__ import annotations

from armlabd.arm.calibration import Calibration
from armlabd.arm.joints import SERVO_IDS, Pose
from armlabd.bus.registers import Feedback
from armlabd.motion.jumps import Jumps
from armlabd.motion.servos import Found, Sight

FOREVER_S = 1e9


class Measured:
    """`pose` is None without a calibration; `counts` is empty before the first full reading."""

    def __init__(self) -> None:
        self.pose: Pose | None = None
        self.counts: tuple[int, ...] = ()
        self.at_s = -FOREVER_S
        self.misses = 0  # cycles in a row without a full reading
        self.gaps: dict[int, int] = {}  # in those cycles, by servo: no answer
        self.partial: dict[int, Feedback] = {}  # who answered in the last incomplete reading
        self.jumps = Jumps()
        self.sight: Sight | None = None  # the last whole reading, if it was regular
        self.whole = False  # the last reading told everything
        self.wants_whole = True  # something has changed that positions alone do not tell
        self._feedback: dict[int, Feedback] | None = {}
        self._calibration: Calibration | None = None  # which `pose` was made with

    @property
    def feedback(self) -> dict[int, Feedback]:
        """Everything the servos said, by id; taken apart when somebody wants it."""
        if self._feedback is None:
            self._feedback = {} if self.sight is None else self.sight.feedback()
        return self._feedback

    def take(
        self, found: Sight | Found, calibration: Calibration | None, limp: bool = False
    ) -> bool:
        """Take over a cycle's answers; False, and counted, unless all six are there.

        False as well, and counted by `jumps`, when a joint cannot be where it says.
        """
        sight, feedback, whole = None, None, True
        self.whole = False
        if isinstance(found, Sight):
            sight, counts, at_s, whole = found, found.counts, found.at_s, bool(found.data)
            if not (whole or self._may_do(found)):
                return False
        elif len(found) < len(SERVO_IDS):
            self._miss(found)
            return False
        else:
            feedback = _told(found)
            counts = tuple(feedback[id].position for id in SERVO_IDS)
            at_s = min(at_s for _, at_s in found.values())
        if self.misses:
            self.misses, self.gaps = 0, {}
        if not self.jumps.believes(counts, at_s, limp):
            return False
        self.whole, self.at_s = whole, at_s
        if whole:
            self.sight, self._feedback, self.wants_whole = sight, feedback, False
        if counts != self.counts or calibration is not self._calibration:
            self.pose = None if calibration is None else calibration.from_raw(counts)
            self.counts, self._calibration = counts, calibration
        return True

    def _may_do(self, places: Sight) -> bool:
        """Whether positions alone are enough; other error bits than before want a look at all."""
        if self.sight is None:
            self.wants_whole = True
            return bool(self._feedback)
        if places.errors() != self.sight.errors():
            self.wants_whole = True
        return True

    def _miss(self, found: Found) -> None:
        self.misses += 1
        self.wants_whole = True
        self.partial = _told(found)
        for id in SERVO_IDS:
            if id not in found:
                self.gaps[id] = self.gaps.get(id, 0) + 1

    def forget(self) -> None:
        """The port was closed: nothing is known any more."""
        self.pose, self.counts, self.sight, self._feedback = None, (), None, {}
        self._calibration = None
        self.whole, self.wants_whole = False, True
        self.at_s, self.misses, self.gaps = -FOREVER_S, 0, {}
        self.jumps.forget()

    def age_s(self, now_s: float) -> float:
        """Seconds since the servos were asked."""
        return now_s - self.at_s


def _told(found: Found) -> dict[int, Feedback]:
    """Who has told everything."""
    return {id: feedback for id, (feedback, _) in found.items() if feedback is not None}
