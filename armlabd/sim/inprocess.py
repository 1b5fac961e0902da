"""The virtual arm as a transport inside one process, in virtual time: for tests of master and core.

`InProcessTransport` has the shape of `bus.port.Transport`. Waiting moves the virtual clock, and
physics follows it. `InProcessCable` is the USB cable: pull it, put it back, open it again.
"""

from __future__ import annotations

from collections.abc import Callable

from armlabd.clock import VirtualClock
from armlabd.sim.arm import VirtualArm

GONE = "The virtual port is gone; plug it in and open it again."


class InProcessLost(OSError):
    """The port is gone; `sentence` says so in plain words."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class InProcessCable:
    """The cable between `arm` and whoever opens it.

    `lost` makes the exception for a pulled cable from a sentence: pass `bus.errors.PortLost`, which
    the virtual arm itself does not import.
    """

    def __init__(
        self,
        arm: VirtualArm,
        clock: VirtualClock,
        lost: Callable[[str], Exception] = InProcessLost,
    ) -> None:
        self.arm = arm
        self.clock = clock
        self.lost = lost
        self.plugged = True
        self.generation = 0
        arm.now_s = max(arm.now_s, clock.monotonic())

    def open(self) -> InProcessTransport:
        """A fresh port. Raises `lost` while the cable is out."""
        if not self.plugged:
            raise self.lost(GONE)
        return InProcessTransport(self.arm, self.clock, cable=self)

    def unplug(self) -> None:
        """Pull it: ports that are open are gone for good; the servos keep their power."""
        self.plugged = False
        self.generation += 1
        self.arm.bus.silence()

    def plug(self) -> None:
        """Put it back; the port must be opened anew."""
        self.plugged = True


class InProcessTransport:
    """Bytes to and from `arm`, timed by `clock`. Without `cable` it has one of its own."""

    def __init__(
        self,
        arm: VirtualArm,
        clock: VirtualClock,
        lost: Callable[[str], Exception] = InProcessLost,
        *,
        cable: InProcessCable | None = None,
    ) -> None:
        self.arm = arm
        self.clock = clock
        self.cable = cable if cable is not None else InProcessCable(arm, clock, lost)
        self._generation = self.cable.generation
        self._closed = False

    def write(self, data: bytes) -> None:
        """Put `data` on the wire now; the clock moves only when somebody waits."""
        self._check()
        self.arm.bus.feed(data, self.clock.monotonic())

    def read(self, deadline_s: float) -> bytes:
        """What has come; else wait for the next bytes until `deadline_s` (b"" = nothing came)."""
        self._check()
        due_s = self.arm.bus.next_due_s()
        now_s = self.clock.monotonic()
        wait_s = deadline_s if due_s is None else min(due_s, deadline_s)
        self.clock.advance_to(max(now_s, wait_s))
        self.arm.advance(self.clock.monotonic())
        return self.arm.bus.take_due(self.clock.monotonic())

    def discard_input(self) -> int:
        """Throw away what has come; how many bytes that was."""
        self._check()
        return len(self.arm.bus.take_due(self.clock.monotonic()))

    def close(self) -> None:
        """Nothing more goes through. A second call does nothing."""
        self._closed = True

    def _check(self) -> None:
        if self._closed or self._generation != self.cable.generation:
            raise self.cable.lost(GONE)
