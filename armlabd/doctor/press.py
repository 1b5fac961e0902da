"""The press test: only a finger can show that the button reaches the core.

With a core running its own reading counts, and that it stopped; else the line is opened here.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from armlabd.doctor.button import NAME_IT, place_of, wanted_of
from armlabd.doctor.report import Check, finding, ok
from armlabd.doctor.subject import CHUNK, Subject
from armlabd.motion.button import Button
from armlabd.motion.disk import DirectDisk
from armlabd.motion.messages import LineReader, encode
from armlabd.motion.proof import Proof, line_name

WAIT_S = 30.0  # for a person to walk to the button
LOOK_S = 0.02
HELLO_S = 1.5
JETSON = (
    "On a Jetson the pin must be set up as a GPIO input: sudo /opt/nvidia/jetson-io/jetson-io.py"
)


class Seen(NamedTuple):
    """One look: the button's state and why, and whether the arm is stopped (None: no core)."""

    state: str
    why: str = ""
    stopped: bool | None = None


class Watch(Protocol):
    """Who is asked how the button is, again and again."""

    def look(self) -> Seen:
        """How it is now."""

    def close(self) -> None:
        """Let go of it."""


class CoreWatch:
    """A visitor at the core's socket."""

    def __init__(self, path: str) -> None:
        """Raises OSError when no core answers."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._lines = LineReader()
        self._told: dict[str, Any] = {}
        try:
            self._socket.settimeout(HELLO_S)
            self._socket.connect(path)
            self._socket.sendall(encode({"do": "hello", "role": "visitor"}))
            while "button" not in self._told:
                self._hear()
            self._socket.setblocking(False)
        except OSError:
            self._socket.close()
            raise

    def look(self) -> Seen:
        """What it pushed last."""
        try:
            self._hear()
        except BlockingIOError:
            pass
        except OSError:
            return Seen("unknown", "The motion core has gone.")
        told = self._told
        return Seen(str(told["button"]), str(told.get("button_why", "")), bool(told["stopped"]))

    def _hear(self) -> None:
        data = self._socket.recv(CHUNK)
        if not data:
            raise ConnectionResetError
        for message in self._lines.feed(data):
            self._told |= message.get("state") or {}

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


class LineWatch:
    """The line itself; a press that is seen here proves it too."""

    def __init__(self, subject: Subject) -> None:
        wanted, self._clock = wanted_of(subject), subject.clock
        line = subject.make_line(wanted, subject.state) if wanted.chip else None
        proof = Proof(subject.state, line_name(wanted.chip, wanted.line), DirectDisk())
        release_s, now_s = subject.config.stop.button.release_s, self._clock.monotonic()
        self._button = Button(line, True, release_s, now_s, proof)

    def look(self) -> Seen:
        """Read it."""
        self._button.look(self._clock.monotonic(), woken=True)
        return Seen(self._button.state, self._button.why)

    def close(self) -> None:
        """Give the line back."""
        self._button.close()


def watch_of(subject: Subject) -> Watch:
    """The running core, else the line itself."""
    try:
        return CoreWatch(str(subject.state / "core.sock"))
    except OSError:
        return LineWatch(subject)


def press_test(subject: Subject, watch: Watch, tell: Callable[[str], None]) -> Check:
    """Ask for a press and a release, and say what was seen of them."""
    if not subject.config.stop.button.required:
        step = "Set [stop.button] required = true in config.toml, and name its board"
        return finding("button", "No stop button is read, so there is none to press.", step)
    first = watch.look()
    if first.state != "released":
        return _not_ready(subject, first)
    tell(f"Press the stop button now, within {WAIT_S:g} s: {place_of(subject)}. The arm stops.")
    pressed = _wait(subject, watch, lambda seen: seen.state != "released")
    if pressed is None:
        return _unseen(subject)
    if pressed.state != "pressed":
        return _not_ready(subject, pressed)
    tell("Seen. Keep it pressed for a moment, then release it.")
    if _wait(subject, watch, lambda seen: seen.state == "released") is None:
        return _stays_open(subject)
    if watch.look().stopped is False:
        sentence = "The press was seen, but the arm is not stopped: do not use this arm."
        return finding("button", sentence, "Look at its log: journalctl -u armlabd -n 50")
    after = "" if pressed.stopped is None else " The arm is stopped: armlabd clear-stop ends that."
    return ok("button", f"Press and release were seen.{after}")


def _wait(subject: Subject, watch: Watch, true: Callable[[Seen], bool]) -> Seen | None:
    """The first look for which it is true; None when the time is over."""
    until_s = subject.clock.monotonic() + WAIT_S
    while subject.clock.monotonic() < until_s:
        seen = watch.look()
        if true(seen):
            return seen
        subject.clock.sleep(LOOK_S)
    return None


def _not_ready(subject: Subject, seen: Seen) -> Check:
    if seen.state == "missing":
        return finding("button", seen.why, NAME_IT)
    if seen.state != "pressed":
        return finding("button", seen.why, "Do what is said, then: armlabd doctor --press")
    return finding(
        "button",
        "It reads pressed before anybody pressed it.",
        "Release it (a mushroom button is turned or pulled)",
        f"Is its wire whole and in place? {place_of(subject)}",
        "Is it the normally closed contact (NC)? A normally open one reads pressed all the time.",
    )


def _unseen(subject: Subject) -> Check:
    wanted = wanted_of(subject)
    jetson = (JETSON,) if wanted.chip.startswith("tegra") else ()
    return finding(
        "button",
        f"No press was seen in {WAIT_S:g} s: the line reads closed whatever the button does. "
        "Nobody is stopped by it.",
        f"Is it this pin? {place_of(subject)}",
        "Pull the wire off the pin: if that stops the arm, contact or wire have a short",
        *jetson,
        "If the pin is right, the line may be another: gpioinfo shows label and line of each.",
    )


def _stays_open(subject: Subject) -> Check:
    return finding(
        "button",
        f"The press was seen, but no release in {WAIT_S:g} s: the arm stays stopped.",
        "Release it (a mushroom button is turned or pulled)",
        f"Does the wire hold? {place_of(subject)}",
    )
