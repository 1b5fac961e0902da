"""The frame with what was made of it: believed claims green, refused ones red with the reason."""

from __future__ import annotations

import textwrap
from dataclasses import replace

import cv2
import numpy as np

from armlabd.perceive.camera import Frame
from armlabd.perceive.claims import Box, Judged
from armlabd.perceive.markers import MarkerProblem, detect, find_homography
from armlabd.perceive.picture import Floats, Picture
from armlabd.perceive.scene import Scene, SceneObject, SceneSettings, look_at

_GREEN, _RED = (0, 160, 0), (0, 0, 220)
_WHITE = (255, 255, 255)
_FONT = cv2.FONT_HERSHEY_SIMPLEX
_SCALE = 0.4
_LINE_PX = 14
_WIDE = 34  # characters of a line
_MOST_LINES = 3  # of a reason; the whole of it stands in the scene


def annotate(frame: Frame, scene: Scene) -> Picture:
    """A copy of the frame's picture with boxes, labels, places (m, degrees) and reasons."""
    picture = np.array(frame.image, np.uint8)
    for judged in scene.rejected:
        _draw(picture, judged.claim.box, _refused_lines(judged), _RED)
    for item in scene.objects:
        _draw(picture, item.box, _seen_lines(item), _GREEN)
    return picture


def annotate_look(frame: Frame, settings: SceneSettings) -> Picture:
    """A copy of the picture with everything a look makes of it, or why it makes nothing: the tags
    with their ids, the area for blocks, what is believed and what is not.
    """
    picture = np.array(frame.image, np.uint8)
    for id, corners in detect(frame.image):
        _outline(picture, corners)
        _write(picture, [f"tag {id}"], _corner(corners), _GREEN)
    homography = find_homography(frame.image, settings.markers)
    if isinstance(homography, MarkerProblem):
        _write(picture, textwrap.wrap(homography.sentence, 2 * _WIDE), (0, 0), _RED)
        return picture
    area = settings.area
    rim = [(x, y) for x in (area.x_min, area.x_max) for y in (area.y_min, area.y_max)]
    _outline(picture, homography.to_pixels(np.array([rim[0], rim[1], rim[3], rim[2]])))
    worst_mm, apart_mm = 1000 * homography.worst_m, 1000 * homography.apart_m
    fit = f"corners within {worst_mm:.1f} mm, tags within {apart_mm:.1f} mm"
    _write(picture, [fit], (0, 0), _GREEN)
    scene = look_at(frame, homography, settings)
    return annotate(replace(frame, image=picture), scene)


def _outline(picture: Picture, corners: Floats) -> None:
    cv2.polylines(picture, [np.round(corners).astype(np.int32)], True, _GREEN, 1, cv2.LINE_AA)


def _corner(corners: Floats) -> tuple[int, int]:
    """Below the lowest corner, where the name hides no tag."""
    return int(corners[:, 0].min()), int(corners[:, 1].max())


def _seen_lines(item: SceneObject) -> list[str]:
    return [item.label, f"{item.x:.3f} {item.y:+z.3f} m {item.yaw_deg:+z.0f} deg"]


def _refused_lines(judged: Judged) -> list[str]:
    reason = judged.reasons[0]
    return [judged.claim.label, *textwrap.wrap(reason, _WIDE)[:_MOST_LINES]]


def _draw(picture: Picture, box: Box, lines: list[str], colour: tuple[int, int, int]) -> None:
    if not all(np.isfinite(box)):
        return
    height, width = picture.shape[:2]
    limits = np.array([width, height, width, height], np.float64)
    x1, y1, x2, y2 = (int(v) for v in np.clip(box, -limits, 2 * limits))
    cv2.rectangle(picture, (x1, y1), (x2, y2), colour, 2)
    _write(picture, lines, (x1, y2), colour)


def _write(
    picture: Picture, lines: list[str], below: tuple[int, int], colour: tuple[int, int, int]
) -> None:
    """Lines of text below a point, moved so that they stay in the picture."""
    height, width = picture.shape[:2]
    widest = max(cv2.getTextSize(line, _FONT, _SCALE, 1)[0][0] for line in lines)
    left = max(2, min(below[0], width - widest - 2))
    top = max(0, min(below[1] + 2, height - _LINE_PX * len(lines) - 4))
    foot = (left + widest + 2, top + _LINE_PX * len(lines) + 4)
    cv2.rectangle(picture, (left - 2, top), foot, _WHITE, cv2.FILLED)
    for number, line in enumerate(lines, start=1):
        at = (left, top + number * _LINE_PX)
        cv2.putText(picture, line, at, _FONT, _SCALE, colour, 1, cv2.LINE_AA)
