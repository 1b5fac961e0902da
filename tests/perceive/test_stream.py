"""OpenCV's own capture at a real stream: the newest picture, a slow start, an end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import cv2
import numpy as np
import pytest

from armlabd.clock import SystemClock
from armlabd.perceive.camera import Camera
from armlabd.perceive.device import DeviceLimits, DeviceReader
from armlabd.perceive.errors import CameraError

pytestmark = pytest.mark.real
PERIOD_S = 0.02
CELLS = 16


def picture(number: int) -> bytes:
    """A gray picture that holds its number as black and white cells: bits, the lowest first."""
    image = np.full((480, 640, 3), 120, np.uint8)
    for bit in range(CELLS):
        image[200:280, bit * 40 : bit * 40 + 40] = 230 if number >> bit & 1 else 20
    return cv2.imencode(".jpg", image)[1].tobytes()


def number_of(image: np.ndarray) -> int:
    return sum(int(image[240, bit * 40 + 20, 0] > 120) << bit for bit in range(CELLS))


class Stream(ThreadingHTTPServer):
    """Motion JPEG as IP cameras send it; every connection gets the pictures of now."""

    daemon_threads = True
    block_on_close = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Sender)
        self.began_s = time.monotonic()
        self.ending = threading.Event()
        self.silent = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/stream.mjpg"

    def number(self) -> int:
        return int((time.monotonic() - self.began_s) / PERIOD_S)


class _Sender(BaseHTTPRequestHandler):
    server: Stream

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=frame")
        self.end_headers()
        try:
            while not self.server.ending.wait(PERIOD_S):
                if self.server.silent:
                    continue
                data = picture(self.server.number())
                head = b"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n"
                self.wfile.write(head % len(data) + data + b"\r\n")
        except OSError:
            pass  # the reader has left

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def stream() -> Iterator[Stream]:
    server = Stream()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.ending.set()
    server.shutdown()
    thread.join()
    server.server_close()


def camera_at(url: str, look_s: float = 20.0) -> Camera:
    reader = DeviceReader(url, SystemClock(), limits=DeviceLimits(look_s, settle_s=10.0))
    return Camera(reader, SystemClock())


def test_each_look_at_a_stream_shows_what_was_taken_after_it_began(stream: Stream) -> None:
    camera = camera_at(stream.url)
    for _ in range(2):
        before = stream.number()
        frame = camera.grab()
        assert frame.image.shape == (480, 640, 3)
        assert number_of(frame.image) >= before
        time.sleep(0.2)  # what a stream that stayed open would have buffered meanwhile
    camera.close()


def test_case_53_a_stream_that_falls_silent_ends_the_look_in_time(stream: Stream) -> None:
    stream.silent = True
    camera = camera_at(stream.url, look_s=0.3)
    with pytest.raises(CameraError, match="did not answer within"):
        camera.grab()
    stream.silent = False  # whoever hung lets go of it
    for thread in threading.enumerate():
        if thread.name.startswith("camera"):
            thread.join(20.0)
            assert not thread.is_alive()


def test_a_stream_that_is_gone_is_told_and_found_again(stream: Stream) -> None:
    with pytest.raises(CameraError, match="nothing streams at this address"):
        camera_at("http://127.0.0.1:9/stream.mjpg").grab()
    assert camera_at(stream.url).grab().image.any()
