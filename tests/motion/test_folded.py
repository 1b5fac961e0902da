"""The right arm resting folded far outside its swept range comes back inside, and gently."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from armlabd.arm.joints import JOINT_NAMES
from armlabd.arm.program import Program
from armlabd.bench.arena import Arena
from armlabd.motion.guard import violation
from armlabd.sim import calibration as cal
from armlabd.sim.arm import VirtualArm
from armlabd.sim.world import World

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/calibrations.json").read_text())
RAW = VECTORS["folded_past_the_swept_range_raw"]
GENTLE_DPS = (
    20.0  # of any joint on the way: 10 by program, 13 while torque comes on, and catching up
)


def folded_arm(name: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Arena:
    """An arm that carries a published calibration, limp where a folded one was found."""
    file = VECTORS["files"][name]
    specs = tuple(cal.JointSpec(**file[joint]) for joint in JOINT_NAMES)
    monkeypatch.setattr(cal, "SPECS", specs)
    arm = VirtualArm(World(blocks=()), now_s=100.0, sag=False)
    arm._ends = ((-9e9, 9e9),) * 6
    for spec, servo, joint in zip(specs, arm.servos, JOINT_NAMES, strict=True):
        servo.motor.place(RAW[joint] + spec.homing_offset)
        arm._in_hand[JOINT_NAMES.index(joint)] = servo.motor.position
    return Arena(folder, arm=arm, calibration=json.dumps(file)).ready()


@pytest.mark.parametrize("name", VECTORS["files"])
def test_an_arm_folded_past_its_swept_range_is_brought_inside_gently(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arena = folded_arm(name, monkeypatch, tmp_path)
    assert violation(arena.pose, arena.core.link.limits)
    fastest, weak = 0.0, set[float]()
    number, before = arena.ask("come_inside"), arena.arm.shown_deg()
    while number not in arena.answers:
        arena.run(0.1)
        now = arena.arm.shown_deg()
        moved = (abs(b - a) for a, b in zip(before[:5], now[:5], strict=True))
        fastest, before = max(fastest, *moved), now
        if arena.torque[0] and arena.core.conductor.goal is None:
            weak.add(round(arena.arm.servos[1].drive.limit, 3))
    # Switched on beyond their limits the servos turn back by themselves; then the rest is planned.
    assert arena.answers[number]["code"] == "ok"
    assert "turned back into their range by themselves" in arena.answers[number]["sentence"]
    assert violation(arena.pose, arena.core.link.limits) == ()
    assert weak == {0.4}, "what no program has looked at is done with little power"
    assert arena.arm.servos[1].drive.limit == 1.0
    assert fastest / 0.1 < GENTLE_DPS


def test_a_stop_ends_the_turning_back_and_the_next_motion_has_full_power_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arena = folded_arm(next(iter(VECTORS["files"])), monkeypatch, tmp_path)
    number = arena.ask("come_inside")
    arena.until(lambda: arena.torque[1])
    arena.run(1.0)
    assert arena.now("stop")["confirmed"] == 6
    assert not any(arena.torque)
    assert arena.answers[number]["code"] == "stopped"
    arena.ask("clear", by="a person", role="operator")
    arena.run(0.1)
    arena.arm.put((0.0, -90.0, 60.0, 60.0, 0.0), 50.0)
    arena.run(0.1)
    assert arena.answer(arena.ask("come_inside"))["code"] == "ok"
    assert {servo.drive.limit for servo in arena.arm.servos[:5]} == {1.0}


def test_a_program_of_somebody_else_is_not_planned_anew_for_a_folded_arm(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arena = folded_arm(next(iter(VECTORS["files"])), monkeypatch, tmp_path)
    answer = arena.answer(arena.move(Program((arena.pose,))))
    assert answer["code"] in ("old_state", "joint_limit")
