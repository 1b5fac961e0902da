"""The lease, the orphan, goodbye, and what the next core finds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from armlabd.arm.joints import HOME, Pose
from armlabd.bench.arena import Arena
from armlabd.motion.button import ScriptedLine
from armlabd.motion.guard import START_TOLERANCE_DEG
from armlabd.motion.latch import read_cause
from armlabd.motion.lease import Lease

AWAY = Pose(40.0, -70.0, 60.0, 60.0, 20.0, 50.0)
START = HOME._replace(grip=50.0)
Make = Callable[..., Arena]


# --- the lease --------------------------------------------------------------------------------


def test_the_end_of_the_lease_is_inside() -> None:
    lease, owner = Lease(0.5, 60.0, 0.0), object()
    assert not lease.alive(0.0)
    assert lease.renew(owner, 1.0)
    assert lease.alive(1.5)
    assert not lease.alive(1.5001)


def test_nobody_takes_a_live_lease_away_and_anybody_a_lapsed_one() -> None:
    lease, one, other = Lease(0.5, 60.0, 0.0), object(), object()
    lease.renew(one, 1.0)
    assert not lease.renew(other, 1.5)
    assert lease.renew(other, 1.6)
    assert not lease.renew(one, 1.7)


def test_a_lease_ends_with_its_owners_connection() -> None:
    lease, one = Lease(0.5, 60.0, 0.0), object()
    lease.renew(one, 1.0)
    lease.gone(object())
    assert lease.alive(1.1)
    lease.gone(one)
    assert not lease.alive(1.1)


def test_an_orphan_is_one_after_the_last_renewal() -> None:
    lease = Lease(0.5, 60.0, 100.0)
    assert not lease.orphaned(159.9)
    assert lease.orphaned(160.0)
    lease.renew(object(), 160.0)
    assert not lease.orphaned(219.9)


def test_no_motion_without_a_lease(arena: Arena) -> None:
    program = arena.program(AWAY)
    arena.leased = False
    arena.run(0.6)
    arena.arm.put(START[:5], 50.0)
    arena.run(0.02)
    assert arena.answer(arena.move(program))["code"] == "lease_lost"
    assert not arena.goals()
    arena.leased = True
    arena.run(0.02)
    arena.arm.put(START[:5], 50.0)
    arena.run(0.02)
    assert arena.go(AWAY)["code"] == "ok"


def test_a_lapse_in_motion_comes_to_rest_holds_and_latches(arena: Arena) -> None:
    arena.go(AWAY)
    number = arena.move(arena.program(START._replace(pan=-60.0), 20.0))
    arena.run(1.0)
    assert number not in arena.answers
    before, arena.leased = len(arena.frames), False
    answer = arena.answer(number)
    assert answer["code"] == "lease_lost"
    arena.run(0.5)
    assert arena.core.latch.cause is not None
    assert arena.core.latch.cause.code == "lease_lost"
    assert all(arena.torque), "it holds"
    assert arena.torque_offs(before) == []
    assert len(arena.goals(before)) < 75, "half a second of lease and the braking"
    resting = arena.pose
    arena.run(2.0)
    assert max(abs(a - b) for a, b in zip(arena.pose, resting, strict=True)) < 0.5


def test_a_lapse_between_two_steps_of_a_run_latches_and_holds(arena: Arena) -> None:
    arena.go(AWAY)
    arena.run(0.2)
    arena.leased = False
    arena.run(1.0)
    assert arena.core.latch.stopped
    assert arena.core.latch.cause is not None
    assert arena.core.latch.cause.code == "lease_lost"
    assert all(arena.torque)


def test_a_lapse_at_rest_latches_nothing(arena: Arena) -> None:
    arena.go(AWAY)
    arena.run(1.5)
    arena.leased = False
    arena.run(5.0)
    assert not arena.core.latch.stopped
    assert all(arena.torque)
    arena.leased = True
    arena.run(0.02)
    assert arena.go(START)["code"] == "ok"


def test_a_new_daemon_adopts_the_arm_where_it_is(arena: Arena) -> None:
    arena.go(AWAY)
    arena.run(1.5)
    arena.leased = False
    arena.run(2.0)
    other = object()
    arena.core.handle({"do": "hello", "role": "daemon"}, lambda _: None, other)
    assert arena.core.lease.alive(arena.clock.monotonic())
    assert all(arena.torque)


# --- leaving ----------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["park", "hold", "release"])
def test_goodbye_follows_the_exit_policy(make: Make, tmp_path: Path, policy: str) -> None:
    arena = make(exit=policy).ready()
    arena.go(AWAY)
    assert arena.now("goodbye")["policy"] == policy
    arena.run(20.0)
    assert arena.core.finished
    assert all(arena.torque) is (policy == "hold")
    if policy == "park":
        assert abs(arena.arm.shown_deg()[1] - arena.settings.park_pose[1]) < 3.0
    assert not (tmp_path / "core_alive.json").exists()
    assert not (tmp_path / "in_motion.json").exists()
    again = make(arm=arena.arm)
    assert not again.core.latch.stopped


def test_goodbye_in_motion_rests_first_and_no_further_motion_is_taken(arena: Arena) -> None:
    arena.go(AWAY)
    number = arena.move(arena.program(START, 10.0))
    arena.run(0.5)
    arena.ask("goodbye")
    assert arena.answer(number)["code"] == "cancelled"
    assert arena.now("move", program="")["code"] != "ok"
    arena.until(lambda: arena.core.finished)
    assert not any(arena.torque)


def test_goodbye_while_stopped_or_limp_leaves_at_once(arena: Arena) -> None:
    arena.go(AWAY)
    arena.ask("stop")
    arena.ask("goodbye")
    arena.run(0.05)
    assert arena.core.finished


def test_goodbye_while_a_stop_holds_moves_nothing(make: Make) -> None:
    arena = make(stop_action="hold").ready()
    arena.go(AWAY)
    arena.ask("stop")
    before = len(arena.frames)
    arena.ask("goodbye")
    arena.run(0.05)
    assert arena.core.finished
    assert arena.goals(before) == []
    assert all(arena.torque)


def test_without_any_daemon_the_core_parks_and_leaves(make: Make) -> None:
    arena = make(orphan_s=10.0).ready()
    arena.go(AWAY)
    arena.run(1.5)
    arena.leased = False
    arena.run(9.0)
    assert not arena.core.finished
    assert all(arena.torque)
    arena.run(15.0)
    assert arena.core.finished
    assert not any(arena.torque)
    assert not arena.core.latch.stopped


def test_a_park_that_is_blocked_holds_instead_of_dropping(arena: Arena) -> None:
    arena.go(AWAY)
    arena.arm.jam(2)
    arena.ask("goodbye")
    arena.until(lambda: arena.core.finished)
    assert all(arena.torque)


# --- what the next core finds -----------------------------------------------------------------


def test_a_new_state_folder_starts_stopped(make: Make, tmp_path: Path) -> None:
    arena = make(cleared=False)
    assert arena.core.latch.cause is not None
    assert arena.core.latch.cause.code == "new"
    assert read_cause(tmp_path / "stop.json") is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "{}",
        '{"stopped": 0}',
        '{"stopped": null}',
        '{"stopped": "false"}',
        '{"stopped": true}',
        "\x00\x01",
        '{"stopped": false',
    ],
)
def test_a_stop_record_that_is_not_clearly_cleared_means_stopped(
    make: Make, tmp_path: Path, text: str
) -> None:
    (tmp_path / "stop.json").write_text(text)
    assert make(cleared=False).core.latch.stopped


def test_case_62_a_stop_on_a_full_disk_leaves_no_record_of_a_cleared_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    arena = Arena(tmp_path).ready()
    assert read_cause(tmp_path / "stop.json") is None
    monkeypatch.setattr("armlabd.motion.latch.write_atomic", full)
    arena.now("stop")
    assert arena.core.latch.disk_error == "No space left on device"
    assert Arena(tmp_path, cleared=False, boot="after a power cut").core.latch.stopped


def test_only_a_cleared_record_means_not_stopped(make: Make, tmp_path: Path) -> None:
    (tmp_path / "stop.json").write_text('{"stopped": false, "by": "a person"}')
    assert not make(cleared=False).core.latch.stopped


def test_a_stop_survives_a_restart_with_its_cause(make: Make) -> None:
    arena = make().ready()
    arena.ask("stop", cause="button", by="kitchen")
    arena.ask("goodbye")
    arena.run(0.05)
    again = make(arm=arena.arm)
    assert again.core.latch.cause is not None
    assert (again.core.latch.cause.code, again.core.latch.cause.by) == ("button", "kitchen")


def test_the_mark_of_motion_is_there_before_the_first_goal_and_gone_at_rest(
    arena: Arena, tmp_path: Path
) -> None:
    mark = tmp_path / "in_motion.json"
    number = arena.move(arena.program(AWAY, 20.0))
    while number not in arena.answers:
        if arena.goals():
            assert mark.exists()
        arena.step()
    arena.run(0.5)
    assert mark.exists()
    arena.run(1.0)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("boot", "cause"), [("boot-1", "core_crashed"), ("boot-2", "power_lost_in_motion")]
)
def test_a_core_that_ends_in_motion_leaves_the_next_one_latched(
    make: Make, tmp_path: Path, boot: str, cause: str
) -> None:
    arena = make().ready()
    arena.move(arena.program(AWAY, 20.0))
    arena.run(1.0)  # and then it is gone, without a goodbye
    again = make(arm=arena.arm, boot=boot)
    assert again.core.latch.cause is not None
    assert again.core.latch.cause.code == cause
    before = len(again.frames)
    again.run(1.0)
    assert again.torque_offs(before)[0] == before
    assert not any(again.torque)
    assert not (tmp_path / "in_motion.json").exists()
    assert json.loads((tmp_path / "stop.json").read_text())["stopped"]


@pytest.mark.parametrize(("boot", "stopped"), [("boot-1", True), ("boot-2", False)])
def test_at_rest_a_crash_latches_and_a_power_cut_does_not(
    make: Make, boot: str, stopped: bool
) -> None:
    arena = make().ready()
    arena.run(0.5)
    again = make(arm=arena.arm, boot=boot)
    assert again.core.latch.stopped is stopped


def test_an_unreadable_mark_latches(make: Make, tmp_path: Path) -> None:
    (tmp_path / "in_motion.json").write_bytes(b"")
    assert make().core.latch.stopped


# --- the button -------------------------------------------------------------------------------


def test_a_required_button_without_a_reader_starts_stopped_and_cannot_be_cleared(
    make: Make,
) -> None:
    arena = make(button_required=True).ready()
    assert arena.core.button.state == "missing"
    assert arena.core.latch.cause is not None
    assert arena.core.latch.cause.code == "button"
    answer = arena.now("clear", by="a person", role="operator")
    assert answer["code"] == "cannot_clear"
    assert "required = false" in answer["sentence"]


@pytest.mark.parametrize("level", [True, None])
def test_case_20_booting_with_the_button_pressed_or_its_wire_broken_is_stopped(
    make: Make, level: bool | None
) -> None:
    assert make(line=ScriptedLine(level)).core.latch.stopped


def test_case_04_a_press_in_motion_stops_within_a_cycle(make: Make) -> None:
    line = ScriptedLine()
    arena = make(line=line).ready()
    arena.go(AWAY)
    number = arena.move(arena.program(START, 10.0))
    arena.run(0.5)
    line.level, before = True, len(arena.frames)
    arena.step()
    assert arena.torque_offs(before)[0] == before
    assert arena.answers[number]["code"] == "stopped"


def test_case_19_nothing_clears_or_moves_while_the_button_is_pressed(make: Make) -> None:
    line = ScriptedLine(True)
    arena = make(line=line).ready()
    assert arena.now("clear", by="a person", role="operator")["code"] == "cannot_clear"
    line.level = False
    arena.run(0.25)
    assert arena.core.latch.stopped, "releasing alone clears nothing"
    assert arena.now("clear", by="a person", role="operator")["code"] == "ok"
    line.level = None
    arena.run(0.02)
    assert arena.core.latch.stopped


def test_no_button_is_said_where_status_is_shown(arena: Arena) -> None:
    assert arena.core.button.state == "none"


def test_a_park_begins_at_the_last_goal_so_that_no_sag_is_walked_down(arena: Arena) -> None:
    arena.go(AWAY)
    goal = arena.core.conductor.goal
    assert goal is not None
    assert arena.pose != goal, "the arm hangs a little lower"
    arena.ask("park")
    job = arena.core.conductor.job
    assert job is not None
    arena.until(lambda: job.stream is not None)
    assert job.points[0] == goal


def test_a_park_of_an_arm_that_was_pushed_aside_begins_where_it_is(arena: Arena) -> None:
    arena.go(AWAY)
    conductor = arena.core.conductor
    assert conductor.goal is not None
    conductor.goal = conductor.goal._replace(pan=arena.pose.pan + START_TOLERANCE_DEG + 0.1)
    assert arena.core.requests._start() == arena.pose
    conductor.goal = None
    assert arena.core.requests._start() == arena.pose
