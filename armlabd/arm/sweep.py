"""From a joint turned by hand to its homing offset and range, wherever its encoder's seam lies.

Counts here are the encoder's own, before any homing offset, so that nothing has to be written
before the sweep. Readings jump from 4095 to 0 at the encoder's seam; a sweep follows them across.
Only then the offset is chosen: the middle of the travel reads 2047, so that the seam the servo
itself sees lies opposite, in the arc where the joint never is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from armlabd.arm.calibration import MAX_COUNT, MAX_OFFSET, JointCalibration
from armlabd.arm.joints import DEGREES_PER_STEP, JOINT_NAMES, STEPS_PER_TURN

MIDDLE = 2047  # what LeRobot's procedure lets the middle read
LEAP = STEPS_PER_TURN // 4  # between two readings; more could be the other way round
FULL_TURN = STEPS_PER_TURN - 40  # from here on the joint has no ends
OFF_MIDDLE_DEG = 35.0  # between the pose held at the start and the middle of the sweep
NEAR_END = 0.25  # of the sweep: where the shut jaws were
STILL_DEG, TURNED_DEG = 15.0, 45.0  # a joint that was left alone, but sags, and one that was not

# Travel of each joint by the drawing, and how far real arms differ: published calibrations show
# 240, 212, 196, 210, 338 and 110 to 140 degrees.
DRAWN_DEG: Mapping[str, float] = {
    "shoulder_pan": 220.0,
    "shoulder_lift": 200.0,
    "elbow_flex": 194.0,
    "wrist_flex": 190.0,
    "wrist_roll": 320.0,
    "gripper": 110.0,
}
SHARE = (0.8, 1.2)
GRIPPER_SHARE = (0.7, 1.5)
TURNS = "wrist_roll"  # the only joint that may turn fully


class SweepError(ValueError):
    """A sweep that cannot be the joint's travel; `sentence` says why and what to do."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


def encoder(count: int, homing_offset: int) -> int:
    """The encoder's own count, 0..4095, of a position read with this homing offset."""
    return (count + homing_offset) % STEPS_PER_TURN


def step_between(before: int, after: int) -> int:
    """The shorter way from one count to another, -2048..2047: the seam does not matter."""
    half = STEPS_PER_TURN // 2
    return (after - before + half) % STEPS_PER_TURN - half


@dataclass(slots=True)
class Sweep:
    """The travel of one joint so far, in encoder counts that go on across the seam."""

    now: int
    lowest: int
    highest: int
    leaps: int = 0  # readings that came too far apart to be sure of the way

    @classmethod
    def starting(cls, count: int) -> Sweep:
        """A sweep that begins at an encoder count."""
        return cls(count, count, count)

    def see(self, count: int) -> None:
        """Follow one reading, 0..4095."""
        step = step_between(self.now, count)
        self.leaps += abs(step) > LEAP
        self.now += step
        self.lowest, self.highest = min(self.lowest, self.now), max(self.highest, self.now)

    @property
    def span(self) -> int:
        """How far it went, in counts."""
        return self.highest - self.lowest

    @property
    def span_deg(self) -> float:
        """How far it went, in degrees."""
        return self.span * DEGREES_PER_STEP


def expected_deg(name: str) -> tuple[float, float]:
    """The least and most travel that joint `name` may have, degrees; ends inside."""
    low, high = GRIPPER_SHARE if name == "gripper" else SHARE
    return DRAWN_DEG[name] * low, DRAWN_DEG[name] * high


def turned_instead(name: str, sweeps: Sequence[Sweep]) -> str:
    """Which servo turned while `name` stood still, as a remark; empty when none did.

    So a person finds out which servo is where with the limp arm in the hand: nothing is driven.
    """
    if sweeps[JOINT_NAMES.index(name)].span_deg > STILL_DEG:
        return ""
    most = max(range(len(sweeps)), key=lambda place: sweeps[place].span)
    if sweeps[most].span_deg < TURNED_DEG:
        return ""
    return (
        f" Servo {most + 1} ({JOINT_NAMES[most]}) turned instead, by {sweeps[most].span_deg:.0f} "
        f"degrees. If it was {name} that you turned, servos {_id(name)} and {most + 1} have each "
        "other's id: give each its own with the maker's setup tool, then start again."
    )


def joint_from(name: str, start: int, sweep: Sweep) -> JointCalibration:
    """The calibration of one joint; SweepError when the sweep cannot be its travel.

    `start`: the encoder count in the pose of the drawing, jaws shut, held before the sweep.
    """
    if sweep.leaps:
        raise SweepError(
            f"{name} moved too fast to follow. Turn it again from end to end, in about two seconds."
        )
    if sweep.span >= FULL_TURN:
        return _turning(name, start)
    _check_span(name, sweep)
    middle = (sweep.lowest + sweep.highest) // 2
    start = middle + step_between(middle, start)
    if name == "gripper":
        return _placed(name, middle, sweep, _shut_at_high(start, sweep))
    off_deg = (start - middle) * DEGREES_PER_STEP
    if abs(off_deg) > OFF_MIDDLE_DEG:
        raise SweepError(
            f"The middle of the sweep of {name} is {abs(off_deg):.0f} degrees from the pose held "
            f"at the start; allowed are {OFF_MIDDLE_DEG:g}. Turn it to both ends, or start again "
            "and hold the pose of the drawing."
        )
    return _placed(name, middle, sweep, 0)


def offset_for(middle: int) -> int:
    """The homing offset that lets encoder count `middle` read 2047, within -2047..2047.

    Half a turn cannot be said in eleven bits: then the middle reads one count off.
    """
    offset = step_between(0, middle - MIDDLE)
    return max(offset, -MAX_OFFSET)


def _turning(name: str, start: int) -> JointCalibration:
    """A joint without ends: the held pose is its middle, and its whole turn its range."""
    if name != TURNS:
        raise SweepError(
            f"{name} turned all the way round, which only {TURNS} can. Check that its horn is "
            "screwed on, then turn it again."
        )
    return JointCalibration(_id(name), 0, offset_for(start), 0, MAX_COUNT)


def _placed(name: str, middle: int, sweep: Sweep, drive_mode: int) -> JointCalibration:
    offset = offset_for(middle)
    reads = middle + step_between(middle, MIDDLE + offset)  # the encoder count that reads 2047
    low, high = sweep.lowest - reads + MIDDLE, sweep.highest - reads + MIDDLE
    return JointCalibration(_id(name), drive_mode, offset, low, high)


def _id(name: str) -> int:
    return JOINT_NAMES.index(name) + 1


def _check_span(name: str, sweep: Sweep) -> None:
    low, high = expected_deg(name)
    if low <= sweep.span_deg <= high:
        return
    todo = "Turn it to both ends." if sweep.span_deg < low else "Check its horn and its id."
    raise SweepError(
        f"{name} was turned {sweep.span_deg:.0f} degrees; by the drawing {low:.0f} to {high:.0f} "
        f"are right. {todo}"
    )


def _shut_at_high(start: int, sweep: Sweep) -> int:
    """0 when the jaws were shut at the low end, 1 at the high one."""
    share = (start - sweep.lowest) / sweep.span
    if share <= NEAR_END:
        return 0
    if share >= 1.0 - NEAR_END:
        return 1
    raise SweepError(
        "The jaws were neither shut nor open at the start, so nobody knows which end is which. "
        "Start again with the jaws shut."
    )
