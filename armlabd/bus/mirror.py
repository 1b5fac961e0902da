"""Adapters that send every request back: told from answers, and never believed.

A request for one servo has the shape of an answer: a ping come back reads as "voltage too low", a
read of two bytes come back reads as its own address and count. So whatever equals the request
byte for byte is set aside, until it is known whether this adapter echoes.
"""

from __future__ import annotations

from armlabd.bus.frames import BROADCAST_ID, sync_read

FOREIGN = (b"AT\r", b"AT+")  # what a modem manager tries on every new port
PROBE = sync_read((253,), 5, 1)  # nobody has this id: what comes back is an echo


class Mirror:
    """`echoes` is None while nobody knows, then True or False for as long as the port is open."""

    def __init__(self) -> None:
        self.echoes: bool | None = None

    def copy_of(self, request: bytes) -> bytes | None:
        """The answer that would be nothing but the request; None when none can be mistaken."""
        return None if self.echoes is False or request[2] == BROADCAST_ID else request

    def look(self, request: bytes, heard: bytes) -> bool:
        """True when `heard`, which did not consist of answers only, holds the request itself.

        A request to all that comes back proves an echo whatever was known before.
        """
        if request not in heard or (self.echoes is False and request[2] != BROADCAST_ID):
            return False
        self.echoes = True
        return True

    def clean(self, request: bytes) -> None:
        """All answered and nothing else came: after a request to all that proves no echo."""
        if self.echoes is None and request[2] == BROADCAST_ID:
            self.echoes = False


def foreign(heard: bytes) -> bool:
    """True when another program writes to this port: its words stand between the frames."""
    return any(word in heard for word in FOREIGN)
