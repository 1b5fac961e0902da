"""Whatever is asked of the real processes: no goal outside, no step beyond the ceiling on the wire.

The small sister of tests/house/test_any_requests.py: real daemon, core and pty, few seeds. Judged
are the goals as the virtual bus heard them, not what the core says of itself.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import RealArm, wait_until
from plans import ten_steps

sys.path.append(str(Path(__file__).parents[1] / "motion"))
from judging import judge_goals

from armlabd.arm.calibration import parse
from armlabd.arm.limits import CEILINGS
from armlabd.sim.calibration import calibration_json

pytestmark = pytest.mark.real
REQUESTS = 14
# an arm put elsewhere while its torque comes on has, as far as it can tell, a slipped encoder
ARM_TROUBLE = ("no_arm", "bus_lost", "servo_fault")
WORDS = (*["call"] * 5, "plan", "goal", "stop", "clear", "cancel", "answer", "limp", "pause")
TOOLS = ("open_gripper", "close_gripper", "go_home", "look", "wave_hello")
GOALS = ("put the red block in the bin", "open the hand", "pick up the red block", "stop", "dance")


def wire_of(arm: RealArm, since: int) -> Iterator[tuple[float, dict[int, int] | None]]:
    """Goals and torque-offs after a stamp, as the virtual bus heard them."""
    for frame in arm.frames(since):
        if frame["kind"] == "goal":
            values = dict(zip(frame["ids"], frame["values"], strict=True))
            yield frame["t_ns"] / 1e9, values
        elif frame["kind"] == "torque_off" and frame["broadcast"]:
            yield frame["t_ns"] / 1e9, None


class Caller:
    """Asks at random, but the same for the same seed."""

    def __init__(self, arm: RealArm, seed: int) -> None:
        self.arm, self.dice = arm, random.Random(seed)

    def move(self) -> dict[str, Any]:
        """Arguments of a move: mostly good ones, some beyond the workspace, some no numbers."""
        dice = self.dice
        ends = {"x": (0.08, 0.30), "y": (-0.17, 0.17), "z": (0.015, 0.075)}
        args: dict[str, Any] = {k: round(dice.uniform(*v), 3) for k, v in ends.items()}
        args["speed_dps"] = dice.choice([5, 30, 60, 60, 60, 60.1, True, "60"])
        return args

    def ask(self, word: str) -> None:
        """One request, or one thing that happens to the arm."""
        arm, dice = self.arm, self.dice
        if word == "call" and dice.random() < 0.6:
            self.post("/call/move_to_pose", self.move())
        elif word == "call":
            self.post(f"/call/{dice.choice(TOOLS)}", {})
        elif word == "plan":
            steps = ten_steps(dice.uniform(0.1, 0.28), dice.uniform(-0.15, 0.15))["steps"]
            self.post("/plans/run", {"steps": steps[: dice.randint(1, 10)]})
        elif word == "goal":
            self.post("/goals", {"goal": dice.choice(GOALS)})
        elif word in ("stop", "clear"):
            self.post("/stop" if word == "stop" else "/stop/clear", {})
        elif word == "cancel" and (run := arm.status()["run"]):
            arm.client.request("DELETE", f"/runs/{run['id']}", None, 60.0)
        elif word == "answer":
            for question in arm.client.request("GET", "/questions").body["questions"]:
                self.post(f"/questions/{question['id']}", {"answer": dice.choice(["1", "2"])})
        elif word == "limp" and not any(arm.world("state")["torque"]):
            joints = [dice.uniform(-80, 80), -60.0, 40.0, dice.uniform(-40, 80), 0.0]
            arm.world("limp", joints_deg=joints, gripper_percent=30)

    def post(self, path: str, body: dict[str, Any]) -> None:
        """One POST; what it answers is another test's business, that it answers is this one's."""
        answer = self.arm.client.request("POST", path, body, 60.0)
        assert answer.status < 500 or answer.body["code"] in ARM_TROUBLE, answer


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_requests_make_the_real_core_send_a_goal_outside_or_a_step_too_far(
    shared: RealArm, seed: int
) -> None:
    shared.world("reset", blocks=[{"label": "red block", "x": 0.2, "y": 0.05, "yaw_deg": 20}])
    shared.clear()
    wait_until(lambda: shared.status()["arm"]["state"] == "ready", "the servos are judged good")
    since = shared.last_seq()
    caller = Caller(shared, seed)
    caller.post("/call/move_to_pose", {"x": 0.2, "y": 0.0, "z": 0.06, "speed_dps": 60})
    for _ in range(REQUESTS):
        caller.ask(caller.dice.choice(WORDS))
    caller.post("/stop", {})
    judged = judge_goals(wire_of(shared, since), parse(calibration_json()), CEILINGS, lossy=True)
    assert judged > 50, "the arm hardly moved: nothing was judged"


def test_the_judge_sees_a_goal_that_jumps_on_the_real_wire(shared: RealArm) -> None:
    since = shared.last_seq()
    shared.clear()
    wait_until(lambda: shared.status()["arm"]["state"] == "ready", "the servos are judged good")
    assert shared.call("move_to_pose", x=0.2, y=0.0, z=0.06).ok
    goals = list(wire_of(shared, since))
    at_s, last = goals[-1]
    assert last is not None
    goals.append((at_s + 0.01, {**last, 1: last[1] + 12}))
    with pytest.raises(AssertionError):
        judge_goals(goals, parse(calibration_json()), CEILINGS)
