from __future__ import annotations

import json

import pytest

from armlabd.bench.figures import Bar, Figure
from armlabd.bench.report import Machine, Report, Section, is_virtual

QUIET = Machine(0.49, 2, "3.11.7", "Linux 6")
HELD = Figure.of("good", "ms", [1.0], Bar(2.0))
MISSED = Figure.of("bad", "ms", [2.0], Bar(2.0))
FEW = Figure.of("short", "ms", [1.0], Bar(2.0, least=2))
PLAIN = Figure.of("beside it", "ms", [9.0])


def report(*figures: Figure, machine: Machine = QUIET, failures: tuple[str, ...] = ()) -> Report:
    return Report("stop", machine, (Section("Stops", figures),), failures, ("A note.",))


@pytest.mark.parametrize(
    ("cpuinfo", "virtual"),
    [
        ("processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n", True),
        ("processor\t: 0\nflags\t\t: fpu vme lahf_lm\n", False),
        ("processor\t: 0\nmodel name\t: hypervisor of steel\nflags\t\t: fpu\n", False),
        ("processor\t: 0\nFeatures\t: fp asimd evtstrm crc32\n", False),
        ("", False),
    ],
)
def test_virtual_processors_are_known_by_their_flag(cpuinfo: str, virtual: bool) -> None:
    assert is_virtual(cpuinfo) is virtual
    words = Machine(0.1, 2, "3.11.7", "Linux 6", virtual).lines()[0]
    assert ("2 virtual processors" in words) is virtual


def test_a_report_holds_when_every_bar_does() -> None:
    assert report(HELD, PLAIN).held


@pytest.mark.parametrize("figure", [MISSED, FEW])
def test_one_bar_that_is_not_held_is_enough(figure: Figure) -> None:
    assert not report(HELD, figure, PLAIN).held


def test_what_could_not_be_measured_does_not_hold() -> None:
    assert not report(HELD, failures=("The arm did not come.",)).held


def test_a_report_without_any_bar_does_not_hold() -> None:
    assert not report(PLAIN).held


def test_the_lines_tell_machine_figures_notes_failures_and_a_summary() -> None:
    lines = report(HELD, MISSED, FEW, PLAIN, failures=("The arm did not come.",)).lines()
    assert lines[0] == "bench stop"
    assert lines[1] == "load 0.49 on 2 processors at the start, Python 3.11.7, Linux 6"
    assert "  bad: 2 ms; MISSED (bar: under 2 ms)" in lines
    assert "  A note." in lines
    assert "  The arm did not come." in lines
    assert lines[-1] == "3 bars: 1 held, 1 missed, 1 undecided."


@pytest.mark.parametrize(("load", "quiet"), [(0.0, True), (0.49, True), (0.5, False), (3.7, False)])
def test_a_report_says_plainly_whether_the_machine_was_quiet(load: float, quiet: bool) -> None:
    lines = report(HELD, machine=Machine(load, 2, "3.11.7", "Linux 6")).lines()
    assert "need a quiet machine (load under 0.5)" in lines[2]
    assert ("was NOT" in lines[2]) is not quiet


def test_the_json_form_has_everything_and_is_json() -> None:
    made = report(HELD, MISSED, failures=("x",)).as_dict()
    assert json.loads(json.dumps(made)) == made
    assert made["held"] is False
    assert made["machine"] == {
        "load": 0.49,
        "quiet": True,
        "cpus": 2,
        "python": "3.11.7",
        "kernel": "Linux 6",
        "virtual": False,
    }
    assert [figure["verdict"] for figure in made["sections"][0]["figures"]] == ["held", "missed"]
    assert made["failures"] == ["x"]


def test_this_machine_can_be_described() -> None:
    machine = Machine.now()
    assert machine.cpus >= 1
    assert machine.load >= 0
    assert machine.python.startswith("3.")
