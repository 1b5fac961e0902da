"""Faults that need a story: reports from the field, and what a fault leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from test_faults import counts, inject

from armlabd.arm.joints import Pose
from armlabd.arm.kinematics import reach_down
from armlabd.arm.path import Target, grip_move, line_move
from armlabd.bench.arena import START, Arena
from armlabd.motion.button import ScriptedLine
from armlabd.motion.state import quick_state, slow_state
from armlabd.sim import memory as at
from armlabd.sim.blocks import Block
from armlabd.sim.world import World

AWAY = Pose(40.0, -70.0, 60.0, 60.0, 20.0, 50.0)
Make = Callable[..., Arena]


def holding(make: Make, **settings: Any) -> Arena:
    """An arm that holds a block, above the table."""
    arena = make(world=World(blocks=[Block("red block", 0.20, 0.0)]), **settings).ready()
    arena.go(reach_down(0.20, 0.0, 0.07, yaw_deg=0.0, grip_percent=50.0, max_tilt_deg=25.0))
    limits = arena.core.link.limits
    down = line_move(goal(arena), Target(0.20, 0.0, 0.02, yaw_deg=0.0), 30.0, limits)
    assert arena.answer(arena.move(down))["code"] == "ok"
    closing = grip_move(goal(arena), 0.0, 60.0, limits)
    assert arena.answer(arena.move(closing, contact=True))["holding"]
    assert arena.go(goal(arena)._replace(lift=goal(arena).lift - 25.0))["code"] == "ok"
    return arena


def goal(arena: Arena) -> Pose:
    found = arena.core.conductor.goal
    assert found is not None
    return found


def torque_limit(arena: Arena) -> int:
    return at.word(arena.arm.servos[5].memory, at.TORQUE_LIMIT)


def clear(arena: Arena) -> None:
    arena.run(2.0)
    assert arena.answer(arena.ask("clear", by="a person", role="operator"))["code"] == "ok"
    arena.run(0.1)


# --- stop, start and end ------------------------------------------------------------------------


def test_case_05_a_stop_that_holds_leaves_the_grip_and_its_torque_alone(make: Make) -> None:
    arena = holding(make, stop_action="hold")
    before, limit = goal(arena).grip, torque_limit(arena)
    assert arena.now("stop", cause="asked")["confirmed"] == 6
    arena.run(3.0)
    assert all(arena.torque)
    assert torque_limit(arena) == limit == 200
    assert arena.arm.world.state()["blocks"][0]["held"]
    assert goal(arena).grip == before


def test_case_05_a_stop_that_keeps_the_grip_lets_go_of_the_arm_alone(make: Make) -> None:
    arena = holding(make, stop_action="keep_grip")
    before = len(arena.frames)
    told = arena.now("stop", cause="asked")
    assert (told["written"], told["confirmed"]) == (True, 6)
    assert "but for the gripper, which keeps what it holds" in told["sentence"]
    assert not arena.torque_offs(before), "the first frame spares the gripper"
    for _ in range(9):  # case 16: again and again changes nothing
        arena.run(0.3)
        assert arena.now("stop", cause="asked")["confirmed"] == 6
    arena.run(3.0)
    assert arena.torque == [False] * 5 + [True]
    assert torque_limit(arena) == 200
    assert arena.arm.world.state()["blocks"][0]["held"]
    assert arena.core.conductor.grip.holding
    stop = quick_state(arena.core)["stop"]
    assert (stop["held"], stop["grip_kept"], stop["confirmed"]) == (False, True, 6)


def test_case_05_cleared_the_arm_goes_on_with_what_the_gripper_kept(make: Make) -> None:
    arena = holding(make, stop_action="keep_grip")
    arena.now("stop", cause="asked")
    arena.run(2.0)
    told = arena.answer(arena.ask("clear", by="a person", role="operator"))
    assert "The gripper keeps what it holds" in told["sentence"]
    arena.run(0.5)
    assert arena.torque == [False] * 5 + [True], "clearing switches nothing on, and nothing off"
    inside = arena.answer(arena.ask("come_inside"))
    assert inside["code"] == "ok", inside
    lifted = arena.go(goal(arena)._replace(lift=goal(arena).lift - 10.0))
    assert (lifted["code"], lifted["holding"]) == ("ok", True)
    assert arena.arm.world.state()["blocks"][0]["held"]
    assert arena.now("stop", cause="asked")["confirmed"] == 6
    arena.run(0.1)
    assert arena.torque == [False] * 5 + [True]


@pytest.mark.parametrize("closed", [True, False], ids=["closed on nothing", "open"])
def test_case_05_a_gripper_that_holds_nothing_is_let_go_with_the_arm(
    make: Make, closed: bool
) -> None:
    arena = make(stop_action="keep_grip").ready()
    assert arena.go(AWAY)["code"] == "ok"
    if closed:
        closing = grip_move(goal(arena), 0.0, 60.0, arena.core.link.limits)
        assert not arena.answer(arena.move(closing, contact=True))["holding"]
    told = arena.now("stop", cause="asked")
    assert "torque is off, confirmed by all 6" in told["sentence"]
    arena.run(0.1)
    assert not any(arena.torque)


def test_case_05_a_kept_grip_is_let_go_when_the_port_was_lost(make: Make) -> None:
    arena = holding(make, stop_action="keep_grip")
    arena.now("stop", cause="asked")
    arena.unplug()
    arena.run(0.2)
    arena.replug()
    arena.run(2.0)
    assert not any(arena.torque), "who knows what has happened meanwhile"


def test_case_05_a_joint_whose_torque_comes_back_is_let_go_and_the_grip_still_kept(
    make: Make,
) -> None:
    arena = holding(make, stop_action="keep_grip")
    arena.now("stop", cause="asked")
    arena.run(0.1)
    arena.arm.servos[1].memory[at.TORQUE_ENABLE] = 1
    arena.run(0.1)
    assert arena.torque == [False] * 5 + [True]


@pytest.mark.parametrize("action", ["keep_grip", "hold"])
def test_case_05_a_gripper_that_went_limp_is_not_confirmed_as_holding(
    make: Make, action: str
) -> None:
    arena = holding(make, stop_action=action)
    arena.arm.servos[5].memory[at.TORQUE_ENABLE] = 0
    told = arena.now("stop", cause="asked")
    assert (told["written"], told["confirmed"]) == (True, 5)
    assert "only 5 of 6 servos confirmed" in told["sentence"]


def test_case_05_a_press_of_the_button_holds_in_the_same_way(make: Make) -> None:
    line = ScriptedLine()
    arena = holding(make, stop_action="hold", line=line, button_required=True)
    before = goal(arena).grip
    line.level = True
    arena.run(3.0)
    assert arena.core.latch.stopped
    assert all(arena.torque)
    assert arena.arm.world.state()["blocks"][0]["held"]
    assert goal(arena).grip == before


def test_case_11_a_start_that_is_given_up_after_torque_on_leaves_no_torque(make: Make) -> None:
    arena = make(exit="release").ready()
    arena.move(arena.program(AWAY))
    arena.until(lambda: any(arena.torque))
    arena.now("goodbye")
    arena.until(lambda: arena.core.finished)
    assert not any(arena.torque)
    assert any("leaves (release)" in note for note in arena.notes)


def test_case_11_a_switching_on_that_fails_half_way_is_taken_back(arena: Arena) -> None:
    number = arena.move(arena.program(AWAY))
    arena.until(lambda: any(arena.torque))
    inject(arena, "brownout id=4")
    inject(arena, "mute id=4")
    answer = arena.answer(number)
    arena.run(1.0)
    assert answer["code"] in ("no_arm", "bus_lost")
    assert "wrist_flex" in answer["sentence"]
    assert not any(arena.torque)


def test_case_13_after_a_fault_in_motion_torque_is_what_the_notes_say(arena: Arena) -> None:
    number = arena.move(arena.program(AWAY, 10.0))
    arena.run(1.0)
    inject(arena, "sensor id=2")
    assert arena.answer(number)["code"] == "servo_fault"
    arena.run(1.0)
    assert all(arena.torque), "it holds where it came to rest"
    assert quick_state(arena.core)["torque"] is True
    assert any("arm sensor: Servo 2 (shoulder_lift)" in note for note in arena.notes)


def test_case_14_parking_begins_at_the_last_goal_not_at_the_sagged_arm(make: Make) -> None:
    arena = make(exit="park").ready()
    arena.go(AWAY)
    arena.run(1.0)
    last = arena.core.conductor.goal_counts
    sagged = arena.core.measured.counts
    assert max(abs(a - b) for a, b in zip(last, sagged, strict=True)) >= 3, "the arm sags"
    before = len(arena.frames)
    arena.now("goodbye")
    arena.until(lambda: len(arena.goals(before)) >= 20)
    tracks = [last, *(tuple(goals.values()) for _, goals in arena.goals(before))]
    steps = [
        max(abs(a - b) for a, b in zip(one, two, strict=True)) for one, two in pairwise(tracks)
    ]
    assert max(steps) <= 9, "no goal jumps: 0.8 degrees a cycle at most"
    arena.until(lambda: arena.core.finished)
    assert not any(arena.torque)


def test_case_30_a_second_of_silence_ends_the_motion_latches_and_heals_by_itself(
    arena: Arena,
) -> None:
    number = arena.move(arena.program(AWAY, 10.0))
    arena.run(1.0)
    inject(arena, "freeze")
    arena.run(1.0)
    assert arena.answer(number)["code"] == "bus_lost"
    inject(arena, "freeze on=false")
    arena.run(4.0)
    assert quick_state(arena.core)["state"] == "ready"
    assert not arena.core.finished
    assert arena.core.latch.cause is not None
    assert arena.core.latch.cause.code == "bus_lost"
    assert not any(arena.torque)


def test_case_28_a_servo_that_stays_away_says_so_once(arena: Arena) -> None:
    inject(arena, "mute id=3")
    arena.run(30.0)
    few = len(arena.notes)
    arena.run(60.0)
    assert len(arena.notes) - few <= 1


def test_case_31_thirty_percent_lost_name_the_servos_and_how_often(arena: Arena) -> None:
    number = arena.move(arena.program(AWAY, 10.0))
    arena.run(1.0)
    inject(arena, "drop rate=0.3")
    answer = arena.answer(number)
    assert answer["code"] == "bus_lost"
    assert "servo 1" in answer["sentence"]
    assert "cycles in a row" in answer["sentence"]
    servos = slow_state(arena.core)["servos"]
    assert all(servo["bus"]["causes"].get("silent", 0) >= 1 for servo in servos.values())


def test_case_38_servos_that_vanish_behind_a_plug_blame_the_cable_not_the_power(
    arena: Arena,
) -> None:
    inject(arena, "break after=2")
    arena.run(3.0)
    told = quick_state(arena.core)["next"]
    assert "Servos 3 to 6 do not answer; found: 1, 2." in told
    assert "the cable after servo 2 (shoulder_lift), second from the base" in told


def test_case_40_12_volts_on_7_volt_servos_name_the_supply_and_switch_nothing_on(
    arena: Arena,
) -> None:
    for servo in arena.arm.servos:
        servo.memory[at.MAX_VOLTAGE] = 80
        servo._decode()
    inject(arena, "unplug")
    arena.run(1.0)
    arena.replug()
    arena.run(3.0)
    answer = arena.now("move", program="")
    assert answer["code"] == "servo_fault"
    assert "12.0 V" in answer["sentence"]
    assert "use a supply of 5 to 7.4 V" in answer["sentence"]
    assert not any(arena.torque)


# --- heat ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("celsius", "limit"), [(27, 200), (54, 200), (55, 200), (56, 190), (60, 150), (64, 110)]
)
def test_case_42_a_warm_gripper_holds_with_less_and_does_not_drop(
    make: Make, celsius: int, limit: int
) -> None:
    arena = holding(make)
    inject(arena, f"heat id=6 celsius={celsius}")
    arena.run(2.0)
    assert torque_limit(arena) == limit
    assert arena.arm.world.state()["blocks"][0]["held"]
    assert arena.core.conductor.grip.holding
    inject(arena, "heat id=6 celsius=27")
    arena.run(1.0)
    assert torque_limit(arena) == 200


@pytest.mark.parametrize(
    ("celsius", "code"), [(54, "ok"), (64, "ok"), (65, "servo_fault"), (70, "servo_fault")]
)
def test_case_42_motion_is_slower_from_55_degrees_and_refused_from_65(
    arena: Arena, celsius: int, code: str
) -> None:
    arena.go(START._replace(pan=1.0))
    begun = arena.clock.monotonic()
    assert arena.go(START._replace(pan=31.0))["code"] == "ok"
    cold = arena.clock.monotonic() - begun
    inject(arena, f"heat id=3 celsius={celsius}")
    arena.run(0.2)
    begun = arena.clock.monotonic()
    assert arena.go(START._replace(pan=1.0))["code"] == code
    warm = arena.clock.monotonic() - begun
    if code == "ok":
        assert warm / cold == pytest.approx(1.0 if celsius <= 55 else 1.7, abs=0.25)


def test_a_hot_arm_is_well_again_only_when_it_has_cooled_by_three_degrees(arena: Arena) -> None:
    inject(arena, "heat id=2 celsius=65")
    arena.run(1.0)
    assert quick_state(arena.core)["state"] == "hot"
    inject(arena, "heat id=2 celsius=62")
    arena.run(4.0)
    assert quick_state(arena.core)["state"] == "hot"
    inject(arena, "heat id=2 celsius=61")
    arena.run(4.0)
    assert quick_state(arena.core)["state"] == "ready"


# --- overload -----------------------------------------------------------------------------------


def test_case_43_an_overloaded_servo_that_falls_silent_gets_guidance_and_power_mends_it(
    arena: Arena,
) -> None:
    arena.go(AWAY)
    inject(arena, "overload id=6")
    arena.run(0.5)
    assert "Servo 6 (gripper) has been overloaded" in quick_state(arena.core)["next"]
    inject(arena, "mute id=6")
    arena.run(3.0)
    told = quick_state(arena.core)["next"]
    assert "Servo 6 (gripper), sixth from the base, does not answer" in told
    assert "overloaded before" in told
    inject(arena, "mute id=6 on=false")
    arena.arm.power_cycle()
    arena.run(4.0)
    assert quick_state(arena.core)["state"] == "ready"


def test_an_overload_is_cleared_by_a_stop_whose_answers_carry_the_bit(arena: Arena) -> None:
    arena.go(AWAY)
    inject(arena, "overload id=3")
    arena.run(0.5)
    assert arena.now("stop", cause="asked")["confirmed"] == 6
    assert not any(arena.torque)
    counters = arena.core.link.counters.snapshot()
    assert counters.servos[3].with_error_bits > 0
    assert counters.servos[3].missed == 0
    clear(arena)
    assert quick_state(arena.core)["state"] == "ready"
    assert arena.answer(arena.ask("come_inside"))["code"] == "ok"


def test_goals_that_a_servo_ignores_are_noticed_without_any_error_bit(arena: Arena) -> None:
    arena.go(AWAY)
    inject(arena, "stuck id=3")
    answer = arena.go(AWAY._replace(elbow=30.0))
    assert answer["code"] == "stalled"
    assert "elbow_flex does not follow" in answer["sentence"]


@pytest.mark.parametrize("reads", [1, 5, 29])
def test_a_spike_of_load_and_current_trips_nothing(arena: Arena, reads: int) -> None:
    number = arena.move(arena.program(AWAY, 20.0))
    arena.run(0.5)
    inject(arena, f"spike id=1 reads={reads}")
    assert arena.answer(number)["code"] == "ok"


def test_case_45_an_old_goal_in_the_gripper_moves_nothing_when_torque_comes_on(
    arena: Arena,
) -> None:
    jaw = arena.arm.servos[5]
    at.put(jaw.memory, at.GOAL_POSITION, 2, 3252)  # wide open
    start, fastest = jaw.motor.position, 0.0
    number = arena.move(arena.program(AWAY))
    while number not in arena.answers:
        arena.step()
        fastest = max(fastest, abs(jaw.motor.velocity))
    assert arena.answers[number]["code"] == "ok"
    assert abs(jaw.motor.position - start) < 12
    assert fastest < 150


def test_case_45_the_first_goals_are_no_further_than_a_cycle_of_the_speed_limit(
    arena: Arena,
) -> None:
    before = len(arena.frames)
    here = arena.core.measured.counts
    arena.go(AWAY)
    tracks = [here, *(tuple(goals.values()) for _, goals in arena.goals(before))]
    limits = [9] * 5 + [13]
    for one, two in pairwise(tracks):
        far = [abs(a - b) for a, b in zip(one, two, strict=True)]
        assert all(step <= most for step, most in zip(far, limits, strict=True)), far


# --- brown-out, supply, settings ----------------------------------------------------------------


def test_after_a_brown_out_in_motion_everything_is_set_up_again_before_the_next(
    arena: Arena,
) -> None:
    number = arena.move(arena.program(AWAY, 10.0))
    arena.run(1.0)
    inject(arena, "brownout id=6")
    assert arena.answer(number)["code"] == "servo_fault"
    jaw = arena.arm.servos[5].memory
    assert (jaw[at.ACCELERATION], at.word(jaw, at.GOAL_VELOCITY), torque_limit(arena)) == (
        0, 0, 1000,
    )  # fmt: skip
    assert arena.core.latch.cause is not None
    assert "supply broke down" in arena.core.latch.cause.sentence
    clear(arena)
    assert arena.answer(arena.ask("come_inside"))["code"] == "ok"
    assert (jaw[at.ACCELERATION], at.word(jaw, at.GOAL_VELOCITY), torque_limit(arena)) == (
        254, 1024, 300,
    )  # fmt: skip
    arena.run(1.0)
    assert quick_state(arena.core)["next"] == ""


def test_a_lost_order_about_the_pace_is_given_again(arena: Arena) -> None:
    arena.go(AWAY)
    at.put(arena.arm.servos[2].memory, at.GOAL_VELOCITY, 2, 150)
    arena.run(4.0)
    assert at.word(arena.arm.servos[2].memory, at.GOAL_VELOCITY) == 1024
    assert not arena.core.latch.stopped


def test_a_sag_in_motion_is_told_once_with_its_minimum(arena: Arena) -> None:
    arena.go(START._replace(pan=3.0))
    arena.run(0.5)
    inject(arena, "sag decivolts=20")
    assert arena.go(AWAY)["code"] == "ok"
    arena.run(0.2)
    told = quick_state(arena.core)["next"]
    assert "The supply fell from 11.9 to 9.9 V in motion" in told
    assert counts(arena)["supply_lowest_v"] == 9.9
    assert sum("The supply fell" in note for note in arena.notes) == 1


@pytest.mark.parametrize(("ticks", "code"), [(2, "ok"), (3, "servo_fault")])
def test_two_low_readings_of_the_voltage_are_a_spike_and_three_end_the_motion(
    arena: Arena, ticks: int, code: str
) -> None:
    number = arena.move(arena.program(AWAY, 20.0))
    arena.run(1.0)
    inject(arena, "voltage decivolts=80")
    for _ in range(ticks):
        arena.step()
    inject(arena, "voltage decivolts=120")
    assert arena.answer(number)["code"] == code


def test_settings_left_unlocked_are_locked_before_the_next_motion(arena: Arena) -> None:
    inject(arena, "unlock id=3")
    arena.run(4.0)
    assert "left unlocked" in quick_state(arena.core)["next"]
    assert arena.answer(arena.ask("come_inside"))["code"] == "ok"
    arena.run(4.0)
    assert arena.arm.servos[2].memory[at.LOCK] == 1
    assert quick_state(arena.core)["next"] == ""


def test_no_motion_starts_on_an_old_reading(arena: Arena) -> None:
    program = arena.program(AWAY)
    inject(arena, "freeze")
    arena.run(0.06)
    before = len(arena.frames)
    answer = arena.answers[arena.move(program)]
    assert answer["code"] == "old_state"
    assert arena.goals(before) == []


# --- positions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("reads", [1, 2, 4])
def test_a_jump_that_is_over_after_a_few_readings_is_never_believed(
    arena: Arena, reads: int
) -> None:
    number = arena.move(arena.program(AWAY, 20.0))
    arena.run(0.5)
    inject(arena, f"encoder_jump id=1 steps=700 reads={reads}")
    seen = []
    while number not in arena.answers:
        arena.step()
        seen.append(arena.pose.pan)
    assert arena.answers[number]["code"] == "ok"
    assert max(abs(a - b) for a, b in pairwise(seen)) < 4.0
    assert counts(arena)["jumps"] == reads


def test_a_limp_arm_that_a_hand_has_moved_is_believed_at_once(arena: Arena) -> None:
    arena.arm.put((60.0, -60.0, 30.0, 30.0, 50.0), 20.0)
    arena.run(0.03)
    assert arena.pose.pan == pytest.approx(60.0, abs=1.0)
    assert not arena.core.latch.stopped


def test_the_others_are_read_on_while_one_is_missing(arena: Arena) -> None:
    inject(arena, "mute id=3")
    arena.run(3.0)
    inject(arena, "heat id=5 celsius=50")
    arena.run(3.0)
    servos = slow_state(arena.core)["servos"]
    assert servos["wrist_roll"]["temperature_c"] == 50
    assert "temperature_c" not in servos["elbow_flex"]
    assert servos["elbow_flex"]["health"] == "missing"
    assert servos["shoulder_lift"]["health"] == "ok"


def test_the_servo_before_the_broken_cable_is_not_the_sick_one(arena: Arena) -> None:
    inject(arena, "break after=3")
    arena.run(3.0)
    servos = slow_state(arena.core)["servos"]
    assert "servo 3 (elbow_flex)" in quick_state(arena.core)["next"]
    assert servos["elbow_flex"]["health"] == "ok"


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    ["late seconds=0.12", "late seconds=0.004", "noise rate=0.5", "extra_ff rate=0.5",
     "truncate rate=0.05", "strange rate=0.05", "corrupt rate=0.05", "echo", "at seconds=5",
     "drop rate=0.05"],
)  # fmt: skip
def test_during_and_after_a_fault_the_core_never_believes_a_place_where_the_arm_is_not(
    arena: Arena, fault: str
) -> None:
    arena.go(START._replace(pan=-40.0))
    number = arena.move(arena.program(START._replace(pan=40.0), 16.0))
    arena.run(0.5)
    inject(arena, fault)
    pan = arena.arm.servos[0]
    for _ in range(600):
        if number in arena.answers:
            break
        arena.step()
        if arena.core.measured.misses == 0 and arena.core.measured.counts:
            believed = arena.core.measured.counts[0]
            assert abs(believed - pan.present_position()) <= 12, fault  # a cycle's way and more
    assert number in arena.answers
