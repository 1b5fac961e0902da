"""The serial port: found by USB identity, opened for us alone, lost in one way only.

pyserial opens and configures; after that plain reads, writes and poll, which are twice as fast and
whose behaviour at an unplug is known: end of file, EIO, ENODEV and hang-up all mean lost.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import termios
from typing import Protocol

from armlabd.bus.errors import PortError, PortKind, PortLost
from armlabd.bus.ports import PortProblem, candidates, find_port, missing
from armlabd.bus.usb import driver_of, tty_name
from armlabd.clock import Clock

__all__ = ["PortProblem", "SerialPort", "Transport", "find_port"]

READ_BYTES = 4096
DISCARD_LIMIT_BYTES = 65536  # a line that never falls silent must not hold us for ever
WRITE_STALL_S = 0.05  # a USB board takes 250 bytes within a few 1 ms frames


class Transport(Protocol):
    """Bytes out and bytes in. Every method may raise `PortLost` (an OSError)."""

    def write(self, data: bytes) -> None:
        """Send all of `data`."""

    def read(self, deadline_s: float) -> bytes:
        """What is there; waits until `deadline_s` on the clock. b"" means nothing came.

        A deadline in the past still returns what has already arrived.
        """

    def discard_input(self) -> int:
        """Drop what has arrived; returns the number of bytes."""

    def close(self) -> None:
        """Give the port back. A second call does nothing."""


class SerialPort:
    """A `Transport` on a real port at `baud`, held exclusively until `close`.

    `name` is the path it was opened by; `low_latency` tells whether the driver took that mode.
    Raises PortError with kind missing, busy, denied or bad.
    """

    def __init__(self, path: str, baud: int, clock: Clock) -> None:
        import serial  # here, so that only the process that owns a port pays for it

        self.name = path
        self.low_latency = False
        self._clock = clock
        if not os.path.exists(path):
            raise PortError(PortKind.MISSING, missing(path, candidates("/dev")))
        try:
            # exclusive = flock; it keeps out whoever asks for the lock, root too.
            self._serial = serial.Serial(path, baud, timeout=0, exclusive=True)
        except (OSError, ValueError, OverflowError, termios.error) as error:
            raise _open_error(error, path, baud) from error
        self._fd = self._serial.fileno()
        self._claim()
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)
        self._open = True

    def _claim(self) -> None:
        """Keep out programs that take no lock, and ask for low latency; a pty has neither."""
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._fd, termios.TIOCEXCL)
        with contextlib.suppress(OSError, ValueError, NotImplementedError):
            self._serial.set_low_latency_mode(True)
            self.low_latency = True

    def read(self, deadline_s: float) -> bytes:
        """What is there; waits until `deadline_s`. Raises PortLost."""
        if data := self._there():  # mostly it is there already: nobody need be asked first
            return data
        wait_s = deadline_s - self._clock.monotonic()
        if not self._wait(max(0.0, wait_s)):
            return b""
        if not (data := self._there()):
            raise self._lost("end of file")
        return data

    def _there(self) -> bytes:
        """What has arrived; nothing also at the end of file, which only `_wait` can tell."""
        if not self._open:
            raise self._lost("it is closed")
        try:
            return os.read(self._fd, READ_BYTES)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise self._lost(str(error)) from error

    def _wait(self, seconds: float) -> bool:
        """True when there is something to read. Raises PortLost on a hang-up."""
        events = self._poll.poll(seconds * 1000)
        if events and not events[0][1] & select.POLLIN:
            raise self._lost("hang-up")
        return bool(events)

    def discard_input(self) -> int:
        """Drop what has arrived; returns the number of bytes. Raises PortLost."""
        if self._open and not self._poll.poll(0):
            return 0
        dropped = 0
        while dropped < DISCARD_LIMIT_BYTES and (data := self.read(0.0)):
            dropped += len(data)
        return dropped

    def write(self, data: bytes) -> None:
        """Send all of `data`. Raises PortLost, also when the port takes no byte for 50 ms."""
        if not self._open:
            raise self._lost("it is closed")
        while data:
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:
                self._wait_for_room()
            except OSError as error:
                raise self._lost(str(error)) from error

    def _wait_for_room(self) -> None:
        """Wait until a byte can be written; PortLost when that takes too long."""
        if not select.select([], [self._fd], [], WRITE_STALL_S)[1]:
            raise self._lost("it takes no more bytes")

    def _lost(self, reason: str) -> PortLost:
        """The error for a port that went away."""
        return PortLost(
            f"The serial port {self.name} is lost ({reason}). Check that the USB board is plugged "
            "in and has power."
        )

    def close(self) -> None:
        """Give the port back; a second call does nothing."""
        if not self._open:
            return
        self._open = False
        with contextlib.suppress(OSError, termios.error):
            fcntl.ioctl(self._fd, termios.TIOCNXCL)
        with contextlib.suppress(OSError, termios.error):
            self._serial.close()


def _open_error(error: Exception, path: str, baud: int) -> PortError:
    """The typed error for what pyserial raised while opening."""
    number = getattr(error, "errno", None)
    if number is None and error.args and isinstance(error.args[0], int):
        number = error.args[0]  # termios.error is no OSError
    if number in (errno.ENOENT, errno.ENXIO, errno.ENODEV):
        return PortError(PortKind.MISSING, missing(path, candidates("/dev")))
    if number in (errno.EBUSY, errno.EAGAIN):
        from armlabd.bus.holder import busy  # the core starts without these words

        return PortError(PortKind.BUSY, busy(path))
    if number in (errno.EACCES, errno.EPERM):
        from armlabd.bus.holder import denied

        return PortError(PortKind.DENIED, denied(path))
    if number == errno.EINVAL or isinstance(error, (ValueError, OverflowError)):
        return PortError(
            PortKind.BAD,
            f"The driver {_driver(path)} of {path} refuses {baud} baud. Set [arm] baud to the "
            "servos' rate (1000000 from the factory) and use a USB board that can do it.",
        )
    return PortError(
        PortKind.BAD,
        f"{path} cannot be used as a serial port ({error}). Name the USB board's port in "
        "config.toml under [arm] port.",
    )


def _driver(path: str) -> str:
    """The name of the kernel driver behind `path`, or "(unknown)"."""
    tty = tty_name(path)
    return (driver_of(tty) if tty else "") or "(unknown)"
