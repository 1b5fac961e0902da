"""Server and client on a real socket, the core in the same process; no port, no other process."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from armlabd.arm.joints import HOME
from armlabd.arm.path import still
from armlabd.bus.errors import PortError, PortKind
from armlabd.bus.port import Transport
from armlabd.clock import SystemClock
from armlabd.motion import stop
from armlabd.motion.client import CoreClient
from armlabd.motion.core import Core
from armlabd.motion.disk import ThreadDisk
from armlabd.motion.messages import CoreState, LineReader, MotionResult, StopResult, encode
from armlabd.motion.server import Server
from armlabd.motion.settings import CoreSettings, SettingsError
from armlabd.verdict import Code

WAIT_S = 20.0


def no_port() -> Transport:
    raise PortError(PortKind.MISSING, "There is no such port.")


class Running:
    """A server in a thread of its own."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "core.sock"
        self.disk = ThreadDisk()
        settings = CoreSettings(str(folder), "nowhere", orphan_s=60.0)
        self.core = Core(settings, SystemClock(), no_port, self.disk, pid=42)
        self.server = Server(self.core, SystemClock())
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        self.server.run()
        self.server.close()

    def freeze(self) -> threading.Event:
        """The loop stands still, from when this returns until the returned event is set."""
        go_on, frozen = threading.Event(), threading.Event()

        def stand_still(_: Core) -> None:
            frozen.set()
            go_on.wait(WAIT_S)

        self.core.publish = stand_still
        assert frozen.wait(WAIT_S)
        return go_on

    def end(self) -> None:
        self.core.finished = True
        self.thread.join(WAIT_S)
        self.disk.close()
        assert not self.thread.is_alive()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    one = Running(tmp_path)
    yield one
    one.end()


async def until(condition: Any) -> None:
    async with asyncio.timeout(WAIT_S):
        while not condition():
            await asyncio.sleep(0.005)


async def test_the_client_is_pushed_the_state_and_holds_the_lease(running: Running) -> None:
    client = CoreClient(running.path, SystemClock(), heartbeat_s=WAIT_S)
    await client.connect()
    await until(lambda: client.snapshot is not None and client.snapshot.lease)
    state = client.snapshot
    assert state is not None
    assert (state.state, state.stopped, state.pid) == ("absent", True, 42)
    assert "no such port" in state.next
    assert state.settings_digest == running.core.settings.digest()
    assert state.cycle["ticks"] >= 1
    assert state.counters["connects"] == 0
    assert client.state_age_s < WAIT_S
    await client.close()
    assert not client.connected


async def test_every_request_has_its_answer(running: Running) -> None:
    client = CoreClient(running.path, SystemClock(), heartbeat_s=WAIT_S)
    await client.connect()
    stopped = await client.stop("asked", "a test")
    assert stopped == StopResult(False, 0, 6, stopped.sentence, stopped.latency_us)
    assert "cut the power" in stopped.sentence
    assert (await client.move(still(HOME))).code is Code.STOPPED
    assert (await client.clear("a person")).ok
    assert (await client.move(still(HOME), contact=True, run="r1")).code is Code.NO_ARM
    assert (await client.park()).code is Code.NO_ARM
    assert (await client.come_inside()).code is Code.NO_ARM
    await client.cancel()
    await client.close()


async def test_goodbye_ends_the_core_and_close_alone_does_not(running: Running) -> None:
    for goodbye in (False, True):
        client = CoreClient(running.path, SystemClock(), heartbeat_s=WAIT_S)
        await client.connect()
        await client.close(goodbye=goodbye)
        assert running.core.leaving.policy == ("park" if goodbye else "")
    await until(lambda: not running.thread.is_alive())
    assert not running.path.exists()


async def test_a_stop_still_gets_through_after_the_goodbye(running: Running) -> None:
    told: list[str] = []
    client = CoreClient(running.path, SystemClock(), heartbeat_s=WAIT_S, on_lost=told.append)
    await client.connect()
    running.core.leaving.step = lambda now_s: None  # on its way to park
    await client.goodbye()
    assert running.core.leaving.policy == "park"
    before = running.core.lane.count
    await client.stop("asked", "a test")
    assert running.core.lane.count == before + 1
    running.end()
    await until(lambda: not client.connected)
    await client.close()
    assert told == []


async def test_losing_the_core_is_told_once_and_ends_all_waiting(running: Running) -> None:
    told: list[str] = []
    client = CoreClient(running.path, SystemClock(), heartbeat_s=WAIT_S, on_lost=told.append)
    await client.connect()
    await until(lambda: client.snapshot is not None)
    running.end()
    await until(lambda: told)
    assert told == ["core_lost"]
    assert (await client.move(still(HOME))).code is Code.CORE_LOST
    assert (await client.stop("asked", "a test")).written is False
    assert not (await client.clear("a person")).ok
    await client.close()
    assert told == ["core_lost"]


async def test_a_core_that_falls_silent_is_lost_although_its_socket_is_open(
    running: Running,
) -> None:
    told: list[str] = []
    client = CoreClient(running.path, SystemClock(), heartbeat_s=0.3, on_lost=told.append)
    await client.connect()
    await until(lambda: client.snapshot is not None)
    go_on = running.freeze()
    try:
        await until(lambda: told)
    finally:
        go_on.set()
    assert told == ["core_lost"]
    await client.close()


async def test_a_stop_without_acknowledgement_loses_the_core(running: Running) -> None:
    told: list[str] = []
    client = CoreClient(running.path, SystemClock(), heartbeat_s=0.3, on_lost=told.append)
    await client.connect()
    go_on = running.freeze()
    try:
        result = await client.stop("asked", "a test")
    finally:
        go_on.set()
    assert (result.written, result.confirmed) == (False, 0)
    assert told == ["core_lost"]
    await client.close()


class Jumping(SystemClock):
    """A clock, and its event loop's, that can jump: as when a process gets no processor."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.jumped_s = 0.0
        loop = asyncio.get_running_loop()
        real = loop.time
        monkeypatch.setattr(loop, "time", lambda: real() + self.jumped_s)

    def monotonic(self) -> float:
        return super().monotonic() + self.jumped_s


async def jumping_client(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> tuple[CoreClient, Jumping, list[str]]:
    """A connected client on a clock that jumps when told to, and what it tells of a lost core."""
    told: list[str] = []
    clock = Jumping(monkeypatch)
    client = CoreClient(running.path, clock, heartbeat_s=0.3, on_lost=told.append)
    await client.connect()
    return client, clock, told


async def test_a_stop_that_this_loop_itself_hears_of_late_is_acknowledged_all_the_same(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, clock, told = await jumping_client(running, monkeypatch)
    await until(lambda: client.snapshot is not None)
    answered = threading.Event()
    handle = running.core.handle
    monkeypatch.setattr(
        running.core,
        "handle",
        lambda asked, *rest: (handle(asked, *rest), asked["do"] == "stop" and answered.set()),
    )
    stopping = asyncio.create_task(client.stop("asked", "a test"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)  # it is on its way, and waited for
    assert answered.wait(WAIT_S), "nothing else runs in this loop meanwhile"
    clock.jumped_s = 0.5
    result = await stopping
    assert result.sentence == stop.UNREACHABLE, "what the core says that has no port"
    assert told == []
    await client.close()


async def test_a_loop_that_is_always_late_does_not_wait_for_ever(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, clock, told = await jumping_client(running, monkeypatch)
    wait, waits = asyncio.wait, []

    async def late(*given: Any, **named: Any) -> Any:
        waits.append(named)
        clock.jumped_s += 0.5
        return await wait(*given, **named)

    monkeypatch.setattr(asyncio, "wait", late)
    go_on = running.freeze()
    try:
        result = await client.stop("asked", "a test")
    finally:
        go_on.set()
    assert (result.written, told) == (False, ["core_lost"])
    assert 5 <= len(waits) <= 7
    await client.close()


async def test_without_a_core_connecting_fails(tmp_path: Path) -> None:
    client = CoreClient(tmp_path / "core.sock", SystemClock())
    with pytest.raises(OSError, match=r"."):
        await client.connect()


def test_of_several_requests_that_come_together_the_stop_goes_first(tmp_path: Path) -> None:
    one = Running(tmp_path)
    seen: list[str] = []
    handle = one.core.handle

    def note(request: Any, *rest: Any) -> None:
        seen.append(request["do"])
        handle(request, *rest)

    one.core.handle = note  # type: ignore[method-assign]
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(WAIT_S)
        peer.connect(str(one.path))
        lines = [{"id": k, "do": "hello"} for k in range(20)] + [{"id": 99, "do": "stop"}]
        peer.sendall(b"".join(map(encode, lines)))
        reader, answers = LineReader(), set()
        while len(answers) < 21:
            answers |= {m["id"] for m in reader.feed(peer.recv(65_536)) if "id" in m}
    one.end()
    assert seen[0] == "stop"
    assert len(seen) == 21


def test_a_peer_that_talks_nonsense_or_too_much_is_dropped_and_nobody_else(
    running: Running,
) -> None:
    with socket.socket(socket.AF_UNIX) as bad, socket.socket(socket.AF_UNIX) as good:
        for peer in (bad, good):
            peer.settimeout(WAIT_S)
            peer.connect(str(running.path))
        bad.sendall(b"\xff\x00 nonsense\n[]\n7\n\n")
        good.sendall(encode({"id": 1, "do": "hello"}))
        reader: LineReader = LineReader()
        found: list[dict[str, Any]] = []
        while not any(m.get("id") == 1 for m in found):
            found += reader.feed(good.recv(65_536))
        try:
            for _ in range(100):
                bad.sendall(b"x" * 65_536)
        except (BrokenPipeError, ConnectionResetError):
            pass
        else:
            raise AssertionError("six megabytes in one line were taken")
        good.sendall(encode({"id": 2, "do": "hello"}))
        while not any(m.get("id") == 2 for m in found):
            found += reader.feed(good.recv(65_536))
        assert [m["answer"]["pid"] for m in found if "id" in m] == [42, 42]


def test_two_cores_do_not_share_a_state_folder(running: Running, tmp_path: Path) -> None:
    settings = CoreSettings(str(tmp_path), "nowhere")
    second = Core(settings, SystemClock(), no_port, running.disk)
    with pytest.raises(OSError, match="another core"):
        Server(second, SystemClock())


def test_the_socket_is_for_its_owner_alone(running: Running) -> None:
    assert os.stat(running.path).st_mode & 0o077 == 0


def test_a_socket_left_by_a_dead_core_is_replaced(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "core.sock"))
    with socket.socket(socket.AF_UNIX) as peer, pytest.raises(ConnectionRefusedError):
        peer.connect(str(tmp_path / "core.sock"))
    one = Running(tmp_path)
    try:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(one.path))
    finally:
        one.end()


# --- shapes -----------------------------------------------------------------------------------


def test_lines_may_come_in_any_pieces() -> None:
    data = encode({"a": 1}) + encode({"b": [2, "ü"]})
    for size in (1, 2, 7, len(data)):
        reader = LineReader()
        found = [m for k in range(0, len(data), size) for m in reader.feed(data[k : k + size])]
        assert found == [{"a": 1}, {"b": [2, "ü"]}]
        assert reader.bad == 0


def test_a_line_beyond_the_limit_is_refused_and_one_at_it_is_not() -> None:
    assert LineReader(10).feed(b"x" * 10) == []
    with pytest.raises(ValueError, match="longer"):
        LineReader(10).feed(b"x" * 11)


def test_results_survive_the_wire() -> None:
    motion = MotionResult(Code.STALLED, "why", HOME, True, 19.5, True, {"point": 3})
    assert MotionResult.from_dict(json.loads(json.dumps(motion.as_dict()))) == motion
    stop = StopResult(True, 5, 6, "words", 83)
    assert StopResult.from_dict(json.loads(json.dumps(stop.as_dict()))) == stop


def test_a_state_with_unknown_and_missing_parts_is_read() -> None:
    state = CoreState.from_dict({"pose": [1, 2, 3, 4, 5, 6], "goal": None, "news": 1})
    assert state.pose is not None
    assert state.pose.grip == 6.0
    assert state.stopped, "until it says otherwise"


def test_settings_survive_their_file_and_name_themselves() -> None:
    settings = CoreSettings("/s", "/p", calibration="{}", limits={"a": 1}, exit="hold")
    again = CoreSettings.from_json(settings.to_json())
    assert again == settings
    assert again.digest() == settings.digest()
    assert CoreSettings("/s", "/q").digest() != CoreSettings("/s", "/p").digest()


@pytest.mark.parametrize(
    "change",
    [
        {"exit": "drop"},
        {"stop_action": "wait"},
        {"lease_s": 0},
        {"lease_s": True},
        {"settle_s": "1"},
        {"period_s": float("nan")},
        {"home_pose": [1, 2, 3, 4]},
        {"home_pose": [1, 2, 3, 4, "5"]},
        {"colour": "red"},
    ],
)
def test_settings_that_do_not_fit_are_refused(change: dict[str, Any]) -> None:
    raw = {**json.loads(CoreSettings("/s", "/p").to_json()), **change}
    with pytest.raises(SettingsError):
        CoreSettings.from_json(json.dumps(raw))


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_settings_that_are_no_object_are_refused(text: str) -> None:
    with pytest.raises(SettingsError):
        CoreSettings.from_json(text)
