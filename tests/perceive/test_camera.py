from __future__ import annotations

import base64
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from armlabd.clock import VirtualClock
from armlabd.config.model import CameraConfig
from armlabd.perceive.camera import Camera, make_camera
from armlabd.perceive.errors import CameraError
from armlabd.verdict import Code


def plain(gray: int) -> np.ndarray:
    return np.full((480, 640, 3), gray, np.uint8)


def camera_of(source: str | int, clock: VirtualClock, control: Path | None = None) -> Camera:
    return make_camera(CameraConfig(source=source), control, clock)


def refusal(camera: Camera) -> str:
    with pytest.raises(CameraError) as caught:
        camera.grab()
    assert caught.value.code is Code.NO_CAMERA
    assert camera.status()["next"] == caught.value.sentence
    return caught.value.sentence


# --- no camera, files, folders


def test_no_camera_is_a_state_and_a_look_says_how_to_set_one(clock: VirtualClock) -> None:
    camera = camera_of("none", clock)
    assert camera.status()["state"] == "none"
    assert "[camera] source" in refusal(camera)
    camera.close()


def test_a_picture_file_is_read_anew_for_each_look(tmp_path: Path, clock: VirtualClock) -> None:
    path = tmp_path / "table.png"
    camera = camera_of(str(path), clock)
    assert camera.status()["state"] == "not_used_yet"
    assert "table.png" in refusal(camera)
    assert camera.status()["state"] == "failed"
    for gray in (10, 20):
        cv2.imwrite(str(path), plain(gray))
        assert camera.grab().image[0, 0, 0] == gray
    assert camera.status()["state"] == "ready"
    assert camera.status()["next"] == ""


def test_an_unchanged_picture_file_is_not_called_frozen(
    tmp_path: Path, clock: VirtualClock
) -> None:
    path = tmp_path / "table.png"
    cv2.imwrite(str(path), plain(10))
    camera = camera_of(str(path), clock)
    assert np.array_equal(camera.grab().image, camera.grab().image)


def test_the_age_of_a_frame_is_monotonic(tmp_path: Path, clock: VirtualClock) -> None:
    path = tmp_path / "table.png"
    cv2.imwrite(str(path), plain(10))
    frame = camera_of(str(path), clock).grab()
    assert (frame.taken_s, frame.age_s(100.0), frame.age_s(101.5)) == (100.0, 0.0, 1.5)


@pytest.mark.parametrize("content", [b"", b"no picture", b"\x89PNG\r\n\x1a\n" + b"\x00" * 40])
def test_a_file_that_is_no_picture_is_told(
    tmp_path: Path, clock: VirtualClock, content: bytes
) -> None:
    path = tmp_path / "table.png"
    path.write_bytes(content)
    assert "no picture" in refusal(camera_of(str(path), clock))


@pytest.mark.parametrize(
    ("width", "height", "good"),
    [
        (320, 240, True), (319, 240, False), (320, 239, False), (1280, 720, True),
        (4096, 3072, True), (4097, 3072, False), (4096, 3073, False),
    ],
)  # fmt: skip
def test_a_picture_may_have_any_size_within_the_limits_and_they_are_inside(
    tmp_path: Path, clock: VirtualClock, width: int, height: int, good: bool
) -> None:
    path = tmp_path / "table.png"
    cv2.imwrite(str(path), np.zeros((height, width, 3), np.uint8))
    camera = camera_of(str(path), clock)
    if good:
        assert camera.grab().image.shape == (height, width, 3)
        return
    sentence = refusal(camera)
    assert f"{width} x {height}" in sentence
    assert "320 x 240 to 4096 x 3072" in sentence


def test_a_folder_shows_its_pictures_by_name_then_says_they_are_all_shown(
    tmp_path: Path, clock: VirtualClock
) -> None:
    for name, gray in (("b.png", 20), ("a.png", 10)):
        cv2.imwrite(str(tmp_path / name), plain(gray))
    (tmp_path / "notes.txt").write_text("no picture")
    camera = camera_of(str(tmp_path), clock)
    assert [int(camera.grab().image[0, 0, 0]) for _ in range(2)] == [10, 20]
    assert "All 2 pictures" in refusal(camera)
    cv2.imwrite(str(tmp_path / "c.png"), plain(30))
    assert camera.grab().image[0, 0, 0] == 30


def test_an_empty_folder_is_told(tmp_path: Path, clock: VirtualClock) -> None:
    assert "holds no pictures" in refusal(camera_of(str(tmp_path), clock))


def test_a_folder_that_went_away_is_told(tmp_path: Path, clock: VirtualClock) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    camera = camera_of(str(folder), clock)
    folder.rmdir()
    assert "cannot be read" in refusal(camera)


# --- the virtual arm's camera


class ControlSocket:
    """A control socket that answers each client with the next of its scripted replies."""

    def __init__(self, path: Path, replies: list[bytes]) -> None:
        self.path, self.asked = path, []
        self._replies = replies
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(str(path))
        self._server.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        for reply in self._replies:
            link, _ = self._server.accept()
            with link:
                self.asked.append(link.recv(4096))
                link.sendall(reply)

    def close(self) -> None:
        self._thread.join(timeout=5)
        self._server.close()
        assert not self._thread.is_alive()


Serve = Callable[..., Path]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    opened: list[ControlSocket] = []

    def start(*replies: dict[str, Any] | bytes) -> Path:
        lines = [r if isinstance(r, bytes) else json.dumps(r).encode() + b"\n" for r in replies]
        opened.append(ControlSocket(tmp_path / "control.sock", lines))
        return opened[-1].path

    yield start
    for server in opened:
        server.close()
        assert all(asked == b'{"cmd":"frame"}\n' for asked in server.asked)


def reply(gray: int, **changes: Any) -> dict[str, Any]:
    data = base64.b64encode(plain(gray).tobytes()).decode()
    return {"ok": True, "width": 640, "height": 480, "bgr": data, "taken_s": 99.5, **changes}


def test_the_virtual_camera_is_asked_over_its_socket(serve: Serve, clock: VirtualClock) -> None:
    frame = camera_of("sim", clock, serve(reply(33))).grab()
    assert frame.image.shape == (480, 640, 3)
    assert frame.image[0, 0, 0] == 33
    assert (frame.taken_s, frame.source) == (99.5, "sim")


def test_a_picture_without_a_stamp_is_as_old_as_the_question(
    serve: Serve, clock: VirtualClock
) -> None:
    assert camera_of("sim", clock, serve(reply(33, taken_s=None))).grab().taken_s == 100.0


@pytest.mark.parametrize(
    "bad",
    [
        b"nonsense\n",
        b"[]\n",
        b"\xff\n",
        b'{"ok": true}\n',
        b"",
        reply(1, width=639),
        reply(1, width=0),
        reply(1, height="x"),
        reply(1, bgr="%%%"),
        reply(1, bgr=7),
        reply(1, taken_s="now"),
        reply(1, taken_s=True),
        reply(1, taken_s=float("nan")),
    ],
)
def test_an_answer_of_the_wrong_form_is_told(serve: Serve, clock: VirtualClock, bad: Any) -> None:
    assert "virtual arm" in refusal(camera_of("sim", clock, serve(bad)))


def test_a_refusal_of_the_virtual_arm_is_passed_on(serve: Serve, clock: VirtualClock) -> None:
    path = serve({"ok": False, "error": "camera unplugged"})
    assert "camera unplugged" in refusal(camera_of("sim", clock, path))


def test_a_missing_and_a_dead_control_socket_are_told(tmp_path: Path, clock: VirtualClock) -> None:
    assert "--sim" in refusal(camera_of("sim", clock))
    assert "does not answer" in refusal(camera_of("sim", clock, tmp_path / "none.sock"))
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    dead.bind(str(tmp_path / "dead.sock"))
    dead.close()
    assert "does not answer" in refusal(camera_of("sim", clock, tmp_path / "dead.sock"))


def test_case_50_the_same_picture_with_the_same_stamp_is_a_frozen_camera(
    serve: Serve, clock: VirtualClock
) -> None:
    fresh = reply(33, taken_s=99.9)
    camera = camera_of("sim", clock, serve(reply(33), reply(33), fresh, reply(34, taken_s=99.9)))
    camera.grab()
    assert "frozen" in refusal(camera)
    assert camera.grab().taken_s == 99.9  # equal bytes with a new stamp: nothing moved
    assert camera.grab().image[0, 0, 0] == 34


@pytest.mark.parametrize(("taken_s", "good"), [(98.0, True), (97.99, False)])
def test_case_50_a_frame_older_than_the_limit_is_refused_and_the_limit_is_inside(
    serve: Serve, clock: VirtualClock, taken_s: float, good: bool
) -> None:
    camera = camera_of("sim", clock, serve(reply(33, taken_s=taken_s)))
    if good:
        assert camera.grab().taken_s == taken_s
    else:
        assert "2.0 s old" in refusal(camera)


def test_a_stamp_from_the_future_is_refused(serve: Serve, clock: VirtualClock) -> None:
    assert "future" in refusal(camera_of("sim", clock, serve(reply(33, taken_s=101.0))))


def test_no_camera_is_a_state_with_what_to_do_before_anybody_looks() -> None:
    status = make_camera(CameraConfig()).status()
    assert (status["state"], status["source"]) == ("none", "none")
    assert "Set [camera] source" in status["next"]
