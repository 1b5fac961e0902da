"""Processes of a bench: started in a folder of their own, and all gone at the end.

Whatever names the bench's folder on its command line belongs to it, grandchildren included: the
daemon's core and virtual arm are found that way even when the daemon has been killed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TypeVar

LEAVE_S = 20.0  # a daemon that follows its exit policy needs a few seconds
GONE_S = 5.0
KIB = 1024
T = TypeVar("T")


class BenchError(Exception):
    """Something could not be measured; the sentence says what."""


class Place:
    """A temporary folder and the processes started in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[subprocess.Popen[bytes]] = []

    def start(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        piped: bool = False,
    ) -> subprocess.Popen[bytes]:
        """Start this Python with arguments; what it says goes to the folder's log."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if piped else log,
                stderr=log,
                env={**self._environment(), **(environment or {})},
                start_new_session=True,  # Ctrl-C reaches the bench, which ends them in order
            )
        self._started.append(process)
        return process

    def _environment(self) -> dict[str, str]:
        """Ours, with compiled modules kept: an installed armlabd has been compiled by pip.

        Where Python was told to keep none, each start would compile us anew, a fifth of a second.
        """
        inherited = dict(os.environ)
        if inherited.pop("PYTHONDONTWRITEBYTECODE", ""):
            inherited["PYTHONPYCACHEPREFIX"] = str(self.folder / "compiled")
        return inherited

    @property
    def log(self) -> Path:
        """Where the processes' messages go."""
        return self.folder / "log.txt"

    def last_words(self) -> str:
        """The end of the log, for a failure's sentence."""
        with contextlib.suppress(OSError):
            lines = self.log.read_text(errors="replace").strip().splitlines()
            return " / ".join(lines[-3:])[-400:]
        return ""

    def end(self, process: subprocess.Popen[bytes], timeout_s: float = LEAVE_S) -> None:
        """End one process in order, or at once when it does not."""
        if process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout_s)
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def end_all(self) -> None:
        """End everything that was started here, latest first, and everything left over."""
        try:
            for process in reversed(self._started):
                self.end(process)
        finally:
            self._started.clear()
            self._kill_leftovers()

    def _kill_leftovers(self) -> None:
        deadline_s = time.monotonic() + GONE_S
        while (left := pids_naming(self.folder)) and time.monotonic() < deadline_s:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)


@contextlib.contextmanager
def place() -> Iterator[Place]:
    """A place to work in; at the end its processes and its folder are gone, on Ctrl-C too."""
    with terminating():
        made = Place(Path(tempfile.mkdtemp(prefix="armlabd-bench-")))
        try:
            yield made
        finally:
            made.end_all()
            shutil.rmtree(made.folder, ignore_errors=True)


@contextlib.contextmanager
def terminating() -> Iterator[None]:
    """Meanwhile SIGTERM ends the bench as Ctrl-C does, by way of its cleaning up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def wait_for(
    look: Callable[[], T | None], what: str, timeout_s: float, every_s: float = 0.002
) -> T:
    """Look until there is something; its value. Raises BenchError naming what never came."""
    deadline_s = time.monotonic() + timeout_s
    while (found := look()) is None:
        if time.monotonic() > deadline_s:
            raise BenchError(f"{what} did not come within {timeout_s:g} s.")
        time.sleep(every_s)
    return found


def pids_naming(folder: Path) -> list[int]:
    """Other processes whose command line names something in this folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if os.fsencode(folder) in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


@contextlib.contextmanager
def prompt(pid: int = 0) -> Iterator[bool]:
    """Real-time scheduling for a process that stands for hardware; whether it was granted.

    Servos do not wait for a busy board. Children of the process do not inherit it.
    """
    before = os.sched_getscheduler(pid)
    try:
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(pid, policy, os.sched_param(1))
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(pid, before, os.sched_param(0))


def rss_mib(pid: int) -> float:
    """Resident memory of a process, MiB. Raises OSError when it is gone, ValueError."""
    return parse_rss_kib(Path(f"/proc/{pid}/status").read_text()) / KIB


def parse_rss_kib(status: str) -> int:
    """VmRSS of the text of /proc/PID/status, KiB. Raises ValueError when it has none."""
    for line in status.splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise ValueError("this process has no VmRSS: it has ended")


def cpu_s(pid: int) -> float:
    """Processor time a process has used, s (user and system, to 10 ms). Raises OSError."""
    ticks = parse_cpu_ticks(Path(f"/proc/{pid}/stat").read_text())
    return ticks / os.sysconf("SC_CLK_TCK")


def parse_cpu_ticks(stat: str) -> int:
    """utime + stime of the text of /proc/PID/stat. Raises ValueError when it is cut short.

    The command in brackets may hold spaces and brackets: fields are counted behind the last one.
    """
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 13:
        raise ValueError("this is no line of /proc/PID/stat")
    return int(fields[11]) + int(fields[12])
