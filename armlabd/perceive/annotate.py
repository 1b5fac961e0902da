"""The frame with what was made of it: believed claims green, refused ones red with the reason."""

from __future__ import annotations

import textwrap

import cv2
import numpy as np

from armlabd.perceive.camera import Frame
from armlabd.perceive.claims import Box, Judged
from armlabd.perceive.picture import Picture
from armlabd.perceive.scene import Scene, SceneObject

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
