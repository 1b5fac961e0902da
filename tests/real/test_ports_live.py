"""Ports on a real pty: replugged under another name, taken by another, read by the doctor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bus"))
sys.path.insert(0, str(Path(__file__).parents[1] / "real"))

from harness import OPERATOR_KEY, RealArm, real_arm, wait_until
from usbtree import UsbTree

from armlabd.bus.errors import PortError, PortKind
from armlabd.bus.port import SerialPort
from armlabd.clock import SystemClock
from armlabd.motion.adapter import Adapter
from armlabd.motion.core import Core
from armlabd.motion.disk import DirectDisk
from armlabd.motion.settings import CoreSettings
from armlabd.sim.calibration import calibration_json

pytestmark = pytest.mark.real
KEYS = {**os.environ, "ARM_OPERATOR_KEY": OPERATOR_KEY}


@pytest.fixture
def base() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="arm-") as short:  # a socket's path has to be short
        yield Path(short)


@pytest.fixture
def virtual(base: Path) -> Iterator[RealArm]:
    """A virtual arm alone, in base/sim."""
    arm = RealArm(base)
    arm.state.mkdir()
    command = [sys.executable, "-m", "armlabd.sim", "--state", str(arm.state), "--orphan-s", "60"]
    with (base / "log.txt").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        wait_until((arm.state / "control.sock").exists, "the virtual arm")
        yield arm
    finally:
        process.terminate()
        process.wait(20)


class LiveCore:
    """A core in this process, on the fake /dev whose ports lead to the virtual arm's pty."""

    def __init__(self, base: Path, usb: UsbTree) -> None:
        self.clock = SystemClock()
        state = base / "core"
        state.mkdir()
        (state / "stop.json").write_text('{"stopped": false}')
        settings = CoreSettings(str(state), "auto", calibration=calibration_json())
        disk = DirectDisk()
        self.adapter = Adapter(
            str(state), "auto", 1_000_000, self.clock, disk, dev=usb.dev, sys=usb.sys
        )
        self.core = Core(settings, self.clock, self.adapter.open, disk)
        self.core.link.on_ready = self.adapter.confirm

    def until(self, true: Callable[[], bool], what: str) -> None:
        """Run the core as its own process does, until something holds."""
        core, clock, give_up_s = self.core, self.clock, self.clock.monotonic() + 30.0
        while not true():
            assert clock.monotonic() < give_up_s, (what, core.link.state, core.link.detail)
            if clock.monotonic() >= core.cycles.due_s:
                core.tick()
            elif core.has_work:
                core.work()
            else:
                clock.sleep(max(0.0, core.cycles.due_s - clock.monotonic()))


def test_case_24_a_replug_under_another_name_is_followed_and_another_board_is_not(
    base: Path, virtual: RealArm
) -> None:
    usb = UsbTree(base / "usb")
    usb.plug("ttyACM0", "MINE", node=virtual.state / "bus")
    live = LiveCore(base, usb)
    link = live.core.link
    try:
        live.until(lambda: link.ready, "ready on ttyACM0")
        first = (virtual.state / "bus").readlink()
        virtual.world("unplug")
        usb.unplug()
        live.until(lambda: link.state in ("disconnected", "absent"), "the loss is noticed")
        virtual.world("replug")
        usb.plug("ttyACM1", "OTHER", node=virtual.state / "bus")
        live.until(lambda: "usb:OTHER" in link.detail, "another board is refused")
        usb.unplug()
        usb.plug("ttyACM2", "MINE", node=virtual.state / "bus")
        live.until(lambda: link.ready, "ready on ttyACM2")
        assert live.adapter.path.endswith("ttyACM2")
        assert (virtual.state / "bus").exists()
        assert first.name.isdigit()
    finally:
        live.core.link.close()


def test_row_42_the_process_that_has_the_port_is_named(virtual: RealArm) -> None:
    port = str(virtual.state / "bus")
    script = (
        "import sys; from armlabd.bus.port import SerialPort;"
        "from armlabd.clock import SystemClock;"
        "port = SerialPort(sys.argv[1], 1000000, SystemClock()); print('open', flush=True);"
        "sys.stdin.read(1)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, port], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"open\n"
        with pytest.raises(PortError) as caught:
            SerialPort(port, 1_000_000, SystemClock())
        assert caught.value.kind is PortKind.BUSY
        assert f"(process {child.pid})" in caught.value.sentence
    finally:
        child.communicate(b"x", timeout=20)
    SerialPort(port, 1_000_000, SystemClock()).close()


def doctor(base: Path) -> dict[str, dict[str, Any]]:
    """`armlabd doctor --sim --json` as a person runs it; its checks by name."""
    command = [sys.executable, "-m", "armlabd", "doctor", "--sim", "--json", "--state", str(base)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, env=KEYS, check=False)
    told = json.loads(ran.stdout)
    assert ran.returncode == (0 if told["ok"] else 1), ran.stderr
    return {check["check"]: check for check in told["checks"]}


def test_the_doctor_reads_the_servos_itself_and_writes_none(base: Path, virtual: RealArm) -> None:
    before = virtual.last_seq()
    checks = doctor(base)
    assert {checks[n]["state"] for n in ("adapter", "servos", "voltage", "temperature")} == {"ok"}
    assert virtual.last_seq() == before
    virtual.world("mute", id=2)
    assert "2 (shoulder_lift)" in doctor(base)["servos"]["sentence"]
    assert not any(virtual.world("state")["torque"])


def test_the_doctor_asks_a_running_daemon_and_disturbs_nothing() -> None:
    with real_arm() as arm:
        arm.start()
        checks = doctor(arm.base)
        assert {checks[n]["state"] for n in ("daemon", "servos", "voltage", "keys")} == {"ok"}
        assert checks["stop"]["remedy"][-1] == "armlabd clear-stop"
        arm.clear()
        checks = doctor(arm.base)
        assert checks["stop"]["state"] == "ok"
        assert checks["camera"]["state"] == "ok"
        assert arm.status()["arm"]["connected"]
        assert arm.status()["core"]["losses"] == 0
