"""A /dev, /sys and /proc of one's own: USB boards are plugged into it as files and links."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

WAVESHARE = ("1a86", "55d3", "USB Single Serial")
CH340 = ("1a86", "7523", "USB Serial")
FTDI = ("0403", "6001", "FT232R USB UART")


def link(path: Path, target: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(os.path.relpath(target, path.parent))


class UsbTree:
    """`plug` and `unplug` boards; `dev`, `sys`, `proc` are what is handed to the code."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("dev", "sys/class/tty", "sys/bus/usb/devices", "proc"):
            (root / name).mkdir(parents=True)

    @property
    def dev(self) -> str:
        return str(self.root / "dev")

    @property
    def sys(self) -> str:
        return str(self.root / "sys")

    @property
    def proc(self) -> str:
        return str(self.root / "proc")

    def plug(
        self,
        tty: str | None = "ttyACM0",
        serial: str = "5A680135",
        plug: str = "1-1.2",
        kind: tuple[str, str, str] = WAVESHARE,
        *,
        interface: str = "1.0",
        driver: str = "cdc_acm",
        node: Path | None = None,
        by_id: bool = False,
    ) -> str:
        """Plug a board in; the path of its port. `node` is what it really is, such as a pty."""
        device = self.root / "sys/devices/usb1" / plug
        device.mkdir(parents=True, exist_ok=True)
        for name, text in zip(("idVendor", "idProduct", "product"), kind, strict=True):
            (device / name).write_text(f"{text}\n")
        if serial:
            (device / "serial").write_text(f"{serial}\n")
        link(self.root / "sys/bus/usb/devices" / plug, device)
        if tty is None:
            return ""
        self._tty(device / f"{plug}:{interface}", tty, driver)
        path = self.root / "dev" / tty
        path.unlink(missing_ok=True)
        if node is None:
            path.write_bytes(b"")
        else:
            path.symlink_to(node)
        if by_id:
            link(self.root / "dev/serial/by-id" / f"usb-1a86_{serial}-if00", path)
        return str(path)

    def _tty(self, interface: Path, tty: str, driver: str) -> None:
        inner = interface / tty if tty.startswith("ttyUSB") else interface
        made = inner / "tty" / tty
        made.mkdir(parents=True)
        link(made / "device", inner)
        link(inner / "driver", self.root / "sys/bus/usb/drivers" / driver)
        (self.root / "sys/bus/usb/drivers" / driver).mkdir(parents=True, exist_ok=True)
        link(self.root / "sys/class/tty" / tty, made)

    def unplug(self, plug: str = "1-1.2") -> None:
        device = self.root / "sys/devices/usb1" / plug
        for made in device.rglob("tty/*"):
            (self.root / "dev" / made.name).unlink(missing_ok=True)
            (self.root / "sys/class/tty" / made.name).unlink(missing_ok=True)
        (self.root / "sys/bus/usb/devices" / plug).unlink(missing_ok=True)
        shutil.rmtree(device)

    def process(self, pid: int, name: str, *opened: str) -> None:
        """A process with files open."""
        folder = self.root / "proc" / str(pid)
        (folder / "fd").mkdir(parents=True)
        (folder / "comm").write_text(f"{name}\n")
        (folder / "cmdline").write_bytes(f"/usr/bin/{name}\0".encode())
        for number, path in enumerate(opened):
            (folder / "fd" / str(number)).symlink_to(path)
