"""A run from its beginning to a named end."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from run_house import AGENT, HELD, RED, Scripted, ten_steps

from armlabd.arm.joints import HOME
from armlabd.execute.goal import MAX_ROUNDS
from armlabd.plan.plan import Plan, Step
from armlabd.plan.question import Question
from armlabd.record.store import RunFolder
from armlabd.verdict import Code, Verdict

ASK = Question("Which one?", ("left", "right"), Code.AMBIGUOUS, "which")


# --- good ends ----------------------------------------------------------------------------------


async def test_a_goal_is_seen_planned_checked_carried_out_and_recorded(house: Any) -> None:
    run = await house.goal()
    assert (run["result"], run["cause"]) == ("done", "ok")
    assert house.steps(run) == list(range(1, 11))
    assert run["by"] == "laptop"
    assert run["simulated"] is True
    folder = house.folder / run["id"]
    kept = {path.name for path in folder.iterdir()}
    assert {"goal.json", "plan.json", "result.json", "trace.jsonl", "scene-1.json"} <= kept
    assert {"picture-1.png", "picture-after.png"} <= kept
    assert json.loads((folder / "result.json").read_text()) == run
    trace = [json.loads(line) for line in (folder / "trace.jsonl").read_text().splitlines()]
    states = [row["state"] for row in trace if row["event"] == "state"]
    assert states == ["perceiving", "planning", "checking", "executing"]


async def test_a_given_plan_runs_without_a_look(house: Any) -> None:
    run = await house.plan()
    assert run["result"] == "done"
    assert house.eye.looks == 0


async def test_a_goal_that_needs_no_scene_takes_no_picture(make_house: Any) -> None:
    planner = Scripted(Plan((Step("get_status"), Step("go_home"))))
    planner.looks = False
    house = make_house(planner)
    assert (await house.goal("go home"))["result"] == "done"
    assert house.eye.looks == 0


async def test_an_empty_table_is_looked_at_once_more(make_house: Any) -> None:
    house = make_house(scenes=((), (RED,)))
    assert (await house.goal())["result"] == "done"
    assert house.session.tools[:2] == ["look", "look"]


async def test_two_empty_looks_are_a_question(make_house: Any) -> None:
    house = make_house(scenes=((),), answer_timeout_s=0.0)
    run = await house.goal()
    assert (run["result"], run["cause"]) == ("asked", "answer_timeout")
    assert house.session.tools == ["look", "look"]


# --- refusals -----------------------------------------------------------------------------------


async def test_a_bad_plan_runs_no_step(house: Any) -> None:
    bad = ten_steps()
    steps = (
        *bad.steps[:3],
        Step("wave_hello"),
        Step("move_to_pose", {"x": 0.2, "y": 0, "z": 0.01}),
    )
    run = await house.plan(Plan(steps))
    assert (run["result"], house.session.calls) == ("refused", [])
    assert {fault["step"] for fault in run["checks"]["faults"]} >= {4, 5}


async def test_what_a_planner_says_of_itself_is_no_plan(make_house: Any) -> None:
    run = await make_house(Scripted({"result": "done"})).goal()
    assert (run["result"], run["cause"]) == ("failed", "internal")


async def test_a_refused_plan_is_planned_again_with_the_reason(make_house: Any) -> None:
    far = Plan((Step("get_status"), Step("move_to_pose", {"x": 0.35, "y": 0.0, "z": 0.05})))
    planner = Scripted(far, ten_steps())
    run = await make_house(planner).goal()
    assert run["result"] == "done"
    assert "x = 0.35 is outside" in planner.contexts[1].refusals[0]


async def test_a_goal_that_is_not_allowed_does_not_start(house: Any) -> None:
    house.session.not_allowed = Verdict.refused(Code.NOT_ALLOWED, "Set [gate] allow.")
    assert (await house.runs.start_goal("go home", AGENT)).code is Code.NOT_ALLOWED
    assert house.store.list() == []


@pytest.mark.parametrize("goal", [None, 7, True, "", "  \n", "x" * 501, ["stop"], {}, "\ud800"])
async def test_a_goal_is_a_sentence(house: Any, goal: object) -> None:
    assert (await house.runs.start_goal(goal, AGENT)).code is Code.WRONG_TYPE


async def test_the_longest_goal_is_inside(make_house: Any) -> None:
    house = make_house(answer_timeout_s=0.0)
    assert (await house.goal("x" * 500))["result"] == "asked"


async def test_a_goal_is_kept_on_one_line(make_house: Any) -> None:
    run = await make_house(answer_timeout_s=0.0).goal("put the red block\n\x1b[31m in the bin")
    assert run["goal"] == "put the red block [31m in the bin"


# --- missed grasps and slips --------------------------------------------------------------------


async def test_a_missed_grasp_is_tried_again_from_the_opening(house: Any) -> None:
    house.session.grasps = [False]
    run = await house.plan()
    assert run["result"] == "done"
    assert house.steps(run) == [1, 2, 3, 4, 5, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    events = [row["event"] for row in run["steps"]]
    assert events[5:7] == ["grasp_check", "lift"]


async def test_one_question_after_the_last_try_and_end_ends_it_clear(house: Any) -> None:
    house.session.grasps = [False, False]
    run_id = await house.begin()
    question = await house.question(run_id)
    assert "nothing was grasped after 2 tries" in question["text"]
    assert "Put the object back" in question["text"]
    assert house.session.pose == HOME  # clear of the table while it waits
    shown = await house.runs.get(run_id)
    assert shown["state"] == "waiting"
    assert shown["question"]["id"] == question["id"]
    assert (await house.say(run_id, "give up")).ok
    run = await house.ended(run_id)
    assert (run["result"], run["cause"], run["question"]) == ("asked", "grasp_failed", None)
    assert house.steps(run) == [1, 2, 3, 4, 5, 2, 3, 4, 5]


async def test_try_again_goes_on_with_fresh_tries(house: Any) -> None:
    house.session.grasps = [False, False, False, True]
    run_id = await house.begin()
    await house.say(run_id, "1")
    run = await house.ended(run_id)
    assert run["result"] == "done"
    assert house.steps(run)[9:13] == [2, 3, 4, 5]


async def test_nobody_answers_and_the_run_ends_asked_and_clear(make_house: Any) -> None:
    house = make_house(answer_timeout_s=0.0)
    house.session.grasps = [False, False]
    run = await house.plan()
    assert (run["result"], run["cause"]) == ("asked", "answer_timeout")
    assert house.session.pose == HOME


async def test_case_83_a_slip_is_looked_for_and_planned_again_three_times(make_house: Any) -> None:
    house = make_house(Scripted(ten_steps()), max_replans=3)

    def slip(number: int, tool: str) -> None:
        house.session.holding = house.session.holding and tool != "move_to_pose"

    house.session.before = slip
    run_id = await house.begin(goal="put the red block in the bin")
    question = await house.question(run_id)
    assert "slipped on the way" in question["text"]
    assert house.session.tools.count("look") == 4
    assert house.session.tools.count("close_gripper") == 4
    await house.say(run_id, "give up")
    assert (await house.ended(run_id))["result"] == "asked"


async def test_a_slip_of_a_given_plan_is_a_question(house: Any) -> None:
    house.session.answers[6] = Verdict(Code.OK, "", {"holding_something": False})
    run_id = await house.begin()
    await house.say(run_id, "try again")
    assert (await house.ended(run_id))["result"] == "done"


# --- refusals on the way ------------------------------------------------------------------------


async def test_the_same_refusal_on_the_way_twice_is_asked(make_house: Any) -> None:
    house = make_house(Scripted(ten_steps()))
    no = Verdict.refused(Code.UNREACHABLE, "It is out of reach.")
    house.session.before = lambda number, tool: house.session.answers.update(
        {number: no} if tool == "move_to_pose" else {}
    )
    run_id = await house.begin(goal="x")
    assert "It is out of reach" in (await house.question(run_id))["text"]
    assert house.session.tools.count("look") == 2
    await house.say(run_id, "no")
    run = await house.ended(run_id)
    assert (run["result"], run["cause"]) == ("asked", "unreachable")


async def test_a_refusal_ends_a_given_plan_and_nothing_runs_after_it(house: Any) -> None:
    house.session.answers[4] = Verdict.refused(Code.PATH_BLOCKED, "The way is not free.")
    run = await house.plan()
    assert (run["result"], run["cause"]) == ("refused", "path_blocked")
    assert house.steps(run) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "code", [Code.BUS_LOST, Code.CORE_LOST, Code.NO_ARM, Code.STALLED, Code.DISK]
)
async def test_what_breaks_ends_failed_without_a_question(house: Any, code: Code) -> None:
    house.session.answers[5] = Verdict.refused(code, "It broke.")
    run = await house.plan()
    assert (run["result"], run["cause"]) == ("failed", str(code))
    home = house.session.tools[-1] == "go_home"
    assert home == (code is not Code.BUS_LOST)


async def test_no_camera_ends_a_goal(house: Any) -> None:
    house.eye.refusal = Verdict.refused(Code.NO_CAMERA, "There is no camera.")
    run = await house.goal()
    assert (run["result"], run["cause"]) == ("failed", "no_camera")


# --- questions of the planner -------------------------------------------------------------------


async def test_an_answer_continues_with_a_new_look(make_house: Any) -> None:
    planner = Scripted(ASK, ten_steps())
    planner.looks = False
    house = make_house(planner)
    run_id = await house.begin(goal="take it")
    assert (await house.say(run_id, "2")).ok
    assert (await house.ended(run_id))["result"] == "done"
    assert planner.contexts[1].answers == {"which": "right"}
    assert house.session.tools[0] == "look"  # the answer may need what the goal did not


async def test_a_run_never_waits_without_a_question(
    make_house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, Any]] = []
    house = make_house(Scripted(ASK, ten_steps()))
    append = RunFolder.append_trace

    def watched(folder: RunFolder, row: Any) -> None:
        if house.runs.active is not None:
            seen.append((str(house.runs.active.state), house.runs.active.question))
        append(folder, row)

    monkeypatch.setattr(RunFolder, "append_trace", watched)
    run_id = await house.begin(goal="take it")
    assert (await house.say(run_id, "2")).ok
    assert (await house.ended(run_id))["result"] == "done"
    waited = [question for state, question in seen if state == "waiting"]
    assert waited
    assert all(waited), "somebody would look for a question that is not there"


async def test_a_planner_that_only_asks_comes_to_an_end(make_house: Any) -> None:
    house = make_house(Scripted(ASK))
    run_id = await house.begin(goal="take it")
    await house.say_each(run_id, "left", MAX_ROUNDS)
    run = await house.ended(run_id)
    assert (run["result"], run["cause"]) == ("asked", "not_understood")


async def test_answers_are_checked_and_arrive_once(house: Any) -> None:
    house.session.grasps = [False, False]
    run_id = await house.begin()
    assert (await house.say(run_id, "perhaps")).code is Code.OUT_OF_RANGE
    assert (await house.say(run_id, " ")).code is Code.WRONG_TYPE
    assert (await house.runs.answer("run-000001-q9", "1", AGENT)).code is Code.NOT_FOUND
    question = (await house.question(run_id))["id"]
    assert (await house.runs.answer(question, 1, AGENT)).code is Code.WRONG_TYPE
    assert (await house.runs.answer(question, "GIVE UP", AGENT)).ok
    assert (await house.runs.answer(question, "try again", AGENT)).code is Code.NOT_FOUND
    assert (await house.ended(run_id))["result"] == "asked"


# --- one at a time ------------------------------------------------------------------------------


async def test_one_run_at_a_time_and_no_folder_for_the_others(house: Any) -> None:
    house.session.gate = asyncio.Event()
    started = await asyncio.gather(*(house.runs.start_plan(ten_steps(), AGENT) for _ in range(5)))
    assert sorted(v.ok for v in started) == [False] * 4 + [True]
    assert {v.code for v in started if not v.ok} == {Code.BUSY}
    assert len(house.store.list()) == 1
    house.session.gate.set()
    await house.ended(next(v.data["id"] for v in started if v.ok))


@pytest.mark.parametrize(
    ("change", "code"),
    [({"stopped": True}, Code.STOPPED), ({"missing": Verdict(Code.NO_ARM, "no")}, Code.NO_ARM)],
)
async def test_no_run_starts_on_an_arm_that_may_not_move(
    house: Any, change: dict[str, Any], code: Code
) -> None:
    for name, value in change.items():
        setattr(house.session, name, value)
    assert (await house.runs.start_plan(ten_steps(), AGENT)).code is code
    assert house.store.list() == []


async def test_a_stop_while_the_folder_is_made_leaves_no_run(house: Any, monkeypatch: Any) -> None:
    create = house.store.create

    def slow(goal: str) -> Any:
        house.session.stopped = True
        return create(goal)

    monkeypatch.setattr(house.store, "create", slow)
    assert (await house.runs.start_plan(ten_steps(), AGENT)).code is Code.STOPPED
    assert house.store.list() == []
    assert house.session.holder is None


# --- telling ------------------------------------------------------------------------------------


async def test_runs_are_listed_without_their_bulk_and_read_once(
    house: Any, make_house: Any, monkeypatch: Any
) -> None:
    for _ in range(10):
        await house.plan()
    listed = await house.runs.list()
    assert [run["id"] for run in listed] == [f"run-{n:06d}" for n in range(10, 0, -1)]
    assert all({"steps", "scene", "plan", "checks"}.isdisjoint(run) for run in listed)
    reads: list[str] = []
    monkeypatch.setattr(house.runs, "_read", lambda run_id: reads.append(run_id))
    assert await house.runs.list() == listed
    assert reads == []
    assert len(await house.runs.list(3)) == 3


async def test_memory_holds_few_runs_and_the_disk_the_rest(house: Any) -> None:
    for _ in range(10):
        await house.plan()
    assert len(house.runs._runs) == 8
    old = await house.runs.get("run-000001")
    assert old["result"] == "done"
    assert len(old["steps"]) == 10


@pytest.mark.parametrize("run_id", ["run-000099", "..", "run-000001/../x", "", "run-1", "x" * 999])
async def test_ids_that_are_none_find_nothing(house: Any, run_id: str) -> None:
    await house.plan()
    assert await house.runs.get(run_id) is None


async def test_a_run_that_the_daemon_did_not_survive_is_told_as_failed(house: Any) -> None:
    folder = house.store.create("put it away")
    folder.append_trace({"event": "state", "state": "executing"})
    folder.append_trace({"event": "step", "step": 1, "ok": True})
    run = await house.runs.get(folder.id)
    assert (run["state"], run["result"], run["goal"]) == ("ended", "failed", "put it away")
    assert run["sentence"] == "armlabd ended during this run."
    done = await house.runs.get((await house.plan())["id"])
    assert set(run) == set(done)


async def test_goals_plans_answers_and_cancels_are_in_the_audit(house: Any) -> None:
    await house.goal()
    await house.runs.start_goal(7, AGENT)
    await house.runs.answer("nothing", "1", AGENT)
    await house.runs.cancel("run-000001", AGENT)
    await house.plan(Plan((Step("wave"),)))
    rows = [(row["tool"], row["outcome"], row["key"]) for row in house.audit.tail()]
    assert rows == [
        ("goal", "done", "laptop"),
        ("goal", "refused", "laptop"),
        ("answer", "refused", "laptop"),
        ("cancel", "refused", "laptop"),
        ("plan", "done", "laptop"),
    ]


def test_expectations_of_the_ten_steps_are_the_textbooks() -> None:
    assert [s.tool for s in ten_steps().steps if s.expect == HELD] == ["close_gripper"]
