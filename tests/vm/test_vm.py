"""The installed service on an emulated machine with a kernel of its own, booted once for all.

In order: the machine comes up with the stop line open and nothing plugged in; what is plugged in
later; the button; what is pulled.
"""

from __future__ import annotations

import json
import statistics
import time

import pytest
from hands import Contact, at_rest, button, ended, in_motion, released, stopped, torque
from machine import MEMORY_MB, Machine

pytestmark = pytest.mark.needs_machine
PRESSES = 5


@pytest.fixture(scope="session")
def contact(machine: Machine) -> Contact:
    return Contact(machine)


@pytest.fixture
def ready(machine: Machine, contact: Contact) -> Machine:
    released(machine, contact)
    return machine


def clear(machine: Machine) -> tuple[int, str]:
    status, answer = machine.ask("POST", "/stop/clear", {})
    return status, json.dumps(answer)


# --- as it comes up ------------------------------------------------------------------------------


def test_it_boots_and_serves_with_neither_arm_nor_camera(machine: Machine) -> None:
    print(f"\nHTTP {machine.took_s:.0f} s after the power")  # noqa: T201
    assert machine.sh("systemctl", "is-active", "armlabd").out.strip() == "active"
    told = machine.status()
    assert told["arm"]["state"] == "absent"
    assert told["arm"]["next"].strip()
    assert machine.ask("GET", "/camera.jpg")[0] == 503
    assert "plugged in" in machine.status()["camera"]["next"]


def test_case_20_a_line_that_is_open_at_boot_stops_without_an_edge(machine: Machine) -> None:
    told = machine.status()
    assert told["stopped"] is True
    assert told["button"]["state"] == "pressed"
    assert told["button"]["proven_at"] == ""
    assert "release it first" in told["button"]["next"]


def test_case_85_the_line_is_found_by_its_chips_label_and_its_name(machine: Machine) -> None:
    labels = machine.script("cat /sys/bus/gpio/devices/gpiochip*/gpio/*/label").out
    where = str(machine.status()["button"]["line"])
    assert "pinctrl-rp1" in where, labels
    assert "GPIO5" in where
    number = machine.script("cat /sys/kernel/config/gpio-sim/header/bank0/chip_name").out.strip()
    assert f"/dev/{number}" in where


def test_an_adapter_plugged_in_for_the_first_time_is_taken(machine: Machine) -> None:
    known = machine.sh("cat", "/proc/devices").out.split()
    assert "ttyUSB" not in known  # its driver was not there yet when the service started
    machine.plug()
    machine.wait_for(lambda: machine.state() == "ready", 60)
    assert machine.status()["arm"]["connected"] is True
    assert not torque(machine)  # the line is still open


def test_the_rules_for_the_adapter_are_in_force(machine: Machine) -> None:
    link = machine.sh("readlink", "-f", "/dev/armlab-bus").out.strip()
    assert link.startswith("/dev/ttyUSB")
    assert machine.sh("stat", "-c", "%G %a", link).out.split() == ["dialout", "660"]
    told = dict(
        row.split("=", 1)
        for row in machine.sh("udevadm", "info", "-q", "property", link).out.splitlines()
        if "=" in row
    )
    assert told["ID_MM_DEVICE_IGNORE"] == "1"
    assert told["ID_MM_PORT_IGNORE"] == "1"
    assert "/dev/armlab-bus" in told["DEVLINKS"].split()
    assert told["ID_VENDOR_ID"] == "0403"
    chips = machine.script("stat -c '%G %a' /dev/gpiochip*").out.splitlines()
    assert set(chips) == {"gpio 660"}


def test_the_memory_limit_is_in_force(machine: Machine) -> None:
    group = (
        "/sys/fs/cgroup"
        + machine.sh("systemctl", "show", "-P", "ControlGroup", "armlabd").out.strip()
    )
    limit = int(machine.sh("cat", f"{group}/memory.max").out)
    whole = int(machine.script("awk '/^MemTotal/{print $2*1024}' /proc/meminfo").out)
    assert limit == pytest.approx(0.8 * whole, rel=0.01)
    daemon = machine.sh("systemctl", "show", "-P", "MainPID", "armlabd").out
    greedy = f"python3 -c 'k = [b\"x\" * (1 << 20) for _ in range({MEMORY_MB})]'"
    done = machine.script(f"echo $$ >{group}/cgroup.procs && {greedy}")
    assert done.code in (137, -9), done.err  # killed by the kernel
    kills = machine.script(f"grep -w oom_kill {group}/memory.events").out.split()[1]
    assert int(kills) >= 1
    assert machine.sh("systemctl", "show", "-P", "MainPID", "armlabd").out == daemon
    assert machine.ask("GET", "/healthz")[0] == 200


# --- the camera ----------------------------------------------------------------------------------


def test_a_camera_of_the_kernel_gives_a_picture_with_an_age(machine: Machine) -> None:
    assert "video4linux" not in machine.sh("cat", "/proc/devices").out.split()
    assert machine.sh("modprobe", "vivid").code == 0

    def sees() -> bool:
        machine.ask("GET", "/camera.jpg")
        camera = machine.status()["camera"]
        return camera["state"] == "ready" and camera["age_s"] is not None

    machine.wait_for(sees, 60)


# --- the button ----------------------------------------------------------------------------------


def test_case_19_no_clear_and_no_move_while_the_line_is_open(
    machine: Machine, contact: Contact
) -> None:
    contact.open()
    machine.wait_for(lambda: button(machine) == "pressed", 20)
    status, words = clear(machine)
    assert status == 409, words
    assert "release it first" in words
    assert machine.ask("POST", "/call/go_home", {})[0] != 200
    assert stopped(machine)
    assert not torque(machine)


def test_case_86_a_line_counts_as_proven_only_when_it_was_seen_to_close(
    machine: Machine, contact: Contact
) -> None:
    released(machine, contact)
    machine.wait_for(lambda: bool(machine.status()["button"]["proven_at"]), 10)
    assert button(machine) == "released"


@pytest.mark.parametrize("moving", [False, True], ids=["at rest", "in motion"])
def test_a_press_makes_the_arm_limp(ready: Machine, contact: Contact, moving: bool) -> None:
    url = in_motion(ready) if moving else at_rest(ready)
    assert torque(ready)
    contact.open()
    ready.wait(lambda: not torque(ready), 10, "the servos kept their torque")
    assert stopped(ready)
    assert clear(ready)[0] == 409
    if moving:
        assert ended(ready, url)["result"] != "done"


def test_a_wire_that_is_cut_is_a_stop_that_lasts_over_a_restart(
    ready: Machine, contact: Contact
) -> None:
    at_rest(ready)
    contact.open()
    ready.wait(lambda: not torque(ready), 10, "the servos kept their torque")
    ready.sh("systemctl", "stop", "armlabd")
    assert ready.sh("systemctl", "start", "armlabd").code == 0
    ready.wait_for(lambda: ready.state() == "ready", 60)
    assert button(ready) == "pressed"
    assert clear(ready)[0] == 409
    assert stopped(ready)


def test_from_a_press_to_torque_off(ready: Machine, contact: Contact) -> None:
    """A figure, not a bar: the machine is emulated, its USB too."""
    inside_ms, outside_ms = [], []
    for _ in range(PRESSES):
        released(ready, contact)
        at_rest(ready)
        began_s = time.monotonic()
        contact.open()
        ready.wait(lambda: not torque(ready), 10, "the servos kept their torque")
        outside_ms.append((time.monotonic() - began_s) * 1e3)
        ready.wait_for(lambda: stopped(ready), 10)
        inside_ms.append(int(ready.status()["stop"]["latency_us"]) / 1e3)
    for name, found in (("edge to frame, in the core", inside_ms), ("seen outside", outside_ms)):
        print(f"\n{name}: median {statistics.median(found):.1f} ms, most {max(found):.1f} ms")  # noqa: T201
    assert len(inside_ms) == PRESSES


# --- what is pulled -----------------------------------------------------------------------------


@pytest.mark.parametrize("moving", [False, True], ids=["at rest", "in motion"])
def test_an_adapter_that_is_pulled_is_named_and_comes_back(ready: Machine, moving: bool) -> None:
    url = in_motion(ready) if moving else at_rest(ready)
    ready.unplug()
    try:
        ready.wait_for(lambda: ready.state() in ("disconnected", "absent"), 20)
        told = ready.status()
        assert told["arm"]["connected"] is False
        assert told["arm"]["next"].strip()
        why = json.dumps((told["arm"], ready.ask("GET", url)[1] if url else ""), indent=1)
        if told["stopped"] is not moving:  # it moved when it was lost: latched
            raise AssertionError(why[:6000])
        assert ready.sh("test", "-e", "/dev/armlab-bus").code == 1
        if moving:
            assert ended(ready, url)["result"] != "done"
    finally:
        ready.plug()
    ready.wait_for(lambda: ready.state() == "ready", 60)
    assert ready.sh("test", "-L", "/dev/armlab-bus").code == 0
    assert stopped(ready) is moving


def test_a_camera_that_is_pulled_is_named_and_comes_back(ready: Machine) -> None:
    """The last one: the driver lets go of its device."""
    driver = "/sys/bus/platform/drivers/vivid"
    ready.script(f"echo vivid.0 >{driver}/unbind")
    ready.wait_for(lambda: ready.ask("GET", "/camera.jpg")[0] != 200, 30)
    camera = ready.status()["camera"]
    assert camera["state"] != "ready"
    assert camera["next"].strip()
    ready.script(f"echo vivid.0 >{driver}/bind")
    ready.wait_for(lambda: ready.ask("GET", "/camera.jpg")[0] == 200, 60)
