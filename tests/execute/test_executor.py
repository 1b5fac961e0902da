"""The executor: every result is read, and what follows a failure stands in the table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from armlabd.execute.executor import Executor, Halt, opening_before, unmet
from armlabd.execute.recovery import Action
from armlabd.plan.plan import Plan, Step
from armlabd.verdict import Code, Verdict

TRACES = json.loads((Path(__file__).parents[1] / "vectors" / "recovery.json").read_text())[
    "executor_traces"
]
HELD = {"holding_something": True}


class Arm:
    """Answers calls; `object_percent` None: there is nothing between the jaws."""

    def __init__(self, object_percent: float | None = 20.0) -> None:
        self.object_percent = object_percent
        self.holding = False
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.script: dict[int, Verdict] = {}
        self.rows: list[dict[str, Any]] = []
        self.slept: list[float] = []

    async def call(self, tool: str, args: Mapping[str, Any]) -> Verdict:
        self.calls.append((tool, dict(args)))
        if len(self.calls) in self.script:
            return self.script[len(self.calls)]
        if tool == "open_gripper":
            self.holding = False
        if tool == "close_gripper":
            self.holding = self.object_percent is not None
        return Verdict(Code.OK, "", {"holding_something": self.holding})

    async def note(self, row: dict[str, Any]) -> None:
        self.rows.append(row)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def run(self, plan: Plan, **more: Any) -> Halt | None:
        self.executor = Executor(self.call, self.note, sleep=self.sleep, **more)
        return await self.executor.run(plan)

    @property
    def steps(self) -> list[int]:
        return [row["step"] for row in self.rows if row["event"] == "step"]


def plan(*tools: str | Step) -> Plan:
    return Plan(tuple(t if isinstance(t, Step) else Step(t) for t in tools))


@pytest.fixture
def ten() -> Plan:
    def move(x: float, y: float, z: float) -> Step:
        return Step("move_to_pose", {"x": x, "y": y, "z": z})

    return plan(
        "get_status",
        "open_gripper",
        move(0.22, 0.09, 0.07),
        move(0.22, 0.09, 0.03),
        Step("close_gripper", {}, "", HELD),
        move(0.22, 0.09, 0.07),
        move(0.2, -0.1, 0.07),
        move(0.2, -0.1, 0.03),
        "open_gripper",
        "go_home",
    )


@pytest.mark.parametrize("name", ["block_present", "block_missing"])
async def test_the_textbooks_traces(ten: Plan, name: str) -> None:
    trace = TRACES[name]
    arm = Arm(trace["object_percent"])
    halt = await arm.run(ten, max_attempts=trace.get("attempts", 2))
    assert arm.steps == trace["steps_run"]
    checks = [row for row in arm.rows if row["event"] == "grasp_check"]
    if trace["result"] == "done":
        assert halt is None
        assert arm.executor.measured == 10
    else:
        assert halt is not None
        assert (halt.action, halt.step, halt.tries) == (
            Action.ASK,
            trace["grasp_misses_at_step"],
            trace["attempts"],
        )
        assert len(checks) == trace["attempts"]


async def test_a_retry_lifts_straight_up_and_begins_at_the_opening(ten: Plan) -> None:
    arm = Arm(None)
    await arm.run(ten, lift_z_m=0.06)
    lift = arm.calls[5]
    assert lift == ("move_to_pose", {"x": 0.22, "y": 0.09, "z": 0.06})
    assert arm.calls[6][0] == "open_gripper"
    assert [row["event"] for row in arm.rows].count("lift") == 1  # none after the last attempt


@pytest.mark.parametrize("attempts", [1, 2, 5])
async def test_as_many_tries_as_allowed_and_no_more(ten: Plan, attempts: int) -> None:
    arm = Arm(None)
    halt = await arm.run(ten, max_attempts=attempts)
    assert halt is not None
    assert halt.tries == attempts
    assert [tool for tool, _ in arm.calls].count("close_gripper") == attempts


async def test_tries_are_counted_anew_for_the_next_object() -> None:
    grip = Step("close_gripper", {}, "", HELD)
    two = plan("open_gripper", grip, "open_gripper", grip)
    arm = Arm(None)
    arm.script = {4: Verdict(Code.OK, "", HELD)}  # the first object is held at the second try
    halt = await arm.run(two)
    assert halt is not None
    assert (halt.step, halt.tries) == (4, 2)


async def test_a_check_after_a_close_is_read_as_its_expectation() -> None:
    check = Step("check", {"field": "holding_something", "equals": True})
    arm = Arm(None)
    halt = await arm.run(plan("get_status", "open_gripper", "close_gripper", check, "go_home"))
    assert halt is not None
    assert (halt.action, halt.step) == (Action.ASK, 4)
    assert arm.steps == [1, 2, 3, 4, 2, 3, 4]
    assert "check" not in [tool for tool, _ in arm.calls]
    held = Arm(20.0)
    assert await held.run(plan("open_gripper", "close_gripper", check)) is None


async def test_a_grasp_without_an_opening_before_it_is_asked() -> None:
    arm = Arm(None)
    halt = await arm.run(plan("get_status", Step("close_gripper", {}, "", HELD)))
    assert halt is not None
    assert halt.action is Action.ASK


@pytest.mark.parametrize("code", [Code.OUT_OF_RANGE, Code.UNREACHABLE, Code.JOINT_LIMIT])
async def test_a_refusal_that_tells_the_fix_is_planned_anew_and_nothing_runs_after(
    ten: Plan, code: Code
) -> None:
    arm = Arm()
    arm.script = {3: Verdict(code, "no")}
    halt = await arm.run(ten)
    assert halt is not None
    assert (halt.action, halt.step) == (Action.REPLAN, 3)
    assert arm.steps == [1, 2, 3]


@pytest.mark.parametrize("code", [Code.STOPPED, Code.BUS_LOST, Code.BUSY, Code.NOT_ALLOWED])
async def test_other_refusals_are_for_a_person(ten: Plan, code: Code) -> None:
    arm = Arm()
    arm.script = {2: Verdict(code, "no")}
    halt = await arm.run(ten)
    assert halt is not None
    assert halt.action is Action.ASK
    assert len(arm.calls) == 2


async def test_a_rate_refusal_waits_and_tries_the_same_step_once_more(ten: Plan) -> None:
    arm = Arm()
    arm.script = {3: Verdict(Code.RATE, "slow", retry_after_s=0.4)}
    assert await arm.run(ten) is None
    assert arm.slept == [1.0]
    assert arm.steps == [1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10]


async def test_the_same_refusal_twice_in_a_row_is_asked_but_not_after_a_success(ten: Plan) -> None:
    old = Verdict(Code.OLD_STATE, "old")
    arm = Arm()
    arm.script = {3: old, 4: old}
    halt = await arm.run(ten)
    assert halt is not None
    assert (halt.action, halt.tries) == (Action.ASK, 2)
    later = Arm(None)  # step 3 is refused once, done, and refused again on the retry of the grasp
    later.script = {3: old, 9: old}
    halt = await later.run(ten)
    assert halt is not None
    assert halt.verdict.code is Code.GRASP_FAILED
    assert len(later.slept) == 2


@pytest.mark.parametrize("lost_at", [6, 7, 8])
async def test_case_83_what_slips_is_not_carried_on(ten: Plan, lost_at: int) -> None:
    arm = Arm()
    arm.script = {lost_at: Verdict(Code.OK, "", {"holding_something": False})}
    halt = await arm.run(ten)
    assert halt is not None
    assert (halt.action, halt.step, halt.slipped) == (Action.REPLAN, lost_at, True)
    assert halt.verdict.code is Code.GRASP_FAILED
    assert len(arm.calls) == lost_at


async def test_letting_go_is_no_slip(ten: Plan) -> None:
    arm = Arm()
    assert await arm.run(ten) is None
    assert arm.executor.carrying is False


def test_an_expectation_of_nothing_held_is_no_missed_grasp() -> None:
    step = Step("close_gripper", {}, "", {"holding_something": False})
    verdict = unmet(step, Verdict(Code.OK, "", HELD))
    assert verdict is not None
    assert verdict.code is Code.EXPECTATION
    assert unmet(step, Verdict(Code.OK, "", {"holding_something": False})) is None


def test_an_expected_truth_that_the_result_does_not_tell_is_unmet() -> None:
    assert unmet(Step("close_gripper", {}, "", HELD), Verdict(Code.OK)) is not None


def test_the_opening_before_a_step() -> None:
    two = plan("get_status", "open_gripper", "close_gripper", "open_gripper", "close_gripper")
    assert [opening_before(two, i) for i in range(5)] == [None, 1, 1, 3, 3]
