"""After the last set-point: is the arm steady, and is every joint where it ought to be?

A joint may be off by what its weight makes it hang, and by the tolerance beside that; a joint that
is off by more, or on the other side, has not arrived. An arm that has arrived is trimmed (`trim`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from armlabd.arm.joints import JOINT_NAMES, Pose
from armlabd.arm.sag import Sag, expected_sag
from armlabd.motion.bringup import Link
from armlabd.motion.fence import violation
from armlabd.motion.measured import Measured
from armlabd.motion.messages import MotionResult
from armlabd.motion.settings import CoreSettings
from armlabd.motion.trim import Trim, shifted, wanted
from armlabd.verdict import Code

STEADY_CYCLES = 6  # 60 ms, longer than a servo takes to follow
STEADY_STEPS = 1  # a reading flickers by this much
MOST_TRIMS = 2  # the second mends what friction kept of the first; then it stays
GRIP_TOLERANCE_PERCENT = 4.0


class Settle:
    """One settling at a time: `begin`, then one `look` per fresh reading until it has `arrived`."""

    def __init__(self, settings: CoreSettings, link: Link, trim: Trim) -> None:
        self.arrived = False
        self._settings = settings
        self._link = link
        self._trim = trim
        self._trims = 0
        self._until_s = 0.0
        self._last: deque[Sequence[int]] = deque(maxlen=STEADY_CYCLES)

    def begin(self, now_s: float) -> None:
        """The last set-point has left."""
        self.arrived, self._trims = False, 0
        self._until_s = now_s + self._settings.settle_s
        self._last.clear()

    def look(
        self, goal: Pose, measured: Measured, now_s: float, trims: bool, jaw_free: bool
    ) -> int | None:
        """A joint, 0 to 5, that has had its time and is not there; None while all goes well.

        `trims`: the goals may be trimmed; `jaw_free`: the jaw ought to stand on its goal too.
        """
        pose = measured.pose
        if self._trim.moving or pose is None:
            return None
        over, steady = now_s >= self._until_s, self._steady(measured.counts)
        sag = expected_sag(goal, self._link.p_gains)
        late = late_joint(goal, pose, self._left(sag), self._settings.tolerance_deg)
        if late is None and jaw_free and abs(goal.grip - pose.grip) > GRIP_TOLERANCE_PERCENT:
            late = 5
        if late is not None:
            return late if over else None
        self.arrived = over or (not trims) or (steady and not self._trims_more(goal, pose, sag))
        return None

    def _left(self, sag: Sag) -> Sag:
        """What is left of the sag with the trim of now."""
        _, lift, elbow, wrist, _ = (a + b for a, b in zip(sag, self._trim.deg, strict=True))
        return (0.0, lift, elbow, wrist, 0.0)

    def _steady(self, counts: Sequence[int]) -> bool:
        """True once no arm joint has moved for some cycles."""
        self._last.append(counts)
        if len(self._last) < STEADY_CYCLES:
            return False
        joints = list(zip(*self._last, strict=True))[:5]
        return all(max(seen) - min(seen) <= STEADY_STEPS for seen in joints)

    def _trims_more(self, goal: Pose, pose: Pose, sag: Sag) -> bool:
        """Begin another trim if one is due and the guard would let its end pass."""
        if self._trims >= MOST_TRIMS:
            return False
        deg, limits = wanted(goal, self._trim.deg, pose, sag), self._link.limits
        if deg is None or violation(shifted(goal, deg), limits):
            return False
        self._trim.go(deg, limits, self._settings.period_s)
        self._trims += 1
        self._last.clear()
        return True


def late_joint(goal: Pose, pose: Pose, sag: Sag, tolerance_deg: float) -> int | None:
    """The first arm joint, 0 to 4, that neither its sag nor the tolerance excuses."""
    for index, hangs in enumerate(sag):
        error = pose[index] - goal[index]
        if not min(0.0, hangs) - tolerance_deg <= error <= max(0.0, hangs) + tolerance_deg:
            return index
    return None


def stopped_short(index: int, goal: Pose, pose: Pose) -> MotionResult:
    """The answer to a motion one joint of which has not arrived."""
    off, unit = abs(goal[index] - pose[index]), "degrees" if index < 5 else "percent"
    sentence = (
        f"{JOINT_NAMES[index]} stopped {off:.1f} {unit} before its goal and holds there. "
        "Look for what is in the way, then plan again from where the arm is."
    )
    return MotionResult(Code.STALLED, sentence)
