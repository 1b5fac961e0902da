"""Sheets to print, in millimetres: a few shapes, written as PDF and as PNG from the same list.

The PDF holds shapes, not pixels, so a printer draws a tag's edges as fine as it can. It is written
here: filled squares, lines and one line of text at a time need a hundred lines, and a library for
documents would be the largest thing that the printing of four squares brings along. It asks
viewers not to scale. Both forms carry their true size.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from armlabd.perceive.picture import Picture

PNG_DPI = 300
_MM_PER_INCH = 25.4
_POINTS = 72 / _MM_PER_INCH  # PDF units in a millimetre


@dataclass(frozen=True, slots=True)
class Paper:
    """A sheet's name and size, millimetres."""

    name: str
    width_mm: float
    height_mm: float


A4, LETTER = Paper("a4", 210.0, 297.0), Paper("letter", 215.9, 279.4)
PAPERS = {paper.name: paper for paper in (A4, LETTER)}


@dataclass(frozen=True, slots=True)
class Box:
    """A filled rectangle: left, top, width, height from the sheet's top left corner; gray 0..1."""

    x: float
    y: float
    width: float
    height: float
    gray: float = 0.0


@dataclass(frozen=True, slots=True)
class Line:
    """A level or upright line, `wide` millimetres; dashed ones are to be cut along."""

    x1: float
    y1: float
    x2: float
    y2: float
    wide: float = 0.2
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text from its left end on the base line; `size` is the height of its letters."""

    x: float
    y: float
    words: str
    size: float = 3.0


Shape = Box | Line | Text
Page = Sequence[Shape]


# --- PDF ----------------------------------------------------------------------------------------


def pdf_of(paper: Paper, pages: Sequence[Page]) -> bytes:
    """The sheets as one PDF file; the same shapes give the same bytes."""
    size = f"{paper.width_mm * _POINTS:.4f} {paper.height_mm * _POINTS:.4f}"
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R /ViewerPreferences << /PrintScaling /None >> >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, page in enumerate(pages):
        content = b"\n".join(_drawn(shape, paper.height_mm) for shape in page)
        bodies.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {size}] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        bodies.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    return _file_of(bodies)


def _file_of(bodies: Sequence[bytes]) -> bytes:
    """Objects, the table of where each begins, and the end that points to the table."""
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, body in enumerate(bodies, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table_at = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    return bytes(out + trailer % (len(bodies) + 1, table_at))


def _drawn(shape: Shape, height_mm: float) -> bytes:
    """One shape in PDF's words; its origin is the sheet's lower left corner."""

    def at(x: float, y: float) -> str:
        return f"{x * _POINTS:.4f} {(height_mm - y) * _POINTS:.4f}"

    if isinstance(shape, Box):
        size = f"{shape.width * _POINTS:.4f} {shape.height * _POINTS:.4f}"
        corner = at(shape.x, shape.y + shape.height)
        return f"{shape.gray:.3f} g {corner} {size} re f".encode()
    if isinstance(shape, Line):
        dash = "[6 4] 0 d" if shape.dashed else "[] 0 d"
        wide = f"{shape.wide * _POINTS:.4f} w"
        return f"0 G {dash} {wide} {at(shape.x1, shape.y1)} m {at(shape.x2, shape.y2)} l S".encode()
    letters = shape.words.encode("cp1252", "replace")
    for sign in (b"\\", b"(", b")"):
        letters = letters.replace(sign, b"\\" + sign)
    size = f"{shape.size * _POINTS:.4f}"
    return f"0 g BT /F1 {size} Tf {at(shape.x, shape.y)} Td (".encode() + letters + b") Tj ET"


# --- PNG ----------------------------------------------------------------------------------------


def png_of(paper: Paper, page: Page, dpi: int = PNG_DPI) -> bytes:
    """One sheet as a gray PNG that says its true size."""
    scale = dpi / _MM_PER_INCH
    size = (round(paper.height_mm * scale), round(paper.width_mm * scale))
    sheet = np.full(size, 255, np.uint8)
    for shape in page:
        _paint(sheet, shape, scale)
    good, data = cv2.imencode(".png", sheet)
    if not good:
        raise OSError("The sheet could not be written as PNG.")
    return _with_size(data.tobytes(), round(dpi / _MM_PER_INCH * 1000))


def _paint(sheet: Picture, shape: Shape, scale: float) -> None:
    if isinstance(shape, Box):
        left, top = round(shape.x * scale), round(shape.y * scale)
        right = max(left + 1, round((shape.x + shape.width) * scale))
        bottom = max(top + 1, round((shape.y + shape.height) * scale))
        sheet[top:bottom, left:right] = round(shape.gray * 255)
    elif isinstance(shape, Line):
        for stroke in _strokes(shape):
            _paint(sheet, stroke, scale)
    else:
        words = shape.words.encode("ascii", "replace").decode()
        at = (round(shape.x * scale), round(shape.y * scale))
        size = cv2.getFontScaleFromHeight(
            cv2.FONT_HERSHEY_SIMPLEX, round(0.72 * shape.size * scale)
        )
        cv2.putText(sheet, words, at, cv2.FONT_HERSHEY_SIMPLEX, 0.9 * size, 0, 2, cv2.LINE_AA)


def _strokes(line: Line) -> list[Box]:
    """A level or upright line as thin boxes that end where it ends: one, or dashes of 2 mm."""
    left, top = min(line.x1, line.x2), min(line.y1, line.y2)
    across, down = abs(line.x2 - line.x1), abs(line.y2 - line.y1)
    long, half = max(across, down), line.wide / 2
    dash = 2.0 if line.dashed else long
    marks = [3.5 * n for n in range(int(long / 3.5) + 1)] if line.dashed else [0.0]
    if across >= down:
        return [Box(left + m, top - half, min(dash, long - m), line.wide) for m in marks]
    return [Box(left - half, top + m, line.wide, min(dash, long - m)) for m in marks]


def _with_size(png: bytes, per_metre: int) -> bytes:
    """The PNG with a pHYs chunk after its header, which OpenCV does not write."""
    body = b"pHYs" + struct.pack(">IIB", per_metre, per_metre, 1)
    chunk = struct.pack(">I", 9) + body + struct.pack(">I", zlib.crc32(body))
    header_end = 8 + 25  # the signature and the IHDR chunk, which is always first
    return png[:header_end] + chunk + png[header_end:]
