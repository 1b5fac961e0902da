"""Stop: first frame out, truth told, torque watched while latched."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from armlabd.arm.joints import HOME, SERVO_IDS, Pose
from armlabd.arm.path import Program, grip_move, still
from armlabd.bench.arena import Arena
from armlabd.bus.errors import PortError
from armlabd.bus.master import torque_off_frame
from armlabd.motion.disk import Ticket
from armlabd.sim.inprocess import InProcessTransport

AWAY = Pose(40.0, -70.0, 60.0, 60.0, 20.0, 50.0)
Make = Callable[..., Arena]


def stopped_on_disk(folder: Path) -> bool:
    return bool(json.loads((folder / "stop.json").read_text())["stopped"])


def test_a_stop_writes_the_broadcast_torque_off_first_and_is_confirmed_by_six(
    arena: Arena,
) -> None:
    arena.go(AWAY)
    arena.clock.sleep(0.003)  # the answers of the last cycle have come
    before = len(arena.frames)
    result = arena.now("stop", cause="asked", by="a test")
    _, id, instruction, params = arena.frames[before]
    assert bytes((255, 255, id, len(params) + 2, instruction)) + params == torque_off_frame()[:-1]
    assert (result["written"], result["confirmed"], result["of"]) == (True, 6, 6)
    assert "confirmed by all 6" in result["sentence"]
    assert result["latency_us"] == 80
    assert not any(arena.torque)


def test_case_01_a_stop_lands_before_the_next_set_point_of_200_queued_steps(
    arena: Arena,
) -> None:
    arena.go(AWAY)
    number = arena.move(arena.program(HOME._replace(grip=50.0), 12.0))
    arena.until(lambda: arena.core.conductor.goals_sent > 200)
    before = len(arena.frames)
    arena.ask("stop", cause="asked", by="a test")
    arena.run(3.0)
    assert arena.answers[number]["code"] == "stopped"
    assert arena.torque_offs(before)[0] == before
    assert arena.goals(before) == []
    assert not any(arena.torque)


def test_case_03_a_stop_inside_a_long_wait_and_status_are_answered_at_once(
    arena: Arena,
) -> None:
    arena.go(AWAY)
    pose = arena.core.conductor.goal
    assert pose is not None
    number = arena.move(Program((pose,) * 12_000))
    arena.until(lambda: arena.core.conductor.moving)
    arena.run(5.0)
    assert number not in arena.answers
    before_s = arena.clock.monotonic()
    assert arena.now("hello")["pid"] == 0
    assert arena.now("stop")["confirmed"] == 6
    assert arena.clock.monotonic() - before_s < 0.1
    assert arena.answers[number]["code"] == "stopped"


def test_case_09_a_stop_on_a_closed_port_says_that_nothing_was_written(arena: Arena) -> None:
    arena.go(AWAY)
    arena.unplug()
    arena.run(0.1)
    before = len(arena.frames)
    result = arena.now("stop", cause="asked", by="a test")
    assert (result["written"], result["confirmed"]) == (False, 0)
    assert "may still be driven: cut the power" in result["sentence"]
    assert len(arena.frames) == before
    assert any(arena.torque), "the arm is still driven, which is what the sentence says"


def test_a_port_that_goes_with_the_stop_itself_tells_the_truth_too(arena: Arena) -> None:
    arena.go(AWAY)
    arena.unplug()
    result = arena.now("stop")
    assert (result["written"], result["confirmed"]) == (False, 0)


def test_a_stop_between_two_tries_to_connect_does_not_wait_for_the_next(arena: Arena) -> None:
    arena.move(arena.program(AWAY))
    arena.run(0.3)
    arena.arm.bus.faults.muted.update(SERVO_IDS)  # they hear all the same
    arena.until(lambda: arena.core.link.servos is None)
    assert any(arena.torque)
    result = arena.now("stop", cause="asked", by="a test")
    assert (result["written"], result["confirmed"]) == (True, 0)
    assert "only 0 of 6" in result["sentence"]
    assert not any(arena.torque)
    arena.arm.bus.faults.clear()
    arena.ready()
    arena.until(lambda: arena.core.lane.confirmed == 6)
    assert not any(arena.torque)


def test_a_stop_right_after_the_plug_is_back_finds_it(arena: Arena) -> None:
    arena.move(arena.program(AWAY))
    arena.run(0.3)
    arena.unplug()
    arena.run(5.0)  # by now the tries are seconds apart
    arena.replug()
    result = arena.now("stop", cause="asked", by="a test")
    assert (result["written"], result["confirmed"]) == (True, 6)
    assert not any(arena.torque)


def test_case_16_ten_stops_in_a_row_each_do_the_same(arena: Arena) -> None:
    arena.go(AWAY)
    for _ in range(10):
        result = arena.now("stop", cause="asked", by="a test")
        assert (result["written"], result["confirmed"]) == (True, 6)
    assert len(arena.torque_offs()) >= 10


def test_a_servo_that_does_not_answer_is_counted_and_told_again_until_it_confirms(
    arena: Arena,
) -> None:
    arena.go(AWAY)
    arena.arm.bus.faults.muted.add(4)
    result = arena.now("stop")
    assert (result["written"], result["confirmed"]) == (True, 5)
    assert "only 5 of 6" in result["sentence"]
    arena.arm.bus.faults.clear()
    arena.run(1.5)
    assert arena.core.lane.confirmed == 6


def test_torque_that_comes_on_while_latched_goes_off_within_a_cycle(arena: Arena) -> None:
    arena.go(AWAY)
    arena.ask("stop")
    arena.run(0.1)
    arena.arm.servos[2].write(40, b"\x01")
    arena.run(0.02)
    assert not any(arena.torque)


def test_while_latched_no_goal_and_no_torque_on_leaves_the_core(arena: Arena) -> None:
    arena.go(AWAY)
    program = arena.program(HOME._replace(grip=50.0))
    arena.ask("stop")
    before = len(arena.frames)
    for _ in range(20):
        assert arena.now("stop")["written"]
        assert arena.answer(arena.move(program))["code"] == "stopped"
        assert arena.answer(arena.ask("park"))["code"] == "stopped"
        assert arena.answer(arena.ask("come_inside"))["code"] == "stopped"
        arena.run(0.03)
    written = [(instruction, params[:1]) for _, _, instruction, params in arena.frames[before:]]
    assert all(params != b"\x2a" for instruction, params in written if instruction != 0x82)
    assert not any(arena.torque)


def test_after_a_reconnect_while_latched_the_first_frame_is_torque_off(arena: Arena) -> None:
    arena.go(AWAY)
    arena.unplug()
    arena.run(0.1)
    arena.ask("stop")
    before = len(arena.frames)
    arena.replug()
    arena.run(2.0)
    assert arena.torque_offs()[-1] >= before
    assert arena.torque_offs(before)[0] == before
    assert not any(arena.torque)
    assert arena.core.lane.confirmed == 6


def test_hold_keeps_the_joints_where_they_are_and_the_grip_as_it_is(make: Make) -> None:
    arena = make(stop_action="hold").ready()
    arena.go(AWAY)
    arena.go(AWAY._replace(grip=60.0))
    arena.move(arena.program(HOME._replace(grip=60.0)))
    arena.run(0.4)
    pose, before = arena.pose, len(arena.frames)
    result = arena.now("stop")
    assert (result["written"], result["confirmed"]) == (True, 6)
    assert "holds still" in result["sentence"]
    ((_, goals),) = arena.goals(before)
    assert set(goals) == {1, 2, 3, 4, 5}, "the gripper keeps its last goal"
    arena.run(1.0)
    assert all(arena.torque)
    assert max(abs(a - b) for a, b in zip(arena.pose[:5], pose[:5], strict=True)) < 5.0
    assert arena.goals(before) == arena.goals(before)[:1]


@pytest.mark.parametrize(("silent_s", "held"), [(0.03, True), (0.07, False)])
def test_hold_with_an_old_reading_switches_torque_off_instead(
    make: Make, silent_s: float, held: bool
) -> None:
    arena = make(stop_action="hold").ready()
    arena.go(AWAY)
    arena.arm.bus.faults.muted.add(1)
    arena.run(silent_s)
    arena.ask("stop")
    assert all(arena.torque) is held


def test_a_hold_after_a_reconnect_is_no_hold_any_more(make: Make) -> None:
    arena = make(stop_action="hold").ready()
    arena.go(AWAY)
    arena.ask("stop")
    arena.unplug()
    arena.run(0.1)
    arena.replug()
    before = len(arena.frames)
    arena.run(2.0)
    assert arena.torque_offs(before)[0] == before
    assert not any(arena.torque)


def test_case_15_clear_rearm_and_move_again_in_the_same_process(arena: Arena) -> None:
    arena.go(AWAY)
    for _ in range(3):
        arena.ask("stop")
        arena.arm.put(HOME[:5], 50.0)
        arena.run(0.3)
        assert arena.now("clear", by="a person", role="operator")["code"] == "ok"
        arena.arm.put(HOME[:5], 50.0)
        arena.run(0.02)
        assert arena.go(AWAY)["code"] == "ok"


def test_case_21_clear_never_resumes_and_never_switches_torque_on(arena: Arena) -> None:
    arena.go(AWAY)
    number = arena.move(arena.program(HOME._replace(grip=50.0), 10.0))
    arena.run(0.5)
    arena.ask("stop")
    arena.run(0.2)
    assert arena.now("clear", by="a person", role="operator")["code"] == "ok"
    before = len(arena.frames)
    arena.run(3.0)
    assert arena.goals(before) == []
    assert not any(arena.torque)
    assert arena.answers[number]["code"] == "stopped"


@pytest.mark.parametrize("role", ["agent", "reader", "", "Operator"])
def test_only_the_operator_role_clears(arena: Arena, role: str) -> None:
    arena.ask("stop")
    assert arena.now("clear", by="x", role=role)["code"] == "role"
    assert arena.core.latch.stopped


def test_clearing_what_is_not_stopped_is_no_fault(arena: Arena) -> None:
    assert arena.now("clear", by="a person", role="operator")["code"] == "ok"


def test_a_stop_may_be_cleared_while_the_bus_is_away(arena: Arena) -> None:
    arena.unplug()
    arena.run(0.1)
    arena.ask("stop")
    assert arena.now("clear", by="a person", role="operator")["code"] == "ok"


def test_the_stop_is_on_disk_after_the_stop_and_gone_from_it_after_the_clear(
    arena: Arena, tmp_path: Path
) -> None:
    assert not stopped_on_disk(tmp_path)
    arena.ask("stop", cause="asked", by="a test")
    assert stopped_on_disk(tmp_path)
    arena.ask("clear", by="a person", role="operator")
    assert not stopped_on_disk(tmp_path)


class HeldDisk:
    """Does nothing until told to: a card that takes its time, or is full."""

    def __init__(self) -> None:
        self.work: list[tuple[Callable[[], None], Ticket]] = []
        self.full = False
        self.slow = False

    def submit(self, work: Callable[[], None]) -> Ticket:
        ticket = Ticket()
        self.work.append((work, ticket))
        if not self.slow:
            self.go_on()
        return ticket

    def go_on(self) -> None:
        for work, ticket in self.work:
            if self.full:
                ticket.error = "No space left on device"
            else:
                work()
            ticket.done = True
        self.work = []

    def close(self) -> None: ...


def test_a_stop_that_comes_while_a_clear_is_written_wins(make: Make, tmp_path: Path) -> None:
    disk = HeldDisk()
    arena = make(disk=disk).ready()
    arena.ask("stop")
    disk.slow = True
    number = arena.ask("clear", by="a person", role="operator")
    assert number not in arena.answers
    arena.ask("stop", cause="asked", by="a second one")
    disk.slow = False
    disk.go_on()
    arena.run(0.05)
    assert arena.answers[number]["code"] == "cannot_clear"
    assert arena.core.latch.stopped
    assert stopped_on_disk(tmp_path)


def test_case_62_on_a_full_disk_a_stop_still_stops_and_a_clear_is_refused(make: Make) -> None:
    disk = HeldDisk()
    arena = make(disk=disk).ready()
    arena.go(AWAY)
    disk.full = True
    assert arena.now("stop")["confirmed"] == 6
    assert not arena.core.latch.on_disk
    assert arena.now("clear", by="a person", role="operator")["code"] == "cannot_clear"
    assert arena.core.latch.stopped
    disk.full = False
    arena.run(1.5)
    assert arena.core.latch.on_disk


def test_no_motion_starts_when_its_mark_cannot_be_written(make: Make) -> None:
    disk = HeldDisk()
    arena = make(disk=disk).ready()
    disk.full = True
    assert arena.go(AWAY)["code"] == "disk"
    assert not any(arena.torque)


def test_motion_waits_for_its_mark_and_a_stop_does_not(make: Make) -> None:
    disk = HeldDisk()
    arena = make(disk=disk).ready()
    disk.slow = True
    number = arena.move(arena.program(AWAY))
    arena.run(0.5)
    assert not arena.goals()
    assert arena.now("stop")["confirmed"] == 6
    assert arena.answers[number]["code"] == "stopped"


def test_a_stop_while_torque_is_coming_on_leaves_it_off(arena: Arena) -> None:
    for slices in range(1, 14):
        number = arena.move(arena.program(AWAY))
        core = arena.core
        while core.conductor.job is not None and core.conductor.job.phase == "plan":
            core.work()
        for _ in range(slices):
            core.work()
        arena.ask("stop")
        arena.run(0.1)
        assert not any(arena.torque), slices
        assert arena.answers[number]["code"] == "stopped"
        arena.arm.put(HOME[:5], 50.0)
        arena.ask("clear", by="a person", role="operator")
        arena.run(0.05)


def test_a_stop_works_in_every_state_without_raising(make: Make) -> None:
    arena = make(cleared=False)
    arena.port_there = False
    for _ in range(30):
        assert arena.now("stop")["written"] is False
        arena.step()
    arena.port_there = True
    for _ in range(60):
        result = arena.now("stop")
        assert result["written"] is (arena.core.link.servos is not None)
        arena.step()
    assert arena.core.lane.confirmed == 6


def test_an_unknown_request_is_refused_and_counted(arena: Arena) -> None:
    assert arena.now("explode")["code"] == "bad_json"
    assert arena.core.requests.bad == 1


def test_opening_the_gripper_after_a_stop_needs_a_clear(arena: Arena) -> None:
    arena.go(AWAY)
    opening = grip_move(arena.core.conductor.goal or AWAY, 80.0, 50.0, arena.core.link.limits)
    arena.ask("stop")
    assert arena.answer(arena.move(opening))["code"] == "stopped"
    assert arena.answer(arena.move(still(arena.pose)))["code"] == "stopped"


def test_the_virtual_port_error_is_the_real_one(arena: Arena) -> None:
    arena.port_there = False
    with pytest.raises(PortError):
        arena.open()


def test_a_broadcast_that_was_lost_on_the_wire_is_repeated_servo_by_servo(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    arena.go(AWAY)
    write = InProcessTransport.write
    lost: list[bytes] = []

    def lossy(transport: InProcessTransport, data: bytes) -> None:
        if data == torque_off_frame() and not lost:
            lost.append(data)
        else:
            write(transport, data)

    monkeypatch.setattr(InProcessTransport, "write", lossy)
    result = arena.now("stop")
    assert lost
    assert (result["written"], result["confirmed"]) == (True, 6)
    assert not any(arena.torque)


def test_a_stop_lets_the_answers_under_way_come_in_first_so_that_nothing_collides(
    arena: Arena,
) -> None:
    arena.go(AWAY)
    before_s = arena.clock.monotonic()  # the end of a tick: the six have just been asked
    result = arena.now("stop")
    assert 500 <= result["latency_us"] < 1_000, "the positions alone"
    assert (result["written"], result["confirmed"]) == (True, 6)
    arena.step()
    assert arena.core.measured.misses == 0
    assert arena.core.measured.at_s >= before_s - 0.01


def test_a_stop_need_not_wait_for_a_servo_that_is_late(arena: Arena) -> None:
    arena.go(AWAY)
    arena.arm.bus.faults.muted.add(6)
    arena.step()
    assert arena.core.measured.misses == 0  # asked before it fell silent
    result = arena.now("stop")
    assert result["latency_us"] < 3_200, "a full wait is 7 ms"
    assert result["written"]


def test_a_careful_read_ends_when_somebody_wants_something(arena: Arena) -> None:
    arena.go(AWAY)
    arena.until(lambda: arena.core.cycles.ticks % 10 == 3)  # no look at the torque soon
    arena.arm.bus.faults.muted.add(6)
    arena.run(0.02)
    assert arena.core.measured.misses == 1
    asked_s: list[float] = []

    def wanted() -> bool:
        asked_s.append(arena.clock.monotonic())
        return True

    arena.core.wanted = wanted
    before_s = arena.core.cycles.due_s
    arena.step()
    assert asked_s[0] - before_s < 0.006
    assert arena.clock.monotonic() - before_s < 0.006, "a full wait is 9 ms"
    arena.core.wanted = lambda: False
    before_s = arena.core.cycles.due_s
    arena.step()
    assert arena.clock.monotonic() - before_s > 0.005


def test_a_reading_missed_while_stopped_unconfirms_nothing(arena: Arena) -> None:
    arena.go(HOME._replace(pan=10.0, grip=50.0))
    assert arena.now("stop")["confirmed"] == 6
    arena.arm.bus.faults.frozen = True
    arena.run(0.05)
    assert arena.core.lane.confirmed == 6
    arena.arm.bus.faults.clear()
    arena.run(0.05)
    arena.arm.servos[2].memory[40] = 1  # somebody else switches a servo on
    servos = arena.core.link.servos
    assert servos is not None
    arena.core.lane.enforce(servos)
    assert arena.core.lane.confirmed == 5
    arena.run(0.3)
    assert arena.core.lane.confirmed == 6
