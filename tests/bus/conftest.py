"""Six scripted servos in memory, in virtual time, with a hook for every kind of fault."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from armlabd.bus import frames, registers
from armlabd.bus.errors import PortLost
from armlabd.bus.frames import BROADCAST_ID, Frame, FrameScanner, Instruction
from armlabd.bus.master import Master
from armlabd.clock import VirtualClock

IDS = (1, 2, 3, 4, 5, 6)
POSITION = registers.REGISTERS["present_position"].address
LOCK = registers.REGISTERS["lock"].address
Fault = Callable[[int, bytes], list[tuple[float, bytes]]]  # id, answer -> (delay_s, bytes)


class ScriptedBus:
    """A `Transport` whose servos put the number of the request into their position.

    `truth[id]` is the position the latest request was answered with: anything else is stale.
    `fifo` keeps a late answer in front of the servo's later ones, as a real wire does.
    """

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.tables = {id: bytearray(registers.TABLE_BYTES) for id in IDS}
        self.errors = dict.fromkeys(IDS, 0)
        self.truth = dict.fromkeys(IDS, -1)
        self.fault: Fault = lambda id, answer: [(0.0, answer)]
        self.fifo = True
        self.requests: list[Frame] = []
        self.wire: list[tuple[float, bytes]] = []
        self.lost = False
        self.closed = False
        self.eeprom_works = True
        for id in IDS:
            self.tables[id][5], self.tables[id][LOCK] = id, 1
        self._reads = 0

    def write(self, data: bytes) -> None:
        self._check()
        self.clock.sleep(len(data) * 1e-5)
        for frame in FrameScanner(requests=True).feed(data):
            self.requests.append(frame)
            self._handle(frame)

    def read(self, deadline_s: float) -> bytes:
        self._check()
        self._reads += 1
        assert self._reads < 1_000_000, "the master spins"
        due = min((at for at, _ in self.wire), default=deadline_s + 1)
        if due > max(deadline_s, self.clock.monotonic()):
            self.clock.advance_to(deadline_s)
            return b""
        self.clock.advance_to(due)
        return self._take()

    def discard_input(self) -> int:
        self._check()
        return len(self._take())

    def close(self) -> None:
        self.closed = True

    def _check(self) -> None:
        if self.lost:
            raise PortLost("The serial port is lost.")

    def _take(self) -> bytes:
        now = self.clock.monotonic()
        here = sorted((part for part in self.wire if part[0] <= now), key=lambda part: part[0])
        self.wire = [part for part in self.wire if part[0] > now]
        return b"".join(data for _, data in here)

    def _handle(self, frame: Frame) -> None:
        if frame.instruction == Instruction.SYNC_READ:
            for id in frame.params[2:]:
                self._read(id, frame.params[0], frame.params[1])
        elif frame.instruction == Instruction.READ:
            self._read(frame.id, frame.params[0], frame.params[1])
        elif frame.instruction == Instruction.PING:
            self._answer(frame.id, b"")
        elif frame.instruction in (Instruction.WRITE, Instruction.REG_WRITE):
            self._write(frame)

    def _read(self, id: int, address: int, count: int) -> None:
        if id not in self.tables:
            return
        self.truth[id] = len(self.requests)
        self.tables[id][POSITION : POSITION + 2] = self.truth[id].to_bytes(2, "little")
        self._answer(id, bytes(self.tables[id][address : address + count]))

    def _write(self, frame: Frame) -> None:
        address, data = frame.params[0], frame.params[1:]
        for id in list(self.tables) if frame.id == BROADCAST_ID else [frame.id]:
            if id not in self.tables:
                continue
            if address >= 40 or self.eeprom_works:
                self.tables[id][address : address + len(data)] = data
            if frame.id != BROADCAST_ID:
                self._answer(id, b"")
            if address == 5:
                self.tables[data[0]] = self.tables.pop(id)
                self.errors[data[0]] = 0

    def _answer(self, id: int, data: bytes) -> None:
        if id not in self.tables:
            return
        answer = frames.encode(id, self.errors[id], data)
        for delay_s, part in self.fault(id, answer):
            last = max((at for at, _ in self.wire), default=0.0)
            start = max(self.clock.monotonic(), last if self.fifo else 0.0)
            at = start + delay_s + len(part) * 1e-5
            self.wire.append((at, part))


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(100.0)


@pytest.fixture
def bus(clock: VirtualClock) -> ScriptedBus:
    return ScriptedBus(clock)


@pytest.fixture
def master(bus: ScriptedBus, clock: VirtualClock) -> Master:
    return Master(bus, clock)
