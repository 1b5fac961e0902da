"""The motion core: owns the port, the stop latch and the button, and asks nobody before stopping.

One loop, no threads but the disk's, no waiting: `tick` runs every 10 ms, `handle` takes a request
at any moment in between, `work` does one slice of whatever is long. All three in virtual time too.
"""

from __future__ import annotations

if __name__ == "__main__":  # before anything else, so that the process stays small
    import sys

    from armlabd.motion.thin import run

    run()
    sys.exit(0)

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from armlabd.arm.joints import SERVO_IDS
from armlabd.bus.errors import PortLost
from armlabd.bus.port import Transport
from armlabd.clock import Clock
from armlabd.motion.attentive import AttentiveTransport
from armlabd.motion.bringup import Link
from armlabd.motion.button import LineSource, make_button
from armlabd.motion.chain import ALL_SILENT
from armlabd.motion.conductor import LOST_CYCLES, Conductor
from armlabd.motion.cycles import Cycles
from armlabd.motion.disk import Disk, Ticket
from armlabd.motion.health import Trouble
from armlabd.motion.job import Reply, cancelled
from armlabd.motion.latch import Latch
from armlabd.motion.lease import Lease
from armlabd.motion.leaving import Leaving
from armlabd.motion.mark import Marks, crash_cause
from armlabd.motion.measured import Measured
from armlabd.motion.messages import StopResult
from armlabd.motion.requests import STOPPED, Requests
from armlabd.motion.servos import Servos, Sight
from armlabd.motion.settings import CoreSettings, calibration_of, limits_of
from armlabd.motion.stop import Hold, StopLane
from armlabd.motion.watch import Watch
from armlabd.verdict import Code

ENFORCE_TICKS = 10  # torque while stopped where servos are missing; else every cycle
NOTES = 50
Lost = tuple[Trouble, tuple[int, ...]]  # and who still answers
UNLEASED = "The daemon fell silent; the arm came to rest and holds."


class Core:
    """One arm. `publish`, when set, is given the state every `push_s`.

    `between` is called while the tick has no transaction open, so that a stop need not wait for the
    rest of the tick; `wanted` tells whether a request waits, and ends the wait for a late answer.
    """

    def __init__(
        self,
        settings: CoreSettings,
        clock: Clock,
        open_transport: Callable[[], Transport],
        disk: Disk,
        *,
        line: LineSource | None = None,
        boot: str = "",
        pid: int = 0,
        say: Callable[[str], None] | None = None,
    ) -> None:
        now_s = clock.monotonic()
        self.settings = settings
        self.clock = clock
        self.disk = disk
        self.digest = settings.digest()
        self.pid = pid
        self.notes: deque[str] = deque(maxlen=NOTES)
        self.scheduling = ""
        self.finished = False
        self.publish: Callable[[Core], None] | None = None
        self.between: Callable[[], None] = _nothing
        self._say = say
        self.button = make_button(line, settings, disk, now_s)
        self.latch = Latch(settings.state_dir, disk, boot)
        self.lane = StopLane(self.latch, clock, settings.stop_action)
        self.marks = Marks(settings.state_dir, disk, boot, pid)
        self.lease = Lease(settings.lease_s, settings.orphan_s, now_s)
        self.cycles = Cycles(settings.period_s, now_s)
        self.measured = Measured()
        self.wanted: Callable[[], bool] = _never
        self.link = self._make_link(open_transport)
        self.conductor = Conductor(
            settings, clock, self.link, self.marks, self.measured, lambda: not self.latch.stopped
        )
        self.watch = Watch(self)
        self.leaving = Leaving(self)
        self.requests = Requests(self)
        self._clearing: tuple[Ticket, Reply, int, str] | None = None
        self._push_s = now_s
        self._pending = ""  # the latch cause that follows once the arm is at rest
        self._lost: Lost = (Trouble("disconnected", ALL_SILENT), ())  # what `bus_lost` is about
        self._latch_at_start(boot)

    def _make_link(self, open_transport: Callable[[], Transport]) -> Link:
        clock, settings = self.clock, self.settings
        return Link(
            lambda: AttentiveTransport(open_transport(), clock, lambda: self.wanted()),
            clock,
            settings.baud,
            calibration_of(settings, self.note),
            limits_of(settings),
            self.note,
        )

    def _latch_at_start(self, boot: str) -> None:
        cause = crash_cause(self.settings.state_dir, boot)
        if cause is None and self.button.stops:
            cause = "button"
        if cause is not None:
            self.latch.set(cause, "core")
        self.latch.save(self.clock.monotonic())
        self.marks.arrive(lambda: self.latch.on_disk)
        if self.latch.cause is not None:
            self.note(f"starts stopped: {self.latch.cause.sentence}")

    def note(self, text: str) -> None:
        """One line of the diary: kept for status, and said where somebody listens."""
        if self.notes and self.notes[-1] == text:
            return
        self.notes.append(text)
        if self._say is not None:
            self._say(text)

    # --- the cycle

    def tick(self) -> None:
        """One cycle: button, goal or enforcement, reading, judgement, books."""
        started_s = self.clock.monotonic()
        self.cycles.begin(started_s)
        self.look_at_button(started_s)
        try:
            self._bus_cycle(started_s)
        except PortLost as lost:
            self._port_lost(lost.sentence)
        # Most cycles have nothing to do here, and each call costs 2 us: asked before called.
        now_s = self.clock.monotonic()
        if not self.lease.alive(now_s):
            self._unleased(now_s)
        if self._pending:
            self._after_motion()
        if self._clearing is not None:
            self._finish_clear()
        if self.leaving.policy:
            self.leaving.step(now_s)
        if self.latch.cause is not None:
            self.latch.save(now_s)
        if now_s >= self._push_s and self.publish is not None:
            self._push_s = max(self._push_s + self.settings.push_s, now_s)
            self.publish(self)
        self.cycles.end(started_s, self.clock.monotonic())

    def _bus_cycle(self, now_s: float) -> None:
        link, conductor = self.link, self.conductor
        at_rest = conductor.job is None or link.servos is None
        if at_rest and link.poll(now_s, self.latch.stopped):
            self.lane.forget_hold()
            conductor.unpin()
        servos = link.servos
        if servos is None:
            return
        if self.latch.stopped and (link.reading or self.cycles.ticks % ENFORCE_TICKS == 0):
            self._seen(self.lane.enforce(servos))
            self.between()
        if link.reading and link.servos is servos:
            self._read(servos)
        elif link.found and not link.working:
            self.watch.read_others(servos)
        if link.servos is not servos:
            return
        moving = conductor.job is not None and not self.latch.stopped
        if moving and (goal := conductor.next_goal()) is not None:
            conductor.send(goal)
        if link.reading:  # the answers come while this process sleeps
            servos.begin_look(self.watch.next_look())

    def _read(self, servos: Servos) -> None:
        found = servos.look()
        if not isinstance(found, Sight):  # it may have taken a while
            self.between()
            if self.link.servos is not servos:
                return
        if self.measured.take(found, self.link.calibration, self.conductor.goal is None):
            self.conductor.judge()
            self.watch.cycle()
        elif self.measured.jumps.fault is not None:
            self.watch.jumped(servos)
        elif self.measured.misses >= LOST_CYCLES:
            self._silent()
        if self._may_go_on(servos):
            self.conductor.keep_grip_limit()
            if servos.kept:
                self._seen(servos.kept)
        if self.link.servos is servos and not self.measured.misses:
            self.watch.told(servos)

    def _may_go_on(self, servos: Servos) -> bool:
        """False once a stop or a lost port came in between."""
        return not self.latch.stopped and self.link.servos is servos

    def _seen(self, held: Mapping[int, Any]) -> None:
        servos = self.link.servos
        off = [id for id, servo in held.items() if not servo.torque]
        if off and servos is not None and self.conductor.pinned and not self.latch.stopped:
            self.between()
            if self._may_go_on(servos) and self.watch.torque_lost(off, servos):
                return
        if len(held) == len(SERVO_IDS):
            self.conductor.torque_seen(sum(servo.torque for servo in held.values()))

    @property
    def has_work(self) -> bool:
        """True while `work` has something to do before the next tick."""
        return self.link.working or self.conductor.working

    def work(self) -> None:
        """One slice, about a millisecond at most, of bring-up, planning or switching on."""
        try:
            if self.link.working:
                self.link.work()
                if self.link.torque_found is not None:
                    self.conductor.torque = self.link.torque_found
            else:
                self.conductor.work()
        except PortLost as lost:
            self._port_lost(lost.sentence)

    # --- losing the bus

    def _silent(self) -> None:
        """Ten cycles without a full reading: rest if moving, then look for the servos anew."""
        self._lost = self.watch.silence(self.measured)
        sentence = self._lost[0].sentence
        if self.conductor.moving:
            self._pending = "bus_lost"
            self.conductor.brake(cancelled(Code.BUS_LOST, sentence))
            job = self.conductor.job
            if job is not None and job.stream is not None and not job.stream.finished:
                return  # the goals still come to rest; whether the arm does, nobody can read
        self._bus_lost(*self._lost)

    @property
    def _in_use(self) -> bool:
        """Held between two steps of a run, or at rest for less than a second."""
        return self.marks.in_motion and self.conductor.goal is not None

    def _port_lost(self, sentence: str) -> None:
        self._bus_lost(Trouble("disconnected", sentence))

    def _bus_lost(self, why: Trouble, answering: tuple[int, ...] = ()) -> None:
        """The bus is gone, or servos on it; a loss in motion stops the arm. Others are read on."""
        if self.conductor.moving or self._pending == "bus_lost" or self._in_use:
            self.latch.set("bus_lost", "core")
            self.latch.save(self.clock.monotonic())
        self._pending = ""
        self.lane.forget()
        if answering:
            self.link.doubt(why, answering)
        else:
            self.link.lose(why.sentence)
        # Last: with the answer everybody is told the state, and no state is "stopped, connected".
        self.conductor.halt(cancelled(Code.BUS_LOST, f"{why.sentence} The motion was given up."))
        self.measured.forget()

    # --- stop and clear

    def look_at_button(self, now_s: float, woken: bool = False) -> None:
        """Each cycle, and `woken` whenever its line has something to say: a press stops."""
        if self.button.look(now_s, woken) or (self.button.stops and not self.latch.stopped):
            self.note(f"stop button: {self.button.state}. {self.button.why}")
            self.stop("button", "button", self.button.tripped_s)
            if self.publish is not None:  # the read-back has used up much of a heartbeat
                self.publish(self)

    def stop(self, code: str, by: str, received_s: float | None = None) -> StopResult:
        """The stop lane; works in every state and never raises."""
        hold = None
        if self.conductor.goal is not None and self.measured.counts:
            goals, grips = self.conductor.goal_counts, self.conductor.grip.holding
            hold = Hold(self.measured.counts, goals, self.measured.at_s, grips)
        if self._clearing is not None:
            self.latch.write_again()
        self._pending = ""
        self.latch.set(code, by)  # before the port is looked for, which may take a moment
        if self.link.hurry():
            self.lane.forget_hold()
            self.conductor.unpin()
        result = self.lane.stop(self.link.servos, code, by, hold=hold, received_s=received_s)
        halted, lane = cancelled(Code.STOPPED, STOPPED), self.lane
        self.conductor.halt(halted, keep_torque=lane.held, grips=lane.grip_kept)
        self.note(f"stop ({code}, {by}): {result.sentence}")
        return result

    def clear(self, by: str, role: str, reply: Reply) -> None:
        """Clear the stop: never resumes, never switches torque on. `reply` gets code, sentence."""
        why = None
        if role != "operator":
            why = (Code.ROLE, "Only the operator role may clear a stop.")
        elif self.button.stops:
            why = (Code.CANNOT_CLEAR, self.button.why)
        elif self._clearing is not None:
            why = (Code.BUSY, "The stop is being cleared already.")
        elif not self.latch.stopped:
            why = (Code.OK, "The arm is not stopped.")
        if why is not None:
            reply({"code": str(why[0]), "sentence": why[1]})
            return
        self._clearing = (self.latch.begin_clear(by), reply, self.lane.count, by)
        self._finish_clear()

    def _finish_clear(self) -> None:
        """Once the cleared record is on disk the latch opens, unless a stop came meanwhile."""
        if self._clearing is None or not self._clearing[0].done:
            return
        ticket, reply, stops, by = self._clearing
        self._clearing = None
        code = Code.OK
        if ticket.error is not None:
            code = Code.CANNOT_CLEAR
            sentence = (
                f"The stop stays, because its record cannot be written: {ticket.error}. Free the "
                "disk or mend the state folder, then clear again."
            )
        elif stops != self.lane.count or self.button.stops:
            code, sentence = Code.CANNOT_CLEAR, "The stop stays: another one came meanwhile."
            self.latch.write_again()
            self.latch.save(self.clock.monotonic())
        else:
            self.latch.finish_clear()
            sentence = f"The stop is cleared. {self.lane.cleared()}"
            self.note(f"cleared by {by}")
        reply({"code": str(code), "sentence": sentence})

    # --- lease, orphan, books

    def _unleased(self, now_s: float) -> None:
        """No daemon renews: an arm in motion comes to rest, and after a while the core leaves."""
        job = self.conductor.job
        if self.lease.orphaned(now_s) and not self.leaving.policy:
            self.note(f"no daemon for {self.settings.orphan_s:g} s: parks and leaves")
            self.leaving.begin("park", now_s)
        if self.leaving.policy or (job is not None and job.own):
            return
        if job is None:  # between two steps of a run: what comes next, nobody will say
            if self._in_use and not self.latch.stopped:
                self._pending = self._pending or "lease_lost"
            return
        if job.in_motion and not self._pending:
            self._pending = "lease_lost"
        self.conductor.brake(cancelled(Code.LEASE_LOST, UNLEASED))

    def _after_motion(self) -> None:
        """What a lapse or a silent bus in motion leads to, once the arm is at rest."""
        if self.conductor.job is not None:
            return
        if self._pending == "bus_lost":
            self._bus_lost(*self._lost)
            return
        self._pending = ""
        if not self.latch.stopped:
            self.latch.set("lease_lost", "core")
            self.lane.hold_on()
            self.latch.save(self.clock.monotonic())
            self.note("lease lost in motion: at rest, holding, stopped")

    # --- requests

    def handle(
        self,
        request: Mapping[str, Any],
        reply: Reply,
        owner: object = None,
        received_s: float | None = None,
    ) -> None:
        """One request. `reply` is called with the answer, at once or when it is known."""
        self.requests.handle(request, reply, owner, received_s)


def _never() -> bool:
    return False


def _nothing() -> None:
    """No work between transactions."""
