from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.clock import VirtualClock
from armlabd.sim.arm import VirtualArm
from armlabd.sim.camera_process import Shot, answer_line
from armlabd.sim.commands import CommandError, Commands, parse_line
from armlabd.sim.inprocess import InProcessCable
from armlabd.sim.world import World


class Desk:
    def __init__(self) -> None:
        self.arm = VirtualArm(World())
        self.cable = InProcessCable(self.arm, VirtualClock())
        self.left = False
        self.commands = Commands(self.arm, self.cable, self._leave)

    def _leave(self) -> None:
        self.left = True

    def say(self, line: str) -> dict[str, Any]:
        return self.commands.handle(parse_line(line))


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_words_and_json_say_the_same() -> None:
    assert parse_line('place label="red block" x=0.2 y=-0.05') == parse_line(
        '{"cmd": "place", "label": "red block", "x": 0.2, "y": -0.05}'
    )


@pytest.mark.parametrize("line", ["{", "[1]", '"', "mute 3", '{"cmd": }'])
def test_a_line_that_cannot_be_read_says_why(line: str) -> None:
    if line == "[1]":
        assert parse_line(line) == {"cmd": "[1]"}
        return
    with pytest.raises(CommandError):
        parse_line(line)


def test_state_tells_the_truth(desk: Desk) -> None:
    state = desk.say("state")
    assert state["ok"]
    assert state["joints_deg"] == pytest.approx([0, -90, 86, 66, 0])
    assert state["torque"] == [False] * 6
    assert {block["label"] for block in state["blocks"]} == {
        "red block", "green block", "blue block",
    }  # fmt: skip
    assert state["in_bin"] == []
    json.dumps(state)


def test_blocks_are_placed_removed_and_reset(desk: Desk) -> None:
    assert desk.say('place label="red block" x=0.18 y=0.03 yaw_deg=30') == {"ok": True}
    red = desk.say("state")["blocks"][0]
    assert (red["x"], red["y"], red["yaw_deg"]) == (0.18, 0.03, 30)
    assert desk.say('remove label="red block"')["ok"]
    assert not desk.say('remove label="red block"')["ok"]
    assert desk.say("""reset blocks='[{"label":"blue block","x":0.2,"y":0.0}]'""")["ok"]
    assert len(desk.say("state")["blocks"]) == 1
    assert desk.say("reset")["ok"]
    assert len(desk.say("state")["blocks"]) == 3


def test_the_arm_is_put_limp_in_a_pose(desk: Desk) -> None:
    assert desk.say("limp joints_deg=[10,-80,60,50,5] gripper_percent=40")["ok"]
    state = desk.say("state")
    assert state["joints_deg"] == pytest.approx([10, -80, 60, 50, 5])
    assert state["gripper_percent"] == pytest.approx(40)


@pytest.mark.parametrize(
    "line",
    [
        "limp joints_deg=[1,2]", "limp joints_deg=[1,2,3,4,true]", "limp",
        "mute", "mute id=true", "mute id=-1", "mute id=3 on=7", "drop rate=1.1", "drop rate=NaN",
        "late seconds=-1", "voltage decivolts=251", "overload id=9", "place label=7 x=0 y=0",
        "place label=cube x=0.2 y=0", "reset blocks=3", "frames since=-1", "nonsense",
        '{"cmd": "fault", "kind": "nonsense"}', '{"cmd": "fault"}', '{"cmd": 7}', "{}",
    ],
)  # fmt: skip
def test_a_wrong_request_is_refused_with_a_sentence_and_changes_nothing(
    desk: Desk, line: str
) -> None:
    before = desk.say("state")
    answer = desk.say(line)
    assert answer["ok"] is False
    assert len(answer["error"]) > 20
    assert desk.say("state") == before


@pytest.mark.parametrize(("rate", "ok"), [(0, True), (1, True), (-0.01, False), (1.01, False)])
def test_the_ends_of_a_rate_are_inside(desk: Desk, rate: float, ok: bool) -> None:
    assert desk.say(f"drop rate={rate}")["ok"] is ok


def test_every_fault_can_be_typed_and_ended(desk: Desk) -> None:
    faults = desk.arm.bus.faults
    for line in ("mute id=3", "drop rate=0.5", "corrupt rate=0.5", "noise", "late seconds=0.1",
                 "freeze", "voltage decivolts=50", "overload id=2"):  # fmt: skip
        assert desk.say(line) == {"ok": True}, line
    assert faults.muted == {3}
    assert (faults.drop_rate, faults.corrupt_rate, faults.noise_rate) == (0.5, 0.5, 1.0)
    assert (faults.late_s, faults.late_once, faults.frozen) == (0.1, True, True)
    assert desk.say("state")["error_bits"] == [0, 0x20, 0, 0, 0, 0]
    desk.say("healthy")
    assert faults.muted == set()
    assert not faults.frozen
    assert desk.say('{"cmd": "fault", "kind": "drop_rate", "rate": 0.25}')["ok"]
    assert faults.drop_rate == 0.25


def test_a_low_supply_raises_the_voltage_bit(desk: Desk) -> None:
    desk.say("voltage decivolts=39")
    assert desk.say("state")["error_bits"] == [1] * 6
    desk.say("voltage decivolts=120")
    assert desk.say("state")["error_bits"] == [0] * 6


def test_a_jammed_joint_stalls_under_load_until_it_is_set_free(desk: Desk) -> None:
    pan = desk.arm.servos[0]
    desk.say("jam id=1")
    pan.write(42, (2500).to_bytes(2, "little"))
    pan.write(40, b"\x01")
    desk.arm.advance(1.0)
    assert pan.present_position() == 2048
    assert abs(pan.motor.duty) == 1.0
    desk.say("jam id=1 on=false")
    desk.arm.advance(2.0)
    assert abs(pan.present_position() - 2500) <= 1
    assert not desk.say("jam id=9")["ok"]


def test_unplug_replug_power_cycle_and_quit(desk: Desk) -> None:
    desk.say("unplug")
    assert not desk.cable.plugged
    desk.say("replug")
    assert desk.cable.plugged
    desk.arm.servos[0].write(40, b"\x01")
    desk.say("power_cycle")
    assert desk.say("state")["torque"] == [False] * 6
    desk.say("quit")
    assert desk.left


def test_frames_are_listed_since_a_number(desk: Desk) -> None:
    desk.arm.bus.feed(bytes.fromhex("fffffe04032800d2"), 1.0)
    (stamp,) = desk.say("frames")["frames"]
    assert stamp["kind"] == "torque_off"
    assert desk.say(f"frames since={stamp['seq']}")["frames"] == []
    assert desk.say("frames kind=goal")["frames"] == []


def test_help_names_every_command(desk: Desk) -> None:
    known = desk.say("help")["commands"]
    assert {"mute", "state", "place", "unplug", "frames", "quit"} <= set(known)
    assert all(known.values())


def test_a_picture_is_a_json_line_of_raw_bytes(desk: Desk) -> None:
    joints, jaw = desk.arm.true_deg()
    line = answer_line(Shot(desk.arm.world, joints, jaw, 1, True, 7.0))
    assert line.endswith(b"\n")
    answer = json.loads(line)
    assert (answer["width"], answer["height"], answer["taken_s"]) == (640, 480, 7.0)
    assert len(answer["bgr"]) == 640 * 480 * 3 * 4 // 3


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=80))
def test_any_line_is_answered(line: str) -> None:
    try:
        request = parse_line(line)
    except CommandError:
        return
    answer = Desk().commands.handle(request)
    assert answer["ok"] in (True, False)
