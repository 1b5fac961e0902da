"""The four printed tags on the table -> one homography from pixels to metres, or why not.

There is no fallback: without all four tags nothing in the picture is measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from armlabd.perceive.picture import Floats, Picture
from armlabd.table import Marker

MAX_ERROR_M = 0.003  # worst corner; the textbook picture has 0.5 mm, a moved tag tens of mm
# Without a rim the detector loses a tag whose card comes within some pixels of the picture's edge:
# it takes the card's outline for the tag, drops it as too near, and the tag with it.
_RIM_PX = 16
_RIM_BGR = (128, 128, 128)
_DICTIONARY = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)


@dataclass(frozen=True, slots=True, eq=False)
class Homography:
    """Pixels <-> base-frame metres on the table plane. `worst_m` is the worst marker corner."""

    matrix: Floats  # 3 x 3, pixels -> metres
    worst_m: float

    def to_table(self, pixels: Floats) -> Floats:
        """(n, 2) pixels u, v -> (n, 2) metres x, y at table height."""
        return _project(self.matrix, pixels)

    def to_pixels(self, points: Floats) -> Floats:
        """(n, 2) metres x, y at table height -> (n, 2) pixels u, v."""
        return _project(np.asarray(np.linalg.inv(self.matrix), np.float64), points)


@dataclass(frozen=True, slots=True)
class MarkerProblem:
    """Why the picture cannot be measured; ids that are missing or seen twice, worst error in m."""

    sentence: str
    missing: tuple[int, ...] = ()
    doubled: tuple[int, ...] = ()
    worst_m: float | None = None


def find_homography(image: Picture, markers: Sequence[Marker]) -> Homography | MarkerProblem:
    """Fit all corners of all `markers` (ids of DICT_4X4_50); every one must be seen once."""
    seen = _detect(image)
    counts = Counter(id_ for id_, _ in seen)
    missing = tuple(marker.id for marker in markers if not counts[marker.id])
    doubled = tuple(marker.id for marker in markers if counts[marker.id] > 1)
    if missing or doubled:
        return MarkerProblem(_sentence(missing, doubled), missing, doubled)
    corners = dict(seen)
    pixels = np.concatenate([corners[marker.id] for marker in markers])
    table = np.array([corner for marker in markers for corner in marker.corners()], np.float64)
    return _fit(pixels, table)


def _detect(image: Picture) -> list[tuple[int, Floats]]:
    # A fresh detector for each look: the object keeps state and looks may run in threads.
    detector = cv2.aruco.ArucoDetector(_DICTIONARY, cv2.aruco.DetectorParameters())
    rim = (_RIM_PX,) * 4
    wider = cv2.copyMakeBorder(image, *rim, cv2.BORDER_CONSTANT, value=_RIM_BGR)
    found: Any = detector.detectMarkers(wider)  # OpenCV's types leave out its None
    corners, ids, _ = found
    if ids is None:
        return []
    quads = (np.asarray(quad, np.float64).reshape(4, 2) - _RIM_PX for quad in corners)
    return list(zip((int(i) for i in np.ravel(ids)), quads, strict=True))


def _fit(pixels: Floats, table: Floats) -> Homography | MarkerProblem:
    found: Any = cv2.findHomography(pixels, table)[0]
    if found is None:
        return MarkerProblem("The markers lie in one line in the picture. Check where they lie.")
    matrix = np.asarray(found, np.float64)
    errors = np.linalg.norm(_project(matrix, pixels) - table, axis=1)
    worst_m = float(np.max(errors))
    if not worst_m <= MAX_ERROR_M:  # also refuses NaN
        return MarkerProblem(
            f"The markers do not lie where the settings say: a corner is {worst_m * 1000:.1f} mm "
            f"off, at most {MAX_ERROR_M * 1000:.0f} mm is allowed. Lay the markers flat at their "
            "places, or correct [[perceive.markers]].",
            worst_m=worst_m,
        )
    return Homography(matrix, worst_m)


def _sentence(missing: tuple[int, ...], doubled: tuple[int, ...]) -> str:
    parts = []
    if missing:
        parts.append(
            f"Marker {_names(missing)} not seen; all of them are needed to measure. Lay the "
            "markers in view, uncovered and evenly lit."
        )
    if doubled:
        parts.append(
            f"Marker {_names(doubled)} seen more than once. Leave one of each on the table."
        )
    return " ".join(parts)


def _names(ids: tuple[int, ...]) -> str:
    listed = ", ".join(str(i) for i in ids[:-1])
    return f"{listed} and {ids[-1]} were" if listed else f"{ids[-1]} was"


def _project(matrix: Floats, points: Floats) -> Floats:
    raised = np.column_stack([points, np.ones(len(points))]) @ matrix.T
    return np.asarray(raised[:, :2] / raised[:, 2:], np.float64)
