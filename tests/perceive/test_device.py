"""A scripted V4L2 camera in virtual time: queue, stamps, exposure, unplugging, hanging."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from armlabd.clock import VirtualClock
from armlabd.config.model import CameraConfig
from armlabd.perceive.camera import Camera, make_camera
from armlabd.perceive.capture import CaptureSettings, VideoCapture, open_capture, path_of
from armlabd.perceive.device import DeviceLimits, DeviceReader
from armlabd.perceive.device_words import nodes
from armlabd.perceive.errors import CameraError
from armlabd.perceive.scene import SceneSettings, observe
from armlabd.perceive.straight import Straightener

PERIOD_S = 1 / 30
OPEN_S = 0.4
READS = 8  # pictures that a look reads at most in these tests' real time


class Camera30:
    """30 pictures a second; a driver's queue of `deep` that keeps the oldest, as V4L2 does.

    `ramp` is by how much the exposure still brightens each picture, until `dark_for` pictures have
    been taken; `flicker` is added to every second one.
    """

    def __init__(
        self,
        clock: VirtualClock,
        *,
        deep: int = 4,
        stamps: bool = True,
        dark_for: int = 0,
        flicker: int = 0,
        opens: bool = True,
        size: tuple[int, int] = (640, 480),
    ) -> None:
        self.clock, self.deep, self.stamps, self.opens = clock, deep, stamps, opens
        self.dark_for, self.flicker, self.size = dark_for, flicker, size
        self.queue: deque[int] = deque()  # numbers of pictures
        self.first_s = clock.monotonic()
        self.made = self.taken = 0
        self.released = 0
        self.gone = self.frozen = False
        self.hang: threading.Event | None = None
        self.hanging = threading.Event()

    def isOpened(self) -> bool:
        return self.opens

    def _fill(self) -> None:
        while self.first_s + self.made * PERIOD_S <= self.clock.monotonic():
            if len(self.queue) < self.deep:
                self.queue.append(self.made)
            self.made += 1

    def grab(self) -> bool:
        if self.hang is not None:
            self.hanging.set()
            self.hang.wait(10.0)
        if self.gone:
            return False
        self._fill()
        if not self.queue:
            self.clock.sleep(self.first_s + self.made * PERIOD_S - self.clock.monotonic() + 1e-6)
            self._fill()
        self.taken = self.queue.popleft()
        return True

    def taken_s(self) -> float:
        return self.first_s + self.taken * PERIOD_S

    def stamp_s(self) -> float:
        return self.taken_s() if self.stamps else -0.001

    def retrieve(self) -> tuple[bool, object]:
        number = 0 if self.frozen else self.taken
        level = 120 - 8 * max(0, self.dark_for - number) + self.flicker * (number % 2)
        image = np.full((self.size[1], self.size[0], 3), max(0, level), np.uint8)
        image[0, 0] = number % 251  # a sensor's noise: no picture is like another
        return True, image

    def release(self) -> None:
        self.released += 1


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    folder = tmp_path / "dev"
    folder.mkdir()
    (folder / "video0").touch()
    return folder


Make = Callable[..., Camera]


@pytest.fixture
def make(clock: VirtualClock, dev: Path) -> Make:
    def build(*cameras: Camera30, look_s: float = 8.0, proc: str = "/proc") -> Camera:
        waiting = list(cameras)

        def opener(source: str | int, settings: CaptureSettings) -> Camera30:
            clock.sleep(OPEN_S)
            return waiting.pop(0)

        reader = DeviceReader(
            0, clock, opener, limits=DeviceLimits(look_s), dev=str(dev), proc=proc
        )
        return Camera(reader, clock)

    return build


def refusal(camera: Camera) -> str:
    with pytest.raises(CameraError) as caught:
        camera.grab()
    assert camera.status()["state"] == "failed"
    assert camera.status()["next"] == caught.value.sentence
    return caught.value.sentence


# --- the newest picture -------------------------------------------------------------------------


@pytest.mark.parametrize("stamps", [True, False])
@pytest.mark.parametrize("deep", [1, 2, 4])
def test_only_a_picture_taken_after_the_look_began_is_used(
    clock: VirtualClock, make: Make, deep: int, stamps: bool
) -> None:
    device = Camera30(clock, deep=deep, stamps=stamps)
    camera = make(device)
    camera.grab()
    for pause_s in (0.01, 5.0, 3600.0):
        clock.sleep(pause_s)
        asked_s = clock.monotonic()
        frame = camera.grab()
        assert device.taken_s() >= asked_s
        assert frame.age_s(clock.monotonic()) < PERIOD_S + 1e-3
    assert device.released == 0


def test_a_queue_deeper_than_usual_is_emptied_by_its_stamps(
    clock: VirtualClock, make: Make
) -> None:
    device = Camera30(clock, deep=20)
    camera = make(device)
    camera.grab()
    clock.sleep(60.0)
    asked_s = clock.monotonic()
    camera.grab()
    assert device.taken_s() >= asked_s


@pytest.mark.parametrize("off_s", [-1e9, 3600.0, 1.0])
def test_stamps_of_another_clock_are_not_believed(
    clock: VirtualClock, make: Make, off_s: float
) -> None:
    device = Camera30(clock)
    device.stamp_s = lambda: device.taken_s() + off_s  # type: ignore[method-assign]
    frame = make(device).grab()
    assert frame.age_s(clock.monotonic()) < 0.2


# --- exposure -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dark_for", [5, 12, 40])
def test_a_picture_is_used_when_the_exposure_has_settled(
    clock: VirtualClock, make: Make, dark_for: int
) -> None:
    frame = make(Camera30(clock, dark_for=dark_for)).grab()
    assert frame.image[100, 100, 0] >= 112  # within 4 % of what it comes to, and its neighbours'


def test_a_light_that_never_settles_is_named_within_a_bound(
    clock: VirtualClock, make: Make
) -> None:
    device = Camera30(clock, flicker=30)
    camera = make(device)
    began_s = clock.monotonic()
    assert "does not settle within 3 s" in refusal(camera)
    assert clock.monotonic() - began_s < OPEN_S + 3.5
    assert device.released == 1


def test_a_picture_that_stays_black_names_the_cap_and_the_light(
    clock: VirtualClock, make: Make
) -> None:
    assert "cap off the lens" in refusal(make(Camera30(clock, dark_for=10_000)))


@pytest.mark.parametrize(("flicker", "good"), [(4, True), (6, False)])
def test_a_lamps_flicker_is_borne_up_to_four_percent(
    clock: VirtualClock, make: Make, flicker: int, good: bool
) -> None:
    camera = make(Camera30(clock, flicker=flicker))
    if good:
        assert camera.grab().image.shape == (480, 640, 3)
    else:
        assert "steady light" in refusal(camera)


def test_a_lamp_switched_on_between_two_looks_is_waited_for(
    clock: VirtualClock, make: Make
) -> None:
    device = Camera30(clock)
    camera = make(device)
    camera.grab()
    clock.sleep(10.0)
    device.dark_for = device.made + 310  # ten seconds and a few pictures more
    assert camera.grab().image[100, 100, 0] >= 112


# --- what goes wrong ----------------------------------------------------------------------------


def test_case_50_an_unplugged_camera_that_repeats_its_last_picture_is_refused(
    clock: VirtualClock, make: Make
) -> None:
    device = Camera30(clock)
    camera = make(device)
    device.frozen = True
    camera.grab()
    clock.sleep(0.5)
    assert "frozen" in refusal(camera)
    clock.sleep(60.0)
    assert "s old" in refusal(camera)
    device.frozen = False
    assert camera.grab().image.any()
    assert camera.status()["state"] == "ready"


def test_case_50_an_unplugged_camera_that_stops_is_opened_anew_when_it_is_back(
    clock: VirtualClock, make: Make, dev: Path
) -> None:
    first, second = Camera30(clock), Camera30(clock)
    camera = make(first, Camera30(clock, opens=False), second)
    camera.grab()
    first.gone = True
    (dev / "video0").unlink()
    assert "is not plugged in" in refusal(camera)
    assert first.released == 1
    (dev / "video0").touch()
    assert camera.grab().image.any()
    assert second.released == 0


def test_a_camera_plugged_out_and_in_between_two_looks_is_not_noticed(
    clock: VirtualClock, make: Make
) -> None:
    first, second = Camera30(clock), Camera30(clock)
    camera = make(first, second)
    camera.grab()
    first.gone = True
    assert camera.grab().image.any()
    assert (first.released, second.released) == (1, 0)


def test_case_51_a_device_without_pictures_names_usb_bandwidth_and_format(
    clock: VirtualClock, make: Make
) -> None:
    first = Camera30(clock)
    first.gone = True
    camera = make(first, Camera30(clock))
    sentence = refusal(camera)
    for word in ("bandwidth", "no space left on device", "MJPG", "another USB port"):
        assert word in sentence
    assert first.released == 1
    assert camera.grab().image.any()  # opened anew


def test_case_53_a_busy_camera_names_who_has_it_and_comes_back_without_a_restart(
    clock: VirtualClock, make: Make, dev: Path, tmp_path: Path
) -> None:
    fd = tmp_path / "proc" / "4242" / "fd"
    fd.mkdir(parents=True)
    (fd / "5").symlink_to(dev / "video0")
    (fd.parent / "comm").write_text("crowsnest\n")
    camera = make(Camera30(clock, opens=False), Camera30(clock), proc=str(tmp_path / "proc"))
    assert "in use by another program: crowsnest (process 4242)" in refusal(camera)
    assert camera.grab().image.any()
    assert camera.status()["state"] == "ready"


def test_case_39_a_camera_that_fails_to_start_is_let_go_each_time_and_the_next_try_works(
    clock: VirtualClock, make: Make
) -> None:
    cameras = [Camera30(clock, opens=False), Camera30(clock), Camera30(clock), Camera30(clock)]
    cameras[1].gone = cameras[2].gone = True
    camera = make(*cameras)
    for _ in range(3):
        refusal(camera)
    assert camera.grab().image.any()
    camera.close()
    assert [one.released for one in cameras] == [1, 1, 1, 1]


def test_case_53_a_second_opener_that_hangs_ends_the_look_in_time_and_not_the_daemon(
    clock: VirtualClock, make: Make
) -> None:
    hung, good = Camera30(clock), Camera30(clock)
    hung.hang = threading.Event()
    camera = make(hung, good, look_s=0.05)
    assert "did not answer within 0.05 s" in refusal(camera)
    assert "still hangs since an earlier look" in refusal(camera)
    camera.close()  # does not touch what hangs
    assert hung.released == 0
    hung.hang.set()
    _wait_for(lambda: hung.released == 1)
    assert camera.grab().image.any()


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    yield
    _wait_for(lambda: not [t for t in threading.enumerate() if t.name.startswith("camera")])


def _wait_for(done: Callable[[], bool]) -> None:
    for _ in range(2000):
        if done():
            return
        threading.Event().wait(0.002)
    raise AssertionError("it did not happen")


def test_a_process_with_a_hung_camera_can_still_leave() -> None:
    code = (
        "import threading\n"
        "from armlabd.perceive.patience import Hung, Patience\n"
        "try:\n"
        "    Patience('camera').wait(lambda left: threading.Event().wait(), 0.05)\n"
        "except Hung as hung:\n"
        "    print(hung.sentence)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=True
    )
    assert "camera did not answer" in done.stdout


def test_a_program_fault_in_a_driver_comes_through(clock: VirtualClock, make: Make) -> None:
    device = Camera30(clock)
    device.grab = lambda: 1 // 0  # type: ignore[assignment,method-assign]
    with pytest.raises(ZeroDivisionError):
        make(device).grab()
    assert device.released == 1


@pytest.mark.parametrize("image", [None, np.zeros((480, 640), np.uint8), np.zeros((4, 4, 3))])
def test_what_is_no_colour_picture_is_none(clock: VirtualClock, make: Make, image: object) -> None:
    device = Camera30(clock)
    device.retrieve = lambda: (True, image)  # type: ignore[method-assign]
    assert "sends no picture" in refusal(make(device))


# --- opening ------------------------------------------------------------------------------------


def test_a_node_that_is_not_there_names_those_that_are(
    clock: VirtualClock, make: Make, dev: Path
) -> None:
    (dev / "video0").unlink()
    for name in ("video2", "video10", "videoX", "snd"):
        (dev / name).touch()
    assert nodes(str(dev)) == [str(dev / "video2"), str(dev / "video10")]
    sentence = refusal(make(Camera30(clock, opens=False)))
    assert f"there is no {dev / 'video0'}" in sentence
    assert f"set another: {dev / 'video2'}, {dev / 'video10'}" in sentence


def test_a_node_that_gives_no_pictures_names_the_other_one(
    clock: VirtualClock, make: Make, dev: Path
) -> None:
    (dev / "video1").touch()
    sentence = refusal(make(Camera30(clock, opens=False)))
    assert "several nodes" in sentence
    assert str(dev / "video1") in sentence


def test_a_node_of_another_group_says_which(
    clock: VirtualClock, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("armlabd.perceive.device_words.os.access", lambda path, mode: False)
    assert "usermod -aG video" in refusal(make(Camera30(clock, opens=False)))


def test_links_by_identity_lead_to_their_node(dev: Path) -> None:
    (dev / "by-id").mkdir()
    link = dev / "by-id" / "usb-cam-index0"
    link.symlink_to("../video0")
    assert path_of(str(link)) == str(dev / "video0")
    assert path_of(3) == "/dev/video3"
    assert path_of("rtsp://10.0.0.2/stream") is None


def test_a_stream_is_opened_for_each_look_because_its_buffers_hold_old_pictures(
    clock: VirtualClock,
) -> None:
    streams = [Camera30(clock), Camera30(clock)]
    waiting = list(streams)
    camera = Camera(DeviceReader("rtsp://cam/1", clock, lambda s, c: waiting.pop(0)), clock)
    for _ in streams:
        assert camera.grab().image.any()
        clock.sleep(60.0)
    assert [one.released for one in streams] == [1, 1]


def test_an_address_where_nothing_streams_is_told(clock: VirtualClock) -> None:
    camera = Camera(
        DeviceReader("http://127.0.0.1:9/x", clock, lambda s, c: Camera30(clock, opens=False)),
        clock,
    )
    assert "nothing streams at this address" in refusal(camera)


def test_the_device_is_asked_for_format_then_size_and_the_driver_for_its_stamp(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[tuple[object, object]] = []
    asked: list[tuple[int, float]] = []

    class Fake:
        def __init__(self, source: object, api: int) -> None:
            made.append((source, api))

        def set(self, key: int, value: float) -> None:
            asked.append((key, value))

        def get(self, key: int) -> float:
            return 12_500.0 if key == cv2.CAP_PROP_POS_MSEC else 0.0

    monkeypatch.setattr(cv2, "VideoCapture", Fake)
    capture = open_capture("/dev/video0", CaptureSettings(1280, 720, "MJPG"))
    stream = open_capture("rtsp://10.0.0.2/stream", CaptureSettings())
    assert stream.stamp_s() == 0  # its place in a film is no time of ours
    assert made == [("/dev/video0", cv2.CAP_V4L2), ("rtsp://10.0.0.2/stream", cv2.CAP_ANY)]
    assert asked[:3] == [
        (cv2.CAP_PROP_FOURCC, cv2.VideoWriter.fourcc(*"MJPG")),
        (cv2.CAP_PROP_FRAME_WIDTH, 1280),
        (cv2.CAP_PROP_FRAME_HEIGHT, 720),
    ]
    assert isinstance(capture, VideoCapture)
    assert capture.stamp_s() == 12.5


def test_opencvs_own_capture_says_that_there_is_no_device(
    clock: VirtualClock, tmp_path: Path
) -> None:
    camera = make_camera(CameraConfig(source="/dev/video63"), clock=clock)
    assert "/dev/video63" in refusal(camera)


@pytest.mark.parametrize("source", [0, "/dev/video7", "http://127.0.0.1:9/stream"])
def test_indices_paths_and_addresses_are_devices_and_open_nothing_at_start(
    clock: VirtualClock, source: str | int
) -> None:
    camera = make_camera(CameraConfig(source=source), clock=clock)
    assert camera.source == f"camera {source}"
    assert camera.status()["state"] == "not_used_yet"


# --- size and lens ------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(320, 240), (960, 720), (1280, 960)])
def test_blocks_are_measured_in_pictures_of_other_sizes(
    draw: SimpleNamespace, size: tuple[int, int]
) -> None:
    picture = cv2.resize(draw.raised(draw.TEXTBOOK), size, interpolation=cv2.INTER_AREA)
    scene = observe(draw.frame(picture), draw.RAISED)
    assert not scene.rejected
    for block in draw.TEXTBOOK:
        (found,) = scene.find(block.label)
        assert np.hypot(found.x - block.x, found.y - block.y) < 0.003


BENT = (-0.22, 0.06, 0.001, -0.0005, 0.0)


def bent(picture: np.ndarray, lens: Straightener) -> np.ndarray:
    """What a camera with this lens takes of the picture that a pinhole takes."""
    height, width = picture.shape[:2]
    camera = lens.matrix((width, height))
    v, u = np.mgrid[0:height, 0:width].astype(np.float32)
    pixels = np.stack([u.ravel(), v.ravel()], axis=1).reshape(-1, 1, 2)
    straight = cv2.undistortPoints(pixels, camera, np.array(lens.coefficients), P=camera)
    across, down = straight.reshape(height, width, 2).transpose(2, 0, 1).astype(np.float32)
    return cv2.remap(picture, across, down, cv2.INTER_LINEAR, borderValue=(150, 150, 150))


def test_a_lens_with_known_intrinsics_is_straightened(
    draw: SimpleNamespace, clock: VirtualClock, tmp_path: Path
) -> None:
    path = tmp_path / "table.png"
    config = CameraConfig(source=str(path), distortion=BENT)
    cv2.imwrite(str(path), bent(draw.raised(draw.TEXTBOOK), Straightener.of(config)))
    crooked = make_camera(CameraConfig(source=str(path)), clock=clock).grab()
    with pytest.raises(Exception, match="do not lie where the settings say"):
        observe(crooked, SceneSettings())
    scene = observe(make_camera(config, clock=clock).grab(), SceneSettings())
    for block in draw.TEXTBOOK:
        (found,) = scene.find(block.label)
        assert np.hypot(found.x - block.x, found.y - block.y) < 0.0015


@pytest.mark.parametrize(("count", "good"), [(0, True), (3, False), (4, True), (5, True),
                                             (6, False), (8, True)])  # fmt: skip
def test_a_lens_has_as_many_coefficients_as_opencv_knows(count: int, good: bool) -> None:
    if good:
        assert len(CameraConfig(distortion=(0.0,) * count).distortion) == count
    else:
        with pytest.raises(ValueError, match="coefficients"):
            CameraConfig(distortion=(0.0,) * count)
