"""The daemon's sight: one picture at a time, beside the loop, or a sentence why there is none."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import pytest

from armlabd.clock import VirtualClock
from armlabd.execute.eye import Eye
from armlabd.execute.journal import finite
from armlabd.perceive.boxes import Rect
from armlabd.perceive.camera import Frame
from armlabd.perceive.errors import CameraError, MarkerError
from armlabd.perceive.markers import Homography
from armlabd.perceive.scene import Scene, SceneSettings
from armlabd.perceive.view import View
from armlabd.verdict import Code

IMAGE = np.zeros((480, 640, 3), np.uint8)


class Camera:
    """Gives frames, or raises what it was told to."""

    def __init__(self) -> None:
        self.fault: Exception | None = None
        self.last: Frame | None = None
        self.at_once = 0
        self.most_at_once = 0
        self.threads: set[int] = set()
        self.closed = False

    def grab(self) -> Frame:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.threads.add(threading.get_ident())
        self.at_once -= 1
        if self.fault:
            raise self.fault
        self.last = Frame(IMAGE, 1.0, "test")
        return self.last

    def status(self) -> dict[str, Any]:
        return {"state": "ready"}

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def camera() -> Camera:
    return Camera()


def _empty_view(frame: Frame, settings: SceneSettings) -> View:
    homography = Homography(np.eye(3), 0.0)
    return View(Scene((), (), frame.taken_s), frame, Rect(0, 0, 640, 480), homography)


@pytest.fixture
def eye(camera: Camera, monkeypatch: Any) -> Eye:
    monkeypatch.setattr("armlabd.execute.eye.view", _empty_view)
    return Eye(camera, SceneSettings(), VirtualClock(3.0))  # type: ignore[arg-type]


async def test_a_look_leaves_scene_and_picture_together(eye: Eye) -> None:
    verdict = await eye.look()
    assert verdict.ok
    assert verdict.data["age_s"] == 2.0
    assert eye.scene is not None
    assert eye.view is not None
    assert eye.scene.taken_s == eye.view.table.taken_s


async def test_looks_come_one_at_a_time_and_never_in_the_loop(eye: Eye, camera: Camera) -> None:
    await asyncio.gather(*(eye.look() for _ in range(10)))
    assert camera.most_at_once == 1
    assert threading.get_ident() not in camera.threads


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (CameraError("The camera is gone. Plug it in."), Code.NO_CAMERA),
        (MarkerError("Marker 2 is hidden. Clear it."), Code.NO_MARKERS),
        (OSError("no space left on device"), Code.NO_CAMERA),
    ],
)
async def test_what_keeps_it_from_seeing_is_a_verdict_and_passes(
    eye: Eye, camera: Camera, fault: Exception, code: Code
) -> None:
    await eye.look()
    before = eye.scene
    camera.fault = fault
    verdict = await eye.look()
    assert verdict.code is code
    assert str(fault) in verdict.sentence
    assert eye.scene is before
    camera.fault = None
    assert (await eye.look()).ok


async def test_pictures_are_of_what_was_seen(eye: Eye) -> None:
    assert await eye.jpeg() is None
    assert await eye.png(eye.view) is None
    await eye.look()
    jpeg, png = await eye.jpeg(), await eye.png(eye.view)
    assert jpeg is not None
    assert png is not None
    assert jpeg.startswith(b"\xff\xd8")
    assert png.startswith(b"\x89PNG")


async def test_the_camera_is_let_go(eye: Eye, camera: Camera) -> None:
    await eye.close()
    assert camera.closed


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (1.5, 1.5),
        (True, True),
        ({"a": [float("inf"), {"b": (1, float("nan"))}]}, {"a": ["inf", {"b": [1, "nan"]}]}),
    ],
)
def test_what_is_recorded_has_only_numbers_that_json_has(value: Any, kept: Any) -> None:
    assert finite(value) == kept
