"""An emulated computer (qemu, no KVM) that boots the installed service; the arm is on its USB.

Bytes of the arm go: virtual bus, its pty, bridge.py, a socket, qemu's USB serial adapter (an FTDI
chip), the guest's ftdi_sio, /dev/armlab-bus. Unplugging takes the adapter off the emulated USB bus.
"""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import board as b

HERE = Path(__file__).parent
MEMORY_MB = 1024
BOOT_S = 600.0  # a minute on a quiet machine
ANSWER_S = 120.0
PATIENCE = 5  # times what a test waits: the machine may have a fraction of a processor
ADAPTER = "adapter"


class Lines:
    """One JSON line each way on a unix socket that qemu listens on."""

    def __init__(self, path: Path) -> None:
        self._sock = socket.socket(socket.AF_UNIX)
        self._sock.settimeout(ANSWER_S)
        b.Board.wait(lambda: self._sock.connect_ex(str(path)) == 0, 30, "qemu did not start")
        self._file = self._sock.makefile("rb")

    def read(self) -> dict[str, Any]:
        """The next line."""
        answer: dict[str, Any] = json.loads(self._file.readline())
        return answer

    def send(self, message: dict[str, Any]) -> None:
        """One line."""
        self._sock.sendall(json.dumps(message).encode() + b"\n")

    def close(self) -> None:
        """Hang up."""
        self._file.close()
        self._sock.close()


class Said:
    """What a command in the machine came to."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.code, self.out, self.err = answer["code"], str(answer["out"]), str(answer["err"])


class Machine:
    """Booted once, with no arm plugged in; `folder` is for its sockets.

    The disk stays as it is: what is written is thrown away.
    """

    def __init__(self, folder: Path, kernel: Path, disk: Path, bus: b.BareBus) -> None:
        self.folder, self.bus = folder, bus
        self.http = _free_port()
        self.log = folder / "console.txt"
        command = ["nice", "-n", "10", "qemu-system-x86_64", *_arguments(self, kernel, disk)]
        self._began_s = time.monotonic()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        self._qmp, self._shell = Lines(folder / "qmp.sock"), Lines(folder / "shell.sock")
        self._bridges: list[subprocess.Popen[bytes]] = []
        self._qmp.read()
        self.qmp("qmp_capabilities")
        self._asked = 0
        self.key = ""
        self.took_s = 0.0

    def booted(self) -> None:
        """Wait for the service; `took_s` since it was switched on."""
        self.wait(lambda: self.ask("GET", "/healthz")[0] > 0, BOOT_S, "nothing answers over HTTP")
        self.took_s = time.monotonic() - self._began_s
        self.key = self.sh("cat", "/etc/armlabd/credentials/arm_operator_key").out.strip()

    # --- from outside -------------------------------------------------------------------------

    def qmp(self, command: str, **arguments: Any) -> Any:
        """One command to qemu itself. Raises AssertionError with qemu's words."""
        self._qmp.send({"execute": command, "arguments": arguments})
        while True:
            answer = self._qmp.read()
            assert "error" not in answer, answer
            if "return" in answer:
                return answer["return"]

    def unplug(self) -> None:
        """Pull the USB adapter; the wire behind it ends too."""
        self.qmp("device_del", id=ADAPTER)
        self._bridges[-1].terminate()

    def plug(self) -> None:
        """Plug it into the same plug, each time with a wire of its own to the arm."""
        name = f"bus{len(self._bridges)}"
        path = self.folder / f"{name}.sock"
        socket_of = {"type": "unix", "data": {"path": str(path)}}
        backend = {"addr": socket_of, "server": True, "wait": False}
        self.qmp("chardev-add", id=name, backend={"type": "socket", "data": backend})
        words = [sys.executable, str(HERE / "bridge.py"), str(self.bus.pty), str(path)]
        self._bridges.append(subprocess.Popen(words))
        device = {"driver": "usb-serial", "id": ADAPTER, "chardev": name, "always-plugged": True}
        self.qmp("device_add", port="1", **device)

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
        """Status and answer over HTTP with the operator's key; (0, {}) when nobody answers."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.http}{path}", method=method)
        request.add_header("X-API-Key", self.key)
        if body is not None:
            request.add_header("Content-Type", "application/json")
            request.data = json.dumps(body).encode()
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with direct.open(request, timeout=20) as answer:
                return answer.status, _parsed(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, _parsed(error.read())
        except OSError:
            return 0, {}

    def status(self) -> dict[str, Any]:
        """What /status tells; {} when nobody answers."""
        return self.ask("GET", "/status")[1]

    def state(self) -> str:
        """The arm's state."""
        return str(self.status().get("arm", {}).get("state", ""))

    # --- inside -------------------------------------------------------------------------------

    def sh(self, *argv: str) -> Said:
        """A command in the machine, as root."""
        self._asked += 1
        self._shell.send({"id": self._asked, "argv": list(argv)})
        while (answer := self._shell.read())["id"] != self._asked:
            pass
        return Said(answer)

    def script(self, text: str) -> Said:
        """A line for the machine's sh."""
        return self.sh("sh", "-c", text)

    wait = staticmethod(b.Board.wait)

    def wait_for(self, true: Callable[[], bool], timeout_s: float) -> None:
        """Wait; what the machine tells then is the reason when it does not come true."""
        try:
            self.wait(true, PATIENCE * timeout_s, "")
        except AssertionError:
            raise AssertionError(json.dumps(self.status(), indent=1)[:4000]) from None

    def close(self) -> None:
        """Switch it off at the wall."""
        for line in self._qmp, self._shell:
            line.close()
        for process in self.process, *self._bridges:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            process.wait(30)


def _arguments(machine: Machine, kernel: Path, disk: Path) -> list[str]:
    folder = machine.folder
    shell = f"socket,id=shell,path={folder / 'shell.sock'},server=on,wait=off"
    return [
        *("-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", str(MEMORY_MB)),
        *("-display", "none", "-nodefaults", "-no-reboot", "-serial", f"file:{machine.log}"),
        *("-kernel", str(kernel / "vmlinuz"), "-initrd", str(kernel / "initrd.img")),
        *("-append", "root=/dev/vda rw console=ttyS0 quiet panic=-1 net.ifnames=0 mitigations=off"),
        *("-drive", f"file={disk},format=raw,if=virtio,snapshot=on"),
        *("-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{machine.http}-:8765"),
        *("-device", "virtio-net-pci,netdev=net", "-device", "virtio-serial-pci"),
        *("-chardev", shell, "-device", "virtserialport,chardev=shell,name=armlab.bench"),
        *("-device", "qemu-xhci"),
        *("-qmp", f"unix:{folder / 'qmp.sock'},server=on,wait=off"),
    ]


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
