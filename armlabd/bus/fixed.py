"""The read that a fixed cycle repeats: the request made once, the regular answer known as a whole.

Six servos asked for the same bytes answer with a block whose shape is known to the last byte. When
the block is exactly that (headers, ids in order, lengths, error bits, every checksum, no byte too
many) its frames are what `FrameScanner` would find in it, and looking for them one by one would
only cost time. Anything else is not judged here: it goes to the scanner.
"""

from __future__ import annotations

from collections.abc import Iterable

from armlabd.bus.frames import MAX_ERROR_BITS, OVERHEAD_BYTES, sync_read

_FIRST_PARAM = 5  # header, id, length, error bits come before it


class FixedRead:
    """`count` bytes from `address` of servos `ids`, in that order. Nothing in it changes."""

    __slots__ = (
        "_all_ff",
        "_ids",
        "_lengths",
        "address",
        "count",
        "expected",
        "frame_bytes",
        "ids",
        "no_errors",
        "request",
        "size",
    )

    def __init__(self, ids: Iterable[int], address: int, count: int) -> None:
        self.ids = tuple(ids)
        self.address = address
        self.count = count
        self.request = sync_read(self.ids, address, count)
        self.expected = dict.fromkeys(self.ids, count)
        self.frame_bytes = count + OVERHEAD_BYTES
        self.size = len(self.ids) * self.frame_bytes  # bytes of the whole answer
        self.no_errors = bytes(len(self.ids))
        self._all_ff = b"\xff" * len(self.ids)
        self._ids = bytes(self.ids)
        self._lengths = bytes((count + 2,)) * len(self.ids)

    def is_regular(self, data: bytes) -> bool:
        """True when `data` is one sound answer of every servo, in order, and nothing else."""
        step = self.frame_bytes
        if (
            len(data) != self.size
            or data[0::step] != self._all_ff
            or data[1::step] != self._all_ff
            or data[2::step] != self._ids
            or data[3::step] != self._lengths
            or max(data[4::step]) > MAX_ERROR_BITS
        ):
            return False
        for start in range(0, self.size, step):
            # From the id to the checksum the low byte of the sum is FF.
            if sum(data[start + 2 : start + step]) & 0xFF != 0xFF:
                return False
        return True

    def errors(self, data: bytes) -> bytes:
        """The error bits of a regular answer, one byte per servo."""
        return data[4 :: self.frame_bytes]

    def params(self, data: bytes) -> dict[int, bytes]:
        """The bytes that each servo sent, of a regular answer."""
        starts = range(_FIRST_PARAM, self.size, self.frame_bytes)
        return {
            id: data[start : start + self.count] for id, start in zip(self.ids, starts, strict=True)
        }
