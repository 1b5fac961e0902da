"""A real pseudo-terminal in place of the USB adapter, behind a symlink that survives replugging.

Programs open the symlink. Unplug closes the master, so they see what a pulled cable shows; replug
makes a new pty (with another number) and swaps the symlink in one step.
"""

from __future__ import annotations

import contextlib
import os
import tty
from pathlib import Path
from typing import Final

READ_BYTES: Final = 4096


class PtyServer:
    """The master side. `link` is where the symlink stands; nothing is open before `plug`."""

    def __init__(self, link: Path) -> None:
        self.link = link
        self._master = -1
        self._slave = -1
        self.lost_bytes = 0

    @property
    def plugged(self) -> bool:
        """True while a pty is there."""
        return self._master >= 0

    def fileno(self) -> int:
        """The master, to wait on; -1 while unplugged."""
        return self._master

    def plug(self) -> None:
        """Make a pty in raw mode and point the symlink at it; nothing happens when plugged."""
        if self.plugged:
            return
        self._master, self._slave = os.openpty()
        # One open slave end keeps reads on the master quiet while no program has the port.
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        fresh = self.link.with_name(f".{self.link.name}.new")
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(os.ttyname(self._slave))
        os.replace(fresh, self.link)

    def unplug(self) -> None:
        """Take the pty away under whoever has it open."""
        if not self.plugged:
            return
        self.link.unlink(missing_ok=True)
        os.close(self._slave)
        os.close(self._master)
        self._master = self._slave = -1

    def read(self) -> bytes:
        """What programs have written; b"" for nothing."""
        try:
            return os.read(self._master, READ_BYTES)
        except OSError:
            return b""

    def write(self, data: bytes) -> None:
        """Hand bytes to the program; what it leaves unread beyond the buffer is lost."""
        try:
            sent = os.write(self._master, data)
        except OSError:
            sent = 0
        self.lost_bytes += len(data) - sent

    def close(self) -> None:
        """Unplug for good."""
        with contextlib.suppress(OSError):
            self.unplug()
