"""The main job over HTTP with real processes: done, asked, refused; every verdict recorded."""

from __future__ import annotations

import pytest
from harness import RealArm
from plans import bad_plan, ten_steps

pytestmark = pytest.mark.real


def step_rows(run: dict[str, object]) -> list[dict[str, object]]:
    rows = run["steps"]
    assert isinstance(rows, list)
    return [row for row in rows if row["event"] == "step"]


def test_the_ten_step_plan_is_done_and_the_block_lies_in_the_bin(shared: RealArm) -> None:
    turned = {"label": "red block", "x": 0.22, "y": 0.09, "yaw_deg": 45.0}
    shared.world("reset", blocks=[turned])
    run = shared.wait_run(shared.plan(ten_steps()))
    assert run["result"] == "done", run
    assert [(row["step"], row["ok"]) for row in step_rows(run)] == [(n, True) for n in range(1, 11)]
    assert shared.world("state")["in_bin"] == ["red block"]


def test_a_missing_block_gives_two_tries_and_one_question(shared: RealArm) -> None:
    shared.world("reset", blocks=[])
    run_id = shared.plan(ten_steps())
    run = shared.wait_run(run_id, "waiting")
    assert run["state"] == "waiting", run
    steps = [row["step"] for row in step_rows(run)]
    assert steps == [1, 2, 3, 4, 5, 2, 3, 4, 5]
    assert len([row for row in run["steps"] if row["event"] == "grasp_check"]) == 2
    questions = shared.client.request("GET", "/questions").body["questions"]
    assert [q["run"] for q in questions] == [run_id]
    assert questions[0]["options"] == ["try again", "give up"]
    joints = shared.world("state")["joints_deg"]
    assert joints[1] < -80, "while it waits the arm stands clear of the table"
    refused = shared.agent.request("POST", f"/questions/{questions[0]['id']}", {"answer": "1"})
    assert refused.status == 403, "an agent's key cannot answer for a person"
    answered = shared.client.request(
        "POST", f"/questions/{questions[0]['id']}", {"answer": "give up"}
    )
    assert answered.ok
    assert shared.wait_run(run_id)["result"] == "asked"


def test_an_answer_lets_the_run_go_on(shared: RealArm) -> None:
    shared.world("reset", blocks=[])
    run_id = shared.plan(ten_steps())
    run = shared.wait_run(run_id, "waiting")
    shared.world("reset", blocks=[{"label": "red block", "x": 0.22, "y": 0.09}])
    question = run["question"]["id"]
    assert shared.client.request("POST", f"/questions/{question}", {"answer": "try again"}).ok
    assert shared.wait_run(run_id)["result"] == "done"
    assert shared.world("state")["in_bin"] == ["red block"]


def test_a_bad_plan_names_both_faults_and_moves_nothing(shared: RealArm) -> None:
    last = shared.last_seq()
    report = shared.client.request("POST", "/plans/check", bad_plan())
    assert report.ok
    assert report.body["outcome"] == "Uses a tool that does not exist"
    faults = {(f["step"], f["rule"]) for f in report.body["faults"] if f["rule"] in ("R1", "R2")}
    assert faults == {(4, "R1"), (5, "R2")}
    run = shared.wait_run(shared.plan(bad_plan()))
    assert run["result"] == "refused"
    assert "Step 4" in run["sentence"]
    assert "Step 5" in run["sentence"]
    assert run["steps"] == []
    assert shared.frames(last) == [], "no goal and no torque was sent"


def test_the_sentence_puts_the_block_in_the_bin(shared: RealArm) -> None:
    shared.world("reset", blocks=[{"label": "red block", "x": 0.18, "y": 0.06, "yaw_deg": 30}])
    run = shared.wait_run(shared.goal("put the red block in the bin"))
    assert run["result"] == "done", run
    assert run["scene"]["objects"][0]["label"] == "red block"
    assert shared.world("state")["in_bin"] == ["red block"]
    folder = shared.state / "runs" / run["id"]
    names = {path.name for path in folder.iterdir()}
    assert names >= {
        "goal.json",
        "scene-1.json",
        "picture-1.png",
        "picture-after.png",
        "plan.json",
        "trace.jsonl",
        "result.json",
    }


def test_two_red_blocks_are_asked_about_and_the_answer_decides(shared: RealArm) -> None:
    blocks = [
        {"label": "red block", "x": 0.22, "y": 0.09},
        {"label": "red block 2", "x": 0.15, "y": 0.05},
    ]
    shared.world("reset", blocks=blocks)
    run_id = shared.goal("put the red block in the bin")
    run = shared.wait_run(run_id, "waiting")
    assert run["question"]["code"] == "ambiguous"
    question = run["question"]["id"]
    assert shared.client.request("POST", f"/questions/{question}", {"answer": "1"}).ok
    run = shared.wait_run(run_id)
    assert run["result"] == "done", run
    assert shared.world("state")["in_bin"] == ["red block"]


def test_what_is_not_there_is_asked(shared: RealArm) -> None:
    shared.world("reset", blocks=[{"label": "red block", "x": 0.22, "y": 0.09}])
    run_id = shared.goal("put the blue block in the bin")
    run = shared.wait_run(run_id, "waiting")
    assert run["question"]["code"] == "object_missing"
    assert shared.client.request("DELETE", f"/runs/{run_id}").ok
    assert shared.run(run_id)["result"] == "cancelled"


def test_one_run_at_a_time_and_the_holder_is_named(shared: RealArm) -> None:
    shared.world("reset", blocks=[])
    run_id = shared.goal("put the red block in the bin")
    shared.wait_run(run_id, "waiting")  # it keeps the arm while its question is open
    status, question = shared.status()["run"], shared.run(run_id)["question"]
    assert status == {"id": run_id, "state": "waiting", "question": question}
    for path, body in (("/goals", {"goal": "go home"}), ("/call/go_home", {})):
        second = shared.client.request("POST", path, body)
        assert (second.status, second.body["code"]) == (409, "busy")
        assert f"{run_id} of the key 'ARM_OPERATOR_KEY' holds the arm" in second.body["error"]
    assert shared.client.request("DELETE", f"/runs/{run_id}").ok
    assert shared.status()["run"] is None


def test_every_motion_has_an_intent_and_an_outcome_in_the_audit(shared: RealArm) -> None:
    before = len(shared.audit())
    assert shared.call("open_gripper", percent=30).ok
    assert shared.call("move_to_pose", x=0.35, y=0.1, z=0.05).status == 400
    rows = shared.audit()[before:]
    assert [row["tool"] for row in rows] == ["open_gripper", "open_gripper", "move_to_pose"]
    assert rows[-1]["code"] == "out_of_range"
    assert all(row["key"] for row in rows)
