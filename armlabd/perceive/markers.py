"""The four printed tags on the table -> one homography from pixels to metres, or why not.

There is no fallback: without all four tags nothing in the picture is measured. A homography bends
to almost any four points, so how well the corners fit it says little about a tag that has moved:
each tag is also compared with where the other three put it, and that is as far as it has moved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np

from armlabd.perceive.picture import Floats, Picture
from armlabd.table import Marker

MAX_ERROR_M = 0.003  # worst corner; the textbook picture has 0.5 mm, a moved tag tens of mm
MAX_APART_M = 0.005  # a tag's centre from where the others put it; laid with care it is 2 mm
# Without a rim the detector loses a tag whose card comes within some pixels of the picture's edge:
# it takes the card's outline for the tag, drops it as too near, and the tag with it.
_RIM_PX = 16
_RIM_BGR = (128, 128, 128)
_DICTIONARY = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)


@dataclass(frozen=True, slots=True, eq=False)
class Homography:
    """Pixels <-> base-frame metres on the table plane.

    `worst_m` is the worst marker corner's reprojection error, `apart_m` how far the worst marker's
    centre lies from where the other three put it.
    """

    matrix: Floats  # 3 x 3, pixels -> metres
    worst_m: float
    apart_m: float = 0.0

    def to_table(self, pixels: Floats) -> Floats:
        """(n, 2) pixels u, v -> (n, 2) metres x, y at table height."""
        return _project(self.matrix, pixels)

    def to_pixels(self, points: Floats) -> Floats:
        """(n, 2) metres x, y at table height -> (n, 2) pixels u, v."""
        return _project(np.asarray(np.linalg.inv(self.matrix), np.float64), points)


@dataclass(frozen=True, slots=True)
class MarkerProblem:
    """Why the picture cannot be measured; ids that are missing or seen twice, errors in metres."""

    sentence: str
    missing: tuple[int, ...] = ()
    doubled: tuple[int, ...] = ()
    worst_m: float | None = None
    apart_m: float | None = None


def find_homography(image: Picture, markers: Sequence[Marker]) -> Homography | MarkerProblem:
    """Fit all corners of all `markers` (ids of DICT_4X4_50); every one must be seen once."""
    seen = detect(image)
    counts = Counter(id_ for id_, _ in seen)
    missing = tuple(marker.id for marker in markers if not counts[marker.id])
    doubled = tuple(marker.id for marker in markers if counts[marker.id] > 1)
    if missing or doubled:
        return MarkerProblem(_sentence(missing, doubled), missing, doubled)
    corners = dict(seen)
    fit = _fit(*_pairs(corners, markers))
    return _apart(fit, corners, markers) if isinstance(fit, Homography) else fit


Corners = dict[int, Floats]


def _pairs(corners: Corners, markers: Sequence[Marker]) -> tuple[Floats, Floats]:
    """The markers' corners in pixels and in metres."""
    pixels = np.concatenate([corners[marker.id] for marker in markers])
    table = np.array([corner for marker in markers for corner in marker.corners()], np.float64)
    return pixels, table


def _apart(
    fit: Homography, corners: Corners, markers: Sequence[Marker]
) -> Homography | MarkerProblem:
    """The fit with how far the worst marker is from where the others put it, if that will do."""
    apart = [(_from_others_m(marker, corners, markers), marker.id) for marker in markers]
    apart_m, id = max(apart)
    if apart_m <= MAX_APART_M:
        return replace(fit, apart_m=apart_m)
    return MarkerProblem(
        f"The markers do not fit each other: marker {id} lies {apart_m * 1000:.0f} mm from where "
        f"the other three put it, at most {MAX_APART_M * 1000:.0f} mm is allowed. One of them has "
        "moved, or the lens bends the picture. Measure between their centres (armlabd markers "
        "prints the distances), then lay them anew, or correct [[perceive.markers]] or [camera] "
        "distortion.",
        worst_m=fit.worst_m,
        apart_m=apart_m,
    )


def _from_others_m(marker: Marker, corners: Corners, markers: Sequence[Marker]) -> float:
    others = [other for other in markers if other.id != marker.id]
    found: Any = cv2.findHomography(*_pairs(corners, others))[0]
    if found is None:
        return float("inf")
    seen = _project(np.asarray(found, np.float64), corners[marker.id]).mean(axis=0)
    return float(np.linalg.norm(seen - np.array([marker.x, marker.y])))


def detect(image: Picture) -> list[tuple[int, Floats]]:
    """Every tag of DICT_4X4_50 in the picture: its id and its four corners in pixels."""
    # A fresh detector for each look: the object keeps state and looks may run in threads.
    parameters = cv2.aruco.DetectorParameters()
    parameters.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
    detector = cv2.aruco.ArucoDetector(_DICTIONARY, parameters)
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
