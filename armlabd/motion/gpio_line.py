"""A stop contact on a GPIO line, read with gpiod (libgpiod 2). Imported only with a button.

Normally closed, from the line to ground, pulled up: closed reads 0, pressed or cut reads 1. The
chip is found by its label, the line by its name or its number on the chip. No debouncing in the
kernel: it would hold the press back. Source: libgpiod 2, linux/gpio.h (GPIO v2 uAPI).
"""

from __future__ import annotations

import errno
import glob
import os
from typing import Any, NamedTuple

from armlabd.motion.button import Reading

CONSUMER = "armlabd stop button"
MOST_EVENTS = 64  # read at once; a storm must not hold up the loop
CANNOT_PULL = (errno.EINVAL, errno.EOPNOTSUPP, 524)  # 524 is the kernel's own ENOTSUPP


class LineProblem(Exception):
    """The line cannot be had; the sentence says why and what to do."""


class Found(NamedTuple):
    """A line: the chip's device, the line's number on it, and who holds it."""

    path: str
    offset: int
    consumer: str = ""


class GpioLine:
    """One contact. `folder` is where the chips' devices are."""

    def __init__(
        self, chip: str, line: str | int, *, pull_up: bool = True, folder: str = "/dev"
    ) -> None:
        self._chip, self._name, self._folder = chip, line, folder
        self._pull_up = pull_up
        self._request: Any = None
        self._offset = 0
        self._seqno = 0
        self.fd = -1
        self.why = ""
        self.where = f"line {line} of {chip}"

    def open(self) -> bool:
        """Find and request the line; False, with `why`, when that fails."""
        self.close()
        try:
            import gpiod
        except ImportError:
            self.why = "the Python package gpiod is missing: install it, or run install.sh again."
            return False
        try:
            found = find_line(gpiod, self._chip, self._name, self._folder)
            self._request = self._ask_for(gpiod, found)
        except LineProblem as problem:
            self.why = str(problem)
            return False
        self._offset, self._seqno = found.offset, 0
        self.where = f"line {self._name} of {self._chip} ({found.path}, {found.offset})"
        self.fd, self.why = int(self._request.fd), ""
        return True

    def _ask_for(self, gpiod: Any, found: Found) -> Any:
        """The line as an input that reports both edges. Raises LineProblem."""
        line = gpiod.line
        wished = line.Bias.PULL_UP if self._pull_up else line.Bias.AS_IS
        for bias in dict.fromkeys((wished, line.Bias.AS_IS)):
            settings = gpiod.LineSettings(
                direction=line.Direction.INPUT, edge_detection=line.Edge.BOTH, bias=bias
            )
            try:
                return gpiod.request_lines(
                    found.path, {found.offset: settings}, CONSUMER, MOST_EVENTS
                )
            except OSError as error:
                if error.errno not in CANNOT_PULL or bias is line.Bias.AS_IS:
                    raise LineProblem(_refused(error, found)) from None
        raise AssertionError("the last wish either succeeds or raises")

    def take(self, events: bool) -> Reading:
        """The level, with `events` also the edges that wait. A line that fails is closed."""
        try:
            edges, first_s, lost = self._edges() if events else (0, None, False)
            level = bool(self._request.get_value(self._offset).value)
        except Exception as error:  # whatever goes wrong here, the line is not read
            self.close()
            self.why = f"it stopped answering ({_words(error)}); it is looked for again."
            return Reading(None)
        return Reading(level, edges, lost, first_s)

    def _edges(self) -> tuple[int, float | None, bool]:
        """How many edges waited, when the first was, and whether some are missing."""
        if not self._request.wait_edge_events(0):
            return 0, None, False
        events = self._request.read_edge_events(MOST_EVENTS)
        lost = any(
            event.line_seqno != self._seqno + number for number, event in enumerate(events, 1)
        )
        self._seqno = events[-1].line_seqno
        return len(events), events[0].timestamp_ns / 1e9, lost

    def close(self) -> None:
        """Let go of the line."""
        request, self._request, self.fd = self._request, None, -1
        if request is not None:
            try:
                request.release()
            except Exception as error:  # its device may be gone
                self.why = _words(error)


def find_line(gpiod: Any, label: str, line: str | int, folder: str = "/dev") -> Found:
    """The line by chip label and line name or number. Raises LineProblem."""
    labels: list[str] = []
    denied: list[str] = []
    found: list[Found] = []
    for path in _devices(folder):
        try:
            with gpiod.Chip(path) as chip:
                labels.append(chip.get_info().label)
                if labels[-1] == label and (one := _line_of(chip, path, line)) is not None:
                    found.append(one)
        except PermissionError:
            denied.append(path)
        except OSError:
            continue  # a chip that is just going away
    if len(found) == 1:
        return found[0]
    raise LineProblem(_not_found(label, line, labels, denied, [one.path for one in found]))


def _devices(folder: str) -> list[str]:
    """Chip devices, each once: some systems add links with the old numbers."""
    paths = sorted(glob.glob(os.path.join(folder, "gpiochip*")), key=lambda path: (len(path), path))
    return list({os.path.realpath(path): path for path in reversed(paths)}.values())[::-1]


def _line_of(chip: Any, path: str, line: str | int) -> Found | None:
    count = chip.get_info().num_lines
    for offset in range(count) if isinstance(line, str) else (line,):
        if offset >= count:
            return None
        info = chip.get_line_info(offset)
        if offset == line or info.name == line:
            return Found(path, offset, info.consumer if info.used else "")
    return None


def _not_found(
    label: str, line: str | int, labels: list[str], denied: list[str], several: list[str]
) -> str:
    if several:
        paths = " and ".join(several)
        return f"{paths} are both labelled {label} and have a line {line}: name another chip."
    if label in labels:
        return f"{label} has no line {line}: gpioinfo lists its lines; set [stop.button] line."
    if denied:
        return (
            f"{denied[0]} may not be opened by this user: add it to the group gpio "
            "(sudo usermod -aG gpio USER) and start again."
        )
    there = ", ".join(sorted(set(labels))) or "none"
    return (
        f"this board has no GPIO chip {label}; there is: {there}. Set [stop.button] board or chip."
    )


def _refused(error: OSError, found: Found) -> str:
    if error.errno == errno.EBUSY:
        holder = found.consumer or "another program or the device tree"
        return f"line {found.offset} of {found.path} is taken by {holder}: free it, or use another."
    return f"line {found.offset} of {found.path} was refused: {_words(error)}."


def _words(error: Exception) -> str:
    strerror = getattr(error, "strerror", None)
    return str(strerror or error or type(error).__name__)
