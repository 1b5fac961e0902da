"""bench bus: the faults are really brought and judged, the picture is a picture."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from armlabd import bench
from armlabd.bench import BENCHES, busfaults
from armlabd.bench.busfaults import FAULTS, Survived, survive
from armlabd.bench.figures import Bar, Figure
from armlabd.bench.plot import Bars, Curve, picture
from armlabd.bench.report import Machine, Report, Section
from armlabd.cli.main import main
from armlabd.motion.servos import Servos

READS = 20


@pytest.mark.parametrize("name", FAULTS)
def test_after_each_fault_no_value_is_stale_and_every_read_is_whole(name: str) -> None:
    found = survive(name, READS)
    assert (found.stale, found.wrong) == (0, 0), found
    assert found.whole_after is not None
    assert found.healthy == READS
    assert found.asked == 600


@pytest.mark.parametrize("name", ["30 % of answers lost", "servo 3 mute", "bus silent"])
def test_a_fault_is_felt_and_its_cause_counted(name: str) -> None:
    found = survive(name, READS)
    assert found.got < found.asked
    assert found.causes["silent"] > 0
    assert f"{found.got} of 600 values" in found.words


def test_a_bus_that_hands_out_old_values_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = busfaults._positions
    kept: list[dict[int, int]] = []

    def one_behind(servos: Servos) -> dict[int, int]:
        kept.append(real(servos))
        return kept[-2] if len(kept) > 1 else kept[-1]

    monkeypatch.setattr(busfaults, "_positions", one_behind)
    found = survive("one answer 4 ms late", READS)
    assert found.stale > 600
    assert found.wrong == 0


def test_values_mixed_up_between_servos_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = busfaults._positions

    def swapped(servos: Servos) -> dict[int, int]:
        values = real(servos)
        return {**values, 1: values[2], 2: values[1]} if len(values) == 6 else values

    monkeypatch.setattr(busfaults, "_positions", swapped)
    found = survive("one answer 4 ms late", READS)
    assert found.stale + found.wrong > 200


def test_a_fault_that_stays_says_so() -> None:
    assert "never whole again" in Survived("x", 1, 2).words
    assert "whole after 0.05 s" in Survived("x", 1, 2, whole_after=5).words


def test_the_picture_is_sound_xml_with_every_name_in_it() -> None:
    curves = [Curve("ours <fast>", [0.0, 0.5, 1e9]), Curve("bare", [1.0])]
    text = picture("t & t", "axis", curves, Bars("bars", [("one", 100.0), ("two", 250.0)]))
    root = ElementTree.fromstring(text)
    words = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"t & t", "ours <fast>", "bare", "bars", "one", "two"} <= words
    width = float(root.attrib["width"])
    for line in root.iter("{http://www.w3.org/2000/svg}polyline"):
        places = [float(point.split(",")[0]) for point in line.attrib["points"].split()]
        assert all(0 <= place <= width for place in places)
        assert places == sorted(places)


def test_the_picture_is_written_where_it_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figure = Figure.of("good", "ms", [1.0], Bar(2.0))
    section, machine = Section("s", (figure,)), Machine(0.1, 2, "3", "L")

    def made(plot: str) -> None:
        report = Report("bus", machine, (section,), plot=plot)
        monkeypatch.setitem(bench.BENCHES, "bus", lambda _: report)

    made("<svg/>")
    path = tmp_path / "bus.svg"
    assert main(["bench", "bus", "--plot", str(path), "--json"]) == 0
    assert path.read_text() == "<svg/>"
    assert json.loads(capsys.readouterr().out)["held"] is True
    assert main(["bench", "bus", "--plot", str(tmp_path / "no" / "bus.svg")]) == 1
    made("")
    assert main(["bench", "bus", "--plot", str(path)]) == 1
    assert "draws no picture" in capsys.readouterr().err


@pytest.mark.real
def test_the_loops_are_measured_by_turns() -> None:
    report = BENCHES["bus"](3)
    assert report.failures == ()
    names = {figure.name for figure in report.figures}
    assert {"bare loop: processor share", "our bus, at once: cycle", "servo 3 mute"} <= names
    judged = {f.name: f.verdict for f in report.figures if f.bar is not None}
    assert all(judged[name] == "held" for name in FAULTS)
    assert report.plot.startswith("<svg")
