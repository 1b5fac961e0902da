"""Which port the arm is on: a path, a USB identity, or the one that is there.

A board on which a calibrated arm was seen is remembered (`Seen`). It is found again under whatever
name it comes back, and another board is never taken in its place without being told.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from armlabd.bus.errors import PortKind
from armlabd.bus.usb import PATH, SERIAL, TTY_NAMES, Board, board_of, boards, entries, portless


class PortProblem(NamedTuple):
    """Why no port was chosen. `candidates` are the ports that are there."""

    kind: PortKind
    sentence: str
    candidates: tuple[str, ...] = ()


class Seen(NamedTuple):
    """The board of this arm: what [arm] port said then, and its identity."""

    wanted: str
    identity: str


def find_port(
    wanted: str, dev: str = "/dev", sys: str = "/sys", seen: Seen | None = None
) -> str | PortProblem:
    """The path of the port, or why there is none.

    `wanted` is "auto" (the only one there is; names made from the USB identity first), a path,
    "usb:SERIAL" or "usb-path:PLUG". A `seen` board counts while `wanted` is what it was then: to
    exchange the board, a person writes the new one into the settings.
    """
    if wanted.startswith((SERIAL, PATH)):
        return _by_identity(wanted, dev, sys)
    if seen is not None and seen.wanted == wanted:
        return _again(wanted, seen, dev, sys)
    if wanted != "auto":
        there = candidates(dev)
        if os.path.exists(wanted):
            return wanted
        return PortProblem(PortKind.MISSING, missing(wanted, there), there)
    return _only(dev, sys)


def _only(dev: str, sys: str) -> str | PortProblem:
    """The only port that is there: nobody may guess which of several is an arm."""
    there = candidates(dev)
    if len(there) == 1:
        return there[0]
    if there:
        sentence = (
            f"There are {len(there)} serial ports: {', '.join(there)}. "
            f"Write the arm's one into config.toml under [arm] port{_as_identity(dev, sys)}."
        )
        return PortProblem(PortKind.AMBIGUOUS, sentence, there)
    return PortProblem(PortKind.MISSING, no_port(dev, sys))


def _as_identity(dev: str, sys: str) -> str:
    """What could be written there; "" where sysfs knows nothing."""
    names = [f'"{board.identity}"' for board in boards(dev, sys)]
    return f", best as {' or '.join(names)}" if names else ""


def _by_identity(wanted: str, dev: str, sys: str) -> str | PortProblem:
    there = boards(dev, sys)
    fitting = [board for board in there if fits(board, wanted)]
    if len(fitting) == 1:
        return fitting[0].path
    paths = tuple(board.path for board in there)
    if fitting:
        places = " or ".join(f'"{PATH}{board.plug}"' for board in fitting)
        sentence = (
            f"{len(fitting)} ports fit {wanted}: {', '.join(board.path for board in fitting)}. "
            f"Name one in config.toml under [arm] port: {places}."
        )
        return PortProblem(PortKind.AMBIGUOUS, sentence, paths)
    sentence = (
        f"The USB board {wanted} is not plugged in. {_others(there)} "
        "Plug it in, or write another into config.toml under [arm] port."
    )
    return PortProblem(PortKind.MISSING, sentence, paths)


def fits(board: Board, identity: str) -> bool:
    """True when the board has this identity. A plug may be named with or without its interface."""
    if identity.startswith(SERIAL):
        return bool(board.serial) and board.serial == identity.removeprefix(SERIAL)
    plug = identity.removeprefix(PATH)
    return plug in (board.plug, board.plug.partition(":")[0])


def _others(there: tuple[Board, ...]) -> str:
    if not there:
        return "No other one is there."
    return f"Plugged in instead: {', '.join(f'{b.words} at {b.path}' for b in there)}."


def _again(wanted: str, seen: Seen, dev: str, sys: str) -> str | PortProblem:
    """The remembered board under whatever name; another one in its place is not taken."""
    found = _by_identity(seen.identity, dev, sys)
    if isinstance(found, str):
        named = wanted if wanted != "auto" and os.path.exists(wanted) else ""
        board = board_of(named, dev, sys) if named else None
        return named if board is not None and board.path == found else found
    if found.kind is PortKind.AMBIGUOUS:
        return found
    there = boards(dev, sys)
    if not there:
        sentence = f"The arm's USB board {seen.identity} is not plugged in. {no_port(dev, sys)}"
        return PortProblem(PortKind.MISSING, sentence)
    other = there[0].identity
    sentence = (
        f"The arm's USB board {seen.identity} is not plugged in. {_others(there)} Another arm may "
        "hang on it, so it was not opened. Plug the arm's own board in; if it was exchanged, write "
        f'port = "{other}" into config.toml under [arm].'
    )
    return PortProblem(PortKind.OTHER, sentence, tuple(board.path for board in there))


def candidates(dev: str) -> tuple[str, ...]:
    """Names made from the USB identity, which survive replugging; else those of the drivers."""
    by_id = entries(os.path.join(dev, "serial/by-id"))
    by_driver = [path for prefix in TTY_NAMES for path in entries(dev, prefix)]
    for found in (by_id, by_driver):
        if there := sorted(path for path in found if os.path.exists(path)):
            return tuple(there)
    return ()


def missing(path: str, there: tuple[str, ...]) -> str:
    """The sentence for a named port that is not there."""
    others = f"Ports that are there: {', '.join(there)}." if there else "No other port is there."
    return (
        f"There is no serial port {path}. {others} "
        'Plug in the arm\'s USB board or correct [arm] port in config.toml ("auto" finds it).'
    )


def no_port(dev: str = "/dev", sys: str = "/sys") -> str:
    """Why there is no port at all: nothing plugged in, or a board without a driver."""
    for board in portless(dev, sys):
        name = board.name or "A USB serial board"
        return (
            f"{name} ({board.vendor}:{board.product}) is plugged in at {board.plug} but has no "
            f"port: the driver {board.driver} is not loaded (sudo modprobe {board.driver}) or "
            "brltty has taken the board (sudo systemctl mask --now brltty-udev.service brltty, "
            "then plug it in again). armlabd doctor tells which."
        )
    return (
        "No serial port is there. Plug in the arm's USB board. If lsusb lists it all the same, the "
        "kernel lacks its driver (cdc_acm, ch341 or ftdi_sio) or brltty has taken it: "
        "remove brltty."
    )
