"""Requests out and answers in, with deadlines from byte counts and a quiet line after a miss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from armlabd.bus.counters import Counters
from armlabd.bus.errors import Cause, NoAnswer
from armlabd.bus.frames import OVERHEAD_BYTES, Frame, FrameScanner
from armlabd.bus.late import LateAnswers
from armlabd.bus.port import Transport
from armlabd.clock import Clock

BITS_PER_BYTE = 10  # start, eight data bits, stop


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
        self._transport = transport
        self._clock = clock
        self._causes: dict[int, Cause] = {}
        self._loud = True  # nobody knows what the line carries when we come
        self._line_free_s = 0.0

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
        delays_s = len(expected) * self.timing.return_delay_s
        deadline_s = self._line_free_s + self._wire_s(answer_bytes) + delays_s + slack_s
        answers, causes = self.collect(expected, deadline_s)
        now_s = self._clock.monotonic()
        for id, frame in answers.items():
            self.late.answered(id, now_s)
            self.counters.answer(id, frame.error)
        for id, cause in causes.items():
            self.late.missed(id, expected[id], now_s)
            self.count_miss(id, cause)
            self._loud = True
        return sent_s, answers

    def let_pass(self, request: bytes, expected: Mapping[int, int], slack_s: float) -> None:
        """Send, and let the answers go by unbelieved so that they collide with nothing."""
        self.order(request)
        self.collect(expected, self._line_free_s + slack_s)
        self._loud = True

    def collect(
        self, expected: Mapping[int, int], deadline_s: float
    ) -> tuple[dict[int, Frame], dict[int, Cause]]:
        """Read until all have answered or the deadline has passed; misses come with a cause."""
        scanner = FrameScanner(expected)
        answers: dict[int, Frame] = {}
        doubled: set[int] = set()
        ended = False
        while len(answers) < len(expected) and not ended:
            # Whoever was kept from the processor past the deadline still gets what has come.
            ended = self._clock.monotonic() >= deadline_s
            data = self._transport.read(deadline_s)
            ended = ended or not data
            for frame in scanner.feed(data) + (scanner.finish() if ended else []):
                if frame.id in answers:
                    doubled.add(frame.id)
                answers[frame.id] = frame
        if len(answers) == len(expected) and not (
            doubled or scanner.faults or scanner.skipped_bytes
        ):
            return answers, {}
        return self._judge(expected, answers, doubled, scanner)

    def _judge(
        self,
        expected: Mapping[int, int],
        answers: dict[int, Frame],
        doubled: set[int],
        scanner: FrameScanner,
    ) -> tuple[dict[int, Frame], dict[int, Cause]]:
        """Sort what came into answers and causes, and count the noise."""
        strays = sum(fault.kind == "stray" for fault in scanner.faults)
        self.counters.stray_frames += strays
        self.counters.noise_bytes += scanner.skipped_bytes
        damaged = {fault.id for fault in scanner.faults if fault.kind == "checksum"}
        causes = dict.fromkeys(doubled, Cause.DOUBLED)
        for id in expected:
            if id not in answers:
                causes[id] = _cause(id in damaged, strays > 0, scanner.skipped_bytes > 0)
        return {id: answers[id] for id in answers if id not in doubled}, causes

    def send(self, request: bytes) -> float:
        """Write a frame and work out when the line is free again. Returns the time before it."""
        now_s = self._clock.monotonic()
        self._transport.write(request)
        self._line_free_s = max(now_s, self._line_free_s) + self._wire_s(len(request))
        return now_s

    def empty_input(self) -> None:
        """Drop what has arrived; after a miss wait until the line is quiet, for a bounded time."""
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
            self.counters.discarded_bytes += len(data)

    def _wire_s(self, count: int) -> float:
        """How long `count` bytes take on the wire."""
        return count * BITS_PER_BYTE / self.timing.baud

    def rest(self, id: int) -> None:
        """Remember that `id` was not asked, because it rests."""
        self._causes[id] = Cause.RESTING

    def count_miss(self, id: int, cause: Cause) -> None:
        """Remember and count why an answer did not count."""
        self._causes[id] = cause
        self.counters.misses[id, cause] += 1

    def no_answer(self, ids: tuple[int, ...]) -> NoAnswer:
        """The error for `ids` with the last cause of each."""
        return NoAnswer({id: self._causes.get(id, Cause.SILENT) for id in ids})


def _cause(damaged: bool, strays: bool, noise: bool) -> Cause:
    """The most telling cause for a missing answer."""
    if damaged:
        return Cause.CHECKSUM
    if strays:
        return Cause.STRAY
    return Cause.GARBLED if noise else Cause.SILENT
