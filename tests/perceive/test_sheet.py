"""The printed tags, measured: in the PDF as two other programs draw it, and in the PNG."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pypdfium2
import pytest

from armlabd.cli.main import main
from armlabd.cli.markers import sheet_files
from armlabd.config import Config
from armlabd.perceive.markers import Homography, find_homography
from armlabd.perceive.paper import A4, LETTER, PAPERS, Box, Line, Paper, Text, pdf_of, png_of
from armlabd.perceive.sheet import Layout, PaperError, sheets
from armlabd.table import CAMERA, MARKERS, PLACES, REACH, Marker

DPI = 300
PX_PER_MM = DPI / 25.4
NEAR_MM = 0.1  # more than a pixel, less than a printer's own error
BOTH = [A4, LETTER]
LAYOUT = Layout(MARKERS, REACH, dict(PLACES), CAMERA)


def by_pdfium(pdf: bytes, folder: Path) -> list[np.ndarray]:
    document = pypdfium2.PdfDocument(pdf)
    try:
        pages = [page.render(scale=DPI / 72, grayscale=True).to_numpy() for page in document]
        return [np.array(page).reshape(page.shape[:2]) for page in pages]
    finally:
        document.close()


def by_poppler(pdf: bytes, folder: Path) -> list[np.ndarray]:
    (folder / "sheet.pdf").write_bytes(pdf)
    command = ["pdftoppm", "-r", str(DPI), "-gray", "-png", "sheet.pdf", "page"]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    return [cv2.imread(str(p), cv2.IMREAD_GRAYSCALE) for p in sorted(folder.glob("page*.png"))]


Render = Callable[[bytes, Path], list[np.ndarray]]
needs_poppler = pytest.mark.skipif(shutil.which("pdftoppm") is None, reason="no poppler-utils here")


def tags_of(page: np.ndarray) -> dict[int, np.ndarray]:
    """id -> its four corners in mm of the sheet, first the upper left one."""
    parameters = cv2.aruco.DetectorParameters()
    parameters.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
    dictionary = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
    corners, ids, _ = cv2.aruco.ArucoDetector(dictionary, parameters).detectMarkers(page)
    if ids is None:
        return {}
    assert len(set(ids.ravel().tolist())) == len(ids)
    # OpenCV counts a pixel's middle as whole; its edge lies half a pixel further.
    quads = ((np.asarray(quad).reshape(4, 2) + 0.5) / PX_PER_MM for quad in corners)
    return dict(zip((int(i) for i in ids.ravel()), quads, strict=True))


def black_mm(page: np.ndarray, corners: np.ndarray) -> tuple[float, float]:
    """Width and height of the black square, counted in dark pixels along its rim."""
    half = 0.5 * (corners[2] - corners[0])[0] / 6
    top, left = corners[0][1] + half, corners[0][0] + half
    row = page[round(top * PX_PER_MM)].astype(float)
    column = page[:, round(left * PX_PER_MM)].astype(float)
    reach = (corners[0] - 4) * PX_PER_MM, (corners[2] + 4) * PX_PER_MM
    across = (255 - row[round(reach[0][0]) : round(reach[1][0])]).sum() / 255
    down = (255 - column[round(reach[0][1]) : round(reach[1][1])]).sum() / 255
    return across / PX_PER_MM, down / PX_PER_MM


def assert_true_size(pages: list[np.ndarray], paper: Paper) -> None:
    """Four tags on the first sheet, upright, as large as the settings say; none on the guide."""
    for page in pages:
        assert page.shape[1] / PX_PER_MM == pytest.approx(paper.width_mm, abs=NEAR_MM)
        assert page.shape[0] / PX_PER_MM == pytest.approx(paper.height_mm, abs=NEAR_MM)
        assert ruler_mm(page) == pytest.approx(100.0, abs=0.3)
    tags = tags_of(pages[0])
    assert set(tags) == {0, 1, 2, 3}
    for corners in tags.values():
        assert corners[0][0] < corners[1][0]
        assert corners[0][1] < corners[3][1]
        assert black_mm(pages[0], corners) == pytest.approx((50.0, 50.0), abs=NEAR_MM)
    assert tags_of(pages[1]) == {}


def ruler_mm(page: np.ndarray) -> float:
    """The longest horizontal stroke of the sheet's lowest part."""
    longest = 0
    for row in page[int(0.85 * page.shape[0]) :]:
        dark = np.flatnonzero(np.diff(np.concatenate([[0], (row < 128).astype(np.int8), [0]])))
        if len(dark):
            longest = max(longest, int(np.max(dark[1::2] - dark[::2])))
    return longest / PX_PER_MM


@pytest.mark.parametrize(
    ("paper", "render"),
    [
        pytest.param(A4, by_pdfium, id="a4-pdfium"),
        pytest.param(LETTER, by_pdfium, id="letter-pdfium"),
        pytest.param(A4, by_poppler, id="a4-poppler", marks=needs_poppler),
    ],
)
def test_the_tags_of_the_pdf_have_their_true_size(
    paper: Paper, render: Render, tmp_path: Path
) -> None:
    assert_true_size(render(pdf_of(paper, sheets(LAYOUT, paper)), tmp_path), paper)


@pytest.mark.parametrize("paper", BOTH, ids=lambda p: p.name)
def test_the_tags_of_the_png_have_their_true_size_and_it_says_its_own(paper: Paper) -> None:
    files = [png_of(paper, page) for page in sheets(LAYOUT, paper)]
    decoded = [cv2.imdecode(np.frombuffer(f, np.uint8), cv2.IMREAD_GRAYSCALE) for f in files]
    assert_true_size(decoded, paper)
    at = files[0].index(b"pHYs")
    assert struct.unpack(">IIB", files[0][at + 4 : at + 13]) == (11811, 11811, 1)
    (checksum,) = struct.unpack(">I", files[0][at + 13 : at + 17])
    assert checksum == zlib.crc32(files[0][at : at + 13])


def test_tags_cut_from_the_sheet_and_laid_at_their_places_measure_the_table(
    tmp_path: Path,
) -> None:
    page = by_pdfium(pdf_of(A4, sheets(LAYOUT, A4)), tmp_path)[0]
    table = np.full((480, 640), 120, np.uint8)
    for marker in MARKERS:
        corners = tags_of(page)[marker.id]
        card = corners + 9.0 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
        half = marker.size_m / 2 + 0.009
        laid = [
            (marker.x + half, marker.y + half), (marker.x + half, marker.y - half),
            (marker.x - half, marker.y - half), (marker.x - half, marker.y + half),
        ]  # fmt: skip
        scale = CAMERA.focal_px / CAMERA.height_m
        goal = [(320 - scale * (y - CAMERA.y), 240 - scale * (x - CAMERA.x)) for x, y in laid]
        warp = cv2.getPerspectiveTransform(np.float32(card * PX_PER_MM), np.float32(goal))
        flags = {"dsize": (640, 480), "flags": cv2.INTER_AREA}
        seen = cv2.warpPerspective(page, warp, **flags)
        where = cv2.fillConvexPoly(np.zeros_like(table), np.int32(np.round(goal)), 255) > 0
        table[where] = seen[where]
    found = find_homography(cv2.cvtColor(table, cv2.COLOR_GRAY2BGR), MARKERS)
    assert isinstance(found, Homography), found
    assert found.worst_m < 0.0015


# --- layout -------------------------------------------------------------------------------------


def of_size(size_m: float) -> Layout:
    return replace(LAYOUT, markers=tuple(replace(m, size_m=size_m) for m in MARKERS))


@pytest.mark.parametrize("paper", BOTH, ids=lambda p: p.name)
@pytest.mark.parametrize("size_m", [0.01, 0.03, 0.05, 0.08, 0.12, 0.13])
def test_every_size_that_fits_has_every_tag_once_on_paper_that_is_left_white_at_its_edges(
    paper: Paper, size_m: float
) -> None:
    pages = sheets(of_size(size_m), paper)
    boxes = [s for page in pages[:-1] for s in page if isinstance(s, Box) and s.gray == 0]
    assert [box.width for box in boxes] == pytest.approx([1000 * size_m] * 4)
    for shape in (shape for page in pages for shape in page):
        for x, y in _ends(shape):
            assert 9.9 <= x <= paper.width_mm - 9.9
            assert 9.9 <= y <= paper.height_mm - 9.9


def _ends(shape: Box | Line | Text) -> list[tuple[float, float]]:
    if isinstance(shape, Box):
        return [(shape.x, shape.y), (shape.x + shape.width, shape.y + shape.height)]
    if isinstance(shape, Line):
        return [(shape.x1, shape.y1), (shape.x2, shape.y2)]
    width = 0.5 * shape.size * len(shape.words)  # Helvetica's letters are half as wide as high
    return [(shape.x, shape.y), (shape.x + width, shape.y)]


@pytest.mark.parametrize("paper", BOTH, ids=lambda p: p.name)
def test_a_tag_larger_than_the_paper_is_refused_with_the_most_that_fits(paper: Paper) -> None:
    with pytest.raises(PaperError, match="at most") as caught:
        sheets(of_size(0.2), paper)
    found = re.search(r"at most (\d+) mm", str(caught.value))
    assert found is not None
    most = int(found[1])
    assert len(sheets(of_size(most / 1000), paper)) == 5
    with pytest.raises(PaperError):
        sheets(of_size((most + 2) / 1000), paper)


def test_the_guide_says_sizes_places_and_distances() -> None:
    words = " ".join(s.words for s in sheets(LAYOUT, A4)[-1] if isinstance(s, Text))
    for text in ("(0.340, -0.220)", "tag 3: 50 mm", "0 to 3: 522 mm", "1 to 3: 280 mm", "bin"):
        assert text in words


def test_the_settings_decide_ids_and_places() -> None:
    moved = tuple(Marker(m.id + 10, m.x + 0.01, m.y, 0.04) for m in MARKERS)
    pages = sheets(replace(LAYOUT, markers=moved), A4)
    words = " ".join(s.words for page in pages for s in page if isinstance(s, Text))
    assert "tag 13: this side away from the arm" in words
    assert "centre at x 0.350 m, y -0.220 m" in words


def test_words_of_any_kind_are_data_in_the_pdf(tmp_path: Path) -> None:
    hostile = {
        ") Tj ET 0 g 0 0 600 800 re f (": (0.2, 0.0),
        "Schüssel\\": (0.2, 0.1),
        "箱": (0.15, 0.0),
    }
    pdf = pdf_of(A4, sheets(replace(LAYOUT, places=hostile), A4))
    page = by_pdfium(pdf, tmp_path)[1]
    assert page.mean() > 240  # nobody has painted it black
    document = pypdfium2.PdfDocument(pdf)
    text = document[1].get_textpage().get_text_bounded()
    document.close()
    assert ") Tj ET 0 g" in text
    assert "Schüssel\\" in text


def test_the_same_settings_give_the_same_bytes() -> None:
    assert sheet_files(Config(), "a4") == sheet_files(Config(), "a4")


# --- command line -------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", sorted(PAPERS))
def test_the_command_writes_a_pdf_and_a_picture_of_every_sheet(
    paper: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "folder"
    assert main(["markers", "--paper", paper, "--out", str(out)]) == 0
    names = sorted(path.name for path in out.iterdir())
    assert names == [f"markers-{paper}-1.png", f"markers-{paper}-2.png", f"markers-{paper}.pdf"]
    assert "Print at 100 %" in capsys.readouterr().out


def test_the_command_refuses_tags_that_do_not_fit_and_a_folder_it_cannot_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        f"[[perceive.markers]]\nid = {m.id}\nx = {m.x}\ny = {m.y}\nsize_m = 0.2" for m in MARKERS
    ]
    (tmp_path / "config.toml").write_text("\n".join(rows))
    config = str(tmp_path / "config.toml")
    assert main(["markers", "--config", config, "--out", str(tmp_path)]) == 1
    assert "does not fit on a4" in capsys.readouterr().err
    assert main(["markers", "--out", config]) == 1
    assert "cannot be written" in capsys.readouterr().err
