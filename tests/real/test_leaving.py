"""The end of the daemon: the arm leaves by the exit policy, and a stop works until it is there."""

from __future__ import annotations

import json
import signal

import pytest
from harness import FAST, real_arm, wait_until

pytestmark = pytest.mark.real
PARKS = FAST.replace('exit = "release"', 'exit = "park"').replace("60.0", "20.0")


def test_a_stop_while_the_arm_parks_at_the_end_stops_it_and_stays() -> None:
    with real_arm(PARKS) as arm:
        arm.ready()
        assert arm.call("move_to_pose", x=0.22, y=0.1, z=0.06, speed_dps=30).ok
        assert arm.daemon is not None
        since = arm.last_seq()
        arm.daemon.send_signal(signal.SIGTERM)
        wait_until(lambda: len(arm.frames(since)) > 30, "the arm is on its way to park")
        refused = arm.call("go_home")
        assert (refused.status, refused.body["code"]) == (409, "lease_lost")
        assert "armlabd is ending" in refused.body["error"]
        answer = arm.agent.request("POST", "/stop", {})
        assert (answer.status, answer.body["confirmed"]) == (200, 6)
        arm.daemon.wait(45)
        arm.daemon = None
        assert json.loads((arm.state / "stop.json").read_text())["stopped"] is True
        arm.start()
        assert arm.status()["stopped"]
        arm.clear()
        assert arm.call("go_home").ok
