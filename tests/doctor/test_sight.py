"""What the doctor says of the camera and the markers, and the picture it writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from patient import Patient, table

from armlabd.cli import doctor as command
from armlabd.cli.client import Client
from armlabd.cli.main import main
from armlabd.doctor.report import Report, ok
from armlabd.doctor.sight import MOST_APART_MM, MOST_MM
from armlabd.doctor.subject import Subject
from armlabd.perceive.annotate import annotate_look
from armlabd.perceive.camera import Frame
from armlabd.perceive.encode import encode_jpeg
from armlabd.perceive.markers import MAX_APART_M, MAX_ERROR_M
from armlabd.perceive.scene import SceneSettings


def without_tag(image: np.ndarray) -> np.ndarray:
    """The table with its lower left tag covered."""
    covered = image.copy()
    covered[350:450, 30:130] = 150
    return covered


def moved(image: np.ndarray, by_px: int) -> np.ndarray:
    """The table with its lower left tag laid beside its place."""
    shifted = image.copy()
    tag = image[355:437, 35:117].copy()
    shifted[350:450, 30:130] = 150
    shifted[355 : 355 + tag.shape[0], 35 + by_px : 35 + by_px + tag.shape[1]] = tag
    return shifted


def test_the_errors_are_told_in_millimetres(patient: Patient) -> None:
    check = patient.check("markers")
    assert check.state == "ok"
    assert "Reprojection error 0." in check.sentence
    assert "each lies within 0." in check.sentence
    assert (MOST_MM, MOST_APART_MM) == (1000 * MAX_ERROR_M, 1000 * MAX_APART_M)


def test_a_tag_that_lies_a_little_off_is_told_to_be_measured(patient: Patient) -> None:
    patient.camera.image = moved(table(), 4)
    assert patient.check("markers").state == "ok"
    assert "Measure between them" in patient.check("markers").sentence


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (without_tag, "Marker 0 was not seen"),
        (lambda i: moved(i, 8), "from where the other three put it, at most 5 mm"),
    ],
)
def test_a_tag_that_is_missing_or_out_of_place_is_a_finding_with_the_guide(
    patient: Patient, change: Any, word: str
) -> None:
    patient.camera.image = change(table())
    check = patient.finding("markers")
    assert word in check.sentence
    assert "armlabd markers" in check.remedy[0]
    assert patient.check("camera").state == "ok"


def test_without_a_picture_the_markers_are_not_looked_at(patient: Patient) -> None:
    patient.camera.complaint = "The camera is busy."
    assert patient.check("markers").state == "skipped"
    patient.change(config=patient.config(camera={"source": "none"}))
    assert patient.check("markers").state == "skipped"


@pytest.mark.parametrize(
    ("told", "state", "word"),
    [
        ({"state": "seen", "worst_mm": 0.42, "apart_mm": 0.7}, "ok", "0.4 mm at the worst corner"),
        ({"state": "seen", "worst_mm": 0.42, "apart_mm": 2.1}, "ok", "Measure between them"),
        ({"state": "not_seen", "next": "Tag 2 is hidden."}, "finding", "hidden"),
        ({"state": "not_looked", "next": ""}, "skipped", "armlabd call look"),
        (None, "skipped", "armlabd call look"),
    ],
)
def test_a_running_daemon_tells_how_its_last_look_fitted(
    patient: Patient, told: dict[str, Any] | None, state: str, word: str
) -> None:
    patient.change(status={"camera": {"state": "ready", "source": "sim", "markers": told}})
    check = patient.check("markers")
    assert check.state == state
    assert word in check.sentence


# --- the picture --------------------------------------------------------------------------------


def kept(patient: Patient, **parts: Any) -> tuple[Report, list[np.ndarray]]:
    files: list[bytes] = []
    patient.change(keep=files.append, **parts)
    report = patient.report()
    decode = [cv2.imdecode(np.frombuffer(f, np.uint8), cv2.IMREAD_COLOR) for f in files]
    return report, decode


def changed(picture: np.ndarray, original: np.ndarray, colour: str) -> int:
    """Pixels that were painted green or red."""
    main, other = (1, 2) if colour == "green" else (2, 1)
    drawn = (picture != original).any(axis=2)
    strong = picture[:, :, main].astype(int) - picture[:, :, other] > 60
    return int((drawn & strong).sum())


def test_the_picture_shows_tags_area_and_blocks(patient: Patient) -> None:
    _, (picture,) = kept(patient)
    assert picture.shape == table().shape
    assert changed(picture, table(), "green") > 1500
    for u, v in ((265, 140), (375, 140)):  # on the rim of the area for blocks, x 0.28
        assert (picture[v + 9 : v + 13, u] != table()[v + 9 : v + 13, u]).any()


def test_the_picture_says_why_nothing_can_be_measured(patient: Patient) -> None:
    patient.camera.image = without_tag(table())
    report, (picture,) = kept(patient)
    assert any(check.name == "markers" for check in report.findings)
    assert changed(picture, patient.camera.image, "red") > 300


def test_a_running_daemon_s_picture_is_used_and_its_camera_not_opened(patient: Patient) -> None:
    patient.camera.image = without_tag(table())
    live = encode_jpeg(table())
    status = {"camera": {"state": "ready", "source": "sim"}}
    before = patient.camera.closed
    report, (picture,) = kept(patient, status=status, live=lambda: live)
    assert patient.camera.closed == before
    (check,) = [check for check in report.checks if check.name == "markers"]
    assert check.state == "ok"
    assert picture.shape == table().shape


@pytest.mark.parametrize(("live", "state"), [(b"no picture", "finding"), (None, "ok")])
def test_a_daemon_without_a_picture_leaves_none(
    patient: Patient, live: bytes | None, state: str
) -> None:
    status = {"camera": {"state": "ready", "source": "sim"}}
    report, pictures = kept(patient, status=status, live=lambda: live)
    assert pictures == []
    assert next(check for check in report.checks if check.name == "camera").state == state


def test_the_frame_itself_is_left_as_it_was() -> None:
    frame = Frame(table().copy(), 0.0, "drawn")
    annotate_look(frame, SceneSettings())
    assert np.array_equal(frame.image, table())


@pytest.fixture
def examined(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command, with an examination that keeps the given pictures."""

    def use(*pictures: bytes) -> None:
        def examine(subject: Subject) -> Report:
            assert subject.keep is not None
            for picture in pictures:
                subject.keep(picture)
            return Report("about", (ok("camera", "It works."),))

        monkeypatch.setattr(command, "examine", examine)

    return use


def test_the_command_writes_the_picture(examined: Any, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "seen.png"
    arguments = ["doctor", "--state", str(tmp_path), "--picture"]
    examined(b"\x89PNG")
    assert main([*arguments, str(path)]) == 0
    assert path.read_bytes() == b"\x89PNG"
    assert main([*arguments, str(tmp_path / "no" / "folder.png")]) == 1
    assert "cannot be written" in capsys.readouterr().err
    examined()
    assert main([*arguments, str(path)]) == 1
    assert "No picture was taken" in capsys.readouterr().err


def test_a_refused_picture_is_none_and_a_dead_daemon_unreachable(tmp_path: Path) -> None:
    from armlabd.cli.client import Unreachable

    with pytest.raises(Unreachable):
        Client("http://127.0.0.1:9").fetch("/camera.jpg", timeout_s=2.0)
