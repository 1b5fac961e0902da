"""Every fault, at rest and in motion: state, cause, words, counters, and the way back.

A row reads: what a person types at the virtual arm; then at rest the state, the code of the next
motion and words of `next`; then in motion the state after it, the code of the motion's answer,
words of its sentence and the cause of the stop, if it stops the arm; then what each servo says of
its health, and what was counted. `a|b` means either: the dice of the wire decide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from armlabd.arm.joints import Pose
from armlabd.bench.arena import START, Arena
from armlabd.motion.state import quick_state, slow_state
from armlabd.sim.commands import Commands, parse_line
from armlabd.sim.fault_commands import FAULTS

AWAY = Pose(40.0, -70.0, 60.0, 60.0, 20.0, 50.0)
Make = Callable[..., Arena]
OK = "ok"
LOST = "lossy|servos_missing|disconnected|starting"
BAD = "lossy|servos_missing"  # a servo may keep silent five times by chance
GONE = "no_arm|bus_lost"
ANY = "ok|missing|unknown|lossy|servos_missing"
DAMAGED = ("misses", "noise_bytes")


class Row(NamedTuple):
    fault: str
    rest_state: str
    rest_code: str
    rest_words: str
    motion_state: str
    motion_code: str
    motion_words: str
    latch: str | None = None
    health: str = OK
    servo: str = "elbow_flex"
    counted: tuple[str, ...] = ()


TABLE = (
    # --- the line: whom it hits, the others are read on
    Row("mute id=3", "servos_missing", GONE, "Servo 3 (elbow_flex), third from the base",
        "servos_missing", "bus_lost", "Servo 3 (elbow_flex), third from the base", "bus_lost",
        "missing", counted=("misses",)),
    Row("break after=3", "servos_missing", GONE, "cable after servo 3 (elbow_flex), third",
        "servos_missing", "bus_lost", "cable after servo 3 (elbow_flex)", "bus_lost",
        "missing", "gripper", ("misses",)),
    Row("break after=5", "servos_missing", GONE, "Servo 6 (gripper), sixth from the base",
        "servos_missing", "bus_lost", "Servo 6 (gripper), sixth", "bus_lost",
        "missing", "gripper", ("misses",)),
    Row("duplicate id=3", "duplicate_id", GONE, "as when two servos have the id 3",
        "lossy|duplicate_id", "bus_lost", "as when two servos have one id", "bus_lost",
        "missing|unknown|duplicate_id", counted=DAMAGED),
    Row("freeze", LOST, GONE, "None of the six servos answers",
        LOST, "bus_lost", "The servos stopped answering", "bus_lost", "missing",
        counted=("misses",)),
    # --- the line: one in a hundred never ends anything, three in ten do
    Row("drop rate=0.01", "ready", OK, "", "ready", OK, "Arrived", counted=("misses",)),
    Row("corrupt rate=0.01", "ready", OK, "", "ready", OK, "Arrived", counted=DAMAGED),
    Row("truncate rate=0.01", "ready", OK, "", "ready", OK, "Arrived", counted=DAMAGED),
    Row("strange rate=0.01", "ready", OK, "", "ready", OK, "Arrived",
        counted=("misses", "stray_frames")),
    Row("drop rate=0.3", "lossy", GONE, "", "lossy", "bus_lost", "cycles in a row", "bus_lost",
        ANY, counted=("misses",)),
    Row("corrupt rate=0.3", BAD, GONE, "", BAD, "bus_lost", "cycles in a row", "bus_lost",
        ANY, counted=DAMAGED),
    Row("truncate rate=0.3", BAD, GONE, "", BAD, "bus_lost", "cycles in a row", "bus_lost",
        ANY, counted=DAMAGED),
    Row("strange rate=0.3", "lossy", GONE, "", "lossy", "bus_lost", "cycles in a row", "bus_lost",
        ANY, counted=("misses", "stray_frames")),
    Row("garbage seconds=60", f"{LOST}|wrong_device", GONE, "",
        f"{LOST}|wrong_device", "bus_lost", "cycles in a row", "bus_lost",
        ANY, counted=(*DAMAGED, "discarded_bytes")),
    # --- the line: what costs nothing but a few readings
    Row("noise", "ready", OK, "", "ready", OK, "Arrived", counted=("noise_bytes",)),
    Row("extra_ff", "ready", OK, "", "ready", OK, "Arrived", counted=("noise_bytes",)),
    Row("late seconds=0.12", "ready", OK, "", "ready", OK, "Arrived",
        counted=("misses", "stray_frames|discarded_bytes")),
    Row("echo", "ready", OK, "The adapter sends every request back", "ready", OK, "Arrived",
        counted=("echoes",)),
    Row("at seconds=60", "ready", OK, "Another program writes AT commands", "ready", OK, "Arrived",
        counted=("foreign", "misses")),
    # --- the plug
    Row("unplug", "absent|disconnected", GONE, "Plug in the arm's USB board",
        "absent|disconnected", "bus_lost", "The motion was given up", "bus_lost", "unknown"),
    # --- power
    Row("voltage decivolts=75", "voltage", "servo_fault", "12 V servo and takes 9.0 to 14.0 V",
        "voltage", "servo_fault", "use a supply of 12 V", None, "voltage", "shoulder_pan"),
    Row("voltage decivolts=145", "voltage", "servo_fault", "The supply is too high",
        "voltage", "servo_fault", "The supply is too high", None, "voltage"),
    Row("sag decivolts=20", "ready", OK, "", "ready", OK, "Arrived"),
    Row("sag decivolts=60", "ready", "servo_fault", "",
        "voltage|ready", "servo_fault", "The supply is missing or too weak", None,
        "voltage|ok", "shoulder_pan"),
    Row("brownout id=3", "ready", "too_fast|path_blocked|ok", "Servo 3 (elbow_flex) started anew",
        "ready", "servo_fault", "Servo 3 (elbow_flex) started anew after a short loss of power",
        "brown_out", "restarted"),
    Row("brownout", "ready", "too_fast|path_blocked|ok", "All servos started anew",
        "ready", "servo_fault", "All servos started anew", "brown_out", "restarted"),
    # --- one servo
    Row("overload id=3", "overload", "servo_fault", "takes goals and ignores them",
        "overload", "stalled", "elbow_flex gave way (overload)", None, "overload"),
    Row("overcurrent id=3", "overcurrent", "servo_fault", "has drawn too much current",
        "overcurrent", "stalled", "elbow_flex gave way (current)", None, "overcurrent"),
    Row("heat id=6 celsius=58", "ready", OK, "has 58 degrees: the arm moves slower",
        "ready", OK, "Arrived", None, "warm", "gripper"),
    Row("heat id=6 celsius=66", "hot", "servo_fault", "has 66 degrees; motion is refused from 65",
        "hot", "servo_fault", "Let it cool down", None, "hot", "gripper"),
    Row("sensor id=3", "sensor", "servo_fault", "a fault of its angle sensor",
        "sensor", "servo_fault", "position cannot be trusted", None, "sensor"),
    Row("encoder_jump id=3 steps=600", "ready", OK, "", "ready", OK, "Arrived",
        counted=("jumps",)),
    Row("encoder_jump id=3 steps=600 reads=-1", "ready|encoder", "stopped", "",
        "encoder", "servo_fault", "Servo 3 (elbow_flex) jumped by", "encoder",
        "encoder|ok", counted=("jumps",)),
    Row("spike id=3 reads=20", "ready", OK, "", "ready", OK, "Arrived"),
    Row("stuck id=1", "ready", "stalled", "", "ready", "stalled", "shoulder_pan does not follow"),
    Row("jam id=1", "ready", "stalled", "", "ready", "stalled", "shoulder_pan does not follow"),
    Row("phase id=3", "multi_turn", "servo_fault", "set to count several turns",
        "multi_turn", "servo_fault", "Clear bit 4 of register 18", None, "multi_turn"),
    Row("unlock id=3", "ready", OK, "settings were left unlocked", "ready", OK, "Arrived", None,
        "unlocked"),
    Row("offset id=3 steps=340", "calibration_differs", "not_calibrated",
        "elbow_flex holds homing_offset (31) 340 instead of 331",
        "calibration_differs", "not_calibrated", "homing_offset (31) 340 instead of 331", None,
        "calibration_differs"),
    Row("offset id=3 steps=-500", "calibration_differs", "stopped", "(31) -500 instead of 331",
        "calibration_differs", "not_calibrated", "Nothing was changed", "encoder",
        "calibration_differs|unknown"),
)  # fmt: skip
BY_FAULT = {row.fault: row for row in TABLE}
UNTOLD = {"replug", "healthy"}  # ends of faults


def said(text: str) -> list[str]:
    return text.split("|")


def inject(arena: Arena, line: str) -> None:
    if line == "unplug":
        arena.unplug()
        return
    answer = Commands(arena.arm, arena.cable, lambda: None).handle(parse_line(line))
    assert answer["ok"], answer


AT_REST_S = 1.5  # after a second nothing counts as motion any more


def counts(arena: Arena) -> dict[str, Any]:
    counters = slow_state(arena.core)["counters"]
    return {**counters, "misses": sum(counters["misses"].values())}


def judge(arena: Arena, row: Row, before: dict[str, Any]) -> None:
    """Counters, the sick servo's own words, and that nothing but it is ill."""
    after = counts(arena)
    for name in row.counted:
        assert any(after[one] > before[one] for one in said(name)), name
    servos = slow_state(arena.core)["servos"]
    assert servos[row.servo]["health"] in said(row.health), servos[row.servo]
    assert all("bus" in servo for servo in servos.values())


def at_rest(make: Make, row: Row) -> Arena:
    arena = make().ready()
    assert arena.go(START._replace(pan=3.0))["code"] == OK
    arena.run(AT_REST_S)
    inject(arena, row.fault)
    arena.run(4.0)
    return arena


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.fault)
def test_at_rest_a_fault_has_a_state_words_and_counters_and_the_next_motion_a_cause(
    make: Make, row: Row
) -> None:
    arena = make().ready()
    assert arena.go(START._replace(pan=3.0))["code"] == OK
    arena.run(AT_REST_S)
    before = counts(arena)
    inject(arena, row.fault)
    arena.run(4.0)
    # Garbage lets the six through now and then: for a moment they are ready.
    arena.until(lambda: quick_state(arena.core)["state"] in said(row.rest_state), 0.5)
    state = quick_state(arena.core)
    assert state["state"] in said(row.rest_state), state["next"]
    assert row.rest_words in state["next"]
    judge(arena, row, before)
    known = arena.core.measured.pose is not None
    answer = arena.answer(
        arena.move(arena.program(AWAY)) if known else arena.ask("move", program="")
    )
    assert answer["code"] in said(row.rest_code), answer
    if answer["code"] not in (OK, "stopped", "too_fast", "stalled", "path_blocked"):
        assert row.rest_words in answer["sentence"]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.fault)
def test_in_motion_a_fault_ends_it_or_not_and_says_why(make: Make, row: Row) -> None:
    arena = make().ready()
    arena.run(0.2)
    before = counts(arena)
    number = arena.move(arena.program(AWAY, 10.0))
    arena.run(1.0)
    inject(arena, row.fault)
    answer = arena.answer(number)
    arena.run(0.5)
    assert answer["code"] in said(row.motion_code), answer
    assert row.motion_words in answer["sentence"]
    state = quick_state(arena.core)
    assert state["state"] in said(row.motion_state), state["next"]
    assert state["stop"].get("cause") == row.latch
    if row.latch:
        assert len(state["stop"]["sentence"]) > 30
        hear = [s for s in arena.arm.bus.listening if row.fault not in ("freeze", "unplug")]
        assert not any(servo.torque_on for servo in hear)
    judge(arena, row, before)
    if answer["code"] != OK:
        quiet = len(arena.frames)
        arena.run(1.0)
        assert arena.goals(quiet) == [], "no goal leaves after the end"


@pytest.mark.parametrize(
    "row", [row for row in TABLE if not row.fault.startswith("offset")], ids=lambda row: row.fault
)
def test_after_the_fault_a_person_stops_clears_and_the_arm_moves_again(
    make: Make, row: Row
) -> None:
    arena = at_rest(make, row)
    if row.fault == "unplug":
        arena.replug()
    else:
        inject(arena, "healthy")
    if row.fault.startswith("heat"):
        arena.arm.servos[5].motor.temperature_c = 40.0
    arena.run(5.0)
    assert arena.now("stop", cause="asked", by="a person")["confirmed"] == 6
    arena.run(2.0)
    assert arena.answer(arena.ask("clear", by="a person", role="operator"))["code"] == OK
    arena.run(0.1)
    assert quick_state(arena.core)["state"] == "ready", quick_state(arena.core)["next"]
    assert arena.answer(arena.ask("come_inside"))["code"] == OK
    assert arena.go(AWAY)["code"] == OK
    servos = slow_state(arena.core)["servos"]
    assert {servo["health"] for servo in servos.values()} <= {"ok", "unlocked"}


def test_every_fault_that_can_be_typed_stands_in_the_table() -> None:
    told = {fault.split()[0] for fault in BY_FAULT}
    assert told == set(FAULTS) - UNTOLD
