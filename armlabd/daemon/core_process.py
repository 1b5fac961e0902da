"""The motion core as a process: started, adopted, and ended when it falls silent.

A core that is lost is killed first and released after: the helper opens the port by itself and
sends torque-off. The next core then starts latched.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from armlabd.durable import write_atomic
from armlabd.motion.client import CoreClient
from armlabd.motion.settings import CoreSettings
from armlabd.motion.thin import core_command

log = logging.getLogger(__name__)

CONNECT_TIMEOUT_S = 10.0
PUSH_TIMEOUT_S = 3.0
LEAVE_TIMEOUT_S = 30.0  # parking from the far corner at low speed takes about ten seconds
SILENT_TIMEOUT_S = 3.0  # between the end of a core's connection and of the core itself
RELEASE_TIMEOUT_S = 10.0
RESTART_DELAYS_S = (0.1, 0.5, 2.0, 10.0)
FRESH_S = 1.0  # a core that said nothing for so long, though connected, is not well
CARED_S = 30.0  # the longest pause, a start and a release fit between two attempts


class CoreError(Exception):
    """The motion core cannot be started; the sentence says why."""


class CoreProcess:
    """Keeps one core running. `on_change` is called when it was lost and when it is back."""

    def __init__(
        self,
        settings: CoreSettings,
        client: CoreClient,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._settings, self.client, self.on_change = settings, client, on_change
        self._process: subprocess.Popen[bytes] | None = None
        self._pid: int | None = None
        self._lost = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None
        self.losses = 0
        self.last_release = ""
        self._tried_s = 0.0  # the clock of `asyncio`
        client.on_lost = self._on_lost

    @property
    def pid(self) -> int | None:
        """The core's process id, ours or adopted."""
        return self._pid

    @property
    def cared_for(self) -> bool:
        """True while the core speaks, or its replacement goes on; for the watchdog."""
        if self.client.connected and self.client.state_age_s < FRESH_S:
            return True
        return asyncio.get_running_loop().time() - self._tried_s < CARED_S

    def spawn(self) -> None:
        """Start a core without waiting; an adoptable one is looked for in `start`.

        Raises CoreError.
        """
        settings = self._settings
        path = Path(settings.socket_dir or settings.state_dir) / "core.json"
        _told(path, settings.to_json().encode())
        command, environment = core_command(str(path))
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, start_new_session=True, env=environment
        )
        self._pid = self._process.pid

    def start_early(self) -> None:
        """Start a core ahead of `start`, unless one listens here. Raises CoreError."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            if probe.connect_ex(self.client.path) != 0:
                self.spawn()

    async def start(self) -> None:
        """Adopt the core that is running here, or start one. Raises CoreError."""
        if self._process is not None or not await self._adopt():
            if self._process is None:
                self.spawn()
            await self._connect()
        self._watching = asyncio.create_task(self._watch(), name="core watch")

    async def close(self) -> None:
        """Say goodbye and wait for the core to follow its exit policy.

        Meanwhile a stop still reaches it. One that hangs is ended and the arm released.
        """
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        if self._process is not None and not self.client.connected:
            self._process.terminate()  # the same goodbye for one that was never spoken to
        await self.client.goodbye()
        left = await self._wait_gone(LEAVE_TIMEOUT_S, listening=True)
        await self.client.close()
        if not left:
            await self._release()

    async def _adopt(self) -> bool:
        """Take over a running core with the same settings; ask one with others to leave."""
        with contextlib.suppress(OSError):
            await self.client.connect()
        if not self.client.connected:
            return False
        self._pid = self.client.core_pid
        await self._wait_push()
        state = self.client.snapshot
        if state is None:
            await self._end_frozen()
            return False
        if state.settings_digest == self._settings.digest():
            log.info("adopted the running motion core %s", self._pid)
            return True
        log.warning("the running motion core has other settings: it is asked to leave")
        await self.client.close(goodbye=True)
        await self._wait_gone(LEAVE_TIMEOUT_S)
        return False

    async def _end_frozen(self) -> None:
        """A core that listens and says nothing: ended, and the arm released, before another."""
        log.error("the running motion core %s says nothing: it is ended", self._pid)
        await self.client.close()
        self._kill()
        await self._release()
        self._lost.clear()  # the loss of that one is dealt with

    async def _connect(self) -> None:
        deadline = asyncio.get_running_loop().time() + CONNECT_TIMEOUT_S
        while asyncio.get_running_loop().time() < deadline:
            if self._process is not None and self._process.poll() is not None:
                raise CoreError("The motion core ended at its start; its message stands above.")
            try:
                await self.client.connect()
            except OSError:
                await asyncio.sleep(0.01)
                continue
            await self._wait_push()
            return
        self._kill()
        raise CoreError(
            f"The motion core did not answer within {CONNECT_TIMEOUT_S:g} s and was ended. Look at "
            "what it wrote above."
        )

    async def _wait_push(self) -> None:
        deadline = asyncio.get_running_loop().time() + PUSH_TIMEOUT_S
        while self.client.snapshot is None and asyncio.get_running_loop().time() < deadline:
            if not self.client.connected:
                return
            await asyncio.sleep(0.005)

    def _on_lost(self, cause: str) -> None:
        log.error("the motion core is lost (%s): it is ended and the arm released", cause)
        self._lost.set()
        self.on_change()

    async def _watch(self) -> None:
        while True:
            await self._lost.wait()
            self._lost.clear()
            self.losses += 1
            await self._replace()
            self.on_change()

    async def _replace(self) -> None:
        """Kill, release, start anew; tried again with growing delays."""
        self._tried_s = asyncio.get_running_loop().time()
        await self.client.close()
        self._kill()
        await self._release()
        for attempt in itertools.count():
            self._tried_s = asyncio.get_running_loop().time()
            await asyncio.sleep(RESTART_DELAYS_S[min(attempt, len(RESTART_DELAYS_S) - 1)])
            try:
                self.spawn()
                await self._connect()
            except (CoreError, OSError) as error:
                log.error("the motion core could not be restarted: %s", error)
                self._kill()
                continue
            log.warning("the motion core was restarted; it starts stopped")
            return

    async def _release(self) -> None:
        settings = self._settings
        command = [sys.executable, "-m", "armlabd.motion.release"]
        arguments = ["--state", settings.state_dir, "--port", settings.port]
        self.last_release = await _told_by([*command, *arguments, "--baud", str(settings.baud)])
        log.warning("release: %s", self.last_release)

    def _kill(self) -> None:
        """End the core at once. Our own child is known for sure, an adopted one by its words."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        elif self._pid is not None and _is_core(self._pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
        self._process = self._pid = None

    async def _wait_gone(self, timeout_s: float, *, listening: bool = False) -> bool:
        """True when the core left by itself; one that does not is ended.

        `listening`: the connection is kept meanwhile, so a core that goes silent is ended soon.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while self._is_there():
            if listening and not self.client.connected:
                listening, deadline = False, loop.time() + SILENT_TIMEOUT_S
            if loop.time() > deadline:
                log.error("the motion core did not leave in time: it is ended")
                self._kill()
                return False
            await asyncio.sleep(0.02)
        self._process = self._pid = None
        return True

    def _is_there(self) -> bool:
        if self._process is not None:
            return self._process.poll() is None
        return self._pid is not None and _is_core(self._pid)


def _told(path: Path, settings: bytes) -> None:
    """Write what the core is told, unless it stands there already: a full disk ends no start."""
    with contextlib.suppress(OSError):
        if path.read_bytes() == settings:
            return
    try:
        write_atomic(path, settings)
    except OSError as error:
        raise CoreError(
            f"{path} cannot be written: {error.strerror or error}. Free the disk or mend the state "
            "folder, then start again."
        ) from error


async def _told_by(command: list[str]) -> str:
    """What the release helper said; a sentence also when it could not say anything."""
    try:
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    except OSError as error:
        return f"The release helper did not start ({error.strerror}): cut the power of the arm."
    try:
        out, _ = await asyncio.wait_for(process.communicate(), RELEASE_TIMEOUT_S)
    except TimeoutError:
        process.kill()
        await process.wait()
        return "The release helper did not end in time: cut the power of the arm."
    return out.decode(errors="replace").strip()


def _is_core(pid: int) -> bool:
    """True when that process is a motion core: a number may have been given to another."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"armlabd.motion.core" in words
