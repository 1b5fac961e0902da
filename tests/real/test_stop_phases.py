"""Stop in every phase of the main job, on real processes; nothing resumes; then it goes on."""

from __future__ import annotations

import time
from typing import Any

import pytest
from harness import RealArm, wait_until

pytestmark = pytest.mark.real

BLOCK = {"label": "red block", "x": 0.22, "y": 0.09, "yaw_deg": 20}
GOAL = "put the red block in the bin"
# phase -> how many steps of the ten-step plan are done when it begins
PHASES = {
    "approach": 2,
    "descent": 3,
    "closing": 4,
    "lift": 5,
    "carry": 6,
    "lower": 7,
    "release": 8,
    "home": 9,
}


def steps_done(run: dict[str, Any]) -> int:
    done = [row["step"] for row in run["steps"] if row["event"] == "step" and row["ok"]]
    return max(done, default=0)


def far_enough(run: dict[str, Any], done: int) -> bool:
    moving = run["state"] == "executing" and steps_done(run) >= done
    return moving or run["state"] in ("ended", "waiting")


def stop_and_prove(arm: RealArm, since: int) -> None:
    """Stop; six of six; no goal and no torque-on after the first torque-off; latched."""
    energised = any(arm.world("state")["torque"])
    answer = arm.agent.request("POST", "/call/stop", {})
    assert answer.status == 200, answer
    assert answer.body["written"] is True
    assert answer.body["confirmed"] == 6
    frames = arm.frames(since)
    off = [i for i, f in enumerate(frames) if f["kind"] == "torque_off"]
    assert off or not energised, "a limp arm may lose the frame to a late answer, and stay limp"
    for first in off[:1]:
        assert frames[first]["broadcast"] is True
        assert {f["kind"] for f in frames[first:]} == {"torque_off"}
    assert arm.world("state")["torque"] == [False] * 6
    status = arm.status()
    assert status["stopped"] is True
    assert status["stop"]["confirmed"] == 6


def clear_and_prove(arm: RealArm) -> None:
    """An agent cannot clear, the operator can, and clearing moves nothing."""
    assert arm.agent.request("POST", "/stop/clear", {}).status == 403
    assert arm.status()["stopped"] is True
    since = arm.last_seq()
    arm.clear()
    time.sleep(0.3)
    kinds = {f["kind"] for f in arm.frames(since)}
    assert kinds <= {"torque_off"}, "clearing sends no goal and no torque-on"


def fresh_table(arm: RealArm) -> None:
    """The limp arm comes back inside and home; then the block is put where it was."""
    assert arm.call("go_home").ok
    arm.world("reset", blocks=[BLOCK])


def stop_when(arm: RealArm, done: int) -> None:
    fresh_table(arm)
    since = arm.last_seq()
    run_id = arm.goal(GOAL)
    run = wait_until(
        lambda: (r := arm.run(run_id)) and (far_enough(r, done)) and r, f"{done} steps", 180.0
    )
    assert run["state"] == "executing", arm.story(run_id)
    time.sleep(0.15)
    stop_and_prove(arm, since)
    run = arm.wait_run(run_id)
    assert run["result"] == "stopped", run


@pytest.mark.parametrize("phase", PHASES)
def test_stop_while_moving(shared: RealArm, phase: str) -> None:
    stop_when(shared, PHASES[phase])
    clear_and_prove(shared)


@pytest.mark.parametrize("state", ["perceiving", "planning"])
def test_stop_before_the_plan_runs(shared: RealArm, state: str) -> None:
    fresh_table(shared)
    run_id = shared.goal(GOAL)
    if state == "planning":
        wait_until(lambda: shared.run(run_id)["state"] != "perceiving", "seen")
    answer = shared.agent.request("POST", "/stop", {})
    assert answer.body["confirmed"] == 6
    assert shared.wait_run(run_id)["result"] == "stopped"
    clear_and_prove(shared)


def test_stop_while_a_question_waits(shared: RealArm) -> None:
    shared.world("reset", blocks=[])
    run_id = shared.goal(GOAL)
    run = shared.wait_run(run_id, "waiting")
    question = run["question"]["id"]
    since = shared.last_seq()
    stop_and_prove(shared, since)
    assert shared.wait_run(run_id)["result"] == "stopped"
    late = shared.client.request("POST", f"/questions/{question}", {"answer": "try again"})
    assert late.status == 404, "nothing revives a stopped run"
    clear_and_prove(shared)


def test_stop_as_the_answer_to_a_question_stops_without_another_look(shared: RealArm) -> None:
    shared.world("reset", blocks=[])
    assert shared.call("go_home").ok
    run_id = shared.goal(GOAL)
    question = shared.wait_run(run_id, "waiting")["question"]["id"]
    since = shared.last_seq()
    answer = shared.client.request("POST", f"/questions/{question}", {"answer": "please stop"})
    assert (answer.status, answer.body["confirmed"]) == (200, 6)
    assert {frame["kind"] for frame in shared.frames(since)} == {"torque_off"}
    assert shared.wait_run(run_id)["result"] == "stopped"
    clear_and_prove(shared)


def test_a_goal_that_means_stop_is_the_stop_lane(shared: RealArm) -> None:
    answer = shared.agent.request("POST", "/goals", {"goal": "STOP!"})
    assert answer.status == 200
    assert answer.body["confirmed"] == 6
    assert shared.status()["stopped"] is True
    again = shared.agent.request("POST", "/goals", {"goal": "stop it now please"})
    assert again.status == 200, "also while stopped"
    refused = shared.agent.request("POST", "/goals", {"goal": "go home"})
    assert refused.status == 409
    clear_and_prove(shared)


def test_after_all_these_stops_the_same_processes_do_the_job(shared: RealArm) -> None:
    fresh_table(shared)
    run = shared.wait_run(shared.goal(GOAL))
    assert run["result"] == "done", run
    assert shared.world("state")["in_bin"] == ["red block"]
