"""From a closed port to six known servos: opened, read and judged, one transaction at a time.

A bring-up only reads. While the latch is set the first frame on a newly opened port is torque-off.
A port or servo that is missing is looked for again, slowly and for ever, with few lines said.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from armlabd.arm.calibration import Calibration
from armlabd.arm.joints import SERVO_IDS
from armlabd.arm.limits import LimitError, Limits
from armlabd.arm.own import own_limits
from armlabd.bus.counters import Counters
from armlabd.bus.errors import SPOKE, NoAnswer, PortError, PortLost
from armlabd.bus.port import Transport
from armlabd.bus.registers import REGISTERS
from armlabd.clock import Clock
from armlabd.motion.chain import servo_name
from armlabd.motion.health import (
    Facts,
    Trouble,
    calibration_trouble,
    facts_of,
    missing_trouble,
    servo_trouble,
)
from armlabd.motion.servos import ARM_IDS, TIMING, Servos
from armlabd.motion.thresholds import COOLED, TOO_HOT

RETRY_S = (0.2, 0.5, 1.0, 2.0)  # between tries, then the last one for ever
EXTRA_IDS = (0, 7, 8)  # ids that a second or misnumbered servo would likely have
LONG_AGO_S = -1e9
SAY_AGAIN_S = 60.0
DOUBT_S = 1.0  # after a trouble in use: the motion comes to rest first
DOUBLE_TRIES = 8
LOSSY = "All six servos are there, but too many of their answers get lost."
STILL_LOSSY_FROM = 2  # a line that was bad has to be good: three in ten lost, and 1 in 10,000 is
LOSSY_FROM = 5  # answers missed by a bring-up of 40: at one in a hundred that never happens
ASK_AGAIN = 2  # pairs of pings for a servo that kept silent twice: it may have been chance,
ASK_AGAIN_LOSSY = 5  # above all where three in ten are lost: 12 in a row are one in 2 million
ASK_AGAIN_S = 0.4  # for all of them together: who rests is tried every 0.1 s at the least
FOREIGN = (
    " Another program writes AT commands to this port: end it (ModemManager does so; tell it to "
    "leave the port alone)."
)

OpenTransport = Callable[[], Transport]
Note = Callable[[str], None]


class Link:
    """The connection to the servos. `servos` is None while the port is closed."""

    def __init__(
        self,
        open_transport: OpenTransport,
        clock: Clock,
        baud: int,
        calibration: Calibration | None,
        limits: Limits,
        note: Note,
    ) -> None:
        self.calibration = calibration
        self.limits = limits
        self.servos: Servos | None = None
        self.state = "absent"
        self.detail = ""
        self.facts: dict[int, Facts] = {}
        self.found: tuple[int, ...] = ()
        self.extra: tuple[int, ...] = ()
        self.torque_found: bool | None = None
        self.limp: tuple[int, ...] = ()  # without torque when it was read, while others had it
        self.connects = 0
        self._open = open_transport
        self._clock = clock
        self._baud = baud
        self._wanted = limits
        self._note = note
        self.remark = ""  # what is known of a servo that then fell silent
        self.on_ready: Callable[[], None] = _nothing  # a calibrated arm answers on this port
        self._counters = Counters()
        self._steps: Generator[None, None, Trouble | None] | None = None
        self._tries = 0
        self._foreign = 0
        self._next_try_s = LONG_AGO_S
        self._said: dict[str, float] = {}

    @property
    def ready(self) -> bool:
        """True when all six servos are known, sound and calibrated."""
        return self.state == "ready"

    @property
    def working(self) -> bool:
        """True while a bring-up is under way: `work` has something to do."""
        return self._steps is not None

    @property
    def reading(self) -> bool:
        """True when the six servos answer, whether or not the arm may move."""
        return self.servos is not None and len(self.found) == len(SERVO_IDS) and not self.working

    @property
    def counters(self) -> Counters:
        """The bus counters, over all reconnections."""
        return self._counters

    def poll(self, now_s: float, first_frame_off: bool) -> bool:
        """Open or judge again when it is time; True when the port was opened just now.

        Raises PortLost when the port goes away at once.
        """
        if self._steps is not None or self.ready or now_s < self._next_try_s:
            return False
        opened = self.servos is None
        servos = self.servos or self._try_open()
        if servos is None:
            return False
        if opened and first_frame_off:
            servos.torque_off()
        self._steps, self._foreign = self._bring_up(servos), self._counters.foreign
        if opened:
            self._say("starting", "")
        return opened

    def hurry(self) -> bool:
        """A stop wants the port now, whatever the pause between two tries says.

        True when it was opened just now; the first frame was torque-off. Never raises.
        """
        if self.servos is not None:
            return False
        now_s = self._next_try_s = self._clock.monotonic()
        try:
            return self.poll(now_s, True)
        except PortLost as lost:
            self.lose(lost.sentence)
            return False

    def work(self) -> None:
        """One transaction of the bring-up. Raises PortLost."""
        if self._steps is None:
            return
        try:
            next(self._steps)
        except StopIteration as done:
            self._steps = None
            self._judged(done.value)

    def lose(self, sentence: str, state: str = "disconnected") -> None:
        """The port went away, or the servos fell silent: close, and look for them again soon."""
        if self.servos is not None:
            self.servos.close()
        self.servos, self._steps = None, None
        self.found = ()
        self.torque_found = None
        self._tries = 0
        self._plan_next()
        self._say(state, sentence)

    def doubt(self, trouble: Trouble, found: tuple[int, ...] = SERVO_IDS) -> None:
        """Something is wrong with servos that answer: say so, and judge them anew soon.

        The port stays open; `found` is who still answers.
        """
        self.found = found
        if self.ready:
            self._tries, self._next_try_s = 0, self._clock.monotonic() + DOUBT_S
        self._say(*trouble)

    def close(self) -> None:
        """Give the port back."""
        if self.servos is not None:
            self.servos.close()
        self.servos, self._steps = None, None

    def _try_open(self) -> Servos | None:
        try:
            transport = self._open()
        except PortError as error:
            self._plan_next()
            lost = self.state == "disconnected" and self._tries < len(RETRY_S)
            self._say("disconnected" if lost else "absent", error.sentence)
            return None
        self.servos = Servos(transport, self._clock, self._baud, self._counters)
        self.connects += 1
        return self.servos

    def _plan_next(self) -> None:
        pause = RETRY_S[min(self._tries, len(RETRY_S) - 1)]
        self._tries += 1
        self._next_try_s = self._clock.monotonic() + pause

    def _judged(self, trouble: Trouble | None) -> None:
        if trouble is None:
            self._tries = 0
            if not self.ready:
                self.on_ready()
            self._say("ready", "")
        else:
            self._plan_next()
            foreign = self._counters.foreign > self._foreign
            remark = self.remark if trouble.state == "servos_missing" else ""
            self._say(trouble.state, trouble.sentence + remark + FOREIGN * foreign)

    def _say(self, state: str, detail: str) -> None:
        """A line only when something has changed: an arm absent for an hour says so once.

        A plug that goes in and out says each thing once a minute.
        """
        line, now_s = f"arm {state}{': ' if detail else ''}{detail}", self._clock.monotonic()
        about = state if state == "lossy" else line  # what gets lost is another answer each time
        recent = now_s - self._said.get(about, LONG_AGO_S) < SAY_AGAIN_S
        if (state, detail) != (self.state, self.detail) and not recent:
            self._said = {old: at for old, at in self._said.items() if now_s - at < SAY_AGAIN_S}
            self._said[about] = now_s
            self._note(line)
        self.state, self.detail = state, detail

    # --- one bring-up

    def _bring_up(self, servos: Servos) -> Generator[None, None, Trouble | None]:
        missed = {id: self._missed(id) for id in (0, *SERVO_IDS)}
        yield from self._find(servos)
        if not self.found or len(self.extra) == len(EXTRA_IDS):  # all of them: that is an echo
            from armlabd.bus.stranger import listen  # rarely wanted, and the core stays small

            stranger = yield from listen(servos.transport, self._clock)
            if stranger is not None:
                self.found = self.extra = ()
                return Trouble("wrong_device", stranger)
        trouble = missing_trouble(self.found, self.extra, self._volts(servos))
        if trouble is not None:
            _, double = _double(self.found, servos)
            return trouble._replace(sentence=f"{trouble.sentence} {double}".strip())
        yield
        low = servos.master.sync_read(SERVO_IDS, 0, 22)
        yield
        high = servos.master.sync_read(SERVO_IDS, 30, 11)
        yield
        lock = servos.master.sync_read(SERVO_IDS, REGISTERS["lock"].address, 1)
        yield
        feedback = {id: found for id, (found, _) in servos.feedback(retries=2).items()}
        if not len(low) == len(high) == len(lock) == len(feedback) == len(SERVO_IDS):
            id, double = _double(SERVO_IDS, servos)
            self.found = tuple(id for id in SERVO_IDS if id in low and id in high and id in lock)
            if double and self._missed(id) - missed[id] < LOSSY_FROM:  # the others are well
                return Trouble("duplicate_id", double)
            return Trouble("lossy", LOSSY)  # each of them has answered a moment ago
        self.facts = {
            id: facts_of(low[id].data, high[id].data)._replace(lock=lock[id].data[0])
            for id in SERVO_IDS
        }
        limp = tuple(id for id, servo in self.facts.items() if not servo.torque)
        self.torque_found = len(limp) < len(SERVO_IDS)
        self.limp = limp if self.torque_found else ()
        return (
            servo_trouble(self.facts, feedback, self._hot_from_c())
            or calibration_trouble(self.facts, self.calibration)
            or self._narrow_travel()
            or (
                Trouble("lossy", LOSSY)
                if self._missed() - missed[0] >= self._lossy_from()
                else None
            )
        )

    def _find(self, servos: Servos) -> Generator[None, None, None]:
        found, extra = [], []
        for id in SERVO_IDS:
            if self._answers(servos, id, 1):
                found.append(id)
            yield
        for id in EXTRA_IDS:
            if self._answers(servos, id, 0):
                extra.append(id)
            yield
        if found:  # on a bad line a servo may keep silent by chance
            until_s = self._clock.monotonic() + ASK_AGAIN_S
            for id in set(SERVO_IDS) - set(found):
                answers = yield from self._answers_after_all(servos, id, until_s)
                found += [id] if answers else []
        self.found, self.extra = tuple(sorted(found)), tuple(extra)

    def _answers_after_all(
        self, servos: Servos, id: int, until_s: float
    ) -> Generator[None, None, bool]:
        """Ask a silent servo again, once at least: others may have used up the time.

        While it rests nobody asks it, which tells nothing.
        """
        pairs = ASK_AGAIN_LOSSY if self.state == "lossy" else ASK_AGAIN
        while pairs > 0:
            rest_s = servos.master.rest_s(id)
            self._clock.sleep(min(rest_s, TIMING.probe_s))
            if self._answers(servos, id, 1):
                return True
            pairs -= rest_s <= TIMING.probe_s
            yield
            if self._clock.monotonic() >= until_s:
                break
        return False

    def _missed(self, but: int = 0) -> int:
        """How many answers of the six servos were missed so far, one servo's left out."""
        servos = self._counters.snapshot().servos
        return sum(servos[id].missed for id in SERVO_IDS if id in servos and id != but)

    def _answers(self, servos: Servos, id: int, retries: int) -> bool:
        try:
            servos.master.ping(id, retries=retries)
        except NoAnswer:  # who says something damaged is there all the same
            return retries > 0 and servos.master.last_cause(id) in SPOKE
        return True

    def _lossy_from(self) -> int:
        return STILL_LOSSY_FROM if self.state == "lossy" else LOSSY_FROM

    def _hot_from_c(self) -> float:
        return COOLED.value if self.state == "hot" else TOO_HOT.value

    def _volts(self, servos: Servos) -> float | None:
        """The lowest supply voltage that those who answer see, while others are missing."""
        if not self.found or len(self.found) == len(SERVO_IDS):
            return None
        seen = servos.master.read_block(self.found, retries=0).servos.values()
        return min((one.feedback.voltage / 10 for one in seen), default=None)

    def _narrow_travel(self) -> Trouble | None:
        """Limits no wider than what the calibration measured, and its floor."""
        assert self.calibration is not None
        try:
            self.limits = own_limits(self._wanted, self.calibration)
        except LimitError as error:
            return Trouble("not_calibrated", error.sentence)
        return None

    @property
    def p_gains(self) -> tuple[int, ...]:
        """How hard the servos of the arm push (register 21, 1 to 254); 32 where that is unknown."""
        return tuple(max(1, self.facts[id].p_gain) if id in self.facts else 32 for id in ARM_IDS)

    def report(self) -> dict[str, Any]:
        """What bring-up found, for status."""
        return {
            "found": list(self.found),
            "extra": list(self.extra),
            "firmware": sorted({servo.firmware for servo in self.facts.values()}),
            "connects": self.connects,
            "unlocked": [id for id, servo in self.facts.items() if not servo.lock],
        }


def _double(ids: tuple[int, ...], servos: Servos) -> tuple[int, str]:
    """The first servo of `ids` that answers, and always damaged, with a sentence; 0 for none."""
    for id in ids:
        answered = 0
        for _ in range(DOUBLE_TRIES):
            answered += len(servos.master.read_block((id,), retries=0).servos)
        if not answered and servos.master.last_cause(id) in SPOKE:
            return id, (
                f"{servo_name(id)} is there, but everything it says comes damaged, as when two "
                f"servos have the id {id}."
            )
    return 0, ""


def _nothing() -> None:
    """Nobody wants to know."""
