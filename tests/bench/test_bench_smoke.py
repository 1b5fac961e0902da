"""One real run of each bench with tiny counts: it ends, tells, and leaves nothing behind."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from armlabd.bench import BENCHES, cycle, model
from armlabd.bench.models_made import save_model
from armlabd.bench.report import Report

pytestmark = pytest.mark.real


def leftovers() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("armlabd-bench-*"))


def names(report: Report) -> set[str]:
    return {figure.name for figure in report.figures}


@pytest.fixture
def _own_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    tmp_path_factory.getbasetemp()  # made before: the other tests' folders do not lie in ours
    with tempfile.TemporaryDirectory(prefix="ab-") as short:  # a socket's path has to be short
        monkeypatch.setattr(tempfile, "tempdir", short)
        yield


@pytest.mark.usefixtures("_own_folder")
def test_a_start_is_measured_from_process_to_first_motion() -> None:
    report = BENCHES["start"](1)
    assert report.failures == ()
    assert {"virtual arm connected", "daemon above bare", "core"} <= names(report)
    assert "arm waiting in the view pose" in names(report)
    assert leftovers() == set()


@pytest.mark.usefixtures("_own_folder")
def test_stops_are_measured_idle_and_under_stress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cycle, "SPEED_DPS", 60.0)  # what is measured does not matter here
    report = BENCHES["stop"](4)
    assert report.failures == ()
    assert len(report.sections) == 8
    shares = [f for f in report.figures if f.name.endswith("processor share")]
    judged = [f.name for f in shares if f.bar is not None]
    assert len(shares) == 6, "in motion, holding and the bare loop, with and without halts"
    assert judged == ["in motion: processor share", "holding: processor share"]
    failed = [f for f in report.figures if f.name.startswith("stops neither seen")]
    assert [figure.value for figure in failed] == [0.0] * 6
    assert not report.held  # four stops are too few to say that the bar of 2,000 holds
    assert leftovers() == set()


@pytest.mark.usefixtures("_own_folder")
def test_presses_are_measured_from_the_contact_to_the_frame() -> None:
    report = BENCHES["button"](4)
    assert report.failures == ()
    failed = [f for f in report.figures if f.name.startswith("stops neither seen")]
    assert [figure.value for figure in failed] == [0.0] * 2
    assert not report.held
    assert leftovers() == set()


@pytest.mark.usefixtures("_own_folder")
def test_a_model_is_measured_in_its_worker(tmp_path: Path) -> None:
    report = model(2, save_model(tmp_path / "tiny"))
    assert report.failures == ()
    assert {"mask and grammar", "model steps of 100 tokens", "cancel to let go"} <= names(report)
    verdicts = {figure.name: figure.verdict for figure in report.figures}
    assert verdicts["after unloading"] == "held"
    assert verdicts["peak with one tile"] == "held"
    assert verdicts["stops neither seen nor confirmed"] == "held"
    assert leftovers() == set()
