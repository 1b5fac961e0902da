"""Looking after child processes: which are ours, what is ended, what is said when they are lost."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from armlabd.daemon import core_process
from armlabd.daemon.core_process import CoreError, CoreProcess, _is_core, _told_by
from armlabd.daemon.sim_process import SimError, SimProcess
from armlabd.motion.messages import CoreState
from armlabd.motion.settings import CoreSettings
from armlabd.motion.thin import core_command

WAIT = "import sys; sys.stdin.read()"  # lives until its input is closed


def stand_in(*words: str) -> subprocess.Popen[bytes]:
    """A process whose command line holds these words (it shows a moment after the start)."""
    command = [sys.executable, "-c", WAIT, *words]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    shown = Path(f"/proc/{process.pid}/cmdline")
    while words[-1].encode() not in shown.read_bytes():
        os.sched_yield()
    return process


@pytest.fixture
def core() -> Iterator[subprocess.Popen[bytes]]:
    process = stand_in("armlabd.motion.core", "core.json")
    yield process
    end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


class Client:
    """The socket to a core that may be there; `answers` False: nobody listens."""

    def __init__(self, answers: bool = False, state: CoreState | None = None) -> None:
        self.answers, self.snapshot, self.connected = answers, state, False
        self.closed: list[bool] = []
        self.said_goodbye = False
        self.core_pid = None if state is None else state.pid
        self.on_lost: Any = None
        self.path = "nowhere"

    async def connect(self) -> None:
        if not self.answers:
            raise ConnectionRefusedError
        self.connected = True

    async def goodbye(self) -> None:
        self.said_goodbye = True

    async def close(self, goodbye: bool = False) -> None:
        self.closed.append(goodbye)
        self.connected = False


class Pid:
    """All that is asked of a process just started."""

    pid = 1


def made(tmp_path: Path, client: Client) -> CoreProcess:
    return CoreProcess(CoreSettings(str(tmp_path), "none"), client)  # type: ignore[arg-type]


def test_a_number_given_to_another_process_is_no_core(core: Any) -> None:
    other = stand_in("armlabd.motion.corelike")
    assert _is_core(core.pid)
    assert not _is_core(other.pid)
    assert not _is_core(os.getpid())
    end(core)
    assert not _is_core(core.pid)
    end(other)


def test_only_a_core_is_ended(tmp_path: Path, core: Any) -> None:
    other = stand_in("an editor")
    process = made(tmp_path, Client())
    process._pid = other.pid  # the number of a core that is gone, given to another program
    process._kill()
    assert other.poll() is None
    end(other)
    process._pid = core.pid
    process._kill()
    core.wait(5)
    assert core.returncode == -9
    assert process.pid is None


def test_our_own_child_is_ended_before_its_words_show(tmp_path: Path, monkeypatch: Any) -> None:
    """Just after the start a process has no command line yet; nobody may wait for it for ever."""
    child = stand_in("x")
    monkeypatch.setattr(core_process, "_is_core", lambda pid: False)
    process = made(tmp_path, Client())
    process._process, process._pid = child, child.pid
    process._kill()
    assert child.returncode == -9
    end(child)


async def test_a_running_core_with_the_same_settings_is_adopted(tmp_path: Path, core: Any) -> None:
    digest = CoreSettings(str(tmp_path), "none").digest()
    client = Client(True, CoreState(settings_digest=digest, pid=core.pid))
    process = made(tmp_path, client)
    assert await process._adopt()
    assert process.pid == core.pid
    assert client.closed == []


async def test_a_core_that_says_nothing_is_ended_and_the_arm_released_before_another(
    tmp_path: Path, monkeypatch: Any, core: Any
) -> None:
    released: list[bool] = []

    async def told(command: list[str]) -> str:
        released.append(core.poll() is not None)
        return "6 of 6 confirmed."

    monkeypatch.setattr(core_process, "_told_by", told)
    monkeypatch.setattr(core_process, "PUSH_TIMEOUT_S", 0.0)
    client = Client(True)
    client.core_pid = core.pid
    process = made(tmp_path, client)
    reaper = asyncio.create_task(asyncio.to_thread(core.wait))
    assert not await process._adopt()
    await reaper
    assert core.returncode == -9
    assert released
    assert process.pid is None


async def test_a_core_with_other_settings_is_asked_to_leave(tmp_path: Path, core: Any) -> None:
    client = Client(True, CoreState(settings_digest="other", pid=core.pid))
    process = made(tmp_path, client)
    core.stdin.close()  # it leaves
    reaper = asyncio.create_task(asyncio.to_thread(core.wait))
    assert not await process._adopt()
    await reaper
    assert client.closed == [True]
    assert process.pid is None


async def test_a_core_that_does_not_leave_is_ended(tmp_path: Path, core: Any) -> None:
    process = made(tmp_path, Client())
    process._pid = core.pid
    await process._wait_gone(0.0)
    core.wait(5)
    assert core.returncode == -9


async def test_a_core_that_hangs_while_leaving_is_ended_and_the_arm_released(
    tmp_path: Path, monkeypatch: Any, core: Any
) -> None:
    released: list[bool] = []

    async def told(command: list[str]) -> str:
        released.append(core.poll() is not None)
        return "6 of 6 confirmed."

    monkeypatch.setattr(core_process, "_told_by", told)
    monkeypatch.setattr(core_process, "SILENT_TIMEOUT_S", 0.0)
    client = Client(False)
    process = made(tmp_path, client)
    process._process, process._pid = core, core.pid
    await process.close()
    assert client.said_goodbye
    assert client.closed == [False]
    assert released == [True]


async def test_a_core_that_leaves_is_not_released_over_its_policy(
    tmp_path: Path, monkeypatch: Any, core: Any
) -> None:
    async def never(command: list[str]) -> str:
        raise AssertionError("released against the exit policy")

    monkeypatch.setattr(core_process, "_told_by", never)
    process = made(tmp_path, Client(True))
    process._process, process._pid = core, core.pid
    core.stdin.close()  # it leaves
    await process.close()


def test_case_62_a_full_disk_does_not_keep_a_core_from_starting_as_before(
    tmp_path: Path, monkeypatch: Any
) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    started: list[Any] = []
    core = made(tmp_path, Client())
    settings = CoreSettings(str(tmp_path), "none").to_json()
    monkeypatch.setattr(core_process, "write_atomic", full)
    monkeypatch.setattr(core_process.subprocess, "Popen", lambda *a, **_: started.append(a) or Pid)
    with pytest.raises(CoreError, match=r"No space left on device\. Free the disk"):
        core.spawn()
    (tmp_path / "core.json").write_text(settings)
    core.spawn()
    assert len(started) == 1


async def test_a_core_that_ends_at_its_start_is_told(tmp_path: Path, monkeypatch: Any) -> None:
    process = made(tmp_path, Client())
    process._process = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.DEVNULL)
    with pytest.raises(CoreError, match="ended at its start"):
        await process._connect()


async def test_a_core_that_never_answers_is_ended_and_told(
    tmp_path: Path, monkeypatch: Any, core: Any
) -> None:
    monkeypatch.setattr(core_process, "CONNECT_TIMEOUT_S", 0.0)
    process = made(tmp_path, Client())
    process._process, process._pid = core, core.pid
    with pytest.raises(CoreError, match="did not answer within 0 s"):
        await process._connect()
    assert core.returncode == -9


async def test_a_lost_core_is_killed_released_and_started_anew(
    tmp_path: Path, monkeypatch: Any, core: Any
) -> None:
    client = Client(True, CoreState())
    changes: list[int] = []
    process = CoreProcess(
        CoreSettings(str(tmp_path), "none"),
        client,  # type: ignore[arg-type]
        lambda: changes.append(process.losses),
    )
    done: list[str] = []

    async def told(command: list[str]) -> str:
        done.append(f"release, core running: {core.poll() is None}")
        return "6 of 6 confirmed."

    monkeypatch.setattr(core_process, "_told_by", told)
    monkeypatch.setattr(core_process, "RESTART_DELAYS_S", (0.0,))
    monkeypatch.setattr(process, "spawn", lambda: done.append("spawn"))
    process._process, process._pid = core, core.pid
    watching = asyncio.create_task(process._watch())
    client.on_lost("core_lost")
    while len(changes) < 2:
        await asyncio.sleep(0.001)
    watching.cancel()
    assert done == ["release, core running: False", "spawn"]
    assert process.last_release == "6 of 6 confirmed."
    assert changes == [0, 1]  # told when it was lost, and when it is back
    assert client.closed == [False]


async def test_what_the_release_helper_says_is_kept(tmp_path: Path, monkeypatch: Any) -> None:
    assert await _told_by([sys.executable, "-c", "print('6 of 6')"]) == "6 of 6"
    assert "did not start" in await _told_by([str(tmp_path / "nothing")])
    monkeypatch.setattr(core_process, "RELEASE_TIMEOUT_S", 0.0)
    assert "cut the power" in await _told_by([sys.executable, "-c", "import time; time.sleep(60)"])


# --- the virtual arm ----------------------------------------------------------------------------


async def test_a_virtual_arm_that_says_nothing_ends_the_start(tmp_path: Path) -> None:
    sim = SimProcess(tmp_path)
    sim._process = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    with pytest.raises(SimError, match="did not start"):
        await sim.wait_ready()


async def test_a_virtual_arm_that_answers_already_is_taken_over(tmp_path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        if line:
            writer.write(b'{"ok": true, "asked": ' + line.strip() + b"}\n")
            await writer.drain()
        writer.close()

    sim = SimProcess(tmp_path)
    async with await asyncio.start_unix_server(serve, sim.control):
        await asyncio.to_thread(sim.spawn)
        assert sim._process is None
        await sim.wait_ready()
        assert (await sim.call(cmd="state"))["asked"] == {"cmd": "state"}
        await sim.quit()  # not ours to kill
    sim.kill()


async def test_a_control_socket_without_anybody_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        await SimProcess(tmp_path).call(cmd="state")


def test_a_core_is_started_early_unless_one_listens(tmp_path: Path, monkeypatch: Any) -> None:
    client, spawned = Client(), list[int]()
    client.path = str(tmp_path / "core.sock")
    process = made(tmp_path, client)
    monkeypatch.setattr(process, "spawn", lambda: spawned.append(1))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(client.path)
        process.start_early()
        assert spawned == [1], "a name that nobody listens at is what a dead core leaves"
        listener.listen()
        process.start_early()
    assert spawned == [1], "a running one is left to be adopted"


async def test_a_core_that_was_never_spoken_to_is_asked_to_leave(tmp_path: Path, core: Any) -> None:
    process = made(tmp_path, Client())
    process._process, process._pid = core, core.pid
    await process.close()
    assert core.returncode == -15


def test_a_core_is_started_without_site_and_finds_our_packages() -> None:
    command, environment = core_command("core.json")
    assert command[1:] == ["-S", "-m", "armlabd.motion.core", "core.json"]
    ask = [sys.executable, "-S", "-c", "import armlabd.motion.core, serial"]
    assert subprocess.run(ask, env=environment, check=False).returncode == 0
