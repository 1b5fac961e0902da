"""A board: a Debian root folder with systemd as its first process, and a laptop beside it.

The board has a network namespace of its own, joined to the laptop's by one cable (a veth pair):
no packet leaves. Its arm is a virtual bus on a pty of this machine, its camera a picture file.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2

from armlabd.clock import SystemClock
from armlabd.perceive.errors import CameraError
from armlabd.perceive.readers import SimReader

ROOT = Path(__file__).parents[2]
SUITE = "bookworm" if sys.version_info < (3, 12) else "trixie"  # as the wheels' Python
PACKAGES = "systemd,systemd-sysv,dbus,udev,ca-certificates,iproute2"
MIRROR = "http://deb.debian.org/debian"
BOARD_IP, LAPTOP_IP = "10.77.0.1", "10.77.0.2"
DIALOUT = 20  # the group's number on Debian
BOOT_S, STOP_S = 60.0, 60.0
RUN = "/run/armlab-bench"  # where the virtual bus and the picture are on the board


def cache() -> Path:
    """Where the bare root and the packages are kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME", "") or str(Path.home() / ".cache")
    folder = Path(base) / "armlabd"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def run(*words: str | Path, check: bool = True, **more: Any) -> subprocess.CompletedProcess[str]:
    """A command; what it said is in the error when it fails."""
    done = subprocess.run([str(w) for w in words], text=True, capture_output=True, **more)
    if check and done.returncode:
        raise AssertionError(
            f"{words}: {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        )
    return done


def bare_root() -> Path:
    """A minimal Debian with systemd, made once."""
    kept = cache() / f"root-{SUITE}"
    if not (kept / "complete").exists():
        shutil.rmtree(kept, ignore_errors=True)
        run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, kept, MIRROR)
        (kept / "complete").touch()
    return kept


def wheelhouse() -> Path:
    """Every Python package of the service, so that the board installs without a network."""
    kept = cache() / f"wheels-{sys.version_info.major}{sys.version_info.minor}"
    for old in kept.glob("armlabd-*.whl"):
        old.unlink()
    environment = {**os.environ, "PYTHON": sys.executable}
    said = run(ROOT / "scripts/install.sh", "--make-wheelhouse", kept, env=environment)
    assert list(kept.glob("systemd_python-*.whl")), f"no fields for the journal: {said.stderr}"
    return kept


def source_of(folder: Path) -> None:
    """The files of this tree that belong to it, as a clone has them."""
    names = run("git", "-C", ROOT, "ls-files", "-co", "--exclude-standard").stdout.split("\n")
    for name in filter(None, names):
        if (ROOT / name).is_file() and not name.startswith("tests/"):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)


def _descriptors(pid: str) -> list[Path]:
    """What a process has open; nothing once it has gone."""
    folder = Path("/proc", pid, "fd")
    with contextlib.suppress(OSError):
        return [folder / name for name in os.listdir(folder)]
    return []


class BareBus:
    """`armlabd.sim` on this machine: the arm on a pty, its hands on a control socket."""

    def __init__(self, folder: Path, *more: str) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        command = [sys.executable, "-m", "armlabd.sim", "--state", str(folder)]
        arguments = ["--seed", "2", "--orphan-s", "3600", "--realtime", *more]
        self.process = subprocess.Popen(
            [*command, *arguments], stdout=subprocess.PIPE, cwd=ROOT, text=True
        )
        assert self.process.stdout is not None
        where = json.loads(self.process.stdout.readline())
        self.control, self.pty = Path(where["control"]), Path(where["port"]).resolve()

    def ask(self, command: str, **more: Any) -> dict[str, Any]:
        """One command on the control socket."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(10)
            sock.connect(str(self.control))
            sock.sendall(json.dumps({"cmd": command, **more}).encode() + b"\n")
            with sock.makefile("rb") as lines:
                answer: dict[str, Any] = json.loads(lines.readline())
        return answer

    def close(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()


class VirtualBus(BareBus):
    """A bus with hidden errors that another root may use, and its camera written to a file."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "--hidden-errors")
        os.chown(self.pty, 0, DIALOUT)
        self.pty.chmod(0o660)
        folder.chmod(0o755)
        self.control.chmod(0o666)
        self._ended = threading.Event()
        self._filming = threading.Thread(target=self._film)
        self._filming.start()

    def _film(self) -> None:
        """A camera that leaves its newest picture in a file, five times a second."""
        eye = SimReader(self.control, SystemClock())
        beside = self.folder / ".table.png"
        while not self._ended.wait(0.2):
            self._unlock()
            with contextlib.suppress(CameraError):
                beside.write_bytes(cv2.imencode(".png", eye.read()[0])[1].tobytes())
                beside.chmod(0o644)
                beside.replace(self.folder / "table.png")

    def _unlock(self) -> None:
        """A USB adapter forgets who had it exclusively once that program has gone, however it
        went; a pty does not while its other end keeps it open, as the virtual bus does.
        """
        ours = {str(self.process.pid), str(os.getpid())}
        others = (pid for pid in os.listdir("/proc") if pid.isdigit() and pid not in ours)
        if any(self._is_pty(entry) for pid in others for entry in _descriptors(pid)):
            return
        with contextlib.suppress(OSError), self.pty.open("rb", buffering=0) as port:
            fcntl.ioctl(port, termios.TIOCNXCL)

    def _is_pty(self, entry: Path) -> bool:
        try:
            found = entry.stat()
        except OSError:
            return False
        return stat.S_ISCHR(found.st_mode) and found.st_rdev == self.pty.stat().st_rdev

    def close(self) -> None:
        """End camera and bus."""
        self._ended.set()
        self._filming.join()
        super().close()


class Network:
    """Two namespaces and a cable between them; nothing else is on it."""

    def __init__(self) -> None:
        self.board, self.laptop = f"armboard{os.getpid()}", f"armlaptop{os.getpid()}"
        for name in (self.board, self.laptop):
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        a, b = "arm0", "arm1"
        run("ip", "-n", self.board, "link", "add", a, "type", "veth", "peer", "name", b)
        run("ip", "-n", self.board, "link", "set", b, "netns", self.laptop)
        for name, device, address in ((self.board, a, BOARD_IP), (self.laptop, b, LAPTOP_IP)):
            run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", device)
            run("ip", "-n", name, "link", "set", device, "up")

    def close(self) -> None:
        """Take both away; the cable goes with them."""
        for name in (self.board, self.laptop):
            run("ip", "netns", "del", name, check=False)


class Board:
    """A root folder that can be worked on while it is off, booted, and switched off."""

    def __init__(self, folder: Path, bus: VirtualBus, network: Network) -> None:
        self.root, self.bus, self.network = folder / "root", bus, network
        run("cp", "-a", "--reflink=auto", bare_root(), self.root)
        (self.root / "complete").unlink()
        (self.root / "etc/machine-id").write_text("")
        source_of(self.root / "root/armlabd")
        self.process: subprocess.Popen[bytes] | None = None

    # --- off ----------------------------------------------------------------------------------

    def offline(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """A command in the root folder while it is off, as on a card in a reader; with a network
        for Debian's packages.
        """
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        base = [
            "systemd-nspawn",
            "-q",
            "-D",
            str(self.root),
            "--register=no",
            "--keep-unit",
            "--pipe",
        ]
        binds = [f"--bind-ro={wheels}:/wheels"] if (wheels := cached_wheels()) else []
        return run(*base, *binds, *words, check=check)

    # --- on -----------------------------------------------------------------------------------

    def boot(self) -> float:
        """Switch on; seconds until the service is active."""
        began_s = time.monotonic()
        self.process = subprocess.Popen(
            [
                "systemd-nspawn",
                "-q",
                "-D",
                str(self.root),
                "--boot",
                "--register=no",
                "--keep-unit",
                "--console=pipe",
                f"--network-namespace-path=/run/netns/{self.network.board}",
                f"--bind={self.bus.pty}:/dev/ttyACM0",
                f"--bind={self.bus.folder}:{RUN}",
                f"--bind-ro={cached_wheels()}:/wheels",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.wait(lambda: self.leader() is not None, BOOT_S, "systemd did not start")
        self.wait(lambda: self.up("systemctl", "is-system-running").returncode >= 0, BOOT_S, "")
        return time.monotonic() - began_s

    def leader(self) -> int | None:
        """The first process of the board, as this machine numbers it."""
        assert self.process is not None
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        children = path.read_text().split()
        return int(children[0]) if children else None

    def up(self, *words: str, check: bool = False) -> subprocess.CompletedProcess[str]:
        """A command on the running board, as root."""
        leader = self.leader()
        base = ["nsenter", "-t", str(leader), "-m", "-u", "-i", "-n", "-p", "-r", "-w"]
        clean = ["env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
        return run(*base, *clean, "HOME=/root", "LC_ALL=C.UTF-8", *words, check=check)

    def kill(self, name: str, pid: int | str) -> None:
        """A signal to a process of the board, which has no program for it: the shell's own."""
        self.up("sh", "-c", f"kill -s {name} {pid}", check=True)

    def off(self) -> None:
        """Switch off in order."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(STOP_S)
        self.process = None

    def cut(self) -> None:
        """Cut the power: every process of the board at once."""
        leader = self.leader()
        assert self.process is not None
        if leader is not None:
            os.kill(leader, signal.SIGKILL)
        self.process.kill()
        self.process.wait(STOP_S)
        self.process = None

    # --- questions ----------------------------------------------------------------------------

    def property(self, name: str) -> str:
        """A property of the unit."""
        return self.up("systemctl", "show", "-P", name, "armlabd").stdout.strip()

    def active(self) -> bool:
        """Whether the service is active."""
        return self.property("ActiveState") == "active"

    def journal(self) -> list[dict[str, Any]]:
        """Every row of the unit's journal since boot."""
        rows = self.up("journalctl", "-b", "-u", "armlabd", "-o", "json", "--no-pager").stdout
        return [json.loads(row) for row in rows.splitlines() if row.startswith("{")]

    @staticmethod
    def wait(true: Any, timeout_s: float, why: str) -> float:
        """Wait until `true()`; seconds it took."""
        began_s = time.monotonic()
        while not true():
            if time.monotonic() - began_s > timeout_s:
                raise AssertionError(why or "it did not come true in time")
            time.sleep(0.05)
        return time.monotonic() - began_s


class Laptop:
    """Speaks HTTP from its own namespace, with a key."""

    def __init__(self, network: Network, key: str) -> None:
        self.network, self.key = network, key

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
        """Status and answer; (0, {}) when nobody answers."""
        code = (
            "import json,sys,urllib.request as u,urllib.error as e\n"
            "m,url,key,body=sys.argv[1:5]\n"
            "h={'X-API-Key':key}\n"
            "if body: h['Content-Type']='application/json'\n"
            "r=u.Request(url,body.encode() or None,h,method=m)\n"
            "o=u.build_opener(u.ProxyHandler({}))\n"
            "try:\n a=o.open(r,timeout=10); print(a.status); print(a.read().decode())\n"
            "except e.HTTPError as x: print(x.code); print(x.read().decode())\n"
            "except OSError: print(0)\n"
        )
        text = "" if body is None else json.dumps(body)
        url = f"http://{BOARD_IP}:8765{path}"
        words = ["ip", "netns", "exec", self.network.laptop, sys.executable, "-c", code]
        said = run(*words, method, url, self.key, text).stdout.split("\n", 1)
        answer = json.loads(said[1]) if len(said) > 1 and said[1].strip() else {}
        return int(said[0]), answer


def cached_wheels() -> Path:
    """The wheels made by `wheelhouse`."""
    return cache() / f"wheels-{sys.version_info.major}{sys.version_info.minor}"


@contextlib.contextmanager
def board_with_laptop(folder: Path) -> Iterator[Board]:
    """A fresh board, off, with everything around it; all of it is gone afterwards."""
    with contextlib.ExitStack() as stack:
        bus = VirtualBus(folder / "bus")
        stack.callback(bus.close)
        network = Network()
        stack.callback(network.close)
        board = Board(folder, bus, network)
        stack.callback(lambda: board.process is not None and board.cut())
        yield board
