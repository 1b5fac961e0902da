"""The virtual arm in real time: one loop over the pty, the control socket and the camera.

Nothing here polls: the loop sleeps until a byte, an answer's time, or the next bit of physics.
"""

from __future__ import annotations

import fcntl
import gc
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from armlabd.sim import keepsake
from armlabd.sim.arm import VirtualArm
from armlabd.sim.camera import CameraLink
from armlabd.sim.camera_process import Shot
from armlabd.sim.commands import Commands
from armlabd.sim.control import Client, ControlServer
from armlabd.sim.pty_server import PtyServer

TICK_S: Final = 0.004  # physics in real time, in two steps at once
CATCH_UP_S: Final = 0.25  # a process that was suspended does not relive the gap
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the virtual arm can be reached."""

    port: Path
    control: Path


class AlreadyRunning(RuntimeError):
    """Another virtual arm has this state folder."""


class SimProcess:
    """Serves `arm` from the folder `state_dir` until a signal, `quit`, or `orphan_s` of silence."""

    def __init__(
        self, arm: VirtualArm, state_dir: Path, *, seed: int = 0, orphan_s: float | None = None
    ) -> None:
        self._arm = arm
        self._seed = seed
        self._pictures = 0
        self._orphan_s = orphan_s
        self._quitting = False
        self._lock = _lock(state_dir)
        self._folder = state_dir
        keepsake.load(arm, state_dir)
        self._eeproms = keepsake.images(arm)
        self.addresses = Addresses(state_dir / "bus", state_dir / "control.sock")
        self._pty = PtyServer(self.addresses.port)
        self._pty.plug()
        commands = Commands(arm, self._pty, self.leave)
        self._control = ControlServer(self.addresses.control, commands.handle, self._ask_picture)
        self._camera = CameraLink(self._control.finish)
        self._wake_in, self._wake_out = socket.socketpair()
        arm.now_s = self._last_sign_s = time.monotonic()

    def leave(self) -> None:
        """End the loop after this round."""
        self._quitting = True

    def run(self, announce: Callable[[], None] = lambda: None) -> None:
        """Serve until it is time to go; removes what it made.

        `announce` is called once signals are handled and everything is open.
        """
        self._listen_to_signals()
        _be_prompt()
        try:
            announce()
            while not self._quitting:
                self._round()
            self._say_goodbye()
        finally:
            self.close()

    def close(self) -> None:
        """Keep the servos' EEPROM, remove port and socket, end the camera."""
        keepsake.save(self._arm, self._folder, self._eeproms)
        self._pty.close()
        self._control.close()
        self._camera.close()
        signal.set_wakeup_fd(-1)
        self._wake_in.close()
        self._wake_out.close()
        os.close(self._lock)

    # --- the loop

    def _round(self) -> None:
        ready, writable, _ = select.select(self._readers(), self._writers(), [], self._timeout())
        if self._pty in ready:
            self._hear()
        self._send_due()
        for item in ready:
            if isinstance(item, Client):
                self._control.serve(item)
            elif item is self._control:
                self._control.accept()
            elif item is self._camera:
                self._camera.receive()
            elif item is self._wake_in:
                self._quitting = True
        for item in writable:
            item.flush()
        self._control.drop_gone()
        self._tick()

    def _readers(self) -> list[PtyServer | ControlServer | CameraLink | Client | socket.socket]:
        readers: list[PtyServer | ControlServer | CameraLink | Client | socket.socket]
        readers = [self._control, self._wake_in, *self._control.clients]
        if self._pty.plugged:
            readers.append(self._pty)
        if self._camera.alive:
            readers.append(self._camera)
        return readers

    def _writers(self) -> list[CameraLink | Client]:
        writers: list[CameraLink | Client]
        writers = [client for client in self._control.clients if client.wants_to_write]
        if self._camera.alive and self._camera.wants_to_write:
            writers.append(self._camera)
        return writers

    def _timeout(self) -> float | None:
        """Seconds until something is due; None = wait for a byte."""
        now_s = time.monotonic()
        waits = []
        if (due_s := self._arm.bus.next_due_s()) is not None:
            waits.append(due_s - now_s)
        if not self._arm.resting:
            waits.append(self._arm.now_s + TICK_S - now_s)
        if self._orphan_s is not None:
            waits.append(self._last_sign_s + self._orphan_s - now_s)
        return max(0.0, min(waits)) if waits else None

    def _hear(self) -> None:
        data = self._pty.read()
        now_s = time.monotonic()
        if data:
            self._last_sign_s = now_s
            self._skip_a_gap(now_s)
            self._arm.bus.feed(data, now_s)

    def _send_due(self) -> None:
        data = self._arm.bus.take_due(time.monotonic())
        if data and self._pty.plugged:
            self._pty.write(data)

    def _tick(self) -> None:
        """Let physics follow, and see whether anybody is still there."""
        now_s = time.monotonic()
        self._skip_a_gap(now_s)
        if not self._arm.resting and now_s >= self._arm.now_s + TICK_S:
            self._arm.advance(now_s)
        if self._control.clients:
            self._last_sign_s = now_s
        if self._orphan_s is not None and now_s >= self._last_sign_s + self._orphan_s:
            self._quitting = True

    def _skip_a_gap(self, now_s: float) -> None:
        if not self._arm.resting:
            self._arm.now_s = max(self._arm.now_s, now_s - CATCH_UP_S)

    # --- pictures

    def _ask_picture(self, client: Client, request: dict[str, object]) -> None:
        now_s = time.monotonic()
        self._arm.advance(now_s)
        joints, jaw = self._arm.true_deg()
        self._pictures += 1
        flat = request.get("flat") is True
        seed = self._seed + self._pictures
        self._camera.ask(client, Shot(self._arm.world, joints, jaw, seed, flat, now_s))

    # --- signals and leaving

    def _listen_to_signals(self) -> None:
        self._wake_out.setblocking(False)
        signal.set_wakeup_fd(self._wake_out.fileno())
        for number in SIGNALS:
            signal.signal(number, lambda *_: self.leave())

    def _say_goodbye(self) -> None:
        """Let the last answers (of `quit` itself) go out."""
        for client in self._control.clients:
            client.flush()


def _lock(state_dir: Path) -> int:
    """Hold the folder for this process. Raises AlreadyRunning."""
    state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(state_dir / "sim.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise AlreadyRunning(
            f"A virtual arm already runs in {state_dir}; end it first or choose another folder."
        ) from error
    return handle


def _be_prompt() -> None:
    """Fine timers and no long garbage collections: this process stands for hardware."""
    gc.collect()
    gc.freeze()
    try:
        Path("/proc/self/timerslack_ns").write_text("1000")
    except OSError:
        return
