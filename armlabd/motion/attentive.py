"""A transport that gives up waiting for a slow answer as soon as somebody wants something.

A healthy block of answers is there after 1.5 ms. Waiting longer is for servos that are silent or
late, and a stop must not wait with it: the read then ends as if nothing had come, which the bus
counts as a miss and recovers from. A torque-off that meets a late answer on the wire is lost with
it, and repeated, because every stop is read back.
"""

from __future__ import annotations

from collections.abc import Callable

from armlabd.bus.port import Transport
from armlabd.clock import Clock

HEALTHY_S = 0.002  # two USB frames; what is not there by then is late


class AttentiveTransport:
    """`transport` with `wanted` asked, cheaply, whenever an answer is late."""

    def __init__(self, transport: Transport, clock: Clock, wanted: Callable[[], bool]) -> None:
        self._read = transport.read
        self._clock = clock
        self._wanted = wanted
        # The transport's own, without a call of ours around them: used in every cycle.
        self.write = transport.write
        self.discard_input = transport.discard_input
        self.close = transport.close

    def read(self, deadline_s: float) -> bytes:
        """What is there; waits until `deadline_s`, or less when somebody wants something."""
        if data := self._read(0.0):  # there already, as in nearly every cycle
            return data
        while True:
            until_s = min(deadline_s, self._clock.monotonic() + HEALTHY_S)
            data = self._read(until_s)
            if data or until_s >= deadline_s or self._wanted():
                return data
