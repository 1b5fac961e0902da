"""Bug reports about other people's servo buses, by their row in our collection of facts.

Rows about ports and calibration stand with the ports and the calibration.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from test_faults import inject

from armlabd.arm.joints import Pose
from armlabd.arm.limits import CEILINGS, tighten
from armlabd.arm.program import Program
from armlabd.bench.arena import START, Arena
from armlabd.bus.errors import NoAnswer
from armlabd.bus.frames import BROADCAST_ID, Instruction
from armlabd.bus.master import Master
from armlabd.bus.registers import REGISTERS, decode_value, encode_value
from armlabd.motion.release import release
from armlabd.motion.state import quick_state, slow_state
from armlabd.sim import memory as at
from armlabd.sim.calibration import calibration_json

AWAY = Pose(40.0, -70.0, 60.0, 60.0, 20.0, 50.0)
Make = Callable[..., Arena]


@pytest.mark.parametrize("rate", [0.01, 0.03])
def test_bus_row_01_corrupt_packets_while_all_joints_move_end_nothing(
    arena: Arena, rate: float
) -> None:
    inject(arena, f"corrupt rate={rate}")
    assert arena.go(AWAY._replace(grip=20.0))["code"] == "ok"
    assert sum(arena.core.link.counters.snapshot().causes.values()) > 0


def test_bus_row_02_one_bad_sync_read_does_not_end_the_loop(arena: Arena) -> None:
    number = arena.move(arena.program(AWAY, 20.0))
    arena.run(0.5)
    inject(arena, "corrupt rate=1")
    arena.step()
    inject(arena, "corrupt rate=0")
    assert arena.answer(number)["code"] == "ok"


def test_bus_row_03_a_read_that_times_out_is_counted_and_the_next_one_is_believed(
    arena: Arena,
) -> None:
    inject(arena, "freeze")
    arena.run(0.03)
    inject(arena, "freeze on=false")
    arena.run(0.1)
    assert quick_state(arena.core)["state"] == "ready"
    assert arena.core.measured.age_s(arena.clock.monotonic()) < 0.03


def test_bus_row_04_servos_in_alarm_are_named_before_anything_is_tried(make: Make) -> None:
    arena = make()
    inject(arena, "voltage decivolts=150")
    arena.run(2.0)
    assert "The supply is too high" in quick_state(arena.core)["next"]
    assert "3.10" in slow_state(arena.core)["counters"]["firmware"]


def test_bus_row_06_a_deadline_comes_from_the_bytes_so_that_six_blocks_fit(arena: Arena) -> None:
    for servo in arena.arm.servos:
        servo.memory[at.RETURN_DELAY] = 250  # half a millisecond each
    arena.run(1.0)
    assert arena.core.measured.misses == 0
    assert quick_state(arena.core)["state"] == "ready"


def test_bus_row_07_found_missing_and_extra_ids_are_listed(make: Make) -> None:
    arena = make()
    arena.arm.servos[0].memory[at.ID] = 8
    arena.run(3.0)
    told = quick_state(arena.core)["next"]
    assert "Servo 1 (shoulder_pan), first from the base, does not answer" in told
    assert "found: 2, 3, 4, 5, 6" in told
    assert "Unexpected ids on the bus: 8" in told


def test_bus_row_08_a_servo_never_seen_at_a_low_supply_blames_the_power_and_resets_are_counted(
    make: Make,
) -> None:
    arena = make()
    arena.arm.set_supply(50)
    inject(arena, "mute id=4")
    arena.run(2.0)
    assert "have only 5.0 V: the power supply is off" in quick_state(arena.core)["next"]
    before = slow_state(arena.core)["counters"]["connects"]
    for _ in range(3):
        arena.unplug()
        arena.run(1.0)
        arena.replug()
        arena.run(3.0)
    assert slow_state(arena.core)["counters"]["connects"] - before == 3


def test_bus_row_16_and_17_negative_values_are_sign_and_magnitude() -> None:
    offset, speed = REGISTERS["homing_offset"], REGISTERS["present_velocity"]
    assert encode_value(offset, -85) == b"\x55\x08"
    assert decode_value(speed, b"\x64\x80") == -100


def test_bus_row_23_load_temperature_and_errors_are_told_per_joint(arena: Arena) -> None:
    arena.go(AWAY)
    inject(arena, "overload id=2")
    arena.run(0.6)
    lift = slow_state(arena.core)["servos"]["shoulder_lift"]
    assert lift["error"] == ["overload"]
    assert {"load_percent", "temperature_c", "current_a", "voltage_v"} <= set(lift)


@pytest.mark.parametrize("dead", [1, 3, 6])
def test_bus_row_25_one_dead_servo_keeps_none_of_the_others_stiff(arena: Arena, dead: int) -> None:
    arena.go(AWAY)
    inject(arena, f"mute id={dead}")
    result = arena.now("stop")
    assert result["confirmed"] == 5
    assert not any(arena.torque), "the mute one hears all the same"
    assert "confirmed" in arena.core.lane.sentence


def test_bus_row_26_and_27_a_helper_makes_the_arm_limp_when_its_owner_is_gone(
    arena: Arena,
) -> None:
    arena.go(AWAY)
    result = release(arena.open, arena.clock)
    assert (result.confirmed, any(arena.torque)) == (6, False)


def test_bus_row_28_and_29_a_gripper_never_pushes_beyond_its_cap_for_long(arena: Arena) -> None:
    arena.go(AWAY)
    assert at.word(arena.arm.servos[5].memory, at.TORQUE_LIMIT) == 300
    inject(arena, "jam id=6")
    answer = arena.go(AWAY._replace(grip=10.0))
    assert answer["code"] == "stalled"
    arena.run(10.0)
    assert not arena.arm.servos[5].error_bits
    assert abs(arena.arm.servos[5].motor.duty) < 0.3


def test_bus_row_30_an_arm_that_meets_an_obstacle_stops_pushing(arena: Arena) -> None:
    arena.go(AWAY)
    inject(arena, "jam id=1")
    assert arena.go(START)["code"] == "stalled"
    arena.run(5.0)
    assert abs(arena.arm.servos[0].motor.duty) < 0.2


def test_bus_row_32_the_firmware_of_the_servos_is_on_record(arena: Arena) -> None:
    assert slow_state(arena.core)["counters"]["firmware"] == ["3.10"]


@pytest.mark.parametrize(("highest", "volts"), [(80, 120), (140, 50)])
def test_bus_row_35_a_supply_that_does_not_fit_hides_no_servo(
    make: Make, highest: int, volts: int
) -> None:
    arena = make()
    for servo in arena.arm.servos:
        servo.memory[at.MAX_VOLTAGE] = highest
        servo._decode()
    arena.arm.set_supply(volts)
    arena.run(2.0)
    state = quick_state(arena.core)
    assert (state["state"], state["connected"]) == ("voltage", True)
    assert f"sees {volts / 10:.1f} V" in state["next"]
    assert slow_state(arena.core)["counters"]["found"] == [1, 2, 3, 4, 5, 6]
    assert not any(arena.torque)


def test_bus_row_36_the_lowest_voltage_in_motion_is_on_record(arena: Arena) -> None:
    arena.go(AWAY)
    counters = slow_state(arena.core)["counters"]
    assert 11.0 < counters["supply_lowest_v"] <= 12.0


def test_bus_row_43_a_stop_is_read_back_from_register_40(arena: Arena) -> None:
    arena.go(AWAY)
    before = len(arena.frames)
    arena.now("stop")
    asked = [
        params
        for _, id, instruction, params in arena.frames[before:]
        if id == BROADCAST_ID and instruction == Instruction.SYNC_READ
    ]
    assert any(params[0] == at.TORQUE_ENABLE for params in asked)


def test_bus_row_44_a_bring_up_that_fails_leaves_nothing_switched_on(make: Make) -> None:
    arena = make()
    inject(arena, "mute id=5")
    arena.run(3.0)
    assert not any(arena.torque)
    written = {Instruction.WRITE, Instruction.SYNC_WRITE, Instruction.REG_WRITE}
    assert not [row for row in arena.frames if row[2] in written]


def test_bus_row_45_torque_comes_on_at_the_present_place_and_gently(arena: Arena) -> None:
    for servo in arena.arm.servos:
        at.put(servo.memory, at.GOAL_POSITION, 2, 100)
    before = [servo.motor.position for servo in arena.arm.servos]
    arena.move(arena.program(AWAY))
    arena.until(lambda: all(arena.torque))
    after = [servo.motor.position for servo in arena.arm.servos]
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) < 40


def test_bus_row_51_a_sick_servo_does_not_block_the_others(arena: Arena) -> None:
    servos = arena.core.link.servos
    assert servos is not None
    inject(arena, "mute id=2")
    found = servos.master.sync_read((1, 2, 3, 4, 5, 6), 56, 15)
    assert sorted(found) == [1, 3, 4, 5, 6]
    assert found.no_answer is not None
    assert found.no_answer.ids == (2,)


def test_bus_row_52_targets_that_jump_are_refused_not_followed(arena: Arena) -> None:
    arena.go(AWAY)
    program = arena.program(START)
    torn = Program((program.points[0], program.points[-1]))
    before = len(arena.frames)
    answer = arena.answer(arena.move(torn))
    assert answer["code"] == "too_fast"
    assert arena.goals(before) == []


def test_bus_row_53_the_duty_of_the_pwm_mode_has_its_sign_in_bit_10() -> None:
    assert encode_value(REGISTERS["goal_time"], -100) == (100 | 1 << 10).to_bytes(2, "little")


def test_the_bus_names_a_servo_behind_the_broken_cable_and_reads_the_one_before(
    arena: Arena,
) -> None:
    inject(arena, "break after=4")
    master = Master(arena.open(), arena.clock)
    with pytest.raises(NoAnswer, match="Servo 5 did not answer"):
        master.ping(5)
    assert master.ping(4).error_bits == 0


def test_bus_row_08_a_servo_that_vanishes_on_a_weak_supply_is_put_down_to_power(
    make: Make,
) -> None:
    arena = make()
    inject(arena, "voltage decivolts=42")
    inject(arena, "mute id=4")
    arena.run(2.0)
    told = quick_state(arena.core)["next"]
    assert "Servo 4 (wrist_flex)" in told
    assert "only 4.2 V" in told
    assert "power" in told


def test_bus_row_15_a_position_below_zero_is_a_few_steps_not_32768() -> None:
    position = REGISTERS["present_position"]
    assert decode_value(position, b"\x0a\x80") == -10
    assert decode_value(position, b"\x00\x80") == 0


def test_bus_row_21_a_joint_without_a_range_is_refused_before_anything_is_divided_by_it(
    make: Make,
) -> None:
    file = json.loads(calibration_json())
    file["elbow_flex"]["range_max"] = file["elbow_flex"]["range_min"]
    arena = make(calibration=json.dumps(file))
    arena.run(2.0)
    told = " ".join(arena.notes)
    assert "elbow_flex" in told
    assert "the calibration cannot be used" in told
    assert arena.now("come_inside")["code"] == "not_calibrated"


@pytest.mark.parametrize("speed", [10, 10.0])
def test_bus_row_33_a_whole_number_is_a_number(make: Make, speed: float) -> None:
    limits = tighten(CEILINGS, speed_dps=speed).as_dict()
    arena = make(limits=limits, speed_dps=speed, tolerance_deg=1, settle_s=1).ready()
    assert arena.go(START._replace(pan=5), speed)["code"] == "ok"


def test_bus_row_35_12_volts_on_a_servo_for_7_name_the_supply_and_hide_no_id(make: Make) -> None:
    arena = make()
    arena.arm.servos[2].memory[at.MAX_VOLTAGE] = 80
    arena.run(2.0)
    told = quick_state(arena.core)["next"]
    assert "12.0 V" in told
    assert arena.core.link.found == (1, 2, 3, 4, 5, 6)
    assert not any(arena.torque)


@pytest.mark.parametrize("gain", [16, 32])
def test_bus_row_50_an_arm_stands_still_at_rest_whatever_the_gain(make: Make, gain: int) -> None:
    arena = make()
    for servo in arena.arm.servos:
        servo.eeprom[at.P_GAIN] = gain
        servo.power_up()
    arena.ready()
    arena.go(AWAY)
    sent, counts = arena.core.conductor.goals_sent, arena.core.measured.counts
    for _ in range(300):
        arena.run(0.01)
        seen = zip(counts, arena.core.measured.counts, strict=True)
        assert max(abs(a - b) for a, b in seen) <= 1
    assert arena.core.conductor.goals_sent == sent, "nothing hunts"
