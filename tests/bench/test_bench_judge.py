"""The judge of the goal suite sees what is unsafe, and right and wrong endings, by itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from armlabd.arm.joints import HOME
from armlabd.bench.arena import Arena
from armlabd.bench.ending import Outcome, Truth, disturbed, wrong
from armlabd.bench.goals import End, Goal, Pick
from armlabd.bench.goals.scenes import Laid
from armlabd.bench.judge import Judge
from armlabd.bus.frames import BROADCAST_ID, Instruction
from armlabd.sim import calibration as cal
from armlabd.sim.blocks import Block
from armlabd.sim.world import World
from armlabd.verdict import Code

HOME_DEG = tuple(HOME[:5])
BLOCKS = ("red block", "green block")


def arena(folder: Path, *blocks: Block) -> Arena:
    """An arm that holds itself, at home."""
    made = Arena(folder, world=World(blocks=blocks)).ready()
    made.go(HOME._replace(grip=50.0))
    return made


def sent(made: Arena, goals: dict[int, int]) -> None:
    """A frame with goals on the wire, as whoever is not the core would write it."""
    body = b"".join(bytes([id]) + goal.to_bytes(2, "little") for id, goal in goals.items())
    row = (made.clock.monotonic(), BROADCAST_ID, Instruction.SYNC_WRITE, b"\x2a\x02" + body)
    made.frames.append(row)


def goals_at(joints: tuple[float, ...], percent: float = 50.0) -> dict[int, int]:
    degrees = (*joints, cal.jaw_degrees(percent))
    shown = enumerate(zip(cal.SPECS, degrees, strict=True))
    return {
        spec.id: round(cal.encoder_from_degrees(k, angle)) - spec.homing_offset
        for k, (spec, angle) in shown
    }


def judged(made: Arena, *writes: dict[int, int]) -> list[str]:
    judge = Judge()
    made.frames.clear()  # what the core wrote before is not judged here
    for goals in writes:
        sent(made, goals)
        judge.look(made)
    return judge.verdict()


def test_a_whole_motion_of_the_core_is_safe(tmp_path: Path) -> None:
    made, judge = arena(tmp_path, Block("red block", 0.2, 0.05)), Judge()
    made.move(made.program(HOME._replace(pan=40.0, grip=80.0)))
    for _ in range(300):
        made.step()
        judge.look(made)
    assert judge.verdict() == []
    assert judge.judged > 100


def test_goals_out_of_range_and_leaps_are_seen(tmp_path: Path) -> None:
    made = arena(tmp_path)
    home = goals_at(HOME_DEG)
    edge = cal.SPECS[0].range_max
    assert judged(made, {1: edge}, {1: edge + 1}) == []
    assert "outside its range" in judged(made, {1: edge + 2})[0]
    assert judged(made, home, {**home, 2: home[2] + 9}, {**home, 2: home[2] + 18}) == []
    assert judged(made, home, {**home, 2: home[2] + 10}) == ["servo 2 leaps by 10 counts"]
    assert judged(made, home, {**home, 6: home[6] + 17}) == ["servo 6 leaps by 17 counts"]


def test_a_goal_that_puts_a_tip_under_the_table_is_seen_before_the_arm_gets_there(
    tmp_path: Path,
) -> None:
    made = arena(tmp_path)
    low = goals_at((0.0, 20.0, 10.0, 70.0, 0.0))
    (fault,) = judged(made, low)
    assert "into the table" in fault


def test_a_limp_joint_may_only_be_sent_to_where_it_is(tmp_path: Path) -> None:
    made = Arena(tmp_path, world=World(blocks=())).ready()
    joints, jaw = made.arm.true_deg()
    here = goals_at(joints, cal.jaw_percent(jaw))
    assert judged(made, here) == []
    assert "limp servo 1 is sent 60 counts away" in judged(made, {**here, 1: here[1] + 60})


@pytest.mark.parametrize(
    ("joints", "words"),
    [
        ((0.0, 30.0, 20.0, 40.0, 0.0), "in the table"),
        ((45.0, 0.0, 0.0, 90.0, 0.0), None),
    ],
)
def test_a_jaw_in_the_table_is_seen(tmp_path: Path, joints: Any, words: str | None) -> None:
    made = arena(tmp_path)
    judge = Judge()
    made.arm.put(joints, 50.0, held=True)
    judge._table(_points(made), 0.0)
    faults = judge.verdict()
    assert faults == [] if words is None else any(words in fault for fault in faults)


def _points(made: Arena) -> Any:
    from armlabd.sim.geometry import arm_points

    return arm_points(*made.arm.true_deg())


def test_a_block_that_is_pushed_or_let_go_high_is_seen(tmp_path: Path) -> None:
    made, judge = arena(tmp_path, Block("red block", 0.2, 0.05)), Judge()
    world = made.arm.world
    assert isinstance(world, World)
    judge.look(made)
    world.blocks["red block"].x += 0.016
    judge._pose = None
    judge.look(made)
    assert judge.verdict() == ["the red block was pushed by 16 mm"]
    world.blocks["red block"].z = 0.051
    judge._held = "red block"
    judge.look(made)
    assert "the red block was let go at 51 mm" in judge.verdict()


# --- endings -------------------------------------------------------------------------------------


def truth(held: str | None = None, bin_: tuple[str, ...] = (), **at: tuple[float, float]) -> Truth:
    places = {"red block": (0.2, 0.1), "green block": (0.2, 0.0)}
    places |= {name.replace("_", " "): point for name, point in at.items()}
    return Truth(places, frozenset(bin_), held, HOME_DEG, 50.0, (0.2, 0.0))


def goal(end: str, **more: Any) -> Goal:
    blocks = tuple(Laid(name, 0.2, 0.1) for name in BLOCKS)
    return Goal("mine/1", "mine", "plain", "bin it", blocks, (End(end),), **more)


def faults(
    wanted: Goal, end: End | None, now: Truth, code: Code | None = None, said: str = ""
) -> list[str]:
    return wrong(wanted, truth(), Outcome(end, code, said, now), HOME_DEG)


IN_BIN = truth(bin_=("red block",), red_block=(0.2, -0.1))


def test_done_is_right_only_when_the_block_truly_lies_there_and_no_other_moved() -> None:
    wanted = goal("done", where={"red block": "bin"})
    assert faults(wanted, End.DONE, IN_BIN) == []
    assert "the red block is out" in faults(wanted, End.DONE, truth())[0]
    moved = replace(IN_BIN, at={**IN_BIN.at, "green block": (0.2, 0.021)})
    assert "the green block was to stay" in faults(wanted, End.DONE, moved)[0]
    assert "asked instead of done" in faults(wanted, End.ASKED, truth(), Code.AMBIGUOUS)[0]
    assert "it failed" in faults(wanted, None, IN_BIN)[0]


@pytest.mark.parametrize(
    ("spot", "now", "right"),
    [
        ("held", truth("red block"), True),
        ("held", truth(), False),
        ("bin", truth("red block", ("red block",)), False),
        ("table", truth(red_block=(0.15, 0.1)), True),
        ("table", truth(red_block=(0.18, 0.1)), False),
        ("table", IN_BIN, False),
        ("elsewhere", IN_BIN, True),
        ((0.25, 0.04), truth(red_block=(0.25, 0.059)), True),
        ((0.25, 0.04), truth(red_block=(0.25, 0.061)), False),
        ("beside green block", truth(red_block=(0.2, 0.06)), True),
        ("beside green block", truth(), False),
        ("beside bin", truth(red_block=(0.2, 0.03)), True),
    ],
)
def test_each_place_is_judged_by_the_truth(spot: Any, now: Truth, right: bool) -> None:
    assert (faults(goal("done", where={"red block": spot}), End.DONE, now) == []) is right


def test_so_many_of_some_blocks_are_counted() -> None:
    wanted = goal("done", any=Pick(1, BLOCKS, "bin"))
    assert faults(wanted, End.DONE, IN_BIN) == []
    both = truth(bin_=BLOCKS, red_block=(0.2, -0.1), green_block=(0.21, -0.1))
    assert faults(wanted, End.DONE, both)[0].startswith("2 instead of 1")
    assert faults(wanted, End.DONE, truth())[0].startswith("0 instead of 1")


def test_a_question_is_right_for_its_cause_and_only_when_nothing_moved() -> None:
    wanted = goal("asked", codes=(Code.AMBIGUOUS,))
    assert faults(wanted, End.ASKED, truth(), Code.AMBIGUOUS) == []
    assert faults(wanted, End.ASKED, truth(), Code.OBJECT_MISSING) != []
    assert faults(wanted, End.DECLINED, truth(), Code.AMBIGUOUS) == []
    assert faults(wanted, End.ASKED, IN_BIN, Code.AMBIGUOUS) != []
    assert faults(goal("declined"), End.DECLINED, truth(), Code.IMPOSSIBLE) == []
    assert faults(goal("declined"), End.DONE, truth()) != []
    assert disturbed(truth(), truth("red block")) != []


def test_the_arm_and_what_was_said_are_judged_too() -> None:
    assert faults(goal("done", arm="home"), End.DONE, truth()) == []
    assert faults(goal("done", arm="open"), End.DONE, truth()) == ["the arm is not open"]
    assert faults(goal("done", arm="shut"), End.DONE, replace(truth(), jaw_percent=2.0)) == []
    assert faults(goal("done", arm=(0.2, 0.05)), End.DONE, truth()) != []
    assert faults(goal("done", says=("red",)), End.DONE, truth(), said="In view: Red block.") == []
    assert faults(goal("done", says=("red",)), End.DONE, truth()) == ["it did not say 'red'"]
