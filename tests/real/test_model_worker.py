"""A daemon whose planner is a model in a worker: neither stop nor cancel nor run waits for it.

The model has weights by chance and is frozen (SIGSTOP) or killed in the middle of an answer.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import FAST, RealArm, real_arm, wait_until

from armlabd.bench.models_made import save_model

pytestmark = pytest.mark.real
GOAL = "put the red block in the bin"
MODEL_AGAIN = {"backend": "config"}
HEAVY = (b"onnxruntime", b"tokenizers", b"llguidance")


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealArm]:
    folder = save_model(tmp_path_factory.mktemp("model"), seeing=False)
    planner = f"""
[planner]
backend = "smolvlm"
[planner.smolvlm]
model = "{folder}"
variant = "fp32"
"""
    with real_arm(FAST + planner) as arm:
        arm.ready()
        wait_until(lambda: arm.status()["planner"]["state"] == "warm", "the model is warm")
        pids = [worker(arm)]
        yield arm
        pids += workers(arm)
    for pid in pids:
        wait_until(lambda pid=pid: not Path(f"/proc/{pid}").exists(), f"worker {pid} is gone")


def workers(arm: RealArm) -> list[int]:
    """Process ids of the daemon's children that are model workers."""
    assert arm.daemon is not None
    children = Path(f"/proc/{arm.daemon.pid}/task/{arm.daemon.pid}/children").read_text().split()
    found = []
    for pid in children:
        with contextlib.suppress(OSError):
            if b"armlabd.inference.worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(int(pid))
    return found


def worker(arm: RealArm) -> int:
    """The one model worker."""
    (pid,) = workers(arm)
    return pid


def frozen_run(arm: RealArm) -> str:
    """A run that waits for a worker which does not go on."""
    if arm.status()["planner"]["state"] != "warm":
        arm.client.request("PUT", "/models/planner", MODEL_AGAIN)
        wait_until(lambda: arm.status()["planner"]["state"] == "warm", "the model is warm")
    os.kill(worker(arm), signal.SIGSTOP)
    run = arm.goal(GOAL)
    arm.wait_run(run, "planning")
    return run


def test_the_daemon_has_no_model_library_in_its_memory(planned: RealArm) -> None:
    assert planned.daemon is not None
    maps = Path(f"/proc/{planned.daemon.pid}/maps").read_bytes()
    assert [name for name in HEAVY if name in maps] == []
    assert b"onnxruntime" in Path(f"/proc/{worker(planned)}/maps").read_bytes()


def test_a_worker_that_is_killed_costs_its_answer_and_the_rules_plan(planned: RealArm) -> None:
    run = frozen_run(planned)
    os.kill(worker(planned), signal.SIGKILL)
    told = planned.wait_run(run)
    assert told["result"] == "done", planned.story(run)
    assert "SIGKILL" in str(told["planner"]), told["planner"]


def test_a_stop_while_a_model_answers_is_the_stop_it_always_is(planned: RealArm) -> None:
    run = frozen_run(planned)
    since = planned.last_seq()
    answer = planned.client.request("POST", "/stop")
    assert answer.body["written"] is True
    assert answer.body["confirmed"] == 6
    assert any(frame["kind"] == "torque_off" for frame in planned.frames(since))
    assert planned.wait_run(run)["result"] == "stopped"
    planned.clear()


def test_a_cancelled_run_does_not_wait_for_its_model(planned: RealArm) -> None:
    run = frozen_run(planned)
    answer = planned.client.request("DELETE", f"/runs/{run}")
    assert answer.ok, answer
    assert planned.wait_run(run)["result"] == "cancelled"
    assert planned.status()["stopped"] is False
