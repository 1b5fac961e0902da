"""A real daemon on a real pty for tests: own processes, own state folder, HTTP with keys.

Every process is found again by its state folder and must be gone at the end.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from armlabd.cli.client import Answer, Client, note_of

READY_S = 60.0  # generous: other jobs share the machine, and nothing here measures time
FAST = """
[rate]
calls_per_s = 1000
reads_per_s = 1000
goals_per_s = 1000
arm_calls_per_s = 1000
[motion]
speed_dps = 60.0
heartbeat_s = 0.5
exit = "release"
[sim]
hidden_errors = false
"""


def wait_until(true: Callable[[], object], what: str, timeout_s: float = READY_S) -> Any:
    """Poll until the condition holds; its value. A failure names what was waited for."""
    deadline_s = time.monotonic() + timeout_s
    while time.monotonic() < deadline_s:
        value = true()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"not within {timeout_s:g} s: {what}")


@dataclass
class RealArm:
    """One state folder with its daemon, core and virtual arm."""

    base: Path
    config: str = FAST
    daemon: subprocess.Popen[bytes] | None = None
    client: Client = field(default_factory=lambda: Client(""))
    agent: Client = field(default_factory=lambda: Client(""))
    simulated: bool = True

    @property
    def state(self) -> Path:
        return self.base / "sim" if self.simulated else self.base / "disk"

    def start(self, wait_arm: bool = True) -> RealArm:
        """Start the daemon and wait until its door is open (and the arm connected)."""
        path = self.base / "config.toml"
        path.write_text(self.config)
        command = [sys.executable, "-m", "armlabd", "run", "--port", "0"]
        folder = self.base if self.simulated else self.state
        command += ["--sim"] if self.simulated else []
        environment = {**os.environ, "ARM_API_KEY": AGENT_KEY, "ARM_OPERATOR_KEY": OPERATOR_KEY}
        with (self.base / "log.txt").open("ab") as log:
            self.daemon = subprocess.Popen(
                [*command, "--state", str(folder), "--config", str(path)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        note = wait_until(self._note, f"the daemon's note; log: {self.log()[-2000:]}")
        self.client = Client(note["url"], OPERATOR_KEY)
        self.agent = Client(note["url"], AGENT_KEY)
        if wait_arm:
            wait_until(lambda: self.status()["arm"]["connected"], "the arm is connected")
        return self

    def _note(self) -> dict[str, Any] | None:
        assert self.daemon is not None
        if self.daemon.poll() is not None:
            raise AssertionError(f"the daemon ended: {self.log()[-3000:]}")
        with contextlib.suppress(OSError, ValueError):
            note = note_of(self.state)
            if note is not None and note["pid"] == self.daemon.pid:
                return note
        return None

    def log(self) -> str:
        with contextlib.suppress(OSError):
            return (self.base / "log.txt").read_text(errors="replace")
        return ""

    # --- asking ------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        return self.client.request("GET", "/status").body

    def clear(self) -> None:
        answer = self.client.request("POST", "/stop/clear", {})
        assert answer.ok, answer
        assert self.status()["stopped"] is False

    def ready(self) -> RealArm:
        """Started, connected, cleared."""
        self.start()
        self.clear()
        return self

    def call(self, tool: str, **args: Any) -> Answer:
        return self.client.request("POST", f"/call/{tool}", args, 120.0)

    def goal(self, text: str) -> str:
        answer = self.client.request("POST", "/goals", {"goal": text})
        assert answer.status == 202, answer
        return str(answer.body["id"])

    def plan(self, plan: dict[str, Any]) -> str:
        answer = self.client.request("POST", "/plans/run", plan)
        assert answer.status == 202, answer
        return str(answer.body["id"])

    def run(self, run_id: str) -> dict[str, Any]:
        return self.client.request("GET", f"/runs/{run_id}").body

    def wait_run(self, run_id: str, *states: str) -> dict[str, Any]:
        """The run once it is in one of the states (default: ended)."""
        wanted = states or ("ended",)

        def there() -> dict[str, Any] | None:
            run = self.run(run_id)
            return run if run["state"] in (*wanted, "ended") else None

        run: dict[str, Any] = wait_until(there, f"{run_id} in {wanted}", 180.0)
        return run

    def world(self, cmd: str, **args: Any) -> dict[str, Any]:
        """One command to the virtual arm's control socket."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control:
            control.settimeout(10.0)
            control.connect(os.fspath(self.state / "control.sock"))
            control.sendall(json.dumps({"cmd": cmd, **args}).encode() + b"\n")
            with control.makefile("rb") as lines:
                answer: dict[str, Any] = json.loads(lines.readline())
        assert answer.get("ok", True), answer
        return answer

    def frames(self, since: int = 0) -> list[dict[str, Any]]:
        """Stamps of goals and torque frames after `since`, however many answers it takes."""
        found: list[dict[str, Any]] = []
        while more := self.world("frames", since=since)["frames"]:
            found += more
            since = more[-1]["seq"]
        return found

    def last_seq(self) -> int:
        """The number of the newest stamp."""
        frames = self.frames()
        return int(frames[-1]["seq"]) if frames else 0

    def story(self, run_id: str) -> str:
        """Everything known of a run, for the message of a failed test."""
        lines = []
        with contextlib.suppress(OSError):
            lines = (self.state / "runs" / run_id / "trace.jsonl").read_text().splitlines()
        shown = [line[:700] for line in lines[-40:]]
        return "\n".join(["", *shown, str(self.world("state")), self.log()[-3000:]])

    def audit(self) -> list[dict[str, Any]]:
        path = self.state / "audit" / "audit.jsonl"
        rows = []
        for line in path.read_text().splitlines():
            with contextlib.suppress(ValueError):
                rows.append(json.loads(line))
        return rows

    # --- processes ---------------------------------------------------------------------------

    def pids(self) -> dict[int, str]:
        """Every process that names this state folder: pid -> command line."""
        found = {}
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if str(self.base) in words:
                    found[int(folder.name)] = words
        return found

    def pid_of(self, module: str) -> int:
        """The process id of the core or the virtual arm."""
        return next(pid for pid, words in self.pids().items() if f"-m {module} " in words)

    def kill_all(self) -> None:
        """As a power cut ends them: all at once, without a word."""
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.daemon is not None:
            self.daemon.wait()
            self.daemon = None
        wait_until(lambda: not self.pids(), "every process is gone")

    def end(self) -> None:
        """End the daemon in order."""
        if self.daemon is not None:
            self.daemon.send_signal(signal.SIGCONT)
            self.daemon.send_signal(signal.SIGTERM)
            try:
                self.daemon.wait(45)
            finally:
                self.daemon = None


AGENT_KEY = "agent-key-of-the-tests-0001"
OPERATOR_KEY = "operator-key-of-the-tests-0001"


@contextlib.contextmanager
def real_arm(config: str = FAST) -> Iterator[RealArm]:
    """A folder for one real arm; whatever is left of it at the end is a failure."""
    base = Path(tempfile.mkdtemp(prefix="arm-"))
    arm = RealArm(base, config)
    try:
        yield arm
        arm.end()
        wait_until(lambda: not arm.pids(), f"no process is left: {arm.pids()}", 30.0)
    finally:
        arm.kill_all()
        shutil.rmtree(base, ignore_errors=True)
