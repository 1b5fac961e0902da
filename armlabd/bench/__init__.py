"""bench: measures this machine against the bars, on loopback, with a virtual arm of its own.

Every bench makes a temporary state folder, ends by itself, and leaves no process behind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from armlabd.bench.report import Report


def start(count: int = 0) -> Report:
    """Start to ready, memory at ready, goal to first motion; `count` starts (0 = the full ten)."""
    from armlabd.bench.start import measure

    return measure(count)


def stop(count: int = 0) -> Report:
    """Stops and the 100 Hz cycle; `count` stops at the core (0 = the full two thousand)."""
    from armlabd.bench.stop import measure

    return measure(count)


def button(count: int = 0) -> Report:
    """Presses of the virtual arm's stop button; `count` idle and under stress (0 = 1,000)."""
    from armlabd.bench.button import measure

    return measure(count)


def bus(count: int = 0) -> Report:
    """The six-servo read beside a bare loop, and the faults it survives; `count` reads after each.

    0 = the full three thousand.
    """
    from armlabd.bench.bus import measure

    return measure(count)


def model(count: int = 0, folder: Path | None = None) -> Report:
    """A model in its worker: mask, forced tokens, memory, cancels, stops meanwhile.

    `count` plans and cancels (0 = all); without a folder one of SmolVLM-256M's shape is made.
    """
    from armlabd.bench.model import measure

    return measure(count, folder)


# The measuring code is imported late: helpers run as `python -m armlabd.bench...` stay small.
BENCHES: dict[str, Callable[[int], Report]] = {
    "start": start,
    "stop": stop,
    "button": button,
    "bus": bus,
    "model": model,
}
