"""kill -9, SIGSTOP, unplug and power cut, each in mid-move, on real processes."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest
from harness import FAST, RealArm, real_arm, wait_until

pytestmark = pytest.mark.real

CORE, SIM = "armlabd.motion.core", "armlabd.sim"
FAR = {"x": 0.2, "y": -0.12, "z": 0.06, "speed_dps": 10}


def moving(arm: RealArm) -> str:
    """Start a slow move as a run and answer its id once the arm moves."""
    assert arm.call("move_to_pose", x=0.2, y=0.12, z=0.06, speed_dps=60).ok
    opened = {"tool": "open_gripper", "args": {"percent": 50}}
    move = {"tool": "move_to_pose", "args": FAR}
    run_id = arm.plan({"steps": [{"tool": "get_status"}, opened, move]})
    wait_until(lambda: len(arm.run(run_id)["steps"]) == 2, "the hand is open")
    pan_deg = arm.world("state")["joints_deg"][0]
    wait_until(lambda: arm.world("state")["joints_deg"][0] > pan_deg + 3, "the arm swings")
    return run_id


def at_rest(arm: RealArm) -> bool:
    before = arm.world("state")["joints_deg"]
    time.sleep(0.2)
    after = arm.world("state")["joints_deg"]
    return max(abs(a - b) for a, b in zip(before, after, strict=True)) < 0.5


def latch(arm: RealArm) -> dict[str, object]:
    return dict(json.loads((arm.state / "stop.json").read_text()))


def test_the_daemon_killed_in_mid_move(arm: RealArm) -> None:
    moving(arm)
    assert arm.daemon is not None
    core = arm.pid_of(CORE)
    arm.daemon.kill()
    arm.daemon.wait()
    wait_until(lambda: latch(arm).get("stopped", True) is True, "the latch is on disk")
    wait_until(lambda: at_rest(arm), "the arm is at rest")
    assert arm.world("state")["torque"] == [True] * 6, "it holds"
    arm.start()
    assert arm.pid_of(CORE) == core, "the new daemon adopted the running core"
    status = arm.status()
    assert status["stopped"] is True
    assert status["stop"]["cause"] == "lease_lost"
    assert arm.client.request("POST", "/goals", {"goal": "go home"}).status == 409
    arm.clear()
    assert arm.call("go_home").ok
    rows = [row for row in arm.audit() if row["tool"] == "move_to_pose"]
    assert rows, "the intent was on disk before the move"


def test_the_daemon_frozen_in_mid_move(arm: RealArm) -> None:
    moving(arm)
    assert arm.daemon is not None
    os.kill(arm.daemon.pid, signal.SIGSTOP)
    try:
        wait_until(lambda: at_rest(arm), "the arm is at rest")
    finally:
        os.kill(arm.daemon.pid, signal.SIGCONT)
    wait_until(lambda: arm.status()["stopped"], "latched")
    assert arm.status()["stop"]["cause"] == "lease_lost"
    arm.clear()
    assert arm.call("go_home").ok


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_the_core_lost_in_mid_move(arm: RealArm, how: signal.Signals) -> None:
    run_id = moving(arm)
    core = arm.pid_of(CORE)
    os.kill(core, how)
    wait_until(lambda: arm.world("state")["torque"] == [False] * 6, "the helper released the arm")
    run = arm.wait_run(run_id)
    assert run["result"] in ("failed", "stopped"), run
    wait_until(lambda: arm.status()["core"]["pid"] not in (None, core), "a new core")
    wait_until(lambda: arm.status()["arm"]["connected"], "connected again")
    assert arm.status()["stopped"] is True
    assert core not in arm.pids()
    arm.clear()
    assert arm.call("go_home").ok


def test_a_core_that_froze_before_the_daemon_died_is_ended_and_the_arm_released(
    arm: RealArm,
) -> None:
    moving(arm)
    core = arm.pid_of(CORE)
    os.kill(core, signal.SIGSTOP)
    assert arm.daemon is not None
    arm.daemon.kill()
    arm.daemon.wait()
    arm.start()
    assert core not in arm.pids()
    assert arm.pid_of(CORE) != core
    assert arm.world("state")["torque"] == [False] * 6
    assert arm.status()["stopped"] is True
    arm.clear()
    assert arm.call("go_home").ok


def test_unplugged_in_mid_move_and_replugged(arm: RealArm) -> None:
    run_id = moving(arm)
    arm.world("unplug")
    run = arm.wait_run(run_id)
    assert run["result"] in ("failed", "stopped")
    status = wait_until(lambda: (s := arm.status())["stopped"] and s, "latched")
    assert status["arm"]["connected"] is False
    dead = arm.client.request("POST", "/stop", {})
    assert dead.status == 200
    assert dead.body["written"] is False
    assert "power" in dead.body["message"]
    seq = arm.last_seq()
    arm.world("replug")
    wait_until(lambda: arm.status()["arm"]["connected"], "connected again")
    wait_until(lambda: arm.world("state")["torque"] == [False] * 6, "released")
    after = arm.frames(seq)
    assert after[0]["kind"] == "torque_off", "the first frame after a reconnect is torque-off"
    arm.clear()
    assert arm.call("go_home").ok


def test_a_power_cut_in_mid_motion() -> None:
    with real_arm() as arm:
        arm.ready()
        moving(arm)
        arm.kill_all()
        arm.start()
        status = arm.status()
        assert status["stopped"] is True
        assert status["stop"]["cause"] == "core_crashed", "the board itself did not reboot"
        run = arm.client.request("GET", "/runs").body["runs"][0]
        assert run["state"] == "ended"
        assert run["result"] == "failed"
        arm.clear()
        assert arm.call("go_home").ok


def test_a_stop_survives_the_death_of_every_process() -> None:
    with real_arm() as arm:
        arm.ready()
        assert arm.client.request("POST", "/stop", {}).body["confirmed"] == 6
        arm.kill_all()
        arm.start()
        assert arm.status()["stopped"] is True
        (arm.state / "stop.json").write_bytes(b"")
        arm.end()
        arm.start()
        assert arm.status()["stopped"] is True, "an empty record means stopped"


def test_a_cleared_stop_stays_cleared_over_an_orderly_restart() -> None:
    with real_arm(FAST) as arm:
        arm.ready()
        assert arm.call("go_home").ok
        arm.end()
        wait_until(lambda: not arm.pids(), "core and virtual arm left with the daemon")
        arm.start()
        assert arm.status()["stopped"] is False


def test_the_audit_survives_kill_9_line_by_line(arm: RealArm) -> None:
    assert arm.call("open_gripper", percent=40).ok
    before = arm.audit()
    assert arm.daemon is not None
    arm.daemon.kill()
    arm.daemon.wait()
    assert arm.audit()[: len(before)] == before
    arm.start()
    if arm.status()["stopped"]:
        arm.clear()
    assert arm.call("open_gripper", percent=60).ok
    rows = arm.audit()
    assert rows[: len(before)] == before
    assert [row["seq"] for row in rows] == sorted({row["seq"] for row in rows})
