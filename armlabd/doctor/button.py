"""The stop button: is there one, can it be read, and was a press ever seen?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from armlabd.doctor.report import Check, finding, ok
from armlabd.doctor.subject import Subject
from armlabd.motion.boards import BOARDS, Wanted, wanted_line
from armlabd.motion.button import Button
from armlabd.motion.proof import line_name, read_proof

TEST = "armlabd doctor --press"
NAME_IT = (
    'Name its line in config.toml: [stop.button] board = "pi5" ("pi4", "orin"), or chip and line; '
    "gpioinfo lists them"
)


class Told(NamedTuple):
    """What is known of the button; `proven_at` is "" until a press was seen."""

    state: str
    why: str
    proven_at: str


def wanted_of(subject: Subject) -> Wanted:
    """The line that the settings name; chip "" when they name none."""
    button = subject.config.stop.button
    return wanted_line(button.board, button.chip, button.line)


def button_check(subject: Subject) -> Check:
    """No button is a choice; one that does not work is a finding."""
    button = subject.config.stop.button
    if not button.required:
        return _none(button.named)
    told = _of_core(subject.core) if subject.core is not None else _own_look(subject)
    if told.state == "released":
        return _released(told)
    remedy = {
        "missing": (NAME_IT, "Or, without a button: required = false"),
        "broken": ("Do what is said, then look again: armlabd doctor",),
        "noisy": ("Look for a loose contact, then shorten or shield the wire.", TEST),
        "pressed": (
            "Release it.",
            f"If it is released: look at its wire, {place_of(subject)}; a normally closed contact?",
        ),
    }.get(told.state, ("Start the daemon anew: sudo systemctl restart armlabd",))
    return finding("button", told.why or f"Its state is {told.state}.", *remedy)


def place_of(subject: Subject) -> str:
    """Where the wire goes, in words."""
    board = BOARDS.get(subject.config.stop.button.board)
    wanted = wanted_of(subject)
    if board is None or (board.chip, board.line) != (wanted.chip, wanted.line):
        return f"line {wanted.line} of {wanted.chip} to ground"
    return f"pin {board.header_pin} to pin {board.ground_pin} of the header of a {board.title}"


def _none(named: bool) -> Check:
    hand = "Keep a hand on the power switch of the servo supply."
    if named:
        return finding(
            "button",
            f"There is no physical stop: [stop.button] names a line, but does not read it. {hand}",
            "Set [stop.button] required = true in config.toml and restart armlabd",
        )
    return ok("button", f"There is no physical stop, by choice. {hand}")


def _of_core(core: Mapping[str, Any]) -> Told:
    line: Mapping[str, Any] = core.get("button_line") or {}
    state, why = str(core.get("button", "unknown")), str(core.get("button_why", ""))
    return Told(state, why, str(line.get("proven_at", "")))


def _own_look(subject: Subject) -> Told:
    """Without a core the line is free: one look at it."""
    wanted = wanted_of(subject)
    line = subject.make_line(wanted, subject.state) if wanted.chip else None
    button = Button(line, True, now_s=subject.clock.monotonic())
    button.close()
    proof = read_proof(subject.state, line_name(wanted.chip, wanted.line))
    return Told(button.state, button.why, proof)


def _released(told: Told) -> Check:
    if told.proven_at:
        return ok("button", f"It is released; a press was last seen on {told.proven_at}.")
    return finding(
        "button",
        "It reads released, but no press was ever seen: a short, a wrong pin or a pin that is no "
        "input would look the same.",
        TEST,
    )
