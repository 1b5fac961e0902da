"""Six virtual servos on one half-duplex wire: who hears what, who answers when, what collides.

Every byte takes 10 us (1 Mbit/s), both ways. A request acts when its last byte has arrived. Bytes
that come in while an answer is on the wire destroy that answer and are destroyed themselves.
Answers that follow each other without a gap are handed over together, when the last byte of them
is through, as a USB adapter does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Final, NamedTuple

from armlabd.bus.frames import BROADCAST_ID, HEADER, Instruction, checksum
from armlabd.sim.chatter import Burst, Chatter
from armlabd.sim.faults import BusFaults
from armlabd.sim.servo import VirtualServo
from armlabd.sim.stamps import StampRing, goal_in, kind_of

BYTE_S: Final = 10e-6  # 8N1 at 1 Mbit/s
SILENCE_S: Final = 0.005  # a torn request is forgotten after this long
TURNAROUND_S: Final = 20e-6  # from the end of a request to the first byte of an answer
SLOT_GAP_S: Final = 1e-6


class Answer(NamedTuple):
    """Bytes on their way to the master: on the wire from `start_s` to `end_s`."""

    start_s: float
    end_s: float
    data: bytes
    deliver_s: float


class VirtualBus:
    """The wire and the servos on it. Time is given with every call and must not run backwards.

    `before(now_s)` is called before a request acts, so that physics can catch up.
    """

    def __init__(
        self,
        servos: Sequence[VirtualServo],
        *,
        faults: BusFaults | None = None,
        before: Callable[[float], None] | None = None,
    ) -> None:
        self.servos = tuple(servos)
        self.faults = faults if faults is not None else BusFaults()
        self.chatter = Chatter(self.faults.seed)
        self.stamps = StampRing()
        self.collisions = 0
        self.bad_frames = 0
        self._before = before
        self._pending: list[Answer] = []
        self._buffer = b""
        self._heard_s = 0.0  # when the last byte in the buffer arrived
        self._busy_from_s = self._busy_until_s = 0.0  # answers on the wire

    # --- the master's side

    def feed(self, data: bytes, now_s: float) -> list[tuple[float, bytes]]:
        """Bytes that the master starts to send at `now_s`.

        Returns (when, bytes) of what this call put on its way; `take_due` hands it over.
        """
        if self.faults.frozen or not data:
            return []
        start_s = max(now_s, self._heard_s)
        if start_s - self._heard_s > SILENCE_S:
            self._buffer = b""
        known = set(map(id, self._pending))
        data, start_s = self._collide(data, start_s)
        self._buffer += data
        self._heard_s = start_s + len(data) * BYTE_S
        if self.faults.echo and data:
            self._deliver(Answer(start_s, self._heard_s, data, self._heard_s))
        while (frame := self._next_frame()) is not None:
            self._act(frame, self._heard_s - len(self._buffer) * BYTE_S)
            if self._buffer:
                rest, rest_start = self._buffer, self._heard_s - len(self._buffer) * BYTE_S
                self._buffer, _ = self._collide(rest, rest_start)
        return [(a.deliver_s, a.data) for a in self._pending if id(a) not in known]

    def next_due_s(self) -> float | None:
        """When the next bytes reach the master; None when none are on their way."""
        due_s = self._pending[0].deliver_s if self._pending else None
        talk_s = self.chatter.next_s()
        return min((at_s for at_s in (due_s, talk_s) if at_s is not None), default=None)

    def take_due(self, now_s: float) -> bytes:
        """The bytes that have reached the master by `now_s`."""
        if not self.chatter.quiet:
            for burst in self.chatter.due(now_s):
                self._interrupt(burst)
        due = [a for a in self._pending if a.deliver_s <= now_s]
        if due:
            self._pending = [a for a in self._pending if a.deliver_s > now_s]
        return b"".join(a.data for a in due)

    def silence(self) -> None:
        """Forget everything that is on the wire (unplugged, power cycled)."""
        self._pending.clear()
        self._buffer = b""
        self._busy_until_s = 0.0

    # --- collisions

    def _collide(self, data: bytes, start_s: float) -> tuple[bytes, float]:
        """Drop what overlaps the answers on the wire; returns what is left and when it starts."""
        end_s = start_s + len(data) * BYTE_S
        if not data or start_s >= self._busy_until_s or end_s <= self._busy_from_s:
            return data, start_s
        self.collisions += 1
        hit_s = max(start_s, self._busy_from_s)
        self._pending = [a for a in self._pending if a.end_s <= hit_s]
        lost = min(len(data), ceil((self._busy_until_s - start_s) / BYTE_S - 1e-6))
        self._buffer = b""
        return data[lost:], start_s + lost * BYTE_S

    def _interrupt(self, burst: Burst) -> None:
        """Bytes of somebody else: what they meet is destroyed, and all of it is heard."""
        self._pending = [
            answer._replace(data=bytes(byte & burst.data[0] for byte in answer.data))
            if answer.start_s < burst.end_s and burst.start_s < answer.end_s
            else answer
            for answer in self._pending
        ]
        self._deliver(Answer(burst.start_s, burst.end_s, burst.data, burst.start_s))

    def _deliver(self, answer: Answer) -> None:
        self._pending.append(answer)
        self._pending.sort(key=lambda waiting: waiting.deliver_s)

    # --- requests

    @property
    def listening(self) -> list[VirtualServo]:
        """The servos that the wire reaches."""
        return [servo for servo in self.servos if servo.id not in self.faults.cut]

    def _next_frame(self) -> tuple[int, int, bytes] | None:
        """Take (id, instruction, parameters) of the next whole request off the buffer."""
        while True:
            start = self._buffer.find(HEADER)
            if start < 0:
                self._buffer = self._buffer[-1:] if self._buffer.endswith(b"\xff") else b""
                return None
            buffer = self._buffer = self._buffer[start:]
            if len(buffer) < 4:
                return None
            if buffer[2] == 0xFF or buffer[3] < 2:
                self._buffer = buffer[1:]
                continue
            end = buffer[3] + 4
            if len(buffer) < end:
                return None
            if checksum(buffer[2 : end - 1]) != buffer[end - 1]:
                self.bad_frames += 1
                self._buffer = buffer[1:]
                continue
            self._buffer = buffer[end:]
            return buffer[2], buffer[4], buffer[5 : end - 1]

    def _act(self, frame: tuple[int, int, bytes], at_s: float) -> None:
        target, instruction, params = frame
        self._stamp(target, instruction, params, at_s)
        if self._before is not None:
            self._before(at_s)
        if instruction == Instruction.SYNC_READ:
            self._sync_read(params, at_s)
        elif instruction == Instruction.SYNC_WRITE:
            self._sync_write(params)
        elif target == BROADCAST_ID:
            self._broadcast(instruction, params, at_s)
        else:
            found = [s.handle(instruction, params) for s in self.listening if s.id == target]
            self._send(found, at_s)

    def _broadcast(self, instruction: int, params: bytes, at_s: float) -> None:
        """All do it; only a ping is answered, in the order of the ids."""
        ordered = sorted(self.listening, key=lambda servo: servo.id)
        answers = [servo.handle(instruction, params) for servo in ordered]
        if instruction == Instruction.PING:
            self._send(answers, at_s)

    def _sync_read(self, params: bytes, at_s: float) -> None:
        """Each servo named answers in the order named; a missing one is passed over."""
        by_id = {servo.id: servo for servo in self.listening}
        named = [by_id[i] for i in params[2:] if i in by_id]
        self._send([s.handle(Instruction.READ, params[:2]) for s in named], at_s)

    def _sync_write(self, params: bytes) -> None:
        for servo_id, data in _parts(params):
            for servo in self.listening:
                if servo.id == servo_id:
                    servo.write(params[0], data)

    # --- answers

    def _send(self, frames: Sequence[bytes | None], at_s: float) -> None:
        """Put answers on the wire one behind the other."""
        present = [f for f in frames if f is not None and not self.faults.loses(f[2])]
        if not present:
            return
        clock_s = max(at_s + TURNAROUND_S, self._busy_until_s)
        train: list[tuple[float, float, bytes]] = []
        by_id = {servo.id: servo for servo in self.servos}
        for frame in present:
            owner = by_id.get(frame[2])
            clock_s += owner.return_delay_s if owner is not None else 0.0
            data = self.faults.spoil(frame)
            train.append((clock_s, clock_s + len(data) * BYTE_S, data))
            clock_s = train[-1][1] + SLOT_GAP_S
        self._busy_from_s, self._busy_until_s = train[0][0], train[-1][1]
        # A late answer was on the wire in time and is held up on its way to the program, so it
        # turns up in the middle of later requests without colliding with them.
        deliver_s = train[-1][1] + self.faults.delay_s()
        self._pending += [Answer(start, end, data, deliver_s) for start, end, data in train]
        self._pending.sort(key=lambda answer: answer.deliver_s)

    # --- stamps

    def _stamp(self, target: int, instruction: int, params: bytes, at_s: float) -> None:
        if instruction == Instruction.SYNC_WRITE:
            self._stamp_sync(params, at_s)
        elif instruction in (Instruction.WRITE, Instruction.REG_WRITE) and len(params) > 1:
            kind = kind_of(params[0], params[1:])
            if kind is not None:
                everyone = target == BROADCAST_ID
                ids = [s.id for s in self.servos] if everyone else [target]
                values = [goal_in(params[0], params[1:])] * len(ids)
                self.stamps.add(kind, at_s, ids, everyone, values)

    def _stamp_sync(self, params: bytes, at_s: float) -> None:
        kinds: dict[str, dict[int, int | None]] = {}
        for servo_id, data in _parts(params):
            kind = kind_of(params[0], data)
            if kind is not None:
                kinds.setdefault(kind, {})[servo_id] = goal_in(params[0], data)
        for kind, values in kinds.items():
            self.stamps.add(kind, at_s, list(values), True, list(values.values()))


def _parts(params: bytes) -> list[tuple[int, bytes]]:
    """(id, data) of a sync write's parameters: address, length, then id and data in turn."""
    if len(params) < 3:
        return []
    stride = params[1] + 1
    body = params[2:]
    whole = len(body) // stride * stride
    return [(body[i], body[i + 1 : i + stride]) for i in range(0, whole, stride)]
