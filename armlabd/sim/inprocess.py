"""The virtual arm as a transport inside one process, in virtual time: for tests of master and core.

It has the shape of `bus.port.Transport`. Waiting moves the virtual clock, and physics follows it.
"""

from __future__ import annotations

from armlabd.clock import VirtualClock
from armlabd.sim.arm import VirtualArm


class InProcessLost(OSError):
    """The port is gone (unplugged); `sentence` says so in plain words."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class InProcessTransport:
    """Bytes to and from `arm`, timed by `clock`.

    `lost` is the exception raised once unplugged: pass `bus.port.PortLost` to a real master.
    """

    def __init__(
        self, arm: VirtualArm, clock: VirtualClock, lost: type[Exception] = InProcessLost
    ) -> None:
        self.arm = arm
        self.clock = clock
        self._lost = lost
        self.plugged = True
        self.closed = False
        arm.now_s = max(arm.now_s, clock.monotonic())

    def write(self, data: bytes) -> None:
        """Put `data` on the wire now; the clock moves only when somebody waits."""
        self._check()
        self.arm.bus.feed(data, self.clock.monotonic())

    def read(self, deadline_s: float) -> bytes:
        """What has come; else wait for the next bytes until `deadline_s` (b"" = nothing came)."""
        self._check()
        due_s = self.arm.bus.next_due_s()
        now_s = self.clock.monotonic()
        if due_s is not None and due_s <= max(now_s, deadline_s):
            self.clock.advance_to(due_s)
        else:
            self.clock.advance_to(deadline_s)
        self.arm.advance(self.clock.monotonic())
        return self.arm.bus.take_due(self.clock.monotonic())

    def discard_input(self) -> int:
        """Throw away what has come; how many bytes that was."""
        self._check()
        return len(self.arm.bus.take_due(self.clock.monotonic()))

    def close(self) -> None:
        """Nothing more goes through."""
        self.closed = True

    def unplug(self) -> None:
        """Pull the USB plug: every call raises from now on; the servos keep their power."""
        self.plugged = False
        self.arm.bus.silence()

    def replug(self) -> None:
        """Put the plug back. A real port must be opened anew; so must this: `closed` stays."""
        self.plugged = True

    def _check(self) -> None:
        if self.closed or not self.plugged:
            raise self._lost("The virtual port is gone; plug it in and open it again.")
