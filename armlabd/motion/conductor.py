"""The conductor: takes one motion through its phases and gives out one goal per cycle.

It owns where the arm is told to be (`goal`, None while torque is off or unknown); the servos are
told a little more (`trim`), so that the arm that hangs on them is there. The guard is asked before
every change. It never waits: long work is cut into slices (`work`), writing to
disk is done elsewhere, and everything else happens in `next_goal` and `judge`, once per cycle.
"""

from __future__ import annotations

from collections.abc import Callable

from armlabd.arm.calibration import CalibrationError
from armlabd.arm.joints import SERVO_IDS, Pose
from armlabd.clock import Clock
from armlabd.motion.arming import Arming, switch_on
from armlabd.motion.bringup import Link
from armlabd.motion.grip import Grip, percent_per_step
from armlabd.motion.guard import (
    OUTSIDE_SPEED_DPS,
    START_TOLERANCE_DEG,
    Fault,
    LastLook,
    Rates,
)
from armlabd.motion.heat import grip_percent, speed_share
from armlabd.motion.job import Job, cancelled, refusal
from armlabd.motion.legs import leg_count, leg_points
from armlabd.motion.mark import Marks
from armlabd.motion.measured import Measured
from armlabd.motion.messages import MotionResult
from armlabd.motion.settings import CoreSettings
from armlabd.motion.settle import Settle, stopped_short
from armlabd.motion.stall import Stall
from armlabd.motion.stream import Stream
from armlabd.motion.trim import NONE, Trim, shifted
from armlabd.verdict import Code

APPROACH_DPS = OUTSIDE_SPEED_DPS * 0.95  # from the goal that sags to the program's start
RELAX_DPS = 30.0
GRIP_TIME_S = 0.25  # for the squeeze to settle after contact
REST_S = 1.0  # after this long at rest the mark of motion goes
LOST_CYCLES = 10  # misses in a row that end a motion


class Conductor:
    """One arm, one motion at a time. `allowed` is False while the latch is set."""

    def __init__(
        self,
        settings: CoreSettings,
        clock: Clock,
        link: Link,
        marks: Marks,
        measured: Measured,
        allowed: Callable[[], bool],
    ) -> None:
        self.job: Job | None = None
        self.goal: Pose | None = None
        self.goal_counts: tuple[int, ...] = ()
        self.torque = False
        self.trim = Trim()
        self.grip = Grip(settings.grip_torque_percent, settings.hold_torque_percent)
        self.goals_sent = 0
        self._settings = settings
        self._clock = clock
        self._link = link
        self._marks = marks
        self._measured = measured
        self._allowed = allowed
        self._arming: Arming | None = None
        self._look: LastLook | None = None
        self._stall = Stall()
        self._settle = Settle(settings, link, self.trim)
        self._grip_limit = 0.0  # what register 48 of the gripper was last set to
        self._rest_s = 0.0

    # --- asked from outside

    @property
    def moving(self) -> bool:
        """True while goals leave or are about to: the phases a lost bus or lease must latch."""
        return self.job is not None and self.job.in_motion

    @property
    def pinned(self) -> bool:
        """True while the servos hold goals of ours, with our pace and locked settings."""
        return self.goal is not None and self._arming is None

    @property
    def working(self) -> bool:
        """True while `work` has a slice to do."""
        return self.job is not None and self.job.phase in ("plan", "arm")

    def start(self, job: Job) -> None:
        """Begin a motion; the caller has checked that none is under way."""
        self.job = job
        job.carry(self.trim.deg, self._link.limits)

    def brake(self, ending: MotionResult) -> None:
        """Come to rest on the path, hold, and answer `ending`; before any motion at once."""
        job = self.job
        if job is None or job.ending is not None:
            return
        if job.phase == "stream" and job.stream is not None:
            job.ending = ending
            job.stream.brake()
        elif job.phase == "settle" and self.trim.moving:
            job.ending = ending  # a trim under way comes to rest by itself, within 0.3 s
        else:
            self._finish(ending)

    def halt(self, ending: MotionResult, keep_torque: bool = False, grips: bool = False) -> None:
        """A stop or a lost bus: no further goal leaves for this motion, now."""
        if self.job is not None:
            self._finish(ending)
        if not keep_torque:
            self.unpin(grips)
        elif self._measured.pose is not None and self.goal is not None:
            held = self._measured.pose.with_grip(self.goal.grip)
            self._pin(held, (*self._measured.counts[:5], self.goal_counts[5]))

    def unpin(self, grips: bool = False) -> None:
        """Torque is off or unknown, but for jaws that hold on: the next motion switches it on."""
        self.goal, self.goal_counts = None, ()
        self.trim.clear()
        self.torque = grips
        self._look = None
        if not grips:
            self.grip.let_go()

    def torque_seen(self, on: int) -> None:
        """How many servos were seen with torque on."""
        self.torque = on > 0
        if on < len(SERVO_IDS) and self.goal is not None and self._arming is None:
            if self.moving:
                self._finish(cancelled(Code.STALLED, "Torque went off in a servo while moving."))
            self.unpin()
            self.torque = on > 0

    # --- slices between the cycles

    def work(self) -> None:
        """One slice of planning or of switching on. Raises PortLost."""
        job = self.job
        if job is None:
            return
        try:
            if job.phase == "plan":
                next(job.planning)
            elif job.phase == "arm" and self._arming is not None:
                next(self._arming)
        except StopIteration as done:
            if job.phase == "plan":
                self._planned(job, done.value)
            else:
                self._armed(job, done.value)

    def _planned(self, job: Job, planned: object) -> None:
        if isinstance(planned, Fault):
            self._finish(refusal(planned))
        elif isinstance(planned, str):
            self._finish(cancelled(Code.UNREACHABLE, planned))
        else:
            assert isinstance(planned, (tuple, list)) or hasattr(planned, "__getitem__")
            job.points = planned  # type: ignore[assignment]
            job.phase, job.marked = "mark", self._marks.move()
            self._marked(job)

    def _marked(self, job: Job) -> None:
        """Go on once the mark of motion is safe on disk and the servos have told everything."""
        ticket = job.marked
        if ticket is None or not ticket.done:
            return
        if ticket.error:
            sentence = f"The record of motion cannot be written: {ticket.error}. Free some space."
            self._finish(cancelled(Code.DISK, sentence))
        elif not self._measured.whole:
            return  # where they are is known, how they are not yet
        elif self.goal is None:
            servos = self._link.servos
            assert servos is not None
            self._arming = switch_on(servos, self._allowed, self.grip.grip_torque)
            self._grip_limit = self.grip.grip_torque
            job.phase = "arm"
        else:
            self._begin(job)

    def _armed(self, job: Job, outcome: object) -> None:
        self._arming = None
        calibration = self._link.calibration
        if isinstance(outcome, str) or calibration is None:
            self.unpin()
            self._finish(cancelled(Code.NO_ARM, str(outcome)))
            return
        counts: tuple[int, ...] = outcome  # type: ignore[assignment]
        pose = calibration.from_raw(counts)
        self._pin(pose, counts)
        self.torque = True
        apart = max(abs(a - b) for a, b in zip(job.points[0][:5], pose[:5], strict=True))
        if apart > START_TOLERANCE_DEG and not job.plan_again(pose):
            sentence = "The arm was moved while its torque came on. Plan again from where it is."
            self._finish(cancelled(Code.OLD_STATE, sentence))
        elif job.phase == "arm":
            self._begin(job)

    def _pin(self, pose: Pose, counts: tuple[int, ...]) -> None:
        self.goal, self.goal_counts = pose, counts
        self.trim.clear()
        self._look = LastLook(self._link.limits, self._settings.period_s)
        self._look.pin(pose)

    def _begin(self, job: Job) -> None:
        """All is ready: from where the goals are now to the start, then the program."""
        assert self.goal is not None
        first = job.points[0]
        points = job.points
        start = self.goal.with_grip(first.grip)
        if start != first:
            limits, dt_s = self._link.limits, self._settings.period_s
            count = leg_count(start, first, APPROACH_DPS, limits, dt_s)
            points = (start, *leg_points(start, first, count), *points[1:])
        rates = Rates(self._link.limits, self._settings.period_s)
        job.stream = Stream(points, rates.bends, speed_share(self._measured.feedback))
        if self.trim.any and not job.carries:
            self.trim.go(NONE, self._link.limits, self._settings.period_s)
        self.grip.begin(job.contact, job.torque_percent)
        self._stall.reset()
        job.phase = "stream"

    # --- once per cycle

    def next_goal(self) -> Pose | None:
        """The goal of this cycle, not yet checked; None when nothing changes."""
        job = self.job
        if job is None:
            return None
        if job.phase == "mark":
            self._marked(job)
        if job.stream is None or self.goal is None or not job.in_motion:
            return None
        trims = self.trim.next()
        waits = job.stream.finished or self.trim.moving
        moves = job.phase in ("stream", "relax") and not waits
        pose = job.stream.next() if moves else job.stream.now
        step = self.grip.step(self._link.limits, self._settings.period_s, job.contact)
        keeps = job.touched or job.phase == "relax"  # then the program has no say in the jaw
        began = pose.grip if keeps else job.points[0].grip
        jaw = self.grip.goal(pose.grip, began, self.goal.grip, step)
        pose = pose.with_grip(jaw)
        return None if pose == self.goal and not trims else pose

    def send(self, pose: Pose) -> None:
        """The last look at the trimmed goal, then one frame. Raises PortLost."""
        servos, calibration = self._link.servos, self._link.calibration
        if servos is None or calibration is None or self._look is None or not self._allowed():
            return
        told = shifted(pose, self.trim.deg)
        fault = self._look.check(told)
        if fault is not None:
            self._refused(refusal(fault))
            return
        try:
            counts = calibration.to_raw(told)
        except CalibrationError as error:
            self._refused(cancelled(Code.JOINT_LIMIT, error.sentence))
            return
        servos.write_goals(counts, later=self._link.reading)
        self.goal, self.goal_counts = pose, counts
        self.goals_sent += 1

    def _refused(self, result: MotionResult) -> None:
        """A goal may not leave: a trim is given up where it is, anything else ends the motion."""
        if self.trim.moving and self.job is not None and self.job.phase == "settle":
            self.trim.refused()
        else:
            self._finish(result)

    def keep_grip_limit(self) -> None:
        """Bring the gripper's torque cap to what is wanted. Raises PortLost."""
        servos = self._link.servos
        wanted = grip_percent(self.grip, self._measured)
        if self.goal is None or servos is None or wanted == self._grip_limit or self.working:
            return
        if servos.limit_gripper(wanted):
            self._grip_limit = wanted

    def judge(self) -> None:
        """After a fresh full reading: has it arrived, stalled, touched, dropped?"""
        now_s = self._clock.monotonic()
        pose = self._measured.pose
        if pose is None:
            return
        self.grip.watch(pose.grip, self.torque)
        job = self.job
        if job is None or not job.in_motion or job.stream is None:
            if self._marks.in_motion and job is None and now_s - self._rest_s >= REST_S:
                self._marks.rest()
            return
        if not self._measured.whole:
            return  # asked for before this motion began
        if job.phase == "stream":
            self._judge_stream(job, pose, now_s)
        elif job.phase == "settle":
            self._judge_settle(job, pose, now_s)
        elif job.phase == "grip" and now_s >= job.until_s and self.grip.squeezes(self.goal):
            self.grip.settled(pose.grip)
            self._arrived(job)
        elif job.phase == "relax" and job.stream.finished and job.ending is not None:
            self._finish(job.ending)

    def _judge_stream(self, job: Job, pose: Pose, now_s: float) -> None:
        assert job.stream is not None
        assert self.goal is not None
        if job.ending is None:
            self._touch(job, pose)
            jaw_free = not job.contact and self.grip.squeeze is None
            sentence = self._stall.look(self.goal, self._measured, now_s, jaw_free)
            if sentence is not None:
                self.brake(cancelled(Code.STALLED, sentence))
        if not job.stream.finished:
            return
        if job.ending is not None and job.ending.code is Code.STALLED:
            self._relax(job, pose)
        elif job.ending is not None:
            self._finish(job.ending)
        elif job.touched:
            job.phase, job.until_s = "grip", now_s + GRIP_TIME_S
        else:
            job.phase = "settle"
            self._settle.begin(now_s)
            self._judge_settle(job, pose, now_s)

    def _touch(self, job: Job, pose: Pose) -> None:
        """A closing jaw that meets something: brake, squeeze, push no harder than needed."""
        if not job.contact or job.touched or self.goal is None or job.stream is None:
            return
        jaw = self._measured.feedback[SERVO_IDS[5]]
        speed = jaw.velocity * percent_per_step(self._link.calibration)
        if self.grip.touches(self.goal.grip, pose.grip, speed, jaw.load / 10):
            job.touched = True
            self.grip.take(pose.grip)
            job.stream.brake()

    def _judge_settle(self, job: Job, pose: Pose, now_s: float) -> None:
        assert self.goal is not None
        if job.ending is not None:
            if not self.trim.moving:
                self._finish(job.ending)
            return
        self._touch(job, pose)
        if job.touched:
            job.phase, job.until_s = "grip", now_s + GRIP_TIME_S
            return
        trims = not job.contact and job.kind != "park"  # a grip decides; a parked arm goes limp
        jaw_free = self.grip.squeeze is None
        late = self._settle.look(self.goal, self._measured, now_s, trims, jaw_free)
        if late is not None:
            job.ending = stopped_short(late, self.goal, pose)
            self._relax(job, pose)
        elif self._settle.arrived:
            self._arrived(job)

    def _relax(self, job: Job, pose: Pose) -> None:
        """Draw the goals back to where the arm is, so that it does not keep pushing."""
        assert self.goal is not None
        limits, dt_s = self._link.limits, self._settings.period_s
        self.goal = shifted(self.goal, self.trim.deg)
        self.trim.clear()
        goal = pose if self.grip.squeeze is None else pose.with_grip(self.goal.grip)
        count = leg_count(self.goal, goal, min(RELAX_DPS, limits.speed_dps), limits, dt_s)
        points = self.goal, *leg_points(self.goal, goal, count)
        job.stream = Stream(points, Rates(limits, dt_s).bends)
        job.phase = "relax"

    def _arrived(self, job: Job) -> None:
        pose = self._measured.pose
        sentence = "Arrived." if not job.touched else "The jaws met something."
        if job.contact and not job.touched:
            sentence = "The jaws closed and met nothing."
        self._finish(MotionResult(Code.OK, sentence + job.told, pose, contact=job.touched))

    def _finish(self, result: MotionResult) -> None:
        """Answer, and rest. Facts measured are added to every answer."""
        job, self.job = self.job, None
        self._arming = None
        self.trim.stay()
        self._rest_s = self._clock.monotonic()
        pose = self._measured.pose
        result = MotionResult(
            result.code,
            result.sentence,
            result.pose or pose,
            self.grip.holding,
            None if pose is None else round(pose.grip, 2),
            result.contact,
            result.facts,
        )
        if job is not None:
            job.answer(result)
