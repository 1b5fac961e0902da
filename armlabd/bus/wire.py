"""Requests out and answers in, with deadlines from byte counts and a quiet line after a miss."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import NamedTuple

from armlabd.bus.counters import Counters
from armlabd.bus.doubt import Doubt
from armlabd.bus.errors import Cause, NoAnswer, PortLost
from armlabd.bus.fixed import FixedRead
from armlabd.bus.frames import BROADCAST_ID, OVERHEAD_BYTES, Frame, FrameScanner
from armlabd.bus.late import LateAnswers
from armlabd.bus.mirror import PROBE, Mirror, foreign
from armlabd.bus.port import Transport
from armlabd.clock import Clock

BITS_PER_BYTE = 10  # start, eight data bits, stop
HURRY_S = 0.0015  # a healthy answer comes this much after the wire allows it: 1.5 USB frames


class Timing(NamedTuple):
    """Where the deadlines come from; all in seconds but `baud` (bits per second).

    A deadline is wire time of request and answers + `return_delay_s` per answering servo + slack.
    """

    baud: int = 1_000_000
    return_delay_s: float = 0.0005  # register 7 allows at most 508 us
    slack_s: float = 0.003  # three 1 ms USB frames: a single attempt has to fit a 10 ms cycle
    patient_slack_s: float = 0.020  # where a retry would cost more than waiting
    flash_s: float = 0.1  # an EEPROM write answers after its flash is done, 21 ms and more
    quiet_s: float = 0.002  # two USB frames without a byte: the line is quiet
    drain_s: float = 0.02  # the longest wait for a quiet line
    late_s: float = 0.5  # the latest an answer may come; 0.12 s has been seen
    probe_s: float = 0.1  # how often a servo that fell silent is tried


class Wire:
    """One transaction at a time on one transport; `late` and the last `causes` are kept here."""

    def __init__(
        self, transport: Transport, clock: Clock, timing: Timing, counters: Counters
    ) -> None:
        self.timing = timing
        self.counters = counters
        self.late = LateAnswers(timing.late_s, timing.probe_s)
        self.mirror = Mirror()
        self.doubt = Doubt()
        self._byte_s = BITS_PER_BYTE / timing.baud
        self._transport = transport
        self._clock = clock
        self._causes: dict[int, Cause] = {}
        self._misses: dict[int, Cause] = {}  # the same without rests
        self._loud = True  # nobody knows what the line carries when we come
        self._line_free_s = 0.0
        # A fixed read that was begun: what was sent and when, there when at the earliest, given up
        # when.
        self._open: tuple[FixedRead, bytes, float, float, float] | None = None
        self._kept: dict[FixedRead, tuple[float, bytes | dict[int, Frame]]] = {}  # what came of it

    def calm(self, ids: tuple[int, ...]) -> bool:
        """True when nothing of earlier transactions can still come from `ids`."""
        if self._loud or self.doubt.counts:
            return False
        return not self.late.owed or not self.late.owes(ids)  # in every cycle: no call without need

    def expect_noise(self) -> None:
        """The line may still carry answers: wait for quiet before the next request."""
        self._loud = True

    def order(self, request: bytes) -> None:
        """Send what nobody answers."""
        self.empty_input()
        self.send(request)

    def transact(
        self, request: bytes, expected: Mapping[int, int], slack_s: float
    ) -> tuple[float, dict[int, Frame]]:
        """Send, collect, count. Returns when it was sent, and the answers by id."""
        self.empty_input()
        self.counters.ask(expected)
        sent_s = self.send(request)
        answer_bytes = sum(expected.values()) + OVERHEAD_BYTES * len(expected)
        deadline_s = self._deadline_s(answer_bytes, len(expected), slack_s)
        return sent_s, self._book(expected, *self.collect(expected, deadline_s, request))

    def begin(self, form: FixedRead, slack_s: float, order: bytes = b"") -> None:
        """Ask for a read that is made every cycle, and go on; `finish` tells what came.

        `order` goes before it, in one write. Whoever uses the line in between first takes in what
        is under way.
        """
        if self._open is None and not self._loud:  # as in nearly every cycle
            self.counters.discarded_bytes += self._transport.discard_input()
        else:
            self.empty_input()
        if self._kept:
            self._kept.pop(form, None)
        request = order + form.request
        sent_s = self.send(request)
        earliest_s = self._line_free_s + form.size * self._byte_s
        late_s = len(form.ids) * self.timing.return_delay_s + slack_s
        self._open = (form, request, sent_s, earliest_s, earliest_s + late_s)

    def finish(self, form: FixedRead) -> tuple[float, bytes | dict[int, Frame]] | None:
        """When this read was asked for and what came; None when it was not begun.

        A regular answer comes back as it is, in bytes. Any other is sorted out, frame by frame, as
        `transact` would have done it. Sleeps while the answer cannot be there yet.
        """
        if self._open is not None:
            self._take_in()
        return self._kept.pop(form, None)

    def send_now(self, request: bytes) -> None:
        """Send what cannot wait: a begun read gets until a healthy answer would be there."""
        if self._open is not None:
            form, sent, sent_s, earliest_s, deadline_s = self._open
            self._open = (form, sent, sent_s, earliest_s, min(deadline_s, earliest_s + HURRY_S))
            with contextlib.suppress(PortLost):  # the write itself then says so
                self._take_in()
        self.send(request)

    def _take_in(self) -> None:
        """Collect the answers of a begun read, if there is one."""
        if self._open is None:
            return
        (form, request, sent_s, earliest_s, deadline_s), self._open = self._open, None
        wait_s = earliest_s - self._clock.monotonic()
        if wait_s > 0.0:
            self._clock.sleep(wait_s)
        data, ended = self._transport.read(deadline_s), False
        while 0 < len(data) < form.size and not ended:
            ended = self._clock.monotonic() >= deadline_s
            more = self._transport.read(deadline_s)
            data, ended = data + more, ended or not more
        if form.is_regular(data):
            if self.mirror.echoes is None:
                self.mirror.clean(request)
            self.counters.count_regular(form, data)
            self._kept[form] = sent_s, data
            return
        self.counters.ask(form.ids)
        found = self.collect(form.expected, deadline_s, request, data, ended or not data)
        self._kept[form] = sent_s, self._book(form.expected, *found)

    def _deadline_s(self, answer_bytes: int, servos: int, slack_s: float) -> float:
        """When to stop waiting for `servos` that answer with that many bytes in all."""
        delays_s = servos * self.timing.return_delay_s
        return self._line_free_s + self._wire_s(answer_bytes) + delays_s + slack_s

    def _book(
        self, expected: Mapping[int, int], answers: dict[int, Frame], causes: dict[int, Cause]
    ) -> dict[int, Frame]:
        """Count what came and what did not, and remember who may still be late."""
        if causes or self.doubt.counts:
            self._weigh(answers, causes)
        now_s = self._clock.monotonic()
        for id, frame in answers.items():
            self.late.answered(id, now_s)
            self.counters.answer(id, frame.error)
        for id, cause in causes.items():
            self.late.missed(id, expected[id], now_s)
            self.count_miss(id, cause)
            self._loud = True
        return answers

    def let_pass(self, request: bytes, expected: Mapping[int, int], slack_s: float) -> None:
        """Send, and let the answers go by unbelieved so that they collide with nothing."""
        self.order(request)
        self.collect(expected, self._line_free_s + slack_s, request)
        self._loud = True

    def collect(
        self,
        expected: Mapping[int, int],
        deadline_s: float,
        request: bytes,
        data: bytes = b"",
        ended: bool = False,
    ) -> tuple[dict[int, Frame], dict[int, Cause]]:
        """Read until all have answered or the deadline has passed; misses come with a cause.

        `data` is what has come already, `ended` that nothing more will.
        """
        scanner = FrameScanner(expected)
        answers: dict[int, Frame] = {}
        doubled: set[int] = set()
        copy = self.mirror.copy_of(request)
        aside: Frame | None = None  # what equals the request
        heard = data
        first = bool(data) or ended
        while first or (len(answers) < len(expected) and not ended):
            if not first:
                # Whoever was kept from the processor past the deadline still gets what has come.
                ended = self._clock.monotonic() >= deadline_s
                data = self._transport.read(deadline_s)
                heard += data
                ended = ended or not data
            first = False
            for frame in scanner.feed(data) + (scanner.finish() if ended else []):
                if copy is not None and aside is None and frame.to_bytes() == copy:
                    aside = frame
                    continue
                if frame.id in answers:
                    doubled.add(frame.id)
                answers[frame.id] = frame
        if aside is None and len(answers) == len(expected):
            if not (doubled or scanner.faults or scanner.skipped_bytes):
                self.mirror.clean(request)
                return answers, {}
        elif aside is not None and self._is_answer(aside, answers):
            answers[aside.id] = aside
        return self._judge(expected, answers, doubled, scanner, _Heard(request, heard, aside))

    def _is_answer(self, aside: Frame, answers: Mapping[int, Frame]) -> bool:
        """Whether what equals the request is an answer all the same. Asks the adapter if need be.

        An answer behind it proves the echo; silence behind it proves nothing.
        """
        if answers:
            self.mirror.echoes = True
        elif self.mirror.echoes is None:
            self._listen_for_echo()
        return self.mirror.echoes is False

    def _listen_for_echo(self) -> None:
        """Ask for somebody who is not there: only an echo answers that."""
        self._transport.discard_input()
        self.send(PROBE)
        deadline_s = self._line_free_s + self.timing.slack_s
        heard = b""
        while data := self._transport.read(deadline_s):
            heard += data
        self.mirror.echoes = PROBE in heard

    def _judge(
        self,
        expected: Mapping[int, int],
        answers: dict[int, Frame],
        doubled: set[int],
        scanner: FrameScanner,
        heard: _Heard,
    ) -> tuple[dict[int, Frame], dict[int, Cause]]:
        """Sort what came into answers and causes, and count the noise."""
        strays = sum(fault.kind == "stray" for fault in scanner.faults)
        noise = scanner.skipped_bytes
        echoed = self.mirror.echoes is not False and heard.aside is not None
        if not echoed and self.mirror.look(heard.request, heard.data):
            echoed = True
            strays -= heard.request[2] != BROADCAST_ID and strays > 0
            noise -= len(heard.request) if heard.request[2] == BROADCAST_ID else 0
        self.counters.echoes += echoed
        self.counters.foreign += noise > 0 and foreign(heard.data)
        self.counters.stray_frames += strays
        self.counters.noise_bytes += noise
        damaged = {fault.id for fault in scanner.faults if fault.kind == "checksum"}
        causes = dict.fromkeys(doubled, Cause.DOUBLED)
        for id in expected:
            if id not in answers:
                causes[id] = _cause(id in damaged, strays > 0, noise > 0, echoed)
        return {id: answers[id] for id in answers if id not in doubled}, causes

    def _weigh(self, answers: dict[int, Frame], causes: dict[int, Cause]) -> None:
        """Take away clean answers of servos that come damaged again and again."""
        for id in [id for id in answers if not self.doubt.believes(id)]:
            del answers[id]
            causes[id] = Cause.DOUBTED
        for id, cause in causes.items():
            if cause in (Cause.CHECKSUM, Cause.DOUBLED):
                self.doubt.damaged(id)

    def send(self, request: bytes) -> float:
        """Write a frame and work out when the line is free again. Returns the time before it."""
        now_s = self._clock.monotonic()
        self._transport.write(request)
        free_s = self._line_free_s if self._line_free_s > now_s else now_s
        self._line_free_s = free_s + len(request) * self._byte_s
        return now_s

    def empty_input(self) -> None:
        """Drop what has arrived; after a miss wait until the line is quiet, for a bounded time."""
        if self._open is not None:
            self._take_in()
        if not self._loud:
            self.counters.discarded_bytes += self._transport.discard_input()
            return
        self.counters.drains += 1
        give_up_s = self._clock.monotonic() + self.timing.drain_s
        while (now_s := self._clock.monotonic()) < give_up_s:
            data = self._transport.read(now_s + self.timing.quiet_s)
            if not data:
                self._loud = False
                return
            self.counters.foreign += foreign(data)
            self.counters.discarded_bytes += len(data)

    def _wire_s(self, count: int) -> float:
        """How long `count` bytes take on the wire."""
        return count * self._byte_s

    def rest(self, id: int) -> None:
        """Remember that `id` was not asked, because it rests."""
        self._causes[id] = Cause.RESTING

    def count_miss(self, id: int, cause: Cause) -> None:
        """Remember and count why an answer did not count."""
        self._causes[id] = self._misses[id] = cause
        self.counters.misses[id, cause] += 1

    def last_cause(self, id: int) -> Cause | None:
        """Why the last answer of `id` that did not count did not; None when all have."""
        return self._misses.get(id)

    def no_answer(self, ids: tuple[int, ...]) -> NoAnswer:
        """The error for `ids` with the last cause of each."""
        return NoAnswer({id: self._causes.get(id, Cause.SILENT) for id in ids})


class _Heard(NamedTuple):
    """All that came after a request, and the frame in it that equals the request."""

    request: bytes
    data: bytes
    aside: Frame | None


def _cause(damaged: bool, strays: bool, noise: bool, echoed: bool) -> Cause:
    """The most telling cause for a missing answer."""
    if damaged:
        return Cause.CHECKSUM
    if strays:
        return Cause.STRAY
    if noise:
        return Cause.GARBLED
    return Cause.ECHO if echoed else Cause.SILENT
