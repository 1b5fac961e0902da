"""The arm's USB board: found by [arm] port, remembered once a calibrated arm was seen on it.

`adapter.json` in the state folder holds what [arm] port said and the board's identity. It follows
the arm to another port name, and keeps another arm's board from being taken in its place.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable

from armlabd.bus.errors import PortError
from armlabd.bus.port import SerialPort, Transport
from armlabd.bus.ports import PortProblem, Seen, find_port
from armlabd.bus.usb import board_of, boards
from armlabd.clock import Clock
from armlabd.durable import write_atomic
from armlabd.motion.disk import Disk

FILE = "adapter.json"
Open = Callable[[str, int, Clock], Transport]


def load_seen(state_dir: str) -> Seen | None:
    """The remembered board; None when there is none or the file cannot be understood."""
    try:
        with open(os.path.join(state_dir, FILE), encoding="utf-8") as file:
            raw = json.load(file)
        seen = Seen(raw["wanted"], raw["identity"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return seen if all(isinstance(text, str) and text for text in seen) else None


class Adapter:
    """Opens the arm's port and remembers its board. `dev` and `sys` are other folders in tests."""

    def __init__(
        self,
        state_dir: str,
        wanted: str,
        baud: int,
        clock: Clock,
        disk: Disk,
        *,
        dev: str = "/dev",
        sys: str = "/sys",
        open_path: Open = SerialPort,
    ) -> None:
        self.seen = load_seen(state_dir)
        self.path = ""
        self._file = os.path.join(state_dir, FILE)
        self._wanted, self._baud, self._clock, self._disk = wanted, baud, clock, disk
        self._dev, self._sys, self._open_path = dev, sys, open_path

    def open(self) -> Transport:
        """The port, opened. Raises PortError."""
        found = find_port(self._wanted, self._dev, self._sys, self.seen)
        if isinstance(found, PortProblem):
            raise PortError(found.kind, found.sentence)
        self.path = found
        return self._open_path(found, self._baud, self._clock)

    def confirm(self) -> None:
        """The calibrated arm answers on the open port: remember its board."""
        board = board_of(self.path, self._dev, self._sys)
        if board is None:
            return  # no USB board: a pty, or a UART of the processor
        same = [one for one in boards(self._dev, self._sys) if one.path == board.path]
        seen = Seen(self._wanted, (same[0] if same else board).identity)
        if seen == self.seen:
            return
        self.seen = seen
        text = json.dumps(seen._asdict()).encode() + b"\n"
        self._disk.submit(lambda: write_atomic(self._file, text))
