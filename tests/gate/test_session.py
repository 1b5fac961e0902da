from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from armlabd.arm.geometry import forward
from armlabd.arm.joints import HOME, VIEW, Pose
from armlabd.arm.limits import CEILINGS
from armlabd.clock import VirtualClock
from armlabd.config import Config
from armlabd.config.model import GateConfig, MotionConfig
from armlabd.gate import answers
from armlabd.gate.rate import RateLimiter
from armlabd.gate.roles import Caller
from armlabd.gate.session import RobotSession
from armlabd.motion.fence import violation
from armlabd.motion.messages import CoreState, MotionResult
from armlabd.record.audit import Audit
from armlabd.verdict import Code, Verdict

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "http_status.json").read_text())
ABOVE = {"x": 0.22, "y": 0.09, "z": 0.07}
DOWN = {"x": 0.22, "y": 0.09, "z": 0.03}
Core = Any  # the fake of conftest
Make = Any


def audit_rows(audit: Audit, *keys: str) -> list[tuple[Any, ...]]:
    return [tuple(row.get(key) for key in keys) for row in audit.tail()]


# --- what the tools do ---------------------------------------------------------------------------


async def test_a_move_brings_the_grasp_point_there_and_says_where_and_how_fast(
    session: RobotSession, core: Core, agent: Caller
) -> None:
    verdict = await session.call("move_to_pose", ABOVE, agent)
    assert verdict.ok
    for part in ("0.220", "0.090", "0.070", "30.0"):
        assert part in verdict.sentence
    assert forward(core.snapshot.pose).grasp == pytest.approx((0.22, 0.09, 0.07), abs=1e-6)


async def test_pick_and_place_holds_the_object_from_close_to_open(
    session: RobotSession, core: Core, agent: Caller
) -> None:
    core.object_percent = 19.5
    held = []
    for tool, args in (
        ("get_status", {}),
        ("open_gripper", {"percent": 50}),
        ("move_to_pose", ABOVE),
        ("move_to_pose", DOWN),
        ("close_gripper", {}),
        ("move_to_pose", ABOVE),
        ("move_to_pose", {"x": 0.20, "y": -0.10, "z": 0.07}),
        ("move_to_pose", {"x": 0.20, "y": -0.10, "z": 0.03}),
        ("open_gripper", {}),
        ("go_home", {}),
    ):
        verdict = await session.call(tool, args, agent)
        assert verdict.ok, verdict
        held.append(verdict.data["holding_something"])
    assert held == [False] * 4 + [True] * 4 + [False] * 2
    assert [contact for _, contact in core.programs].count(True) == 1


async def test_a_held_object_is_where_it_was_sent_and_stays_squeezed(
    session: RobotSession, core: Core, agent: Caller
) -> None:
    core.object_percent = 19.5
    for tool, args in (
        ("open_gripper", {"percent": 50}),
        ("move_to_pose", ABOVE),
        ("move_to_pose", DOWN),
        ("close_gripper", {}),
        ("move_to_pose", ABOVE),
    ):
        assert (await session.call(tool, args, agent)).ok
    program, _ = core.programs[-1]
    assert {point.grip for point in program.points} == {15.5}  # the set-point, not the reading
    end = program.goal.with_grip(19.5)
    assert forward(end).grasp == pytest.approx((0.22, 0.09, 0.07), abs=1e-6)


async def test_closing_on_nothing_is_done_and_says_so(session: RobotSession, agent: Caller) -> None:
    await session.call("open_gripper", {}, agent)
    verdict = await session.call("close_gripper", {}, agent)
    assert verdict.ok
    assert verdict.data["holding_something"] is False
    assert "nothing" in verdict.sentence


async def test_the_status_tells_joints_gripper_stop_and_which_arm(
    session: RobotSession, core: Core, reader: Caller
) -> None:
    core.set(pose=Pose(-0.04, -89.96, 60.0, 60.04, 0.0, 12.34), grip_percent=12.34)
    data = (await session.call("get_status", {}, reader)).data
    assert data["joints_deg"] == {
        "shoulder_pan": 0.0,
        "shoulder_lift": -90.0,
        "elbow_flex": 60.0,
        "wrist_flex": 60.0,
        "wrist_roll": 0.0,
    }
    assert (data["gripper_percent"], data["stopped"], data["holding_something"]) == (
        12.3,
        False,
        False,
    )
    assert data["simulated"] is True
    assert "-0.0" not in json.dumps(data)


async def test_a_move_starts_from_the_set_point_so_that_sag_is_not_walked_down(
    session: RobotSession, core: Core, agent: Caller
) -> None:
    core.set(pose=HOME._replace(lift=-89.0, elbow=61.0))
    await session.call("move_to_pose", ABOVE, agent)
    assert core.programs[0][0].start == HOME


async def test_a_limp_arm_starts_from_where_it_is_and_comes_inside_first(
    session: RobotSession, core: Core, agent: Caller, limp_pose: Pose
) -> None:
    core.set(pose=limp_pose, goal=None, torque=False)
    verdict = await session.call("go_home", {}, agent)
    assert verdict.ok
    assert core.woken == 1, "torque on where it is, before anything is planned for good"
    assert not violation(core.programs[0][0].start, CEILINGS)


async def test_an_arm_that_still_sinks_is_woken_again_and_planned_from_where_it_lies(
    session: RobotSession, core: Core, agent: Caller, limp_pose: Pose
) -> None:
    core.set(pose=HOME, goal=None, torque=False)
    core.wakes = [MotionResult(Code.OLD_STATE, "moved"), MotionResult(Code.PATH_BLOCKED, "low")]
    core.sinks_to = limp_pose
    assert (await session.call("go_home", {}, agent)).ok
    assert core.woken == 3
    assert core.snapshot is not None
    assert core.snapshot.pose is not None
    assert core.snapshot.pose[:5] == pytest.approx(HOME[:5])


async def test_what_cannot_be_reached_wakes_nothing(
    session: RobotSession, core: Core, agent: Caller
) -> None:
    core.set(pose=HOME, goal=None, torque=False)
    verdict = await session.call("move_to_pose", {"x": 0.28, "y": 0.15, "z": 0.02}, agent)
    assert verdict.code is Code.UNREACHABLE
    assert core.woken == 0


async def test_a_stop_while_waking_ends_the_motion(
    session: RobotSession, core: Core, agent: Caller
) -> None:
    core.set(pose=HOME, goal=None, torque=False)
    core.wakes = [MotionResult(Code.STOPPED, "The arm is stopped.")]
    verdict = await session.call("go_home", {}, agent)
    assert verdict.code is Code.STOPPED
    assert core.programs == []


# --- the order of refusals -----------------------------------------------------------------------


async def test_every_check_refuses_before_the_ones_after_it(
    make_session: Make, core: Core, clock: VirtualClock, agent: Caller, reader: Caller
) -> None:
    """All is wrong at once; then the first fault is mended, and the next one is told."""
    config = Config(gate=GateConfig(allow=()))
    limiter = RateLimiter(clock, calls=1)
    session = make_session(config, rate=limiter)
    core.set(stopped=True, connected=False)
    session.take("run-1", agent)
    limiter.call(agent.name)
    limiter.call(reader.name)
    bad, good = {"x": 9}, ABOVE

    async def code(tool: str, args: dict[str, Any], caller: Caller) -> Code:
        return (await session.call(tool, args, caller)).code

    assert await code("wave_hello", bad, reader) is Code.UNKNOWN_TOOL
    assert await code("move_to_pose", bad, reader) is Code.ROLE
    assert await code("move_to_pose", bad, agent) is Code.RATE
    session = make_session(config)
    session.take("run-1", agent)
    assert await code("move_to_pose", bad, agent) is Code.MISSING
    assert await code("move_to_pose", good, agent) is Code.NOT_ALLOWED
    session = make_session()
    session.take("run-1", agent)
    assert await code("move_to_pose", good, agent) is Code.STOPPED
    core.set(stopped=False)
    assert await code("move_to_pose", good, agent) is Code.BUSY
    session.release("run-1")
    assert await code("move_to_pose", good, agent) is Code.NO_ARM
    core.set(connected=True)
    assert await code("move_to_pose", good, agent) is Code.OK


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"connected": False}, Code.NO_ARM),
        ({"calibrated": False}, Code.NOT_CALIBRATED),
        ({"pose": None}, Code.OLD_STATE),
        ({"pose_age_s": 0.6}, Code.OLD_STATE),
        ({"pose_age_s": 0.5}, Code.OK),
    ],
)
async def test_an_arm_that_cannot_move_is_told_by_its_cause(
    session: RobotSession, core: Core, agent: Caller, changes: dict[str, Any], expected: Code
) -> None:
    core.set(**changes)
    assert (await session.call("go_home", {}, agent)).code is expected


async def test_without_a_core_nothing_moves_and_the_status_says_so(
    session: RobotSession, core: Core, agent: Caller
) -> None:
    core.snapshot = None
    assert (await session.call("go_home", {}, agent)).code is Code.NO_ARM
    assert (await session.call("get_status", {}, agent)).code is Code.NO_ARM
    assert session.stopped is True
    assert session.pose is None


async def test_while_stopped_status_and_stop_answer_and_nothing_moves(
    session: RobotSession, core: Core, agent: Caller
) -> None:
    await session.stop(agent, "test")
    assert (await session.call("get_status", {}, agent)).data["stopped"] is True
    assert (await session.call("stop", {}, agent)).ok
    for tool in ("go_home", "open_gripper", "close_gripper"):
        verdict = await session.call(tool, {}, agent)
        assert verdict.code is Code.STOPPED
        assert "person" in verdict.sentence
    assert (await session.call("move_to_pose", {**ABOVE, "x": 0.35}, agent)).code is (
        Code.OUT_OF_RANGE
    )
    assert core.programs == []


async def test_a_refusal_by_geometry_is_a_value_and_moves_nothing(
    session: RobotSession, core: Core, agent: Caller
) -> None:
    verdict = await session.call("move_to_pose", {"x": 0.10, "y": 0.0, "z": 0.07}, agent)
    assert verdict.code in (Code.UNREACHABLE, Code.JOINT_LIMIT)
    assert core.programs == []
    assert session.holder is None


async def test_how_a_motion_ended_is_the_verdict(
    session: RobotSession, core: Core, agent: Caller
) -> None:
    core.results = [MotionResult(Code.STALLED, "elbow_flex did not arrive.")]
    verdict = await session.call("go_home", {"x": 1}, agent)
    assert verdict.code is Code.UNKNOWN_PARAMETER
    verdict = await session.call("move_to_pose", ABOVE, agent)
    assert (verdict.code, verdict.sentence) == (Code.STALLED, "elbow_flex did not arrive.")


async def test_a_failed_leg_ends_the_motion(
    session: RobotSession, core: Core, agent: Caller
) -> None:
    await session.call("move_to_pose", ABOVE, agent)
    await session.call("move_to_pose", DOWN, agent)
    before = len(core.programs)
    core.results = [MotionResult(Code.BUS_LOST, "The bus is silent.")]
    assert (await session.call("go_home", {}, agent)).code is Code.BUS_LOST
    assert len(core.programs) == before + 1  # the lift; the way home was not tried


# --- rate ----------------------------------------------------------------------------------------


async def test_ten_quick_calls_give_five_ok_and_five_too_fast(
    make_session: Make, clock: VirtualClock, agent: Caller
) -> None:
    session = make_session(rate=RateLimiter(clock))
    burst = VECTORS["rate_limit"]["burst"]
    answers = [await session.call("get_status", {}, agent) for _ in range(burst)]
    codes = [answer.code for answer in answers]
    assert (codes.count(Code.OK), codes.count(Code.RATE)) == (5, 5)
    assert answers[-1].retry_after_s == 1.0
    assert "1.00 s" in answers[-1].sentence
    clock.sleep(1.0)
    assert (await session.call("get_status", {}, agent)).ok


async def test_refused_calls_count_and_stop_never_does(
    make_session: Make, clock: VirtualClock, agent: Caller, core: Core
) -> None:
    session = make_session(rate=RateLimiter(clock))
    for _ in range(5):
        assert (await session.call("wave_hello", {}, agent)).code is Code.UNKNOWN_TOOL
    assert (await session.call("get_status", {}, agent)).code is Code.RATE
    for _ in range(20):
        assert (await session.call("stop", {}, agent)).ok
    assert len(core.stops) == 20


async def test_the_steps_of_a_run_are_no_door_calls(
    make_session: Make, clock: VirtualClock, agent: Caller
) -> None:
    session = make_session(rate=RateLimiter(clock, calls=1))
    session.take("run-1", agent)
    for _ in range(10):
        assert (await session.call("get_status", {}, agent, run="run-1", door=False)).ok


# --- who has the arm -----------------------------------------------------------------------------


async def test_one_run_at_a_time_and_others_are_told_who_has_it(
    session: RobotSession, agent: Caller, operator: Caller
) -> None:
    assert session.take("run-1", agent).ok
    refused = session.take("run-2", operator)
    assert refused.code is Code.BUSY
    assert "run-1" in refused.sentence
    assert "laptop" in refused.sentence
    assert (await session.call("go_home", {}, operator)).code is Code.BUSY
    step = await session.call("go_home", {}, operator, run="run-2", door=False)
    assert step.code is Code.BUSY
    assert (await session.call("go_home", {}, agent, run="run-1", door=False)).ok
    session.release("run-2")
    assert session.holder is not None
    session.release("run-1")
    assert session.holder is None
    assert session.take("run-2", operator).ok


async def test_a_second_call_during_a_motion_is_busy_naming_the_first(
    session: RobotSession, core: Core, agent: Caller, operator: Caller
) -> None:
    core.gate = asyncio.Event()
    first = asyncio.create_task(session.call("move_to_pose", ABOVE, agent))
    await core.moving.wait()
    async with asyncio.timeout(5):  # a second motion that began would wait for ever
        second = await session.call("open_gripper", {}, operator)
    assert second.code is Code.BUSY
    assert "move_to_pose" in second.sentence
    started = session.may_start()
    assert started is not None
    assert started.code is Code.BUSY
    assert session.take("run-1", agent).code is Code.BUSY
    core.gate.set()
    assert (await first).ok
    assert session.may_start() is None


async def test_a_run_that_lost_the_arm_does_not_move_it(
    session: RobotSession, core: Core, agent: Caller
) -> None:
    session.take("run-1", agent)
    session.release("run-1")
    verdict = await session.call("go_home", {}, agent, run="run-1", door=False)
    assert verdict.code is Code.BUSY
    assert core.programs == []


async def test_case_21_a_stop_that_was_cleared_does_not_revive_a_run(
    session: RobotSession, core: Core, agent: Caller, operator: Caller
) -> None:
    session.take("run-1", agent)
    await session.stop(operator, "test")
    assert (await session.clear(operator)).ok
    verdict = await session.call("go_home", {}, agent, run="run-1", door=False)
    assert verdict.code is Code.STOPPED
    assert core.programs == []
    session.release("run-1")
    session.take("run-2", agent)
    assert (await session.call("move_to_pose", ABOVE, agent, run="run-2", door=False)).ok


async def test_case_21_a_stop_cleared_between_two_legs_ends_the_motion(
    session: RobotSession, core: Core, agent: Caller, operator: Caller
) -> None:
    await session.call("move_to_pose", ABOVE, agent)
    await session.call("move_to_pose", DOWN, agent)
    done = len(core.programs)
    core.gate, core.moving = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(session.call("go_home", {}, agent))
    await core.moving.wait()
    await session.stop(operator, "test")
    await session.clear(operator)
    core.gate.set()
    assert (await task).code is Code.STOPPED
    assert len(core.programs) == done + 1


async def test_case_80_a_caller_that_goes_away_brings_the_arm_to_rest(
    session: RobotSession, core: Core, audit: Audit, agent: Caller
) -> None:
    core.gate = asyncio.Event()
    task = asyncio.create_task(session.call("move_to_pose", ABOVE, agent))
    await core.moving.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert core.cancels == 1
    assert session.holder is None
    assert audit_rows(audit, "outcome", "code")[-1] == ("failed", "cancelled")


async def test_only_the_holder_is_brought_to_rest(
    session: RobotSession, core: Core, agent: Caller
) -> None:
    session.take("run-1", agent)
    await session.cancel_motion("run-2")
    assert core.cancels == 0
    await session.cancel_motion("run-1")
    assert core.cancels == 1


# --- allowance -----------------------------------------------------------------------------------


async def test_on_a_real_arm_an_agent_moves_nothing_unless_it_is_allowed(
    make_session: Make, core: Core, agent: Caller, operator: Caller
) -> None:
    session = make_session(simulated=False)
    verdict = await session.call("move_to_pose", ABOVE, agent)
    assert verdict.code is Code.NOT_ALLOWED
    assert '[gate] allow = ["move_to_pose"]' in verdict.sentence
    assert session.allowance(("get_status", "go_home"), agent).code is Code.NOT_ALLOWED
    assert session.allowance(("get_status",), agent) is None
    assert core.programs == []
    assert (await session.call("move_to_pose", ABOVE, operator)).ok


async def test_a_reader_can_look_and_stop_and_never_moves(
    make_session: Make, core: Core, reader: Caller
) -> None:
    async def look() -> Verdict:
        return Verdict(Code.OK, "", {"objects": []})

    session = make_session(look=look)
    for tool in ("open_gripper", "close_gripper", "go_home"):
        assert (await session.call(tool, {}, reader)).code is Code.ROLE
    assert session.allowance(("move_to_pose",), reader).code is Code.ROLE
    assert (await session.call("look", {}, reader)).code is Code.ROLE  # home hides the table
    core.set(pose=VIEW, goal=VIEW)
    assert (await session.call("look", {}, reader)).data == {"objects": []}
    assert core.programs == []
    assert (await session.call("stop", {}, reader)).ok


async def test_each_use_of_bypass_is_a_warning_row(
    make_session: Make, audit: Audit, agent: Caller
) -> None:
    session = make_session(Config(gate=GateConfig(bypass=True)), simulated=False)
    assert (await session.call("go_home", {}, agent)).ok
    assert (await session.call("open_gripper", {}, agent)).ok
    rows = [row for row in audit.tail() if "bypass" in row.get("warning", "")]
    assert [row["allowed_by"] for row in rows] == ["bypass", "bypass"]


# --- looking -------------------------------------------------------------------------------------


async def test_looking_swings_an_arm_aside_that_hides_the_table(
    make_session: Make, core: Core, agent: Caller
) -> None:
    seen: list[Pose] = []

    async def look() -> Verdict:
        seen.append(core.snapshot.pose)
        return Verdict(Code.OK, "", {"objects": [1]})

    session = make_session(look=look)
    assert (await session.call("look", {}, agent)).data == {"objects": [1]}
    assert seen == [VIEW]
    moved = len(core.programs)
    assert (await session.call("look", {}, agent)).ok
    assert len(core.programs) == moved


async def test_a_stopped_arm_in_the_way_is_not_moved_to_look(
    make_session: Make, core: Core, agent: Caller
) -> None:
    async def look() -> Verdict:
        raise AssertionError("no picture may be taken")

    session = make_session(look=look)
    core.set(stopped=True)
    assert (await session.call("look", {}, agent)).code is Code.STOPPED


async def test_without_a_camera_looking_says_what_to_set(
    session: RobotSession, agent: Caller
) -> None:
    verdict = await session.call("look", {}, agent)
    assert verdict.code is Code.NO_CAMERA
    assert "[camera] source" in verdict.sentence


# --- stop ----------------------------------------------------------------------------------------


async def test_a_stop_tells_what_was_written_and_confirmed(
    session: RobotSession, audit: Audit, reader: Caller
) -> None:
    verdict = await session.call("stop", {"anything": "at all"}, reader)
    assert verdict.ok
    assert verdict.data == {"written": True, "confirmed": 6, "of": 6}
    assert audit_rows(audit, "tool", "code", "key", "written") == [("stop", "ok", "screen", True)]


async def test_a_stop_without_a_core_is_answered_with_the_truth(
    session: RobotSession, core: Core, agent: Caller
) -> None:
    core.snapshot = None
    verdict = await session.stop(agent, "test")
    assert verdict.ok
    assert verdict.data["written"] is False
    assert "power" in verdict.sentence


async def test_a_stop_is_recorded_only_after_it_was_sent(
    session: RobotSession, core: Core, audit: Audit, agent: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    real_stop, real_write = core.stop, audit.write
    monkeypatch.setattr(core, "stop", lambda c, b: (order.append("sent"), real_stop(c, b))[1])
    monkeypatch.setattr(
        audit, "write", lambda *a, **k: (order.append("written"), real_write(*a, **k))[1]
    )
    await session.stop(agent, "test")
    assert order == ["sent", "written"]


async def test_case_16_ten_stops_in_a_row_are_ten_stops(
    session: RobotSession, core: Core, agent: Caller
) -> None:
    assert [(await session.stop(agent, "again")).ok for _ in range(10)] == [True] * 10
    assert len(core.stops) == 10


async def test_a_stop_lands_during_a_motion_and_before_the_next_leg(
    session: RobotSession, core: Core, agent: Caller, operator: Caller
) -> None:
    core.gate = asyncio.Event()
    core.results = [MotionResult(Code.STOPPED, "Stopped on the way.")]
    task = asyncio.create_task(session.call("move_to_pose", ABOVE, agent))
    await core.moving.wait()
    assert (await session.stop(operator, "now")).ok
    core.gate.set()
    assert (await task).code is Code.STOPPED


async def test_only_an_operator_clears_a_stop_and_clearing_moves_nothing(
    session: RobotSession, core: Core, audit: Audit, agent: Caller, operator: Caller
) -> None:
    await session.stop(agent, "test")
    assert (await session.clear(agent)).code is Code.ROLE
    assert session.stopped
    assert (await session.clear(operator)).ok
    assert not session.stopped
    assert core.programs == []
    assert audit_rows(audit, "tool", "code")[1:] == [("clear_stop", "role"), ("clear_stop", "ok")]


async def test_no_tool_of_the_table_clears_a_stop(
    session: RobotSession, core: Core, operator: Caller
) -> None:
    await session.stop(operator, "test")
    for tool in session.table:
        await session.call(tool, {}, operator)
    assert session.stopped


# --- the audit -----------------------------------------------------------------------------------


async def test_a_motion_has_an_intent_before_it_and_an_outcome_after(
    session: RobotSession, core: Core, audit: Audit, agent: Caller
) -> None:
    core.gate = asyncio.Event()
    task = asyncio.create_task(session.call("move_to_pose", ABOVE, agent, door=True))
    await core.moving.wait()
    (intent,) = audit.tail()
    assert (intent["outcome"], intent["allowed_by"]) == ("started", "simulated")
    assert intent["args"] == ABOVE
    assert (intent["key"], intent["role"], intent["via"]) == ("laptop", "agent", "http")
    core.gate.set()
    await task
    outcome = audit.tail()[1]
    assert (outcome["outcome"], outcome["code"], outcome["intent"]) == ("done", "ok", intent["seq"])
    assert outcome["simulated"] is True


async def test_every_refusal_of_what_could_move_is_one_row_that_says_which_check(
    make_session: Make, core: Core, audit: Audit, clock: VirtualClock, agent: Caller, reader: Caller
) -> None:
    session = make_session()
    await session.call("wave_hello", {}, agent)
    await session.call("go_home", {}, reader)
    await session.call("open_gripper", {"percent": float("nan")}, agent)
    await session.call("move_to_pose", {"x": 0.10, "y": 0.0, "z": 0.07}, agent)
    session.take("run-1", agent)
    await session.call("go_home", {}, agent)
    session.release("run-1")
    core.set(stopped=True)
    await session.call("go_home", {}, agent)
    core.set(stopped=False, connected=False)
    await session.call("go_home", {}, agent)
    await make_session(Config(gate=GateConfig(allow=()))).call("go_home", {}, agent)
    impatient = make_session(rate=RateLimiter(clock, calls=1))
    await impatient.call("get_status", {}, agent)
    await impatient.call("go_home", {}, agent)
    names = [row["refused_by"] for row in audit.tail()]
    assert names == [
        "tool",
        "role",
        "arguments",
        "reach",
        "busy",
        "stop",
        "arm",
        "allowance",
        "rate",
    ]


async def test_reading_the_status_leaves_no_row(
    session: RobotSession, audit: Audit, agent: Caller
) -> None:
    await session.call("get_status", {}, agent)
    assert audit.tail() == []


async def test_no_key_is_ever_written(session: RobotSession, audit: Audit, agent: Caller) -> None:
    await session.call("go_home", {}, agent)
    assert "digest" not in audit.path.read_text()


async def test_case_62_a_disk_that_cannot_record_keeps_the_arm_still_but_not_the_stop(
    session: RobotSession, core: Core, audit: Audit, agent: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(audit, "write", full)
    verdict = await session.call("go_home", {}, agent)
    assert verdict.code is Code.DISK
    assert "No space left" in verdict.sentence
    assert core.programs == []
    stopped = await session.stop(agent, "test")
    assert stopped.ok
    assert core.stops == [("test", "laptop")]
    assert "not be recorded" in stopped.sentence
    assert (await session.call("go_home", {}, agent)).code is Code.STOPPED


async def test_the_torque_of_the_jaws_is_the_one_of_the_settings(
    make_session: Make, core: Core, agent: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = make_session(Config(motion=MotionConfig(grip_torque_percent=25.0)))
    seen: list[float | None] = []
    real = core.move

    async def move(program: Any, **more: Any) -> MotionResult:
        seen.append(more["torque_percent"])
        return await real(program, **more)

    monkeypatch.setattr(core, "move", move)
    await session.call("open_gripper", {}, agent)
    await session.call("close_gripper", {}, agent)
    assert seen == [None, 25.0]


@pytest.mark.parametrize(
    ("button", "told"), [("none", "no physical stop"), ("released", "released")]
)
def test_an_agent_is_told_whether_there_is_a_physical_stop(button: str, told: str) -> None:
    assert answers.status(CoreState(pose=HOME, button=button)).data["button"] == told
