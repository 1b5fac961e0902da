"""The fake board under examination."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from usbtree import UsbTree

from armlabd.arm.calibration import parse
from armlabd.arm.joints import VIEW
from armlabd.arm.placement import Alignment, Placement
from armlabd.bus.errors import PortLost
from armlabd.bus.frames import FrameScanner
from armlabd.bus.port import Transport
from armlabd.clock import Clock, VirtualClock
from armlabd.config import Config
from armlabd.config.load import parse_config
from armlabd.doctor.examine import examine
from armlabd.doctor.report import Check, Report
from armlabd.doctor.subject import Roots, Subject, User
from armlabd.gate.roles import KeyRing
from armlabd.perceive.camera import Frame
from armlabd.perceive.errors import CameraError
from armlabd.perceive.picture import Picture
from armlabd.sim.arm import VirtualArm
from armlabd.sim.calibration import calibration_json
from armlabd.sim.inprocess import InProcessCable, InProcessTransport
from armlabd.sim.picture import render
from armlabd.sim.world import World

DIALOUT = 20


@cache
def table() -> Picture:
    """The virtual table with its markers and blocks, the arm aside."""
    return render(World(), VIEW[:5], 30.0)


class StandIn:
    """A camera that works, unless it was told what to say."""

    def __init__(self) -> None:
        self.complaint = ""
        self.closed = 0
        self.image = table()

    def grab(self) -> Frame:
        if self.complaint:
            raise CameraError(self.complaint)
        return Frame(self.image, 0.0, "stand-in")

    def close(self) -> None:
        self.closed += 1


class Patient:
    """`report` examines it; `check` is one line of that. Everything is public, to be broken."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.usb = UsbTree(root / "system")
        for name in (
            "etc/udev/rules.d",
            "run/systemd/timesync",
            "run/udev/data",
            "lib/udev/rules.d",
        ):
            (self.usb.root / name).mkdir(parents=True)
        self.port = Path(self.usb.plug())
        self.port.chmod(0o660)
        if os.geteuid() == 0:
            os.chown(self.port, -1, DIALOUT)
        (self.usb.root / "run/systemd/timesync/synchronized").write_text("")
        self.camera = StandIn()
        self.state = root / "state"
        self._fill_state()
        self.clock = VirtualClock(50.0)
        self.arm = VirtualArm(World(blocks=()), now_s=50.0)
        self.cable = InProcessCable(self.arm, self.clock, PortLost)
        self.opened = 0
        self.sent: set[int] = set()
        self.subject = Subject(
            self.config(),
            self.state,
            roots=Roots(*(str(self.usb.root / name) for name in Roots._fields)),
            user=User("pi", 1000, (os.stat(self.port).st_gid,)),
            clock=self.clock,
            open_port=self._open,
            make_camera=lambda _: self.camera,
        )

    def _fill_state(self) -> None:
        self.state.mkdir()
        aligned = parse(calibration_json()).aligned(
            Alignment((0.0,) * 5, Placement(), 1.2, "2026-11-30")
        )
        (self.state / "calibration.json").write_text(aligned.to_text())
        (self.state / "stop.json").write_text('{"stopped": false}')
        KeyRing(self.state / "keys.json").first_keys("2026-11-30")

    def config(self, **parts: Any) -> Config:
        return parse_config({"camera": {"source": "/dev/video0"}, **parts})

    def _open(self, path: str, baud: int, clock: Clock) -> Transport:
        self.opened += 1
        transport = InProcessTransport(self.arm, self.clock, cable=self.cable)
        write, scanner = transport.write, FrameScanner(requests=True)

        def watched(data: bytes) -> None:
            self.sent |= {frame.error for frame in scanner.feed(data)}
            write(data)

        transport.write = watched  # type: ignore[method-assign]
        return transport

    def change(self, **parts: Any) -> None:
        self.subject = replace(self.subject, **parts)

    def report(self) -> Report:
        return examine(self.subject)

    def check(self, name: str) -> Check:
        return next(check for check in self.report().checks if check.name == name)

    def finding(self, name: str) -> Check:
        found = self.check(name)
        assert found.state == "finding", found
        assert found.remedy, "a finding says what to do"
        return found

    def write(self, name: str, text: str) -> Path:
        path = self.usb.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path
