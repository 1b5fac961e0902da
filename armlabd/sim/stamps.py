"""When frames that matter arrived: torque off, torque on and goals, for whoever measures or judges.

A stamp's time is CLOCK_MONOTONIC of the frame's last byte on the wire, in ns; that clock is the
same in all processes of a machine. In virtual time it is the virtual clock's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from armlabd.sim import memory as at

TORQUE_OFF: Final = "torque_off"
TORQUE_ON: Final = "torque_on"
GOAL: Final = "goal"
RING: Final = 20_000
AT_MOST: Final = 5_000  # stamps in one answer


class Stamp(NamedTuple):
    """One frame: `ids` are the servos it spoke to, `broadcast` whether it was sent to all.

    `values` are the goal positions as they stood in the frame, one for each of `ids`; empty for a
    frame that is no goal, or that writes only a part of one.
    """

    seq: int
    kind: str
    t_ns: int
    ids: tuple[int, ...]
    broadcast: bool
    values: tuple[int, ...] = ()


def kind_of(address: int, data: bytes) -> str | None:
    """What a write of `data` from `address` means for motion; None for other writes."""
    end = address + len(data)
    if address <= at.TORQUE_ENABLE < end:
        value = data[at.TORQUE_ENABLE - address]
        if value in (0, 1):
            return TORQUE_ON if value else TORQUE_OFF
    if address < at.GOAL_POSITION + 2 and end > at.GOAL_POSITION:
        return GOAL
    return None


def goal_in(address: int, data: bytes) -> int | None:
    """The goal position (raw, as on the wire) in a write; None when it is not wholly in it."""
    start = at.GOAL_POSITION - address
    if start < 0 or start + 2 > len(data):
        return None
    return int.from_bytes(data[start : start + 2], "little")


class StampRing:
    """The last stamps, oldest dropped first; `seq` counts from 1 and never restarts."""

    def __init__(self) -> None:
        self._ring: deque[Stamp] = deque(maxlen=RING)
        self._seq = 0

    def add(
        self,
        kind: str,
        at_s: float,
        ids: Sequence[int],
        broadcast: bool,
        values: Sequence[int | None] = (),
    ) -> None:
        """Note one frame. `values` with a None in it are left out whole."""
        self._seq += 1
        whole = tuple(value for value in values if value is not None)
        if kind != GOAL or len(whole) < len(ids):
            whole = ()
        stamp = Stamp(self._seq, kind, round(at_s * 1e9), tuple(ids), broadcast, whole)
        self._ring.append(stamp)

    def since(self, seq: int = 0, kind: str | None = None) -> list[dict[str, Any]]:
        """Stamps after `seq`, oldest first, at most 5,000; `kind` chooses one kind."""
        chosen = [s for s in self._ring if s.seq > seq and kind in (None, s.kind)]
        return [s._asdict() for s in chosen[:AT_MOST]]
