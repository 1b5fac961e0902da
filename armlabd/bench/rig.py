"""A daemon with core and virtual arm for measuring: its own folder, keys, settings and port."""

from __future__ import annotations

import contextlib
import json
import secrets
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from armlabd.bench.door import Door
from armlabd.bench.lines import CoreLine, World
from armlabd.bench.processes import BenchError, Place, pids_naming, wait_for

READY_S = 60.0
# Everything else is as delivered. Rates are wide open so that a flood reaches the daemon, and the
# arm is let go at the end, which saves parking it.
SETTINGS = """
[rate]
calls_per_s = 1000
reads_per_s = 1000
goals_per_s = 1000
arm_calls_per_s = 1000
[motion]
exit = "release"
[sim]
hidden_errors = false
"""


class Rig:
    """One running daemon. Times are monotonic ns."""

    def __init__(
        self, place: Place, name: str, more: str = "", *, heartbeat_s: float = 0.1
    ) -> None:
        """`more` are settings besides ours, as TOML."""
        self.place = place
        self.base = place.folder / name
        self.state = self.base / "sim"
        self.base.mkdir()
        self._key = secrets.token_hex(16)
        config = self.base / "config.toml"
        own = SETTINGS.replace("[motion]", f"[motion]\nheartbeat_s = {heartbeat_s}")
        config.write_text(own + more)
        command = ["-m", "armlabd", "run", "--sim", "--port", "0"]
        keys = {"ARM_OPERATOR_KEY": self._key, "ARM_API_KEY": secrets.token_hex(16)}
        self.spawned_ns = time.monotonic_ns()
        self.process: subprocess.Popen[bytes] = place.start(
            [*command, "--state", str(self.base), "--config", str(config)], environment=keys
        )
        self.url = ""

    def wait_open(self) -> int:
        """Wait for the first 200 of /healthz; when it came. Raises BenchError."""
        note = wait_for(self._note, "The daemon's address", READY_S)
        self.url = str(note["url"])
        with self.door() as door:
            return wait_for(lambda: _ok(door), "A 200 of /healthz", READY_S)

    def wait_connected(self) -> int:
        """Wait until the status says that the arm is connected; when it did."""
        with self.door() as door:
            return wait_for(lambda: _connected(door), "The virtual arm", READY_S, 0.005)

    def ready(self) -> Rig:
        """Open, connected, and the first stop of a new folder cleared. Raises BenchError."""
        self.wait_open()
        self.wait_connected()
        with self.door() as door:
            door.must("POST", "/stop/clear", {})
        return self

    @property
    def key(self) -> str:
        """The operator's key."""
        return self._key

    @contextlib.contextmanager
    def door(self) -> Iterator[Door]:
        """A kept connection to the daemon as its operator."""
        door = Door(self.url, self._key)
        try:
            yield door
        finally:
            door.close()

    @contextlib.contextmanager
    def core(self) -> Iterator[CoreLine]:
        """A visitor at the core."""
        line = CoreLine(self.state / "core.sock")
        try:
            yield line
        finally:
            line.close()

    @contextlib.contextmanager
    def world(self) -> Iterator[World]:
        """The virtual arm's control socket."""
        world = World(self.state / "control.sock")
        try:
            yield world
        finally:
            world.close()

    def core_pid(self) -> int:
        """The process id of the motion core, as the daemon tells it."""
        with self.door() as door:
            return int(door.must("GET", "/status").body["core"]["pid"])

    def arm_pid(self) -> int:
        """The process id of the virtual arm. Raises BenchError."""
        for pid in pids_naming(self.base):
            with contextlib.suppress(OSError):
                if b"armlabd.sim" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                    return pid
        raise BenchError("The virtual arm's process is gone.")

    def scheduling(self) -> str:
        """What the core was granted, in its own words."""
        with self.core() as line:
            details = wait_for(lambda: line.told() or None, "The core's details", READY_S)
            return str(details.get("scheduling") or "not told")

    def cores_lost(self) -> int:
        """How often the daemon lost its core."""
        with self.door() as door:
            return int(door.must("GET", "/status").body["core"]["losses"])

    def end(self) -> None:
        """End the daemon in order."""
        self.place.end(self.process)

    def _note(self) -> dict[str, Any] | None:
        if self.process.poll() is not None:
            raise BenchError(f"The daemon ended at its start: {self.place.last_words()}")
        return read_note(self.state / "daemon.json", self.process.pid)


def read_note(path: Path, pid: int) -> dict[str, Any] | None:
    """The daemon's note for local programs, when it is there and this process wrote it."""
    try:
        note = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return note if isinstance(note, dict) and note.get("pid") == pid and "url" in note else None


def _ok(door: Door) -> int | None:
    with contextlib.suppress(BenchError):
        reply = door.ask("GET", "/healthz")
        return reply.answered_ns if reply.status == 200 else None
    return None


def _connected(door: Door) -> int | None:
    reply = door.must("GET", "/status")
    return reply.answered_ns if reply.body["arm"]["connected"] else None
