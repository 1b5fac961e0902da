"""Watches the servos while the arm is in use: what is wrong, what is worth a warning, what follows.

A trouble ends the motion under way and becomes the link's state, which judges the servos anew until
they are well. What must not go on by itself (a servo that started anew in motion, a joint whose
position jumped) stops the arm: a person clears it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from armlabd.arm.joints import JOINT_NAMES, SERVO_IDS
from armlabd.bus.errors import DAMAGED
from armlabd.bus.fixed import FixedRead
from armlabd.bus.registers import Feedback
from armlabd.motion import inspection
from armlabd.motion.bringup import FOREIGN
from armlabd.motion.chain import servo_name, silence_sentence
from armlabd.motion.health import (
    FAULTS,
    STATES,
    UNCALIBRATED,
    Trouble,
    bits_trouble,
    code_of,
    heat_trouble,
)
from armlabd.motion.inspection import brown_out_sentence, started_anew
from armlabd.motion.job import cancelled
from armlabd.motion.measured import Measured
from armlabd.motion.servos import (
    BLOCK,
    FASTEST_STEPS_PER_S,
    FULL_ACCELERATION,
    PLACES,
    WIDE,
    Kept,
    Servos,
    servo_facts,
)
from armlabd.motion.supply import Supply
from armlabd.motion.thresholds import BACK_OFF, LOOKS, TOO_HOT
from armlabd.verdict import Code

if TYPE_CHECKING:
    from armlabd.motion.core import Core

LOOK_TICKS = 10  # in motion, when there seems to be nothing new; at rest with each whole reading
WIDE_TICKS = 10  # what the servos were told is looked at this often in motion
REST_WIDE_TICKS = 30  # and at rest, where between two such looks the positions alone are read
# One servo's settings, so that every servo has its turn in 3 s. They change only in a servo that is
# unlocked or swapped for another, and both are seen at the next wide look.
INSPECT_TICKS, INSPECT_TICK = 50, 5
VOLTAGE_BIT = 0x01
PACE = FULL_ACCELERATION, FASTEST_STEPS_PER_S
FOREIGN_S = 60.0
OF_ONE_SERVO = FAULTS | UNCALIBRATED | {"duplicate_id", "wrong_model"}
AFTER_OVERLOAD = (
    " One was overloaded before: such a servo may stay silent until its power goes off and on. "
    "Take the load off first."
)
ECHO = "The adapter sends every request back; that is recognised, and nothing of it is believed."


class Watch:
    """`warnings` is what people read beside the state while the arm can still be used."""

    def __init__(self, core: Core) -> None:
        self.supply = Supply()
        self.warnings = ""
        self._core = core
        self._turn = 0
        self._restarted: set[int] = set()
        self._unlocked: set[int] = set()
        self._suspect = ""
        self._looks = 0
        self._foreign, self._foreign_s = 0, 0.0

    # --- the latest reading

    def look(self) -> Trouble | None:
        """What the latest full reading says against moving now."""
        core = self._core
        for id, servo in core.measured.feedback.items():
            if servo.status & ~VOLTAGE_BIT and (trouble := bits_trouble(id, servo.status)):
                return trouble
            if servo.temperature >= TOO_HOT.value:
                return heat_trouble(id, servo.temperature, TOO_HOT.value)
        return self.supply.trouble(core.link.facts, core.measured.feedback)

    def next_look(self) -> FixedRead:
        """What to ask the servos for in this cycle.

        At rest mostly where they are: a stop waits for answers that are on the wire, and these are
        there after 0.6 ms. A change of the error bits, or a figure to be seen again, asks for all.
        """
        core = self._core
        at_rest = core.conductor.job is None
        if core.cycles.ticks % (REST_WIDE_TICKS if at_rest else WIDE_TICKS) == 0:
            return WIDE
        alone = at_rest and not self._suspect and not core.measured.wants_whole
        return PLACES if alone else BLOCK

    def cycle(self) -> None:
        """After each full reading."""
        core = self._core
        if not core.measured.whole:
            return
        job = core.conductor.job
        often = job is None or core.cycles.ticks % LOOK_TICKS == 0
        if not often and self._nothing_new(job):
            return
        if not core.link.ready:
            return
        sag = self.supply.note(core.measured.feedback, core.conductor.job)
        if sag:
            core.note(sag)
        trouble = self.look()
        if trouble is None:
            self._suspect = core.link.remark = ""
        elif self._lasts(trouble):
            self._end_motion(trouble)
        elif job is not None and job.phase in ("plan", "mark"):  # not begun, nor shall it be
            core.conductor.brake(cancelled(code_of(trouble.state), trouble.sentence))
        if often:
            self._warn()

    def _nothing_new(self, motion: object) -> bool:
        """A few comparisons that prove what the look of this cycle would find: nothing."""
        core = self._core
        sight = core.measured.sight
        return (
            sight is not None
            and not self._suspect
            and not any(sight.statuses())
            and max(sight.temperatures()) < TOO_HOT.value
            and self.supply.steady(sight.voltages(), core.link.facts, motion)
        )

    def _lasts(self, trouble: Trouble) -> bool:
        """Latches of the servo count at once, measured figures when they stay."""
        self._looks = self._looks + 1 if trouble.state == self._suspect else 1
        self._suspect = trouble.state
        return trouble.state not in ("hot", "voltage") or self._looks >= LOOKS.value

    def _end_motion(self, trouble: Trouble) -> None:
        core = self._core
        sentence = f"{trouble.sentence} {STATES[trouble.state]}"
        core.conductor.brake(cancelled(code_of(trouble.state), sentence))
        if trouble.state in ("overload", "overcurrent"):
            core.link.remark = AFTER_OVERLOAD
        core.link.doubt(trouble)
        self._suspect = ""

    # --- one servo's registers in turn

    def told(self, servos: Servos) -> None:
        """After a wide look: what the servos were told and still hold; else the next settings.

        Raises PortLost.
        """
        if servos.kept:
            if self._core.link.ready:
                self._judge(servos.kept, servos)
        elif self._core.cycles.ticks % INSPECT_TICKS == INSPECT_TICK and self._core.link.ready:
            self._inspect(servos)

    def _inspect(self, servos: Servos) -> None:
        """Look at the settings of the next servo."""
        core = self._core
        id = SERVO_IDS[self._turn % len(SERVO_IDS)]
        self._turn += 1
        seen = self._inspected(servos, id)
        if seen is None:
            return
        trouble = inspection.changed(id, seen, core.link.facts[id], core.link.calibration)
        if trouble is not None:
            self._end_motion(trouble)

    def _judge(self, kept: Mapping[int, Kept], servos: Servos) -> None:
        """An open lock is worth a warning; a pace that is not ours means a restart or a loss."""
        core = self._core
        self._unlocked = {id for id, servo in kept.items() if not servo.lock}
        if not core.conductor.pinned:
            return
        slow = [id for id, servo in kept.items() if servo[1:3] != PACE]
        if any(started_anew(kept[id]) for id in slow):
            self.torque_lost(list(SERVO_IDS), servos)
        elif slow:
            servos.write_pace(FASTEST_STEPS_PER_S, FULL_ACCELERATION)  # an order was lost
            names = ", ".join(servo_name(id) for id in slow)
            core.note(f"{names} had not taken its pace; it was told again.")

    def _inspected(self, servos: Servos, id: int) -> inspection.Inspection | None:
        where = (inspection.ADDRESS, inspection.COUNT)
        found = servos.master.sync_read((id,), *where, retries=0).get(id)
        return None if found is None else inspection.decode(found.data)

    # --- what stops the arm

    def torque_lost(self, ids: list[int], servos: Servos) -> bool:
        """`ids` may have lost their torque although the arm holds; True when some started anew."""
        anew = []
        for id in ids:
            seen = self._inspected(servos, id)
            if seen is not None and started_anew(seen):
                anew.append(id)
        if anew:
            self._restart(anew)
        return bool(anew)

    def _restart(self, ids: list[int]) -> None:
        core = self._core
        sentence = brown_out_sentence(ids)
        self._restarted.update(ids)
        core.note(sentence)
        moving = core.conductor.moving
        core.conductor.halt(cancelled(Code.SERVO_FAULT, sentence))
        if moving:
            core.stop("brown_out", "core")
        self._warn()

    def jumped(self, servos: Servos) -> None:
        """A joint's position stays where the joint cannot be. Raises PortLost."""
        core, jumps = self._core, self._core.measured.jumps
        id = SERVO_IDS[jumps.place]
        sentence = (
            f"{servo_name(id)} jumped by {jumps.steps} steps within one cycle, further than it can "
            "move, and stays there: its encoder has slipped or lies."
        )
        seen = self._inspected(servos, id)
        jumps.forget()
        core.note(sentence)
        if core.conductor.goal is None or seen is None or not seen.torque:
            return  # limp: a hand or a fall; believed from now on
        facts, calibration = core.link.facts[id], core.link.calibration
        trouble = inspection.changed(id, seen, facts, calibration) or Trouble("encoder", sentence)
        sentence = f"{trouble.sentence} {STATES[trouble.state]}"
        core.conductor.halt(cancelled(code_of(trouble.state), sentence))
        core.stop("encoder", "core")
        core.link.doubt(trouble)

    def silence(self, measured: Measured) -> tuple[Trouble, tuple[int, ...]]:
        """Ten cycles and more without a full reading: what that is, and who still answers."""
        servos = self._core.link.servos
        damaged = [
            id
            for id in measured.gaps
            if servos is not None and servos.master.last_cause(id) in DAMAGED
        ]
        sentence, silent = silence_sentence(measured.gaps, measured.misses, damaged)
        answering = tuple(id for id in SERVO_IDS if id not in silent)
        if not answering:
            return Trouble("disconnected", sentence), ()
        return Trouble("servos_missing" if silent else "lossy", sentence), answering

    # --- for people

    def _warn(self) -> None:
        core = self._core
        if core.conductor.pinned:
            self._restarted.clear()
        self.warnings = " ".join(self._warnings())

    def _warnings(self) -> Iterable[str]:
        core = self._core
        if self._restarted:
            yield brown_out_sentence(sorted(self._restarted))
        if self._unlocked:
            names = ", ".join(servo_name(id) for id in sorted(self._unlocked))
            yield (
                f"{names}: settings were left unlocked, so that any program can change them; they "
                "are locked before the next motion."
            )
        for id, servo in core.measured.feedback.items():
            if servo.temperature >= BACK_OFF.value:
                yield (
                    f"{servo_name(id)} has {servo.temperature} degrees: the arm moves slower and "
                    f"grips weaker, and stops at {TOO_HOT.value:.0f}."
                )
        if self.supply.sag:
            yield self.supply.sag
        if core.link.counters.echoes:
            yield ECHO
        if self._foreign_now():
            yield FOREIGN.strip()

    def _foreign_now(self) -> bool:
        """True for a minute after another program has written to the port."""
        now_s, count = self._core.clock.monotonic(), self._core.link.counters.foreign
        if count != self._foreign:
            self._foreign, self._foreign_s = count, now_s
        return count > 0 and now_s - self._foreign_s < FOREIGN_S

    def read_others(self, servos: Servos) -> None:
        """While somebody is missing the others are read on. Raises PortLost."""
        if self._core.cycles.ticks % LOOK_TICKS:
            return
        found = servos.master.read_block(self._core.link.found, retries=0).servos
        partial = {id: reading.feedback for id, reading in found.items()}
        self._core.measured.partial = partial

    def servos(self) -> dict[str, dict[str, object]]:
        """Every servo: its measurements, how it is, and what the bus has counted."""
        core = self._core
        known = core.measured.feedback or core.measured.partial
        facts = servo_facts(known)
        statistics = core.link.counters.snapshot().servos
        for id in SERVO_IDS:
            row = facts.setdefault(JOINT_NAMES[id - 1], {})
            row["health"] = self._health(id, known.get(id))
            if id in statistics:
                row["bus"] = _counts(statistics[id])
        return facts

    def _health(self, id: int, servo: Feedback | None) -> str:
        link = self._core.link
        if servo is None:
            return "missing" if link.servos is not None and id not in link.found else "unknown"
        trouble = bits_trouble(id, servo.status)
        trouble = trouble or heat_trouble(id, servo.temperature, TOO_HOT.value)
        if trouble is not None:
            return trouble.state
        if link.state in OF_ONE_SERVO and JOINT_NAMES[id - 1] in link.detail:
            return link.state
        if id in self._restarted:
            return "restarted"
        if id in self._unlocked:
            return "unlocked"
        return "warm" if servo.temperature >= BACK_OFF.value else "ok"


def _counts(bus: Any) -> dict[str, object]:
    causes = {str(cause): count for cause, count in bus.causes.items()}
    return {"asked": bus.asked, "answered": bus.answered, "missed": bus.missed, "causes": causes}
