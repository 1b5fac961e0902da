"""Bring-up: every unfit servo has a state and a sentence, and nothing is energised by looking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest
from test_faults import inject

from armlabd.arm.joints import HOME, Pose
from armlabd.bench.arena import Arena
from armlabd.motion.state import quick_state
from armlabd.sim import memory as at
from armlabd.sim.arm import VirtualArm
from armlabd.sim.world import World

AWAY = Pose(40.0, -70.0, 60.0, 60.0, 20.0, 50.0)
Make = Callable[..., Arena]


def not_ready(arena: Arena, state: str, *words: str) -> None:
    arena.run(3.0)
    assert arena.core.link.state == state, (arena.core.link.state, arena.core.link.detail)
    for word in words:
        assert word in arena.core.link.detail
    assert not any(arena.torque)
    answer = arena.now("move", program="")
    assert answer["code"] in ("no_arm", "not_calibrated", "servo_fault")
    assert arena.core.link.detail in answer["sentence"]


def test_a_missing_servo_is_named_with_those_found(make: Make) -> None:
    arena = make()
    arena.arm.bus.faults.muted.add(3)
    not_ready(arena, "servos_missing", "3 (elbow_flex)", "1, 2, 4, 5, 6")
    arena.arm.bus.faults.clear()
    arena.ready()


def test_case_38_no_servo_at_all_says_power(make: Make) -> None:
    arena = make()
    arena.arm.bus.faults.muted.update(range(1, 7))
    not_ready(arena, "servos_missing", "power supply")


def test_an_unexpected_servo_is_named_beside_the_missing_one(make: Make) -> None:
    arena = make()
    arena.arm.servos[3].memory[5] = 7
    not_ready(arena, "servos_missing", "4 (wrist_flex)", "Unexpected ids on the bus: 7")


def test_another_model_is_refused(make: Make) -> None:
    arena = make()
    arena.arm.servos[1].memory[3:5] = (2825).to_bytes(2, "little")
    not_ready(arena, "wrong_model", "shoulder_lift", "2825")


@pytest.mark.parametrize(
    ("highest", "decivolts", "state", "words"),
    [
        (140, 90, "ready", ""),
        (140, 89, "voltage", "too weak: Servo 1 (shoulder_pan) sees 8.9 V. It is a 12 V servo"),
        (140, 74, "voltage", "takes 9.0 to 14.0 V: use a supply of 12 V"),
        (140, 140, "ready", ""),
        (140, 141, "voltage", "is too high"),
        (80, 45, "ready", ""),
        (80, 44, "voltage", "too weak: Servo 1 (shoulder_pan) sees 4.4 V. It is a 7.4 V servo"),
        (80, 80, "ready", ""),
        (80, 81, "voltage", "takes 4.5 to 8.0 V: use a supply of 5 to 7.4 V"),
        (80, 120, "voltage", "The supply is too high: Servo 1 (shoulder_pan) sees 12.0 V"),
    ],
)
def test_case_40_the_supply_must_fit_the_servos_class_and_registers_14_and_15(
    make: Make, highest: int, decivolts: int, state: str, words: str
) -> None:
    arena = make()
    for servo in arena.arm.servos:
        servo.write(14, bytes((highest, 40)))
    arena.arm.set_supply(decivolts)
    arena.run(1.0)
    assert arena.core.link.state == state
    assert words in arena.core.link.detail
    if state == "voltage":
        answer = arena.now("move", program="")
        assert (answer["code"], any(arena.torque)) == ("servo_fault", False)


def test_a_servo_that_counts_several_turns_is_refused(make: Make) -> None:
    arena = make()
    arena.arm.servos[4].memory[18] |= 0x10
    not_ready(arena, "multi_turn", "wrist_roll")


def test_a_servo_in_another_mode_is_refused(make: Make) -> None:
    arena = make()
    arena.arm.servos[0].memory[33] = 3
    not_ready(arena, "wrong_mode", "shoulder_pan", "mode 3")


def test_without_a_calibration_the_arm_is_read_but_does_not_move(make: Make) -> None:
    arena = make(calibration=None)
    not_ready(arena, "not_calibrated")
    assert arena.core.measured.counts
    assert arena.core.measured.pose is None
    assert arena.now("stop")["confirmed"] == 6


def test_a_calibration_that_is_no_calibration_counts_as_none(make: Make) -> None:
    arena = make(calibration="{}")
    not_ready(arena, "not_calibrated")
    assert any("calibration cannot be used" in note for note in arena.notes)


@pytest.mark.parametrize("address", [9, 11, 31])
def test_case_48_registers_that_differ_from_the_calibration_are_named_and_left_alone(
    make: Make, address: int
) -> None:
    arena = make()
    memory = arena.arm.servos[2].memory
    memory[address] ^= 1
    kept = bytes(memory[:40])
    not_ready(arena, "calibration_differs", "elbow_flex", "Nothing was changed")
    assert bytes(arena.arm.servos[2].memory[:40]) == kept


def test_case_49_a_servo_of_another_arm_blocks_motion_and_is_named(make: Make) -> None:
    arena = make()
    jaw = arena.arm.servos[5]
    jaw.write(at.HOMING_OFFSET, (at.word(jaw.memory, at.HOMING_OFFSET) + 60).to_bytes(2, "little"))
    not_ready(
        arena, "calibration_differs", "gripper holds homing_offset (31)", "Nothing was changed"
    )
    assert "import the calibration that belongs to this arm" in quick_state(arena.core)["next"]


def test_case_39_a_bring_up_that_fails_half_way_can_be_tried_again(make: Make) -> None:
    arena = make()
    for _ in range(4):
        arena.step()
        arena.core.work()
    arena.unplug()
    arena.run(0.5)
    arena.replug()
    arena.ready()
    assert not any(arena.torque)


def test_case_27_an_arm_attached_a_minute_after_the_start_is_found(make: Make) -> None:
    arena = make()
    arena.port_there = False
    arena.run(60.0)
    assert arena.core.link.state == "absent"
    arena.port_there = True
    arena.run(3.0)
    assert arena.core.link.ready


def test_case_28_an_arm_absent_for_ten_minutes_says_so_once(make: Make) -> None:
    arena = make()
    arena.port_there = False
    arena.run(600.0)
    assert len(arena.notes) <= 3


def test_an_arm_found_with_torque_on_keeps_it_when_not_latched(make: Make) -> None:
    arena = make(exit="hold").ready()
    arena.go(AWAY)
    arena.ask("goodbye")
    arena.run(0.05)
    assert arena.core.finished
    again = make(arm=arena.arm).ready()
    again.run(0.5)
    assert all(again.torque)
    assert again.core.conductor.torque
    assert again.go(HOME._replace(grip=50.0))["code"] == "ok"


def test_travel_is_cut_to_what_the_calibration_measured(make: Make) -> None:
    arena = make().ready()
    low, high = arena.core.link.limits.travel_deg[0]
    assert -110.0 < low < -109.9
    assert 109.9 < high < 110.0


def test_a_power_cycle_at_rest_is_noticed(arena: Arena) -> None:
    arena.go(AWAY)
    arena.arm.power_cycle()
    arena.run(0.4)
    assert not arena.core.conductor.torque
    assert arena.core.conductor.goal is None


def test_a_port_that_is_there_but_silent_is_no_arm() -> None:
    arm = VirtualArm(World(blocks=()))
    assert not any(servo.torque_on for servo in arm.servos)


@pytest.mark.parametrize("fault", ["drop rate=0.3", "truncate rate=0.3", "strange rate=0.3"])
def test_case_31_a_bad_line_is_called_lossy_all_the_time_and_once_a_minute(
    arena: Arena, fault: str
) -> None:
    inject(arena, fault)
    before, states = len(arena.notes), []
    for _ in range(1000):
        arena.step()
        states.append(quick_state(arena.core)["state"])
    assert set(states[:50]) <= {"ready", "lossy"}, "ten cycles in a row until it is noticed"
    assert states[50:].count("lossy") >= 0.95 * len(states[50:])
    assert "ready" not in states[50:]
    assert len(arena.notes) - before <= 3


@pytest.mark.parametrize("seed", [0, 6])
def test_case_31_a_servo_that_rests_after_many_misses_is_not_called_missing(
    arena: Arena, seed: int
) -> None:
    inject(arena, "truncate rate=0.3")
    arena.arm.bus.faults.dice = Random(seed)
    states = set()
    for _ in range(1000):
        arena.step()
        states.add(quick_state(arena.core)["state"])
    assert states == {"ready", "lossy"}


@pytest.mark.parametrize(("muted", "answers"), [(False, True), (True, False)])
def test_a_silent_servo_is_asked_again_even_when_others_have_used_up_the_time(
    arena: Arena, muted: bool, answers: bool
) -> None:
    link, servos = arena.core.link, arena.core.link.servos
    assert servos is not None
    if muted:
        inject(arena, "mute id=4")
    before, told = len(arena.frames), []

    def asking() -> Iterator[None]:
        told.append((yield from link._answers_after_all(servos, 4, arena.clock.monotonic())))

    assert len(list(asking())) <= 1
    assert told == [answers]
    assert len(arena.frames) > before


def test_a_servo_that_is_really_gone_is_still_missing_on_a_bad_line(arena: Arena) -> None:
    inject(arena, "drop rate=0.1")
    inject(arena, "mute id=3")
    arena.run(6.0)
    assert quick_state(arena.core)["state"] == "servos_missing"
    assert "Servo 3 (elbow_flex)" in quick_state(arena.core)["next"]


def test_an_arm_found_half_limp_says_which_servos_are_limp_until_it_is_switched_on(
    make: Make,
) -> None:
    arena = make()
    for servo in arena.arm.servos[:4]:
        servo.memory[at.TORQUE_ENABLE] = 1
    arena.ready()
    state = quick_state(arena.core)
    assert (state["state"], state["torque"]) == ("ready", True)
    assert "limp: Servo 5 (wrist_roll), Servo 6 (gripper). Support the arm" in state["next"]
    assert arena.answer(arena.ask("come_inside"))["code"] == "ok"
    assert quick_state(arena.core)["next"] == ""
    assert all(arena.torque)
