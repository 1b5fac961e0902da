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
from armlabd.perceive.device import DeviceReader
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


def test_a_picture_of_another_size_is_told_with_both_sizes(
    tmp_path: Path, clock: VirtualClock
) -> None:
    path = tmp_path / "table.png"
    cv2.imwrite(str(path), np.zeros((720, 1280, 3), np.uint8))
    sentence = refusal(camera_of(str(path), clock))
    assert "1280 x 720" in sentence
    assert "640 x 480" in sentence


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


# --- a device


class ScriptedCapture:
    """A capture that opens or not, and gives the listed pictures, None = no picture came."""

    def __init__(self, pictures: list[np.ndarray | None], opens: bool = True) -> None:
        self.pictures, self.opens, self.released = pictures, opens, 0

    def isOpened(self) -> bool:
        return self.opens

    def grab(self) -> bool:
        return bool(self.pictures) and self.pictures[0] is not None

    def retrieve(self) -> tuple[bool, object]:
        return True, self.pictures.pop(0)

    def release(self) -> None:
        self.released += 1


def device(clock: VirtualClock, *captures: ScriptedCapture) -> Camera:
    waiting = list(captures)
    return Camera(DeviceReader(0, clock, lambda _: waiting.pop(0)), clock)


def test_a_device_is_opened_once_and_let_go_of(clock: VirtualClock) -> None:
    capture = ScriptedCapture([plain(1), plain(2)])
    camera = device(clock, capture)
    assert [int(camera.grab().image[0, 0, 0]) for _ in range(2)] == [1, 2]
    camera.close()
    camera.close()
    assert capture.released == 1


def test_case_50_a_device_that_repeats_its_last_picture_is_frozen(clock: VirtualClock) -> None:
    camera = device(clock, ScriptedCapture([plain(1), plain(1), plain(2)]))
    camera.grab()
    clock.sleep(0.5)
    assert "frozen" in refusal(camera)
    assert camera.grab().image[0, 0, 0] == 2


def test_case_51_a_device_without_pictures_names_usb_bandwidth_and_format(
    clock: VirtualClock,
) -> None:
    first = ScriptedCapture([None])
    camera = device(clock, first, ScriptedCapture([plain(3)]))
    sentence = refusal(camera)
    assert "bandwidth" in sentence
    assert "MJPG" in sentence
    assert first.released == 1
    assert camera.grab().image[0, 0, 0] == 3  # opened anew


def test_case_53_a_busy_device_is_told_and_comes_back_without_a_restart(
    clock: VirtualClock,
) -> None:
    camera = device(clock, ScriptedCapture([], opens=False), ScriptedCapture([plain(3)]))
    assert "another program" in refusal(camera)
    assert camera.status()["state"] == "failed"
    assert camera.grab().image[0, 0, 0] == 3
    assert camera.status()["state"] == "ready"


@pytest.mark.parametrize("source", [0, "/dev/video7", "http://127.0.0.1:9/stream"])
def test_indices_paths_and_addresses_are_devices_and_open_nothing_at_start(
    clock: VirtualClock, source: str | int
) -> None:
    camera = camera_of(source, clock)
    assert camera.source == f"camera {source}"
    assert camera.status()["state"] == "not_used_yet"
