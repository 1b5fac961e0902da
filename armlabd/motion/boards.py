"""Where the stop button is wired on the boards that armlabd names: one table, nothing else.

On all three the signal is pin 29 of the 40-pin header and ground its neighbour, pin 30. Chips are
found by label, lines by name: numbers such as gpiochip4 change with the kernel.
"""

from __future__ import annotations

from typing import NamedTuple


class Board(NamedTuple):
    """One board's stop line. `own_pull_up`: the chip can pull the line up by itself."""

    title: str
    chip: str
    line: str
    header_pin: int
    ground_pin: int
    own_pull_up: bool


# Sources: gpio-line-names of bcm2711-rpi-4-b.dts and of the RP1 in bcm2712-rpi-5-b.dts; NVIDIA's
# Jetson.GPIO pin table for Orin NX and Orin Nano (pin 29, GPIO01). GPIO5 is one of the pins of a
# Pi that are pulled up from reset on; Tegra's GPIO driver ignores a wish for a pull-up.
BOARDS: dict[str, Board] = {
    "pi4": Board("Raspberry Pi 4", "pinctrl-bcm2711", "GPIO5", 29, 30, True),
    "pi5": Board("Raspberry Pi 5", "pinctrl-rp1", "GPIO5", 29, 30, True),
    "orin": Board("Jetson Orin Nano or NX", "tegra234-gpio", "PQ.05", 29, 30, False),
}

SIM = "sim"  # as a board, and in the place of a chip's label: the virtual arm's button


class Wanted(NamedTuple):
    """Which line to read; chip "" when none is named."""

    chip: str
    line: str | int
    pull_up: bool


def wanted_line(board: str, chip: str = "", line: str | int = "") -> Wanted:
    """The line of a board; `chip` and `line` stand in the place of the board's where given."""
    if board == SIM:
        return Wanted(SIM, "", True)
    own = BOARDS.get(board)
    if own is None:
        return Wanted(chip, line, True)
    chip = chip or own.chip
    return Wanted(chip, own.line if line == "" else line, own.own_pull_up or chip != own.chip)
