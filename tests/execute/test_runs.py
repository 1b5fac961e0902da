"""A run from its beginning to a named end."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from run_house import AGENT, HELD, LOW, RED, Scripted, ten_steps

from armlabd.arm.joints import HOME
from armlabd.plan.plan import Plan, Step
from armlabd.plan.question import Question, Stop
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


async def test_case_78_a_planner_that_says_done_has_done_nothing(make_house: Any) -> None:
    house = make_house(Scripted(Plan((), "a model", "done, I promise")))
    run = await house.goal()
    assert run["result"] == "refused"
    assert house.session.tools == ["look", "look"][: len(house.session.tools)]
    assert run["steps"] == []


async def test_what_a_planner_says_of_itself_is_no_plan(make_house: Any) -> None:
    run = await make_house(Scripted({"result": "done"})).goal()
    assert (run["result"], run["cause"]) == ("failed", "internal")


async def test_a_refused_plan_is_planned_again_with_the_reason(make_house: Any) -> None:
    far = Plan((Step("get_status"), Step("move_to_pose", {"x": 0.35, "y": 0.0, "z": 0.05})))
    planner = Scripted(far, ten_steps())
    run = await make_house(planner).goal()
    assert run["result"] == "done"
    assert "x = 0.35 is outside" in planner.contexts[1].refusals[0]


async def test_the_same_bad_plan_twice_is_refused(make_house: Any) -> None:
    planner = Scripted(Plan((Step("get_status"), Step("wave_hello"))))
    run = await make_house(planner).goal()
    assert run["result"] == "refused"
    assert len(planner.contexts) == 2


async def test_plans_that_stay_bad_are_refused_after_max_replans(make_house: Any) -> None:
    def bad(n: int) -> Plan:
        return Plan((Step("get_status"), Step(f"wave_{n}")))

    planner = Scripted(*(bad(n) for n in range(20)))
    run = await make_house(planner, max_replans=3).goal()
    assert run["result"] == "refused"
    assert len(planner.contexts) == 4


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


async def test_a_planner_that_only_asks_comes_to_an_end(make_house: Any) -> None:
    house = make_house(Scripted(ASK))
    run_id = await house.begin(goal="take it")

    async def answer_all() -> None:
        for _ in range(12):
            await house.say(run_id, "left")
            await asyncio.sleep(0.01)

    await answer_all()
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


# --- stop at any stage --------------------------------------------------------------------------


def stop_now(house: Any, clear: bool) -> None:
    """As a door does it: the arm first, then the run; and a person who clears at once."""
    house.session.stops += 1
    house.session.stopped = not clear
    house.runs.notify_stop()


@pytest.mark.parametrize("clear", [False, True])
@pytest.mark.parametrize("number", range(1, 12))
async def test_a_stop_at_any_call_ends_stopped_and_nothing_revives_it(
    house: Any, number: int, clear: bool
) -> None:
    def at(called: int, tool: str) -> None:
        if called == number:
            stop_now(house, clear)

    house.session.before = at
    run = await house.goal()
    assert (run["result"], run["cause"]) == ("stopped", "stopped")
    assert len(house.session.calls) <= number  # not one call more, not even home


@pytest.mark.parametrize("clear", [False, True])
async def test_case_03_a_stop_inside_a_long_wait_ends_it_at_once(house: Any, clear: bool) -> None:
    house.session.grasps = [False, False]
    run_id = await house.begin()
    question = await house.question(run_id)
    calls = len(house.session.calls)
    stop_now(house, clear)
    run = await house.ended(run_id)
    assert run["result"] == "stopped"
    assert len(house.session.calls) == calls
    late = await house.runs.answer(question["id"], "try again", AGENT)
    assert late.code is Code.NOT_FOUND


async def test_case_21_a_stop_while_planning_is_not_waited_for(make_house: Any) -> None:
    import threading

    go_on = threading.Event()

    def slow() -> Plan:
        go_on.wait(20)
        return ten_steps()

    house = make_house(Scripted(slow))
    run_id = await house.begin(goal="take it")
    while (await house.runs.get(run_id))["state"] != "planning":
        await asyncio.sleep(0.001)
    stop_now(house, clear=True)
    run = await house.ended(run_id)
    assert run["result"] == "stopped"
    go_on.set()
    await asyncio.sleep(0.01)
    assert house.session.tools == ["look"]  # the late plan is dropped


async def test_a_goal_that_the_planner_takes_for_a_stop_stops(make_house: Any) -> None:
    house = make_house(Scripted(Stop("stop")))
    run = await house.goal("enough now")
    assert run["result"] == "stopped"
    assert house.session.stopped


# --- cancel at any stage ------------------------------------------------------------------------


async def test_a_cancel_during_a_motion_comes_to_rest_and_leaves_the_table(house: Any) -> None:
    house.session.gate = asyncio.Event()
    run_id = await house.begin()
    await house.session.moving.wait()
    house.session.pose = LOW
    verdict = await house.runs.cancel(run_id, AGENT)
    assert verdict.ok
    assert verdict.data["result"] == "cancelled"
    run = await house.ended(run_id)
    assert run["result"] == "cancelled"
    assert house.session.cancels == 1
    assert house.session.tools[-1] == "go_home"
    assert house.session.pose == HOME


@pytest.mark.parametrize("number", range(1, 12))
async def test_a_cancel_at_any_call_ends_cancelled_and_clear(house: Any, number: int) -> None:
    cancels = []

    def at(called: int, tool: str) -> None:
        if called == number:
            active = house.runs.active
            cancels.append(asyncio.ensure_future(house.runs.cancel(active.id, AGENT)))

    house.session.before = at
    run = await house.goal()
    # A cancel that came with the very last call may find the run at its end already.
    assert run["result"] == "cancelled" or number == 11
    assert house.session.pose == HOME
    for cancel in cancels:
        await cancel


async def test_a_cancel_while_a_question_is_open_ends_it(house: Any) -> None:
    house.session.grasps = [False, False]
    run_id = await house.begin()
    await house.question(run_id)
    assert (await house.runs.cancel(run_id, AGENT)).data["result"] == "cancelled"


async def test_a_cancel_does_not_hold_up_the_way_off_the_table(make_house: Any) -> None:
    house = make_house(answer_timeout_s=0.0)
    house.session.grasps = [False, False]
    cancelled: list[Any] = []

    def at(number: int, tool: str) -> None:
        if tool == "go_home" and house.runs.active.leaving:
            house.session.gate = asyncio.Event()
            asyncio.get_running_loop().call_later(0.02, house.session.gate.set)
            for _ in range(2):
                cancelled.append(
                    asyncio.ensure_future(house.runs.cancel(house.runs.active.id, AGENT))
                )

    house.session.before = at
    run_id = await house.begin()
    run = await house.ended(run_id)
    await asyncio.gather(*cancelled)
    assert run["result"] == "cancelled"
    assert house.session.cancels == 0
    assert house.session.pose == HOME


async def test_only_a_run_that_goes_on_can_be_cancelled(house: Any) -> None:
    run = await house.plan()
    ended = await house.runs.cancel(run["id"], AGENT)
    assert (ended.code, "has ended already" in ended.sentence) == (Code.NOT_FOUND, True)
    for strange in ("run-000099", "../../etc", "x" * 5000, ""):
        assert (await house.runs.cancel(strange, AGENT)).code is Code.NOT_FOUND


async def test_the_end_of_the_daemon_ends_the_run_and_starts_no_other(house: Any) -> None:
    house.session.gate = asyncio.Event()
    run_id = await house.begin()
    await house.session.moving.wait()
    await house.runs.close()
    assert (await house.ended(run_id))["result"] == "cancelled"
    assert (await house.runs.start_goal("go home", AGENT)).code is Code.BUSY


# --- what must not happen -----------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 3, 5, 8])
async def test_case_13_an_exception_ends_failed_with_the_arm_held(
    house: Any, number: int, caplog: Any
) -> None:
    house.session.answers[number] = RuntimeError("a bug")
    run = await house.plan()
    assert (run["result"], run["cause"]) == ("failed", "internal")
    assert house.session.energised  # nothing let go of the torque
    assert house.session.pose == HOME
    assert "the arm stays held" in caplog.text
    assert "a bug" not in run["sentence"]


async def test_an_exception_of_the_planner_ends_failed(make_house: Any) -> None:
    run = await make_house(Scripted(ValueError("a model's nonsense"))).goal()
    assert (run["result"], run["cause"]) == ("failed", "internal")


async def test_a_network_error_of_a_planner_is_not_taken_for_a_full_disk(make_house: Any) -> None:
    run = await make_house(Scripted(TimeoutError("no model"))).goal()
    assert run["cause"] == "internal"


@pytest.mark.parametrize("after", [0, 3, 9, 13])
async def test_case_62_a_full_disk_ends_failed_and_frees_the_arm(
    house: Any, monkeypatch: Any, after: int
) -> None:
    from armlabd.record.store import RunFolder

    rows = []
    append = RunFolder.append_trace

    def full(folder: RunFolder, row: Any) -> None:
        rows.append(row)
        if len(rows) > after:
            raise OSError(28, "No space left on device")
        append(folder, row)

    monkeypatch.setattr(RunFolder, "append_trace", full)
    run = await house.plan()
    assert (run["result"], run["cause"]) == ("failed", "disk")
    assert "No space left" in run["sentence"]
    assert house.session.pose == HOME
    monkeypatch.undo()
    assert (await house.plan())["result"] == "done"  # the arm is not busy for ever


async def test_a_disk_that_takes_no_folder_refuses_the_run(house: Any, monkeypatch: Any) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(house.store, "create", full)
    refused = await house.runs.start_goal("go home", AGENT)
    assert refused.code is Code.DISK
    assert house.session.holder is None


async def test_a_result_that_cannot_be_written_still_ends_the_run(
    house: Any, monkeypatch: Any
) -> None:
    from armlabd.record.store import RunFolder

    write = RunFolder.write_json

    def full(folder: RunFolder, name: str, content: Any) -> None:
        if name == "result":
            raise OSError(28, "No space left on device")
        write(folder, name, content)

    monkeypatch.setattr(RunFolder, "write_json", full)
    assert (await house.plan())["result"] == "done"


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
        ("answer", "refused", "laptop"),
        ("cancel", "refused", "laptop"),
        ("plan", "done", "laptop"),
    ]


def test_expectations_of_the_ten_steps_are_the_textbooks() -> None:
    assert [s.tool for s in ten_steps().steps if s.expect == HELD] == ["close_gripper"]
