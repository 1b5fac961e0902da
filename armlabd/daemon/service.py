"""What the daemon says to systemd: ready, a status line, signs of life, and fields in the journal.

python-systemd where it is installed (the install script builds it), else the plain notify socket;
without systemd nothing is sent and nothing is missed. Source: sd_notify(3), sd_watchdog_enabled(3).
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping

log = logging.getLogger(__name__)

PINGS_PER_INTERVAL = 4
MOST_LATE_S = 1.0  # a loop that wakes later than this is not well; the next wake is judged anew
FIELDS = ("RUN_ID", "CAUSE", "STOP_LATENCY_US")  # fields of our own in the journal


def notify(text: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Send one message such as "READY=1" to the service manager; False when there is none."""
    address = environment.get("NOTIFY_SOCKET", "")
    if not address:
        return False
    try:
        daemon = importlib.import_module("systemd.daemon")
    except ImportError:
        return _notify_plainly(address, text)
    return bool(daemon.notify(text))


def _notify_plainly(address: str, text: str) -> bool:
    """One datagram to the socket of sd_notify(3); "@" at the front stands for a zero byte."""
    path = "\0" + address[1:] if address.startswith("@") else address
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock, contextlib.suppress(OSError):
        sock.sendto(text.encode(), path)
        return True
    return False


def watchdog_s(environment: Mapping[str, str] = os.environ, pid: int | None = None) -> float | None:
    """The interval in which a sign of life is due, or None; meant for another process counts not.

    Source: sd_watchdog_enabled(3), WATCHDOG_USEC and WATCHDOG_PID.
    """
    try:
        interval_s = int(environment.get("WATCHDOG_USEC", "0")) / 1e6
        meant_for = int(environment.get("WATCHDOG_PID", "0"))
    except ValueError:
        return None
    mine = meant_for in (0, os.getpid() if pid is None else pid)
    return interval_s if interval_s > 0 and mine else None


class Watchdog:
    """Pings while everything that must live is fresh; silence lets systemd end the daemon.

    `fresh` answers for the core and its button reader; the loop's own lateness is judged here.
    """

    def __init__(
        self,
        interval_s: float,
        fresh: Callable[[], bool],
        ping: Callable[[], object] = lambda: notify("WATCHDOG=1"),
    ) -> None:
        self._every_s = interval_s / PINGS_PER_INTERVAL
        self._fresh, self._ping = fresh, ping

    async def run(self) -> None:
        """Until cancelled."""
        loop = asyncio.get_running_loop()
        due_s = loop.time()
        while True:
            self.look(loop.time() - due_s)
            due_s = loop.time() + self._every_s
            await asyncio.sleep(self._every_s)

    def look(self, late_s: float) -> bool:
        """One look; True when a ping went out."""
        if late_s > MOST_LATE_S or not self._fresh():
            log.warning(
                "no sign of life for the watchdog: loop %.1f s late, or core silent", late_s
            )
            return False
        self._ping()
        return True


def start_logging(level: int, environment: Mapping[str, str] = os.environ) -> None:
    """To the journal with fields when systemd reads standard error, else plain lines."""
    handler = _journal_handler() if environment.get("JOURNAL_STREAM") else None
    if handler is None:
        form = "%(levelname)s %(name)s: %(message)s"
        logging.basicConfig(level=level, format=form, stream=sys.stderr)
        return
    logging.basicConfig(level=level, format="%(message)s", handlers=[handler])


def _journal_handler() -> logging.Handler | None:
    try:
        journal = importlib.import_module("systemd.journal")
    except ImportError:
        return None
    handler: logging.Handler = journal.JournalHandler(
        SENDER_FUNCTION=_known_fields(journal.send), SYSLOG_IDENTIFIER="armlabd"
    )
    return handler


def _known_fields(send: Callable[..., None]) -> Callable[..., None]:
    """Only fields that mean something: python-systemd hands over every attribute of a record."""
    kept = {"PRIORITY", "LOGGER", "CODE_FILE", "CODE_LINE", "CODE_FUNC", "SYSLOG_IDENTIFIER"}
    kept |= {"EXCEPTION_TEXT", *FIELDS}

    def chosen(message: str, **fields: object) -> None:
        send(message, **{name: str(value) for name, value in fields.items() if name in kept})

    return chosen
