"""Bytes on the wire to one frame and back, nothing else: no port, no time, no registers.

A frame is FF FF, id, length, instruction (or error bits in an answer), parameters, checksum.
Length counts the parameters plus two. Instruction and status frames have the same shape, so one
`Frame` and one scanner serve the master, the virtual servo and the tests.
Source: Feetech protocol manual V1.01 and the vendor libraries, which agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

HEADER = b"\xff\xff"
BROADCAST_ID = 254
MAX_SERVO_ID = 253
MAX_FRAME_BYTES = 250  # the vendor libraries' limit for a whole frame
OVERHEAD_BYTES = 6  # header, id, length, fifth byte, checksum
MAX_PARAMS = MAX_FRAME_BYTES - OVERHEAD_BYTES
MAX_ERROR_BITS = 0x7F  # a servo never sets bit 7; a larger fifth byte of an answer is noise


class Instruction(IntEnum):
    """The fifth byte of a request."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    REG_WRITE = 0x04  # kept by the servo until ACTION
    ACTION = 0x05
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83


class Frame(NamedTuple):
    """One frame; `error` holds the fifth byte: error bits of an answer, or the instruction."""

    id: int
    error: int
    params: bytes

    @property
    def instruction(self) -> int:
        """The fifth byte read as an instruction."""
        return self.error

    def to_bytes(self) -> bytes:
        """The frame as it travels."""
        return encode(self.id, self.error, self.params)


class Fault(NamedTuple):
    """A candidate that the scanner turned down: `kind` is "checksum" or "stray"."""

    kind: str
    id: int


def checksum(body: bytes) -> int:
    """Checksum of `body`, which runs from the id to the last parameter: low byte of NOT(sum)."""
    return ~sum(body) & 0xFF


def encode(id: int, instruction: int, params: bytes = b"") -> bytes:
    """One whole frame. `instruction` may be error bits: a status frame has the same shape.

    Raises ValueError for an id outside 0..254, a fifth byte outside 0..255 or too many parameters.
    """
    if not 0 <= id <= BROADCAST_ID:
        raise ValueError(f"A servo id is 0 to 253, or 254 for all; {id} is not.")
    if not 0 <= instruction <= 0xFF:
        raise ValueError(f"An instruction is one byte, 0 to 255; {instruction} is not.")
    if len(params) > MAX_PARAMS:
        raise ValueError(f"A frame carries at most {MAX_PARAMS} parameters; got {len(params)}.")
    body = bytes((id, len(params) + 2, instruction)) + params
    return HEADER + body + bytes((checksum(body),))


def ping(id: int) -> bytes:
    """Ask whether `id` is there. The answer carries no data."""
    return encode(id, Instruction.PING)


def read(id: int, address: int, count: int) -> bytes:
    """Ask `id` for `count` bytes of its table from `address`."""
    return encode(id, Instruction.READ, bytes((address, count)))


def write(id: int, address: int, data: bytes) -> bytes:
    """Write `data` to the table of `id` from `address`; 254 writes to all and none answers."""
    return encode(id, Instruction.WRITE, bytes((address,)) + data)


def reg_write(id: int, address: int, data: bytes) -> bytes:
    """Like `write`, but carried out only at `action`."""
    return encode(id, Instruction.REG_WRITE, bytes((address,)) + data)


def action(id: int = BROADCAST_ID) -> bytes:
    """Carry out the writes that wait; sent to all by default, and then none answers."""
    return encode(id, Instruction.ACTION)


def sync_read(ids: Iterable[int], address: int, count: int) -> bytes:
    """Ask several servos for the same bytes; they answer one after the other in this order."""
    wanted = tuple(ids)
    _refuse_doubles(wanted)
    return encode(BROADCAST_ID, Instruction.SYNC_READ, bytes((address, count, *wanted)))


def sync_write(address: int, data: Mapping[int, bytes]) -> bytes:
    """Write to several servos at once, the same number of bytes to each. None answers.

    Raises ValueError when nothing is to be written or the lengths differ.
    """
    _refuse_doubles(tuple(data))
    sizes = {len(part) for part in data.values()}
    if len(sizes) != 1:
        raise ValueError("A sync write carries the same number of bytes for every servo.")
    parts = b"".join(bytes((id,)) + part for id, part in data.items())
    return encode(BROADCAST_ID, Instruction.SYNC_WRITE, bytes((address, sizes.pop())) + parts)


def _refuse_doubles(ids: tuple[int, ...]) -> None:
    """Raise ValueError for no ids, a double id, or one that no servo can have."""
    if not ids:
        raise ValueError("Name at least one servo.")
    if len(set(ids)) != len(ids) or not all(0 <= id <= MAX_SERVO_ID for id in ids):
        raise ValueError(f"Servo ids are 0 to 253, each named once; got {list(ids)}.")


class FrameScanner:
    """Finds whole frames in a stream that may hold noise, spare FF bytes and torn frames.

    FF FF alone proves nothing, for it may stand inside data. A frame is one whose id is plausible,
    whose length is the expected one and whose checksum fits; a candidate that fails costs one byte,
    never a frame behind it.

    `expected` maps each id that may answer to its number of parameters; None takes any frame.
    `requests` reads the master's side of the wire: id 254 and any fifth byte are then plausible.
    """

    def __init__(
        self, expected: Mapping[int, int] | None = None, *, requests: bool = False
    ) -> None:
        self._expected = expected
        self._max_id = BROADCAST_ID if requests else MAX_SERVO_ID
        self._max_fifth = 0xFF if requests else MAX_ERROR_BITS
        self._buffer = b""
        self.skipped_bytes = 0
        self.faults: list[Fault] = []

    @property
    def pending_bytes(self) -> int:
        """How many bytes wait for the rest of a frame."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[Frame]:
        """Take bytes as they come; returns the frames that are now whole, in order."""
        self._buffer += data
        return self._scan()

    def finish(self) -> list[Frame]:
        """No more bytes will come: give up torn candidates and return the frames behind them."""
        found: list[Frame] = []
        while len(self._buffer) > len(HEADER):
            self._skip(1)
            found += self._scan()
        self._skip(len(self._buffer))
        return found

    def clear(self) -> None:
        """Forget the bytes that wait and what was counted."""
        self._buffer = b""
        self.skipped_bytes = 0
        self.faults = []

    def _skip(self, count: int) -> None:
        """Drop `count` bytes as noise."""
        self._buffer = self._buffer[count:]
        self.skipped_bytes += count

    def _scan(self) -> list[Frame]:
        """Take whole frames off the front; stops at a candidate whose end has not come."""
        found: list[Frame] = []
        while True:
            start = self._buffer.find(HEADER)
            if start < 0:
                # A last FF may be the first half of a header.
                self._skip(len(self._buffer) - self._buffer.endswith(b"\xff"))
                return found
            if start:
                self._skip(start)
            frame = self._candidate()
            if frame is None:
                return found
            if frame:
                found.append(frame)

    def _candidate(self) -> Frame | tuple[()] | None:
        """The frame at the front; () when it was turned down; None when its end is missing."""
        buffer = self._buffer
        if not self._plausible(buffer):
            self._skip(1)
            return ()
        if len(buffer) < OVERHEAD_BYTES or len(buffer) < buffer[3] + 4:
            return None
        end = buffer[3] + 4
        id = buffer[2]
        if checksum(buffer[2 : end - 1]) != buffer[end - 1]:
            if self._is_expected(id, end - OVERHEAD_BYTES):
                self.faults.append(Fault("checksum", id))
            self._skip(1)
            return ()
        if not self._is_expected(id, end - OVERHEAD_BYTES):
            self.faults.append(Fault("stray", id))
            self._skip(end)
            return ()
        self._buffer = buffer[end:]
        return Frame(id, buffer[4], buffer[5 : end - 1])

    def _plausible(self, buffer: bytes) -> bool:
        """False as soon as the bytes that are here cannot be the head of a frame."""
        have = len(buffer)
        if have > 2 and buffer[2] > self._max_id:
            return False
        if have > 3 and not 2 <= buffer[3] <= MAX_PARAMS + 2:
            return False
        return have <= 4 or buffer[4] <= self._max_fifth

    def _is_expected(self, id: int, count: int) -> bool:
        """True when a frame of this id and number of parameters may come."""
        return self._expected is None or self._expected.get(id) == count


def decode(buffer: bytes, *, requests: bool = False) -> tuple[Frame | None, int]:
    """The first frame in `buffer` and how many bytes it and the noise before it took.

    (None, used) when no whole frame is there; `used` then counts only bytes that are surely noise.
    """
    scanner = FrameScanner(requests=requests)
    for used in range(1, len(buffer) + 1):
        if frames := scanner.feed(buffer[used - 1 : used]):
            return frames[0], used
    return None, len(buffer) - scanner.pending_bytes
