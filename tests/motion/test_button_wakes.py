"""The core's loop is woken by the button's line, with real descriptors: no tick is waited for."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from armlabd.bus.errors import PortError, PortKind
from armlabd.bus.port import Transport
from armlabd.clock import SystemClock
from armlabd.motion.button import MOST_EDGES, Reading
from armlabd.motion.core import Core
from armlabd.motion.disk import DirectDisk
from armlabd.motion.lines import line_of
from armlabd.motion.messages import encode
from armlabd.motion.pipe_line import PipeLine
from armlabd.motion.server import Server
from armlabd.motion.settings import CoreSettings

NEVER_S = 3600.0  # no tick comes within the test
WAIT_S = 20.0


def no_port() -> Transport:
    raise PortError(PortKind.MISSING, "There is no such port.")


class Wired:
    """A server whose next tick is an hour away; `say` writes to the button's pipe."""

    def __init__(self, folder: Path) -> None:
        (folder / "stop.json").write_text('{"stopped": false}')
        own = {"button_required": True, "button_chip": "sim", "button_release_s": 0.05}
        told = CoreSettings(str(folder), "nowhere", period_s=NEVER_S, **own)  # type: ignore[arg-type]
        self.line = line_of(told)
        assert isinstance(self.line, PipeLine)
        self.core = Core(told, SystemClock(), no_port, DirectDisk(), line=self.line)
        self.server = Server(self.core, SystemClock())
        self.core.tick()  # the first is due at once
        self.pipe = os.open(folder / "button", os.O_WRONLY)

    def say(self, text: str) -> None:
        os.write(self.pipe, text.encode())

    def close(self) -> None:
        os.close(self.pipe)
        self.server.close()
        self.core.button.close()


@pytest.fixture
def wired(tmp_path: Path) -> Iterator[Wired]:
    one = Wired(tmp_path)
    yield one
    one.close()


def test_a_press_wakes_the_sleeping_loop_and_stops(wired: Wired) -> None:
    stopped = threading.Event()
    latch_set = wired.core.latch.set

    def note(code: str, by: str) -> None:
        latch_set(code, by)
        wired.core.finished = True
        stopped.set()

    wired.core.latch.set = note  # type: ignore[method-assign]
    loop = threading.Thread(target=wired.server.run)
    loop.start()
    wired.say("1")
    assert stopped.wait(WAIT_S), "the next tick is an hour away"
    loop.join(WAIT_S)
    assert not loop.is_alive()
    assert (wired.core.button.state, wired.core.cycles.ticks) == ("pressed", 1)


@pytest.mark.parametrize("text", ["1", "10", "x", "10" * MOST_EDGES])
def test_any_sign_of_open_is_taken_by_a_look_without_waiting(wired: Wired, text: str) -> None:
    wired.say(text)
    wired.server.poll(0.0)
    assert wired.core.latch.stopped
    assert wired.core.latch.cause is not None
    assert wired.core.latch.cause.code == "button"


def test_a_late_answer_of_a_servo_is_not_waited_for_once_the_line_moves(wired: Wired) -> None:
    wired.server.poll(0.0)
    assert not wired.core.wanted()
    wired.say("1")
    assert wired.core.wanted()
    wired.server.poll(0.0)
    assert not wired.core.wanted()


@pytest.mark.parametrize("text", ["x", "10" * MOST_EDGES])
def test_a_line_that_storms_or_is_cut_does_not_keep_the_loop_awake(wired: Wired, text: str) -> None:
    wired.say(text)
    wired.server.poll(0.0)
    wired.say("10" * 10)  # it stays readable
    assert wired.core.button.fd == -1
    wired.server.poll(0.0)
    assert not wired.core.wanted()
    assert wired.server._button_fd == -1


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("1@2500000000", Reading(True, 1, edge_s=2.5)),
        ("1@2500000000 0@2600000000\n", Reading(False, 2, edge_s=2.5)),
        ("0@1 1@2500000000", Reading(True, 1, edge_s=2.5)),
        ("1", Reading(True, 1)),
        ("@5 nonsense 7\n", Reading(False)),
        ("", Reading(False)),
    ],
)
def test_what_is_written_into_the_pipe_is_edges_with_or_without_their_time(
    tmp_path: Path, text: str, reading: Reading
) -> None:
    line = PipeLine(tmp_path)
    assert line.open()
    (tmp_path / "button").write_text(text)
    assert line.take(True) == reading
    line.close()


def test_a_line_that_is_back_is_waited_for_again(wired: Wired) -> None:
    wired.say("x")
    wired.server.poll(0.0)
    wired.server.poll(0.0)
    wired.say("0")
    now_s = wired.core.clock.monotonic()
    wired.core.look_at_button(now_s + 2.0)
    wired.core.look_at_button(now_s + 3.0)
    assert wired.core.button.state == "released"
    wired.server.poll(0.0)
    assert wired.server._button_fd == wired.core.button.fd >= 0
    assert wired.core.latch.stopped


def test_only_a_line_that_is_required_and_named_is_opened(tmp_path: Path) -> None:
    assert line_of(CoreSettings(str(tmp_path), "p")) is None
    assert line_of(CoreSettings(str(tmp_path), "p", button_required=True)) is None
    assert line_of(CoreSettings(str(tmp_path), "p", button_chip="sim")) is None
    named = CoreSettings(str(tmp_path), "p", button_required=True, button_chip="c", button_line=3)
    line = line_of(named)
    assert line is not None
    assert line.where == "line 3 of c"


def test_a_file_in_the_pipe_s_place_is_a_line_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "button").write_text("0")
    line = PipeLine(tmp_path)
    assert not line.open()
    assert "is no pipe" in line.why
    assert not PipeLine(tmp_path / "nowhere").open()


class Failing(PipeLine):
    """A line whose device goes away while it is read."""

    def take(self, events: bool) -> Reading:
        if not events:
            return super().take(events)
        self.close()
        return Reading(None)


def test_a_peer_that_comes_while_the_line_is_lost_may_get_its_number(tmp_path: Path) -> None:
    (tmp_path / "stop.json").write_text('{"stopped": false}')
    told = CoreSettings(str(tmp_path), "nowhere", period_s=NEVER_S, button_required=True)
    line = PipeLine(tmp_path)
    core = Core(told, SystemClock(), no_port, DirectDisk(), line=line)
    server = Server(core, SystemClock())
    server.poll(0.0)
    number = line.fd
    line.__class__ = Failing
    with socket.socket(socket.AF_UNIX) as visitor:
        visitor.connect(os.fspath(tmp_path / "core.sock"))
        (tmp_path / "button").write_text("1")
        server.poll(WAIT_S)
        assert core.latch.stopped
        assert number in server.peers, "the freed number went to the visitor"
        visitor.sendall(encode({"id": 1, "do": "hello", "role": "visitor"}))
        visitor.setblocking(False)
        server.poll(0.0)
        assert b'"id":1' in visitor.recv(65_536), "and it is heard by a look without waiting"
    server.poll(0.0)
    assert server.peers == {}
    server.close()


def test_a_core_without_a_button_knows_no_gpiod() -> None:
    seen = "print([name for name in sys.modules if 'gpio' in name or 'pipe_line' in name])"
    program = f"import sys, armlabd.motion.server; {seen}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
