"""What the doctor says of the stop button, and its press test."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from patient import Patient

from armlabd.clock import SystemClock
from armlabd.doctor.press import CoreWatch, LineWatch, Seen, press_test, watch_of
from armlabd.doctor.report import Check
from armlabd.motion.button import ScriptedLine
from armlabd.motion.disk import DirectDisk
from armlabd.motion.messages import encode
from armlabd.motion.proof import Proof

PI5 = {"required": True, "board": "pi5"}


def button(patient: Patient, source: ScriptedLine | None = None, **given: Any) -> Patient:
    """The patient with this [stop.button], and a line of the test's own."""
    patient.change(config=patient.config(stop={"button": given}))
    if source is not None:
        patient.change(make_line=lambda wanted, state: source)
    return patient


# --- the check --------------------------------------------------------------------------------


def test_no_button_is_a_choice_that_is_said(patient: Patient) -> None:
    check = patient.check("button")
    assert check.state == "ok"
    assert "no physical stop" in check.sentence
    assert "Keep a hand on" in check.sentence


def test_a_line_that_is_named_and_not_read_is_a_finding(patient: Patient) -> None:
    button(patient, required=False, board="pi5")
    assert "does not read it" in patient.finding("button").sentence


@pytest.mark.parametrize(
    ("level", "words"),
    [(True, "release it first"), (None, "cannot be read: It is scripted so."), (False, "no press")],
)
def test_without_a_core_the_line_itself_is_looked_at(
    patient: Patient, level: bool | None, words: str
) -> None:
    line = ScriptedLine(level)
    button(patient, line, **PI5)
    assert words in patient.finding("button").sentence


def test_without_a_line_it_is_said_how_to_name_one(patient: Patient) -> None:
    button(patient, required=True)
    check = patient.finding("button")
    assert "[stop.button] board" in check.sentence
    assert 'board = "pi5"' in check.remedy[0]


def test_case_86_released_is_no_more_than_unproven_until_a_press_was_seen(patient: Patient) -> None:
    button(patient, ScriptedLine(), **PI5)
    assert patient.finding("button").remedy == ("armlabd doctor --press",)
    Proof(patient.state, "pinctrl-rp1 GPIO5", DirectDisk()).seen(1.0)
    assert patient.check("button").state == "ok"
    button(patient, ScriptedLine(), required=True, board="pi5", line="GPIO6")
    assert patient.finding("button"), "the proof was of another line"


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"button": "pressed", "button_why": "Release it."}, "Release it."),
        ({"button": "noisy", "button_why": "It flickers."}, "It flickers."),
        ({"button": "missing", "button_why": "None is named."}, "None is named."),
        ({"button": "released", "button_line": {"proven_at": ""}}, "no press was ever seen"),
        ({"button": "none"}, "Its state is none."),
    ],
)
def test_of_a_running_core_its_own_word_counts(
    patient: Patient, told: dict[str, Any], words: str
) -> None:
    line = ScriptedLine(None)
    button(patient, line, **PI5)
    patient.change(core={"state": "ready", "stopped": False, **told})
    assert words in patient.finding("button").sentence
    assert line.opened == 0, "the core has the line"


def test_a_pressed_button_is_told_where_its_wire_goes(patient: Patient) -> None:
    button(patient, ScriptedLine(True), **PI5)
    assert (
        "pin 29 to pin 30 of the header of a Raspberry Pi 5" in patient.finding("button").remedy[1]
    )
    button(patient, ScriptedLine(True), required=True, chip="own", line=3)
    assert "line 3 of own to ground" in patient.finding("button").remedy[1]


# --- the press test ---------------------------------------------------------------------------


class Scripted:
    """A watch that tells one look after the other, the last for ever."""

    def __init__(self, *looks: Seen) -> None:
        self.looks = list(looks)

    def look(self) -> Seen:
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]

    def close(self) -> None:
        """Nothing is held."""


FREE = Seen("released", "", False)
DOWN = Seen("pressed", "Release it.", True)
UP = Seen("released", "", True)


def tried(patient: Patient, *looks: Seen) -> tuple[Check, list[str]]:
    told: list[str] = []
    return press_test(patient.subject, Scripted(*looks), told.append), told


def test_a_press_and_a_release_are_asked_for_and_seen(patient: Patient) -> None:
    button(patient, **PI5)
    check, told = tried(patient, FREE, FREE, DOWN, DOWN, UP)
    assert check.state == "ok"
    assert "armlabd clear-stop" in check.sentence
    assert "Press the stop button now, within 30 s: pin 29 to pin 30" in told[0]
    assert "release it" in told[1]


@pytest.mark.parametrize(
    ("looks", "words"),
    [
        ([DOWN], "before anybody pressed it"),
        ([Seen("broken", "No such chip.")], "No such chip."),
        ([Seen("missing", "None is named.")], "None is named."),
        ([FREE, Seen("noisy", "It flickers.")], "It flickers."),
        ([FREE, DOWN], "no release in 30 s"),
        ([FREE, DOWN, FREE], "the arm is not stopped"),
        ([FREE, Seen("unknown", "The motion core has gone.")], "has gone"),
    ],
)
def test_each_way_a_press_test_fails_is_named(
    patient: Patient, looks: list[Seen], words: str
) -> None:
    button(patient, **PI5)
    check, _ = tried(patient, *looks)
    assert check.state == "finding"
    assert words in check.sentence
    assert check.remedy


@pytest.mark.parametrize(("board", "jetson"), [("pi5", False), ("orin", True)])
def test_case_86_a_line_that_never_moves_is_told_with_what_to_look_at(
    patient: Patient, board: str, jetson: bool
) -> None:
    button(patient, required=True, board=board)
    began_s = patient.clock.monotonic()
    check, _ = tried(patient, FREE)
    assert patient.clock.monotonic() - began_s == pytest.approx(30.0, abs=0.1)
    assert "Nobody is stopped by it" in check.sentence
    assert any("jetson-io" in step for step in check.remedy) is jetson


def test_without_a_button_there_is_none_to_press(patient: Patient) -> None:
    check, told = tried(patient, FREE)
    assert (check.state, told) == ("finding", [])


def test_without_a_core_the_line_is_watched_and_proven(patient: Patient) -> None:
    line = ScriptedLine()
    button(patient, line, **PI5)
    watch = watch_of(patient.subject)
    assert isinstance(watch, LineWatch)

    def press(text: str) -> None:
        line.level = text.startswith("Press")
        watch.look()
        patient.clock.sleep(0.1)

    check = press_test(patient.subject, watch, press)
    watch.close()
    assert check.state == "ok"
    assert patient.check("button").state == "ok", "and the proof is kept"


@pytest.fixture
def core(tmp_path: Path) -> Iterator[Callable[..., None]]:
    """A core's socket in STATE; what it pushes to its visitor."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(os.fspath(tmp_path / "state" / "core.sock"))
    listener.listen(1)
    peers: list[socket.socket] = []
    come = threading.Thread(target=lambda: peers.append(listener.accept()[0]))
    come.start()

    def push(**state: Any) -> None:
        come.join(10.0)
        peers[0].sendall(encode({"state": state}))

    yield push
    come.join(10.0)
    for one in (listener, *peers):
        one.close()


def test_a_running_core_is_watched_over_its_socket(
    patient: Patient, core: Callable[..., None]
) -> None:
    button(patient, **PI5)
    patient.change(clock=SystemClock())
    teller = threading.Thread(target=core, kwargs={"button": "released", "stopped": False})
    teller.start()
    watch = watch_of(patient.subject)
    teller.join(10.0)
    assert isinstance(watch, CoreWatch)
    assert watch.look() == FREE
    core(button="pressed", button_why="Release it.", stopped=True)
    seen = watch.look()
    while seen == FREE:
        seen = watch.look()
    assert seen == DOWN
    watch.close()
