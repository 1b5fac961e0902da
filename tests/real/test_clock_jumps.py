"""A daemon whose wall clock jumps weeks back and forth, at every look: nothing changes."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from harness import RealArm, real_arm

pytestmark = pytest.mark.real

SHIM = """
import datetime, random, time
real, chance = time.time, random.Random(4)
def jumped():
    return real() + chance.choice((-1, 1)) * chance.uniform(7, 60) * 86400
class Jumping(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.datetime.fromtimestamp(jumped(), tz)
datetime.datetime = Jumping
time.time = jumped
time.time_ns = lambda: int(jumped() * 1e9)
"""
WEEK = timedelta(days=7)


@pytest.fixture
def jumpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RealArm]:
    """Every Python process but the core, which asks for no time of day, has such a clock."""
    (tmp_path / "sitecustomize.py").write_text(SHIM)
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(tmp_path), before))))
    with real_arm() as arm:
        yield arm.ready()


def test_case_55_weeks_back_and_forth_change_nothing_and_cost_no_key(jumpy: RealArm) -> None:
    arm = jumpy
    arm.world("reset", blocks=[{"label": "red block", "x": 0.18, "y": 0.06}])
    run = arm.wait_run(arm.goal("put the red block in the bin"))
    assert run["result"] == "done", arm.story(run["id"])
    made = arm.client.request("GET", "/runs").body["runs"]
    assert arm.agent.request("POST", "/stop", {}).body["written"] is True
    arm.kill_all()  # the power goes, and the clock forgets the time
    for path in arm.state.rglob("*"):
        if path.is_file():
            os.utime(path, (0, 0) if "keys" in path.name else (2**33, 2**33))
    arm.start()
    status = arm.status()
    assert status["stopped"] is True
    assert status["stop"]["cause"] != "new"
    assert status["starts"]["crashes"] == 1
    assert arm.agent.request("GET", "/status").status == 200, "no key is lost"
    assert arm.client.request("GET", "/runs").body["runs"] == made, "no run is too old"
    arm.clear()
    assert arm.call("open_gripper", percent=30).ok
    shown = [datetime.fromisoformat(row["wall"]) for row in arm.audit()]
    leaps = [abs(b - a) for a, b in itertools.pairwise(shown)]
    assert max(leaps) > WEEK, "the clock really jumped"
    numbers = [row["seq"] for row in arm.audit()]
    assert numbers == sorted(numbers), "the order of rows is another matter"
