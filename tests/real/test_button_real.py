"""The button on real processes: the virtual arm's contact is a pipe that the core itself reads."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from harness import FAST, RealArm, real_arm, wait_until

from armlabd.bench.processes import prompt
from armlabd.motion.button import PRESS_S

pytestmark = pytest.mark.real
BUTTON = '[stop.button]\nrequired = true\nboard = "sim"\nrelease_s = 0.05\n'


@pytest.fixture(scope="module")
def wired() -> Iterator[RealArm]:
    with real_arm() as one:
        one.config = FAST.replace("heartbeat_s = 0.5", "heartbeat_s = 2.0") + BUTTON
        one.ready()
        with prompt(one.pid_of("armlabd.sim")):  # servos do not wait for a busy board
            yield one


def say(arm: RealArm, text: str) -> None:
    (arm.state / "button").write_text(text)


def button(arm: RealArm) -> dict[str, Any]:
    told: dict[str, Any] = arm.status()["button"]
    return told


def is_limp(arm: RealArm) -> bool:
    return not any(arm.world("state")["torque"])


def moving(arm: RealArm) -> str:
    """Start a slow move as a run and answer its id once the arm moves.

    A virtual arm that gets no processor for 0.1 s is a lost bus, as it should be: then once more.
    """

    def begun() -> str:
        if arm.status()["stopped"]:
            arm.client.request("POST", "/stop/clear", {})
        if not arm.call("move_to_pose", x=0.2, y=0.1, z=0.06, speed_dps=60).ok:
            return ""
        away = {"x": 0.2, "y": -0.1, "z": 0.06, "speed_dps": 5}
        opened = {"tool": "open_gripper", "args": {"percent": 50}}
        steps = [{"tool": "get_status"}, opened, {"tool": "move_to_pose", "args": away}]
        answer = arm.client.request("POST", "/plans/run", {"steps": steps})
        run_id = str(answer.body.get("id", ""))
        return run_id if answer.ok and swings(arm, run_id) else ""

    return str(wait_until(begun, "the arm moves"))


def swings(arm: RealArm, run_id: str) -> bool:
    """Wait until it swings, or the run ends early."""
    pan_deg = arm.world("state")["joints_deg"][0]

    def turned() -> bool:
        return abs(arm.world("state")["joints_deg"][0] - pan_deg) > 3

    wait_until(lambda: turned() or arm.run(run_id)["state"] == "ended", "it swings")
    return bool(arm.run(run_id)["state"] != "ended")


def test_case_19_a_press_in_motion_stops_and_only_release_and_a_person_end_it(
    wired: RealArm,
) -> None:
    assert button(wired)["state"] == "unproven"
    run = moving(wired)
    say(wired, "1")
    wait_until(lambda: wired.status()["stopped"], "the press stops")
    ended = wired.wait_run(run)
    assert (ended["result"], ended["cause"]) == ("stopped", "stopped")
    stop = wired.status()["stop"]
    assert (stop["cause"], stop["confirmed"], stop["of"]) == ("button", 6, 6)
    assert stop["latency_us"] > 0
    assert button(wired)["state"] == "pressed"
    refused = wired.client.request("POST", "/stop/clear", {})
    assert (refused.status, refused.body["code"]) == (409, "cannot_clear")
    assert "release it first" in refused.body["error"]
    time.sleep(2 * PRESS_S)  # as long as a hand presses
    say(wired, "0")
    wait_until(lambda: button(wired)["state"] == "released", "released, and proven by the press")
    assert wired.status()["stopped"], "releasing clears nothing"
    wired.clear()
    wait_until(lambda: "button" in [row.get("cause") for row in wired.audit()], "it is on record")
    assert json.loads((wired.state / "button.json").read_text())["line"] == "sim "


def test_case_04_a_press_with_the_daemon_frozen_lets_the_arm_go(wired: RealArm) -> None:
    assert wired.daemon is not None
    moving(wired)
    os.kill(wired.daemon.pid, signal.SIGSTOP)
    try:
        say(wired, "1")
        wait_until(lambda: is_limp(wired), "torque is off although the daemon is frozen")
        wait_until(lambda: on_disk(wired) == "button", "the latch on disk names the button")
    finally:
        say(wired, "0")
        os.kill(wired.daemon.pid, signal.SIGCONT)
    wait_until(lambda: button(wired)["state"] == "released", "released")
    wired.clear()


def on_disk(arm: RealArm) -> str:
    return str(json.loads((arm.state / "stop.json").read_text()).get("code"))


def test_a_cut_wire_and_a_storm_stop_and_are_named(wired: RealArm) -> None:
    say(wired, "x")
    wait_until(lambda: button(wired)["state"] == "broken", "the cut wire is named")
    assert wired.status()["stopped"]
    assert "cannot be read" in button(wired)["next"]
    say(wired, "0")
    wait_until(lambda: button(wired)["state"] == "released", "back")
    wired.clear()
    say(wired, "10" * 200)
    wait_until(lambda: button(wired)["state"] == "noisy", "the storm is named")
    assert wired.status()["stopped"]
    say(wired, "1")
    say(wired, "0")
    wait_until(lambda: button(wired)["state"] == "released", "quiet again")
    wired.clear()


def test_case_86_the_press_test_at_the_command_line(wired: RealArm) -> None:
    command = [sys.executable, "-m", "armlabd", "doctor", "--sim", "--press"]
    places = ["--state", str(wired.base), "--config", str(wired.base / "config.toml")]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, *places], **pipes) as doctor:
        assert doctor.stderr is not None
        assert "Press the stop button now" in doctor.stderr.readline()
        say(wired, "1")
        assert "release it" in doctor.stderr.readline()
        time.sleep(2 * PRESS_S)
        say(wired, "0")
        told, _ = doctor.communicate(timeout=60.0)
    assert doctor.returncode == 0, told
    assert "Press and release were seen. The arm is stopped: armlabd clear-stop" in told
    wired.clear()


def test_case_20_a_boot_with_the_contact_open_is_stopped_without_any_edge() -> None:
    with real_arm() as one:
        one.config = FAST + BUTTON
        one.state.mkdir()
        (one.state / "stop.json").write_text('{"stopped": false}')
        os.mkfifo(one.state / "button", 0o600)
        contact = os.open(one.state / "button", os.O_RDWR)  # open all the time, as the pipe is
        try:
            os.write(contact, b"1")
            one.start(wait_arm=False)
            wait_until(lambda: one.status()["core"]["pid"], "the core is there")
            assert one.status()["stop"]["cause"] == "button"
            assert one.client.request("POST", "/stop/clear", {}).status == 409
        finally:
            os.close(contact)
