"""The printed markers: four tags to cut out, and a guide that says where each of them lies.

The tags are separate, because the table is larger than a sheet. Each stands on a card with white
around it, says which side faces away from the arm, and has strokes at its edges that show its
centre. A ruler on every sheet shows whether the printer has scaled it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import cv2
import numpy as np

from armlabd.perceive.paper import Box, Line, Page, Paper, Shape, Text
from armlabd.table import Area, CameraModel, Marker, Point

_EDGE = 10.0  # mm that printers leave white at a sheet's edges
_GAP = 6.0
_QUIET = 0.2  # of the tag's edge: white around it; a detector needs half as much
_STRIP = 8.0  # above and below the white: words
_STROKE = 4.0
_RULER = 100.0
_RULER_ROOM = 34.0
_MODULES = 6  # of a DICT_4X4_50 tag: four bits and the black border


class PaperError(ValueError):
    """The tags do not fit on the paper; the text says what does."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What the sheets show. Metres, base frame."""

    markers: Sequence[Marker]
    area: Area
    places: dict[str, Point]
    camera: CameraModel


def sheets(layout: Layout, paper: Paper) -> list[Page]:
    """The sheets with tags, then the guide. Raises PaperError."""
    return [*_tag_pages(layout.markers, paper), _guide(layout, paper)]


# --- tags ---------------------------------------------------------------------------------------


def _tag_pages(markers: Sequence[Marker], paper: Paper) -> Iterator[Page]:
    size_mm = max(1000 * marker.size_m for marker in markers)
    across, down = _grid(size_mm, paper)
    wide, high = _card(size_mm)
    for first in range(0, len(markers), across * down):
        page: list[Shape] = []
        for number, marker in enumerate(markers[first : first + across * down]):
            row, column = divmod(number, across)
            page += _card_of(marker, _EDGE + column * (wide + _GAP), _EDGE + row * (high + _GAP))
        page += _ruler(paper)
        yield page


def _card(size_mm: float) -> tuple[float, float]:
    """Width and height of a tag's card."""
    side = size_mm * (1 + 2 * _QUIET)
    return side, side + 2 * _STRIP


def _grid(size_mm: float, paper: Paper) -> tuple[int, int]:
    """Cards beside and below each other on a sheet. Raises PaperError for none."""
    wide, high = _card(size_mm)
    room = (paper.width_mm - 2 * _EDGE, paper.height_mm - 2 * _EDGE - _RULER_ROOM)
    across, down = int((room[0] + _GAP) // (wide + _GAP)), int((room[1] + _GAP) // (high + _GAP))
    if across < 1 or down < 1:
        most_mm = math.floor(min(room[0], room[1] - 2 * _STRIP) / (1 + 2 * _QUIET))
        raise PaperError(
            f"A tag of {size_mm:g} mm does not fit on {paper.name} with white around it; at most "
            f"{most_mm} mm does. Set a smaller size_m in [[perceive.markers]]."
        )
    return across, down


def _card_of(marker: Marker, left: float, top: float) -> Iterator[Shape]:
    size = 1000 * marker.size_m
    wide, high = _card(size)
    x, y = left + _QUIET * size, top + _STRIP + _QUIET * size
    yield from _outline(left, top, wide, high)
    small = min(3.0, wide / 22)
    yield Text(left + 2, top + _STRIP - 3, f"tag {marker.id}: this side away from the arm", small)
    yield from tag_shapes(marker.id, x, y, size)
    yield from _centre_strokes(left, top, wide, high)
    words = f"centre at x {marker.x:.3f} m, y {marker.y:+.3f} m"
    yield Text(left + 2, top + high - 3, words, small)


def tag_shapes(id: int, x: float, y: float, size: float) -> Iterator[Shape]:
    """A tag as a black square with white squares on it, so that no seam shows between modules."""
    dictionary = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
    bits = np.asarray(cv2.aruco.generateImageMarker(dictionary, id, _MODULES))
    module = size / _MODULES
    yield Box(x, y, size, size)
    for row, column in np.argwhere(bits > 127):
        yield Box(x + column * module, y + row * module, module, module, 1.0)


def _outline(left: float, top: float, wide: float, high: float) -> Iterator[Shape]:
    right, bottom = left + wide, top + high
    yield Line(left, top, right, top, dashed=True)
    yield Line(left, bottom, right, bottom, dashed=True)
    yield Line(left, top, left, bottom, dashed=True)
    yield Line(right, top, right, bottom, dashed=True)


def _centre_strokes(left: float, top: float, wide: float, high: float) -> Iterator[Shape]:
    """Short strokes at the card's four edges, in line with the tag's centre."""
    u, v = left + wide / 2, top + high / 2
    yield Line(u, top, u, top + _STROKE / 2)
    yield Line(u, top + high - _STROKE / 2, u, top + high)
    yield Line(left, v, left + _STROKE, v)
    yield Line(left + wide - _STROKE, v, left + wide, v)


def _ruler(paper: Paper) -> Iterator[Shape]:
    left, line = _EDGE + 5, paper.height_mm - _EDGE - 14
    yield Line(left, line, left + _RULER, line, 0.3)
    for mm in range(int(_RULER) + 1):
        high = 5.0 if mm % 10 == 0 else 3.5 if mm % 5 == 0 else 2.0
        yield Line(left + mm, line, left + mm, line - high, 0.15)
        if mm % 10 == 0:
            yield Text(left + mm - 1, line - 6.5, str(mm // 10), 2.5)
    words = (
        "Check with a ruler: this scale is 10 cm long, and each tag as large as the guide says.",
        "If not, print again at 100 % (actual size), without fitting to the page.",
    )
    for number, text in enumerate(words):
        yield Text(left, line + 5 + 5 * number, text)


# --- guide --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Map:
    """From the table (metres) to the sheet (mm): x is up, y to the left, as the camera sees it."""

    scale: float
    left: float
    top: float
    x_max: float
    y_max: float

    def at(self, x: float, y: float) -> Point:
        """Where a point of the table is drawn."""
        return self.left + self.scale * (self.y_max - y), self.top + self.scale * (self.x_max - x)


def _guide(layout: Layout, paper: Paper) -> Page:
    chart = _chart(layout.markers, paper)
    bottom = chart.at(min(0.0, *(m.x - m.size_m for m in layout.markers)), 0.0)[1]
    page: list[Shape] = [
        Text(_EDGE + 5, _EDGE + 6, "armlabd: where the tags lie (not at true size)", 5.0)
    ]
    page += _drawn_table(layout, chart)
    page += _words(layout, bottom + 12)
    page += _ruler(paper)
    return page


def _chart(markers: Sequence[Marker], paper: Paper) -> _Map:
    """The largest drawing that leaves half of the sheet for words."""
    half = max(m.size_m for m in markers) / 2
    x_min = min(0.0, *(m.x - half for m in markers))
    x_max = max(m.x + half for m in markers)
    y_min = min(-0.05, *(m.y - half for m in markers))
    y_max = max(0.05, *(m.y + half for m in markers))
    room = (paper.width_mm - 2 * _EDGE - 10, paper.height_mm / 2 - 30)
    scale = min(room[0] / (y_max - y_min), room[1] / (x_max - x_min))
    return _Map(scale, _EDGE + 5, _EDGE + 16, x_max, y_max)


def _drawn_table(layout: Layout, chart: _Map) -> Iterator[Shape]:
    for marker in layout.markers:
        size = marker.size_m * chart.scale
        u, v = chart.at(marker.x, marker.y)
        # No tag is drawn here: a guide left on the table would be a second one of each.
        yield Box(u - size / 2, v - size / 2, size, size, 0.75)
        yield Text(u - size / 2, v + size / 2 + 3.5, f"tag {marker.id}", 2.6)
        yield Text(u - size / 2, v + size / 2 + 7, f"({marker.x:.3f}, {marker.y:+.3f})", 2.6)
    area = layout.area
    corners = [(area.x_min, area.y_min), (area.x_min, area.y_max), (area.x_max, area.y_max)]
    corners.append((area.x_max, area.y_min))
    for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
        yield Line(*chart.at(*a), *chart.at(*b), dashed=True)
    yield Text(*_beside(chart.at(area.x_max, area.y_max), 2, 4), "where blocks may lie", 2.6)
    named = [*layout.places.items(), ("under the lens", (layout.camera.x, layout.camera.y))]
    for name, point in [*named, ("arm's base: x 0, y 0", (0.0, 0.0))]:
        yield from _cross(*chart.at(*point))
        yield Text(*_beside(chart.at(*point), 2, -1.5), name, 2.6)


def _beside(at: Point, right: float, down: float) -> Point:
    return at[0] + right, at[1] + down


def _cross(u: float, v: float) -> Iterator[Shape]:
    yield Line(u - 2, v, u + 2, v)
    yield Line(u, v - 2, u, v + 2)


def _words(layout: Layout, top: float) -> Iterator[Shape]:
    lines = [
        "x points forward from the arm's base, y to its left; all figures are metres.",
        "1  Print at 100 % and check the scale below and each tag's black square with a ruler:",
        "    " + ", ".join(f"tag {m.id}: {1000 * m.size_m:g} mm" for m in layout.markers) + ".",
        "2  Cut the tags out along the dashed lines. Lay or glue them flat, uncovered, evenly lit,",
        "    each with its upper side away from the arm and its centre at its place.",
        "3  Measure between the tags' centres; 2 mm more or less is good:",
        *_distances(layout.markers),
        "4  armlabd doctor tells how well they fit each other: 5 mm will do, 2 mm can be reached.",
        "Other places are as good: write them into [[perceive.markers]] and print again.",
    ]
    for number, text in enumerate(lines):
        yield Text(_EDGE + 5, top + 5.5 * number, text, 3.2)


def _distances(markers: Sequence[Marker]) -> Iterator[str]:
    pairs = [
        f"{a.id} to {b.id}: {1000 * math.hypot(a.x - b.x, a.y - b.y):.0f} mm"
        for a, b in combinations(markers, 2)
    ]
    for first in range(0, len(pairs), 3):
        yield "    " + "    ".join(pairs[first : first + 3])
