"""What systemd is told: ready, signs of life only while all is fresh, fields in the journal."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from pathlib import Path

import pytest

from armlabd.daemon import service
from armlabd.daemon.service import Watchdog, notify, watchdog_s


def bound(address: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.bind(address)
    sock.settimeout(5)
    return sock


@pytest.mark.parametrize("abstract", [False, True])
def test_a_message_reaches_the_notify_socket(
    tmp_path: Path, abstract: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"@armlabd-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with bound("\0" + name[1:] if abstract else name) as sock:
        assert service._notify_plainly(name, "READY=1\nSTATUS=here")
        assert sock.recv(200) == b"READY=1\nSTATUS=here"
        monkeypatch.setenv("NOTIFY_SOCKET", name)  # the library reads the real environment
        assert notify("WATCHDOG=1")
        assert sock.recv(200) == b"WATCHDOG=1"


def test_without_systemd_nothing_is_sent() -> None:
    assert notify("READY=1", {}) is False


def test_a_service_manager_that_is_gone_ends_nothing(tmp_path: Path) -> None:
    assert service._notify_plainly(str(tmp_path / "nobody"), "READY=1") is False


@pytest.mark.parametrize(
    ("usec", "pid", "due_s"),
    [
        ("5000000", "77", 5.0),
        ("5000000", "0", 5.0),
        ("5000000", "78", None),  # meant for another process
        ("0", "77", None),
        ("-1", "77", None),
        ("soon", "77", None),
        ("5000000", "me", None),
        (None, None, None),
    ],
)
def test_the_interval_is_the_one_meant_for_this_process(
    usec: str | None, pid: str | None, due_s: float | None
) -> None:
    given = {"WATCHDOG_USEC": usec, "WATCHDOG_PID": pid}
    environment = {name: value for name, value in given.items() if value is not None}
    assert watchdog_s(environment, 77) == due_s


@pytest.mark.parametrize(
    ("late_s", "fresh", "pinged"),
    [(0.0, True, True), (1.0, True, True), (1.01, True, False), (0.0, False, False)],
)
def test_a_ping_needs_a_fresh_core_and_a_loop_on_time(
    late_s: float, fresh: bool, pinged: bool
) -> None:
    pings: list[int] = []
    dog = Watchdog(5.0, lambda: fresh, lambda: pings.append(1))
    assert dog.look(late_s) is pinged
    assert bool(pings) is pinged


async def test_it_pings_several_times_in_an_interval() -> None:
    pings: list[int] = []
    task = asyncio.create_task(Watchdog(0.04, lambda: True, lambda: pings.append(1)).run())
    while len(pings) < 4:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_only_fields_that_mean_something_reach_the_journal() -> None:
    sent: list[tuple[str, dict[str, object]]] = []
    send = service._known_fields(lambda message, **fields: sent.append((message, fields)))
    record = logging.makeLogRecord({"RUN_ID": "r1", "STOP_LATENCY_US": 290, "args": ("x",)})
    send("ended", PRIORITY="6", **record.__dict__)
    assert sent == [("ended", {"PRIORITY": "6", "RUN_ID": "r1", "STOP_LATENCY_US": "290"})]
