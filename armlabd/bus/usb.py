"""Which USB board a serial port belongs to, from sysfs: names change at a replug, boards do not.

Identities are texts: `usb:SERIAL` where the board has a serial number nobody else shows, else
`usb-path:1-1.2:1.0`, the plug it is in. Folders are arguments, so that tests build their own.
"""

from __future__ import annotations

import os
from typing import NamedTuple

SERIAL = "usb:"
PATH = "usb-path:"
CLIMB = 6  # folders between a tty and its USB device, with room to spare

# Names the drivers give: cdc_acm, ch341 and ftdi_sio, WCH's own.
TTY_NAMES = ("ttyACM", "ttyUSB", "ttyCH343USB")

# Boards that servo buses hang on, and the kernel driver of each (vendor, product).
DRIVERS = {
    ("1a86", "55d3"): "cdc_acm",  # CH343, Waveshare and Seeed
    ("1a86", "55d4"): "cdc_acm",  # CH9102
    ("1a86", "7523"): "ch341",  # CH340, older boards
    ("1a86", "5523"): "ch341",
    ("0403", "6001"): "ftdi_sio",
    ("0403", "6010"): "ftdi_sio",
    ("0403", "6011"): "ftdi_sio",
    ("0403", "6014"): "ftdi_sio",
    ("0403", "6015"): "ftdi_sio",
    ("10c4", "ea60"): "cp210x",
}


class Board(NamedTuple):
    """A serial port on a USB board. `path` is the port, `plug` the USB place, such as 1-1.2:1.0."""

    path: str
    serial: str
    plug: str
    driver: str
    vendor: str
    product: str
    name: str

    @property
    def identity(self) -> str:
        """The serial number where there is one, else the place."""
        return SERIAL + self.serial if self.serial else PATH + self.plug

    @property
    def words(self) -> str:
        """The board for people."""
        return f"{self.name or 'USB board'} ({self.vendor}:{self.product}, {self.identity})"


class Portless(NamedTuple):
    """A board of a kind servo buses hang on that is plugged in and has no serial port."""

    plug: str
    vendor: str
    product: str
    name: str
    driver: str  # the one it needs


def boards(dev: str = "/dev", sys: str = "/sys") -> tuple[Board, ...]:
    """Every USB serial port that is there, by name. Boards that share a serial number lose it."""
    found = []
    for prefix in TTY_NAMES:
        for path in entries(dev, prefix):
            board = board_of(path, dev, sys) if os.path.exists(path) else None
            if board is not None:
                found.append(board)
    numbers = [board.serial for board in found]
    return tuple(
        board._replace(serial="") if numbers.count(board.serial) > 1 else board for board in found
    )


def board_of(path: str, dev: str = "/dev", sys: str = "/sys") -> Board | None:
    """The board behind a port or a link to one; None when it is no USB serial port."""
    tty = tty_name(path, sys)
    if tty is None:
        return None
    folder = os.path.realpath(os.path.join(sys, "class/tty", tty, "device"))
    interface, place = folder, folder
    for _ in range(CLIMB):
        if os.path.exists(os.path.join(place, "idVendor")):
            return Board(
                os.path.join(dev, tty),
                _text(place, "serial"),
                os.path.basename(interface),
                driver_of(tty, sys),
                _text(place, "idVendor"),
                _text(place, "idProduct"),
                _text(place, "product"),
            )
        interface, place = place, os.path.dirname(place)
    return None


def tty_name(path: str, sys: str = "/sys") -> str | None:
    """The kernel's name of a port, through links such as those of /dev/serial/by-id."""
    for _ in range(CLIMB):
        name = os.path.basename(path)
        if os.path.exists(os.path.join(sys, "class/tty", name, "device")):
            return name
        if not os.path.islink(path):
            return None
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
    return None


def driver_of(tty: str, sys: str = "/sys") -> str:
    """The kernel driver of a port; "" when it is not known."""
    link = os.path.join(sys, "class/tty", tty, "device/driver")
    return os.path.basename(os.path.realpath(link)) if os.path.exists(link) else ""


def portless(dev: str = "/dev", sys: str = "/sys") -> tuple[Portless, ...]:
    """Boards that are plugged in and have no port: the driver is missing, or somebody took them."""
    with_port = {board.plug.partition(":")[0] for board in boards(dev, sys)}
    found = []
    for folder in entries(os.path.join(sys, "bus/usb/devices")):
        kind = (_text(folder, "idVendor"), _text(folder, "idProduct"))
        plug = os.path.basename(folder)
        if kind in DRIVERS and plug not in with_port:
            found.append(Portless(plug, *kind, _text(folder, "product"), DRIVERS[kind]))
    return tuple(found)


def entries(folder: str, prefix: str = "") -> list[str]:
    """Paths in a folder whose name is `prefix` and a number, or all; none where it is missing."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    if prefix:
        names = [n for n in names if n.startswith(prefix) and n[len(prefix) :].isdigit()]
    return [os.path.join(folder, name) for name in names]


def _text(folder: str, name: str) -> str:
    """One line of sysfs; "" when there is none."""
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""
