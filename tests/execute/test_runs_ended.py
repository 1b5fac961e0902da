"""Stops, cancels, bugs and full disks: ends that come from outside, at every stage."""

from __future__ import annotations

import asyncio
from asyncio import to_thread
from typing import Any

import pytest
from run_house import AGENT, LOW, Scripted, ten_steps

from armlabd.arm.joints import HOME
from armlabd.plan.context import PlanContext
from armlabd.plan.plan import Plan
from armlabd.plan.planner import NotPossible, Planned, Think
from armlabd.plan.question import Question, Stop
from armlabd.verdict import Code

ASK = Question("Which one?", ("left", "right"), Code.AMBIGUOUS, "which")


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


async def test_cancelling_a_run_ends_what_its_planner_waits_for(make_house: Any) -> None:
    class Waiting(Scripted):
        def __init__(self) -> None:
            super().__init__(None)
            self.asked, self.ended = asyncio.Event(), asyncio.Event()

        async def plan(self, goal: str, context: PlanContext, think: Think = to_thread) -> Planned:
            self.asked.set()
            try:
                await asyncio.Event().wait()  # a model that never answers
            finally:
                self.ended.set()
            raise AssertionError

    planner = Waiting()
    house = make_house(planner)
    run_id = await house.begin(goal="put the red block in the bin")
    await asyncio.wait_for(planner.asked.wait(), 8.0)
    assert (await house.runs.cancel(run_id, AGENT)).ok
    assert planner.ended.is_set()
    assert (await house.ended(run_id))["result"] == "cancelled"


async def test_a_run_shows_who_planned_it_and_what_cannot_be_is_refused(make_house: Any) -> None:
    house = make_house(Scripted(NotPossible("I have no legs.")))
    run = await house.goal("dance a waltz")
    assert (run["result"], run["cause"]) == ("refused", "impossible")
    assert "I have no legs." in run["sentence"]
    assert (run["planner"]["name"], run["planner"]["outcome"]) == ("scripted", "impossible")
