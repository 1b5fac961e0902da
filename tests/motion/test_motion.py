"""Motions: accepted whole or refused, read back before ok, and how they end."""

from __future__ import annotations

import base64
from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

from armlabd.arm.joints import HOME, Pose
from armlabd.arm.kinematics import forward
from armlabd.arm.path import Program, grip_move, pack, still
from armlabd.arm.program import DT_S
from armlabd.bench.arena import Arena
from armlabd.motion.fence import violation
from armlabd.motion.job import Job
from armlabd.motion.requests import PackedPoints
from armlabd.sim.inprocess import InProcessTransport
from armlabd.sim.world import Block, World

AWAY = Pose(40.0, -70.0, 60.0, 60.0, 20.0, 50.0)
START = HOME._replace(grip=50.0)
Make = Callable[..., Arena]


def near(a: Pose, b: Pose, deg: float = 2.0) -> bool:
    return all(abs(x - y) <= deg for x, y in zip(a[:5], b[:5], strict=True))


# --- arriving ---------------------------------------------------------------------------------


def test_a_motion_is_ok_only_after_the_arm_was_read_back_at_its_goal(arena: Arena) -> None:
    number = arena.move(arena.program(AWAY))
    while number not in arena.answers:
        arrived = near(arena.pose, AWAY)
        arena.step()
    assert arena.answers[number]["code"] == "ok"
    assert arrived or near(arena.pose, AWAY)
    assert near(Pose(*arena.answers[number]["pose"]), AWAY)


def test_one_set_point_leaves_per_cycle_and_the_block_is_read_every_cycle(arena: Arena) -> None:
    program = arena.program(AWAY)
    before, ticks = len(arena.frames), arena.core.cycles.ticks
    arena.answer(arena.move(program))
    sent = len(arena.goals(before))
    most = len(program.points) + 60  # the pin, the approach, the trim
    assert len(program.points) <= sent <= most
    reads = [p[:2] for _, _, i, p in arena.frames[before:] if i == 0x82]
    blocks, wide = reads.count(b"\x38\x0f"), reads.count(b"\x28\x1f")
    assert blocks + wide >= arena.core.cycles.ticks - ticks
    assert wide >= (arena.core.cycles.ticks - ticks) // 10


def test_the_block_is_read_at_rest_and_while_stopped_too(arena: Arena) -> None:
    for _ in range(2):
        arena.run(0.5)
        assert arena.core.measured.age_s(arena.clock.monotonic()) < 0.02
        arena.ask("stop")


def test_torque_comes_on_with_the_first_motion_and_not_before(arena: Arena) -> None:
    arena.run(1.0)
    assert not any(arena.torque)
    arena.arm.put(START[:5], 50.0)
    arena.run(0.02)
    arena.go(AWAY)
    assert all(arena.torque)


def test_case_22_torque_on_pins_the_goals_to_where_a_hand_has_put_the_arm(arena: Arena) -> None:
    arena.go(AWAY)
    arena.ask("stop")
    moved = Pose(-30.0, -80.0, 40.0, 50.0, -40.0, 30.0)
    arena.arm.put(moved[:5], moved.grip)
    arena.ask("clear", by="a person", role="operator")
    arena.run(0.02)
    before = len(arena.frames)
    arena.move(arena.program(START))
    arena.until(lambda: any(arena.torque))
    _, pinned = arena.goals(before)[-1]
    pose = arena.core.link.calibration.from_raw([pinned[id] for id in range(1, 7)])  # type: ignore[union-attr]
    assert near(pose, moved, 6.0)
    assert near(pose, arena.pose, 1.0)
    written = [
        params[:1] for _, _, instruction, params in arena.frames[before:] if instruction != 0x82
    ]
    order = [written.index(register) for register in (b"\x2e", b"\x2a", b"\x28")]
    assert order == sorted(order), "low speed, then goal := present, then torque"


def test_a_pin_that_was_lost_on_the_wire_is_written_again_before_torque_comes_on(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = InProcessTransport.write
    lost: list[bytes] = []

    def lossy(transport: InProcessTransport, data: bytes) -> None:
        if data[4:7] == b"\x83\x2a\x02" and not lost:
            lost.append(data)
        else:
            write(transport, data)

    monkeypatch.setattr(InProcessTransport, "write", lossy)
    for servo in arena.arm.servos:
        servo.write(42, b"\x00\x08")  # an old goal, far away
    number = arena.move(arena.program(AWAY))
    arena.until(lambda: any(arena.torque))
    place = arena.pose
    arena.run(0.05)
    assert lost
    assert near(arena.pose, place, 3.0)
    assert arena.answer(number)["code"] == "ok"


def test_an_arm_that_is_being_moved_by_hand_is_not_switched_on(arena: Arena) -> None:
    number = arena.move(arena.program(AWAY))
    pan = 0.0
    while number not in arena.answers:
        pan += 3.0
        arena.arm.servos[0].motor.place(arena.arm.servos[0].motor.position + 40.0)
        arena.core.work()
        if not arena.core.has_work:
            arena.step()
    assert arena.answers[number]["code"] in ("no_arm", "old_state")
    assert not arena.core.conductor.moving


def test_repeated_small_motions_do_not_walk_down_with_the_sag(arena: Arena) -> None:
    arena.go(AWAY)
    height = forward(arena.pose).tool[2]
    for step in range(8):
        arena.go(AWAY._replace(roll=20.0 + step % 2))
    assert abs(forward(arena.pose).tool[2] - height) < 0.004


def test_a_program_may_start_at_the_measured_pose_although_the_goal_is_elsewhere(
    arena: Arena,
) -> None:
    arena.go(AWAY)
    from armlabd.arm.path import joint_move

    program = joint_move(arena.pose, START, 60.0, arena.core.link.limits)
    assert arena.answer(arena.move(program))["code"] == "ok"


# --- refused whole ----------------------------------------------------------------------------


def refused(arena: Arena, code: str, **body: Any) -> dict[str, Any]:
    before = len(arena.frames)
    answer = arena.answer(arena.ask("move", **body))
    assert answer["code"] == code, answer
    assert arena.goals(before) == []
    assert not any(arena.torque)
    return answer


@pytest.mark.parametrize(
    "program",
    [
        None,
        17,
        True,
        "",
        "no base64!",
        base64.b64encode(b"x" * 47).decode(),
        pack(Program((START._replace(lift=nan),))),
        pack(Program((START, START._replace(roll=inf)))),
    ],
)
def test_a_program_that_is_none_is_refused(arena: Arena, program: object) -> None:
    refused(arena, "bad_program", program=program)


def test_a_program_of_two_minutes_is_taken_and_a_longer_one_is_not() -> None:
    assert len(PackedPoints("A" * (12_000 * 64))) == 12_000
    with pytest.raises(ValueError, match="12000"):
        PackedPoints("A" * (12_001 * 64))


def test_packed_points_are_the_programs_points(arena: Arena) -> None:
    program = arena.program(AWAY)
    points = PackedPoints(pack(program))
    assert tuple(points) == program.points
    assert points[-1] == program.goal
    assert tuple(points[1:3]) == program.points[1:3]
    with pytest.raises(IndexError):
        points[len(points)]


@pytest.mark.parametrize(
    "body", [{"contact": 1}, {"torque_percent": True}, {"torque_percent": 50.1}]
)
def test_a_motion_with_odd_figures_is_refused(arena: Arena, body: dict[str, Any]) -> None:
    refused(arena, "bad_program", program=pack(still(arena.pose)), **body)


@pytest.mark.parametrize(("away_deg", "code"), [(2.9, "ok"), (3.1, "old_state")])
def test_a_program_must_start_where_the_arm_is(arena: Arena, away_deg: float, code: str) -> None:
    start = arena.pose._replace(pan=arena.pose.pan + away_deg)
    answer = arena.answer(arena.move(Program((start,) * 3)))
    assert answer["code"] == code
    if code == "old_state":
        assert answer["facts"]["limit"] == "start:shoulder_pan"


def test_a_second_motion_is_busy(arena: Arena) -> None:
    number = arena.move(arena.program(AWAY, 10.0))
    arena.run(0.3)
    assert arena.now("move", program=pack(still(arena.pose)))["code"] == "busy"
    assert number not in arena.answers


def test_a_reading_older_than_50_ms_is_no_ground_to_move_on(arena: Arena) -> None:
    program = arena.program(AWAY)
    arena.arm.bus.faults.muted.add(3)
    arena.run(0.06)
    refused(arena, "old_state", program=pack(program))


def test_a_program_with_one_point_below_the_floor_is_refused_whole_naming_it(
    arena: Arena,
) -> None:
    down = Pose(0.0, 20.0, 40.0, 40.0, 0.0, 50.0)
    program = arena.program(down)
    answer = refused(arena, "path_blocked", program=pack(program))
    facts = answer["facts"]
    assert facts["limit"].startswith("floor:")
    assert facts["value"] < facts["allowed"]
    assert 0 < facts["point"] < len(program.points)
    assert violation(program.points[facts["point"]], arena.core.link.limits)
    assert not violation(program.points[facts["point"] - 1], arena.core.link.limits)


def test_no_goal_leaves_that_the_last_look_refuses_even_if_the_check_was_passed_by(
    arena: Arena,
) -> None:
    """As after a bug in whatever makes programs: the guard's second look is on its own."""
    arena.go(AWAY)
    wild = (AWAY, AWAY._replace(pan=AWAY.pan + 5.0), AWAY._replace(pan=AWAY.pan + 10.0))

    def unchecked() -> Any:
        yield
        return wild

    answers: list[dict[str, Any]] = []
    before = len(arena.frames)
    arena.core.conductor.start(Job("move", unchecked(), answers.append))
    arena.run(1.0)
    assert answers[0]["code"] == "too_fast"
    assert all(abs(g[1] - arena.core.conductor.goal_counts[0]) < 10 for _, g in arena.goals(before))


def test_an_arm_that_was_pushed_between_plan_and_torque_does_not_jump(make: Make) -> None:
    from test_stop_lane import HeldDisk

    disk = HeldDisk()
    arena = make(disk=disk).ready()
    disk.slow = True
    number = arena.move(arena.program(AWAY))
    arena.run(0.1)
    pushed = START._replace(pan=6.0)
    arena.arm.put(pushed[:5], 50.0)
    disk.slow = False
    disk.go_on()
    assert arena.answer(number)["code"] == "old_state"
    assert abs(arena.pose.pan - 6.0) < 1.0


def test_case_62_a_disk_that_takes_its_time_and_is_full_refuses_the_motion_once(make: Make) -> None:
    from test_stop_lane import HeldDisk

    disk = HeldDisk()
    arena = make(disk=disk).ready()
    disk.slow = disk.full = True
    number = arena.move(arena.program(AWAY))
    arena.run(0.1)
    assert number not in arena.answers
    disk.go_on()
    arena.run(0.1)
    assert arena.answers[number]["code"] == "disk"
    assert "Free some space" in arena.answers[number]["sentence"]
    assert disk.work == [], "it is not tried again behind the answer"
    disk.slow = disk.full = False
    assert arena.go(AWAY)["code"] == "ok"


# --- ending otherwise -------------------------------------------------------------------------


def test_cancel_comes_to_rest_on_the_path_within_the_limits_and_holds(arena: Arena) -> None:
    arena.go(AWAY)
    program = arena.program(START._replace(pan=-60.0))
    before = len(arena.frames)
    number = arena.move(program)
    arena.until(lambda: arena.core.conductor.goals_sent > 0 and len(arena.goals(before)) > 45)
    arena.ask("cancel")
    at_cancel = len(arena.goals(before))
    arena.answer(number)
    assert arena.answers[number]["code"] == "cancelled"
    assert 5 < len(arena.goals(before)) - at_cancel < 40, "60 deg/s at 400 deg/s2 is 0.15 s"
    goals = [g[1] for _, g in arena.goals(before)]
    bends = [a - 2 * b + c for a, b, c in zip(goals, goals[1:], goals[2:], strict=False)]
    counts_allowed = 400.0 * DT_S**2 / (360 / 4096) + 2  # each goal is rounded to a count
    assert max(map(abs, bends)) <= counts_allowed
    arena.run(0.5)
    assert all(arena.torque)
    assert not arena.core.latch.stopped
    assert arena.go(AWAY)["code"] == "ok"


def test_cancel_at_rest_changes_nothing(arena: Arena) -> None:
    assert arena.now("cancel")["code"] == "ok"
    assert arena.go(AWAY)["code"] == "ok"


def test_a_joint_that_is_blocked_stalls_and_the_goals_are_drawn_back(arena: Arena) -> None:
    arena.go(AWAY)
    number = arena.move(arena.program(START._replace(pan=-60.0)))
    arena.run(0.3)
    arena.arm.jam(1)
    answer = arena.answer(number)
    assert answer["code"] == "stalled"
    assert "shoulder_pan" in answer["sentence"]
    goal = arena.core.conductor.goal
    assert goal is not None
    assert abs(goal.pan - arena.pose.pan) < 2.0, "it does not go on pushing"
    assert all(arena.torque)
    assert not arena.core.latch.stopped


def test_a_joint_that_stops_short_of_its_goal_is_stalled_after_the_settling_time(
    arena: Arena,
) -> None:
    arena.go(AWAY)
    arena.arm.jam(1)
    before_s = arena.clock.monotonic()
    answer = arena.go(AWAY._replace(pan=37.0))
    assert answer["code"] == "stalled"
    assert arena.clock.monotonic() - before_s > arena.settings.settle_s
    assert "3.0 degrees" in answer["sentence"] or "2.9 degrees" in answer["sentence"]


def test_a_servo_that_gives_way_ends_the_motion_by_name(arena: Arena) -> None:
    number = arena.move(arena.program(AWAY, 10.0))
    arena.run(0.5)
    arena.arm.servos[2].protection.trip(0x20)
    answer = arena.answer(number)
    assert answer["code"] == "stalled"
    assert "elbow_flex gave way (overload)" in answer["sentence"]


def test_torque_that_goes_off_in_one_servo_ends_the_motion(arena: Arena) -> None:
    number = arena.move(arena.program(AWAY, 10.0))
    arena.run(0.5)
    arena.arm.servos[4].write(40, b"\x00")
    assert arena.answer(number)["code"] == "stalled"
    assert arena.core.conductor.goal is None, "the next motion pins and arms anew"


def test_case_42_a_hot_servo_is_not_moved(arena: Arena) -> None:
    arena.arm.servos[5].motor.temperature_c = 66.0
    arena.run(0.02)
    answer = refused(arena, "servo_fault", program=pack(still(arena.pose)))
    assert "gripper" in answer["sentence"]
    assert "66" in answer["sentence"]


# --- the bus ----------------------------------------------------------------------------------


def test_case_31_one_percent_of_lost_answers_does_not_end_a_motion(arena: Arena) -> None:
    arena.arm.bus.faults.drop_rate = 0.01
    for _ in range(3):
        assert arena.go(AWAY)["code"] == "ok"
        assert arena.go(START)["code"] == "ok"


def test_case_31_thirty_percent_end_it_with_counters(arena: Arena) -> None:
    arena.go(AWAY)
    number = arena.move(arena.program(START, 5.0))
    arena.run(0.5)
    arena.arm.bus.faults.drop_rate = 0.3
    answer = arena.answer(number)
    assert answer["code"] == "bus_lost"
    assert arena.core.latch.cause is not None
    assert arena.core.latch.cause.code == "bus_lost"
    assert sum(arena.core.link.counters.snapshot().causes.values()) > 10


def test_nine_missed_cycles_are_forgiven(arena: Arena) -> None:
    arena.go(AWAY)
    number = arena.move(arena.program(START, 10.0))
    arena.run(0.5)
    arena.arm.bus.faults.muted.add(2)
    arena.until(lambda: arena.core.measured.misses == 9)
    job = arena.core.conductor.job
    assert job is not None
    assert job.ending is None
    arena.arm.bus.faults.clear()
    assert arena.answer(number)["code"] == "ok"


def test_the_tenth_missed_cycle_is_one_too_many(arena: Arena) -> None:
    arena.go(AWAY)
    arena.move(arena.program(START, 10.0))
    arena.run(0.5)
    arena.arm.bus.faults.muted.add(2)
    arena.until(lambda: arena.core.measured.misses == 10)
    job = arena.core.conductor.job
    assert job is not None
    assert job.ending is not None
    assert job.ending.code == "bus_lost"


@pytest.mark.parametrize(
    ("muted", "who"),
    [
        ((3,), ("3 (elbow_flex)",)),
        ((2, 6), ("2 (shoulder_lift)", "6 (gripper)")),
        ((1, 2, 3, 4, 5, 6), ("stopped answering",)),
    ],
)
def test_who_stopped_answering_in_motion_is_named(
    arena: Arena, muted: tuple[int, ...], who: tuple[str, ...]
) -> None:
    number = arena.move(arena.program(AWAY))
    arena.run(0.4)
    arena.arm.bus.faults.muted.update(muted)
    answer = arena.answer(number)
    assert answer["code"] == "bus_lost"
    assert all(name in answer["sentence"] for name in who), answer["sentence"]


def test_ten_missed_cycles_in_motion_come_to_rest_latch_and_reconnect(arena: Arena) -> None:
    arena.go(AWAY)
    number = arena.move(arena.program(START._replace(pan=-60.0), 60.0))
    arena.run(0.4)
    arena.arm.bus.faults.muted.update(range(1, 7))
    answer = arena.answer(number)
    assert answer["code"] == "bus_lost"
    assert arena.core.latch.stopped
    arena.run(0.05)
    before = len(arena.frames)
    arena.arm.bus.faults.clear()
    arena.run(3.0)
    assert arena.torque_offs(before)[0] == before
    assert arena.core.link.ready
    assert not any(arena.torque)


def test_case_30_unplugged_in_motion_and_back_the_arm_is_latched(arena: Arena) -> None:
    arena.go(AWAY)
    number = arena.move(arena.program(START, 10.0))
    arena.run(0.5)
    arena.unplug()
    answer = arena.answer(number)
    assert answer["code"] == "bus_lost"
    assert arena.core.link.state == "disconnected"
    arena.run(1.0)
    assert arena.core.latch.cause is not None
    assert arena.core.latch.cause.code == "bus_lost"
    assert "cut the power" in arena.core.lane.sentence
    arena.replug()
    arena.run(3.0)
    assert arena.core.link.ready
    assert not any(arena.torque)


@pytest.mark.parametrize(("rested_s", "latched"), [(0.2, True), (1.5, False)])
def test_case_30_unplugged_between_two_steps_of_a_run_the_arm_is_latched(
    arena: Arena, rested_s: float, latched: bool
) -> None:
    arena.go(AWAY)
    arena.run(rested_s)
    arena.unplug()
    arena.run(1.0)
    assert arena.core.link.state == "disconnected"
    assert arena.core.latch.stopped is latched
    arena.replug()
    arena.run(3.0)
    assert arena.core.link.ready
    assert arena.core.latch.stopped is latched


def test_unplugged_at_rest_the_arm_is_not_latched_and_comes_back_by_itself(arena: Arena) -> None:
    arena.unplug()
    arena.run(1.0)
    arena.replug()
    arena.run(3.0)
    assert arena.core.link.ready
    assert not arena.core.latch.stopped


# --- the gripper ------------------------------------------------------------------------------


def grasped(make: Make) -> Arena:
    arena = make(world=World(blocks=[Block("red block", 0.20, 0.0)])).ready()
    from armlabd.arm.kinematics import reach_down
    from armlabd.arm.path import Target, line_move

    above = reach_down(0.20, 0.0, 0.07, yaw_deg=0.0, grip_percent=50.0, max_tilt_deg=25.0)
    assert arena.go(above)["code"] == "ok"
    goal = arena.core.conductor.goal
    assert goal is not None
    line = line_move(goal, Target(0.20, 0.0, 0.02, yaw_deg=0.0), 30.0, arena.core.link.limits)
    assert arena.answer(arena.move(line))["code"] == "ok"
    return arena


def close(arena: Arena, **body: Any) -> dict[str, Any]:
    goal = arena.core.conductor.goal
    assert goal is not None
    closing = grip_move(goal, 0.0, 60.0, arena.core.link.limits)
    return arena.answer(arena.move(closing, contact=True, **body))


def test_closing_on_a_block_stops_at_it_squeezes_a_little_and_lowers_the_torque(
    make: Make,
) -> None:
    arena = grasped(make)
    answer = close(arena)
    assert answer["code"] == "ok"
    assert (answer["contact"], answer["holding"]) == (True, True)
    assert 15.0 < answer["grip_percent"] < 25.0
    goal = arena.core.conductor.goal
    assert goal is not None
    assert 1.0 < answer["grip_percent"] - goal.grip < 5.0
    gripper = arena.arm.servos[5]
    assert gripper.drive.limit == pytest.approx(0.20)


def test_the_torque_limit_is_set_before_the_gripper_closes(make: Make) -> None:
    arena = grasped(make)
    before = len(arena.frames)
    close(arena, torque_percent=40.0)
    limits = [
        (k, int.from_bytes(p[1:3], "little"))
        for k, (_, _, _, p) in enumerate(arena.frames[before:])
        if p[:1] == b"\x30"
    ]
    assert [value for _, value in limits] == [400, 200]


def test_a_held_block_keeps_its_squeeze_while_the_arm_moves_and_stays_held(make: Make) -> None:
    arena = grasped(make)
    close(arena)
    lifted = arena.core.conductor.goal
    assert lifted is not None
    answer = arena.go(lifted._replace(lift=lifted.lift - 25.0))
    assert (answer["code"], answer["holding"]) == ("ok", True)
    assert arena.arm.world.state()["blocks"][0]["held"]
    arena.run(5.0)
    assert arena.core.conductor.grip.holding


def test_case_83_a_block_that_is_lost_on_the_way_is_no_longer_held(make: Make) -> None:
    arena = grasped(make)
    close(arena)
    lifted = arena.core.conductor.goal
    assert lifted is not None
    arena.go(lifted._replace(lift=lifted.lift - 25.0))
    arena.arm.world.remove("red block")  # type: ignore[attr-defined]
    arena.arm.disturb()
    arena.run(1.0)
    assert not arena.core.conductor.grip.holding


def test_opening_lets_go(make: Make) -> None:
    arena = grasped(make)
    close(arena)
    goal = arena.core.conductor.goal
    assert goal is not None
    opening = grip_move(goal, 60.0, 80.0, arena.core.link.limits)
    answer = arena.answer(arena.move(opening))
    assert (answer["code"], answer["holding"]) == ("ok", False)
    assert answer["grip_percent"] == pytest.approx(60.0, abs=2.0)
    assert arena.arm.servos[5].drive.limit == pytest.approx(0.30)


def test_closing_on_nothing_meets_nothing(arena: Arena) -> None:
    arena.go(AWAY)
    answer = close(arena)
    assert (answer["code"], answer["contact"], answer["holding"]) == ("ok", False, False)
    assert answer["grip_percent"] < 2.0


def test_a_stop_ends_the_holding(make: Make) -> None:
    arena = grasped(make)
    close(arena)
    arena.ask("stop")
    arena.run(0.1)
    assert not arena.core.conductor.grip.holding


# --- the core's own moves ---------------------------------------------------------------------


def test_park_ends_in_the_park_pose_with_the_torque_off(arena: Arena) -> None:
    arena.go(AWAY)
    answer = arena.answer(arena.ask("park"))
    assert answer["code"] == "ok"
    assert not any(arena.torque)
    assert near(Pose(*answer["pose"]), Pose(*arena.settings.park_pose))
    assert not arena.core.latch.stopped


def test_park_from_a_limp_arm_on_the_table_goes_inside_first(arena: Arena) -> None:
    arena.go(Pose(20.0, -40.0, 50.0, 60.0, 0.0, 50.0))
    arena.ask("stop")
    arena.run(2.0)
    arena.ask("clear", by="a person", role="operator")
    arena.run(0.02)
    assert violation(arena.pose, arena.core.link.limits)
    assert arena.answer(arena.ask("park"))["code"] == "ok"


def test_come_inside_raises_a_limp_arm_and_leaves_it_ready_to_move(arena: Arena) -> None:
    arena.go(Pose(20.0, -40.0, 50.0, 60.0, 0.0, 50.0))
    arena.ask("stop")
    arena.run(2.0)
    arena.ask("clear", by="a person", role="operator")
    arena.run(0.02)
    assert violation(arena.pose, arena.core.link.limits)
    assert arena.answer(arena.ask("come_inside"))["code"] == "ok"
    assert not violation(arena.pose, arena.core.link.limits)
    assert arena.go(START)["code"] == "ok"


def test_come_inside_is_ok_at_once_when_the_arm_is_inside(arena: Arena) -> None:
    assert arena.answer(arena.ask("come_inside"))["code"] == "ok"
