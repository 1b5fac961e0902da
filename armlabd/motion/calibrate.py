"""The guided calibration: a person turns each joint from end to end, the arm is limp throughout.

Order matters. First the pose of the drawing is held, then every joint is swept, and only then the
homing offsets are chosen; nothing is written before all six joints are plausible and the person has
seen the list. What was done lies on disk: an interrupted sweep goes on, an interrupted write is
finished, or refused when somebody changed the servos meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from armlabd.arm.calibration import Calibration, CalibrationError, JointCalibration, calibration_of
from armlabd.arm.joints import JOINT_NAMES
from armlabd.arm.placement import Vector
from armlabd.arm.sweep import (
    Sweep,
    SweepError,
    encoder,
    expected_deg,
    joint_from,
    turned_instead,
)
from armlabd.motion.calibrate_bus import (
    CalibrateError,
    CalibrationBus,
    Change,
    Registers,
    plan_of,
)
from armlabd.motion.calibrate_progress import Progress, Sweeping, Writing

SAMPLE_S: Final = 0.02  # between two readings: a joint turned in a second moves 4 degrees
POSE: Final = (
    "Hold the arm in the pose of the drawing: upper arm upright, forearm level and forward, hand "
    "level and forward, jaws one above the other and shut. Then press Enter."
)
HOW: Final[Mapping[str, str]] = {
    "shoulder_pan": "Turn the whole arm left to its end, then right to its end",
    "shoulder_lift": "Lean the upper arm back to its end, then forward to its end",
    "elbow_flex": "Fold the elbow to its end, then stretch it to its end",
    "wrist_flex": "Bend the hand down to its end, then up to its end",
    "wrist_roll": "Turn the hand about its axis to one end, then to the other",
    "gripper": "Open the jaws to their end, then shut them",
}


class Task(NamedTuple):
    """What a person is asked to do, for a script that stands in for one.

    `kind` is pose, sweep, write or touch; `name` the joint or the point, `point` (m) and `back`
    (hand laid back) belong to a touch.
    """

    kind: str
    name: str = ""
    point: Vector | None = None
    back: bool = False


class Person(Protocol):
    """Who turns the joints: a person at a keyboard, or a script in tests."""

    def ask(self, text: str, task: Task) -> None:
        """Ask for something that ends with Enter."""

    def say(self, text: str) -> None:
        """Tell a line that stays."""

    def show(self, text: str) -> None:
        """Show a live line, which the next one replaces."""

    def entered(self) -> str | None:
        """The line that was typed since the last call, without its end; None while there is none.

        Raises CalibrateError when nobody can type any more.
        """


def calibrate(bus: CalibrationBus, person: Person, progress: Progress, fresh: bool) -> Calibration:
    """Carry the whole procedure out, or go on where it was interrupted; the new calibration.

    `fresh` forgets an interrupted one. Raises CalibrateError and PortLost; the arm stays limp.
    """
    bus.check_servos()
    bus.make_limp()
    if fresh:
        progress.forget()
    earlier = progress.load()
    if isinstance(earlier, Writing):
        return _finish(bus, person, progress, earlier)
    sweeping = _begin(bus, person, progress, earlier)
    for name in JOINT_NAMES:
        if name not in sweeping.joints:
            sweeping.joints[name] = _sweep(bus, person, name, sweeping)
            progress.save(sweeping)
    return _write(bus, person, progress, _whole(sweeping.joints))


def _begin(
    bus: CalibrationBus, person: Person, progress: Progress, earlier: Sweeping | None
) -> Sweeping:
    """Go on with an earlier sweep of the same arm, or hold the pose and begin."""
    offsets = _offsets(bus.registers())
    if earlier is not None and earlier.offsets == offsets:
        person.say(f"Going on: {', '.join(earlier.joints) or 'no joint'} swept already.")
        return earlier
    if earlier is not None:
        person.say("The interrupted calibration was of another arm; this one starts anew.")
    person.ask(POSE, Task("pose"))
    wait(bus, person, lambda seen: "  ".join(map(str, seen)))
    counts = bus.sure_positions()
    start = tuple(encoder(count, offset) for count, offset in zip(counts, offsets, strict=True))
    sweeping = Sweeping(offsets, start)
    progress.save(sweeping)
    return sweeping


def _sweep(bus: CalibrationBus, person: Person, name: str, sweeping: Sweeping) -> JointCalibration:
    """Follow one joint until the person presses Enter and its travel is plausible."""
    low, high = expected_deg(name)
    task = Task("sweep", name)
    person.ask(
        f"{HOW[name]}, then press Enter. By the drawing: {low:.0f} to {high:.0f} degrees.", task
    )
    place = JOINT_NAMES.index(name)
    start = sweeping.start[place]
    while True:
        follower = _Follower(name, sweeping.offsets)
        wait(bus, person, follower)
        try:
            joint = joint_from(name, start, follower.sweeps[place])
        except SweepError as error:
            instead = turned_instead(name, follower.sweeps)
            person.ask(f"{error.sentence}{instead} Then press Enter.", task)
            continue
        turns = ", turns fully" if joint.range_max - joint.range_min == 4095 else ""
        person.say(
            f"{name}: offset {joint.homing_offset}, range {joint.range_min} to "
            f"{joint.range_max}{turns}."
        )
        return joint


class _Follower:
    """Follows the joints from reading to reading, and tells how far the one in question went."""

    def __init__(self, name: str, offsets: Sequence[int]) -> None:
        self.sweeps: list[Sweep] = []
        self._name, self._place, self._offsets = name, JOINT_NAMES.index(name), offsets

    def __call__(self, seen: tuple[int, ...]) -> str:
        """Take one reading of all six; the live line."""
        counts = list(map(encoder, seen, self._offsets))
        self.sweeps = self.sweeps or list(map(Sweep.starting, counts))
        for sweep, count in zip(self.sweeps, counts, strict=True):
            sweep.see(count)
        far_deg = self.sweeps[self._place].span_deg
        return f"{self._name}: {far_deg:6.1f} degrees so far, at count {counts[self._place]}"


def wait(bus: CalibrationBus, person: Person, live: Live) -> str:
    """Read the servos and show them until a line is typed; that line.

    A reading that does not come is left out; when none comes for two seconds, CalibrateError.
    """
    last_s = bus.clock.monotonic()
    while True:
        seen = bus.positions()
        if seen is not None:
            last_s = bus.clock.monotonic()
            person.show(live(seen))
        elif bus.clock.monotonic() - last_s > SILENT_S:
            bus.sure_positions()
        line = person.entered()
        if line is not None and seen is not None:
            return line
        bus.clock.sleep(SAMPLE_S)


class Live(Protocol):
    """Makes the live line of six positions."""

    def __call__(self, seen: tuple[int, ...], /) -> str:
        """The line."""


SILENT_S: Final = 2.0


def _offsets(now: Registers) -> tuple[int, ...]:
    return tuple(now[id]["homing_offset"] for id in sorted(now))


def _whole(joints: Mapping[str, JointCalibration]) -> Calibration:
    """All six joints, judged as a file would be."""
    try:
        return calibration_of(Calibration(joints).as_lerobot())
    except CalibrationError as error:
        raise CalibrateError(f"{error.sentence} Nothing was written.") from error


def _write(
    bus: CalibrationBus, person: Person, progress: Progress, calibration: Calibration
) -> Calibration:
    """Show the plan, and with the person's Enter carry it out."""
    changes = plan_of(bus.registers(), calibration)
    for change in changes:
        person.say(change.words())
    person.ask(
        f"{len(changes)} registers will be written. Let the arm lie, press Enter to write them, "
        "or type no to leave the servos as they are.",
        Task("write"),
    )
    if wait(bus, person, lambda seen: "  ".join(map(str, seen))).strip().lower() not in ("", "yes"):
        raise CalibrateError(
            "Nothing was written. The sweep is kept: run armlabd calibrate again to write it."
        )
    return carry_out(bus, person, progress, Writing(changes, calibration))


def carry_out(
    bus: CalibrationBus, person: Person, progress: Progress, writing: Writing
) -> Calibration:
    """Keep the plan on disk, write it, read everything back, put the calibration in its place."""
    progress.save(writing)
    bus.write(writing.changes, lambda change: person.say(f"written: {change.words()}"))
    progress.finish(writing.calibration)
    person.say(f"All six servos hold the calibration; it lies in {progress.calibration_path}.")
    return writing.calibration


def _finish(
    bus: CalibrationBus, person: Person, progress: Progress, writing: Writing
) -> Calibration:
    """Finish an interrupted write of this very arm, or refuse. Raises CalibrateError."""
    now = bus.registers()
    for change in writing.changes:
        found = now[change.id][change.register]
        if found not in (change.old, change.new):
            raise CalibrateError(_other_arm(change, found))
    person.say("Finishing the calibration that was interrupted while it was written.")
    return carry_out(bus, person, progress, writing)


def _other_arm(change: Change, found: int) -> str:
    return (
        f"A calibration was interrupted while it was written, but {JOINT_NAMES[change.id - 1]} now "
        f"holds {found} in {change.register}, neither the old {change.old} nor the new "
        f"{change.new}: this is another arm, or somebody changed it. Connect the right arm, or "
        "start anew with armlabd calibrate --fresh."
    )
