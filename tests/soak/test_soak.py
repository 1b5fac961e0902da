"""`scripts/test --soak [--minutes N]`: goals, stops, faults, HTTP load in a loop.

Every run ends in a named result, no stop is missed, and after a warm-up nothing grows. The slope of
the memory is judged from 20 minutes up: over less, one page more counts as megabytes an hour.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from gauge import Gauge
from harness import RealArm, real_arm, wait_until

from armlabd.cli.client import Client, Unreachable

MINUTES = float(os.environ.get("ARMLABD_SOAK_MINUTES", "0"))
JUDGED_MINUTES = 20.0
MOST_MIB_PER_H = 1.0
WARM_SHARE = 0.4
LOOK_S = 2.0
RESULTS = {"done", "asked", "refused", "failed", "stopped", "cancelled"}
GOALS = (
    "put the red block in the bin",
    "put the green block in the bin",
    "pick up the blue block",
    "put the yellow block in the bin",
    "make me a coffee",
    "go home",
    "look",
)
FAULTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("drop", {"rate": 0.01}),
    ("noise", {"rate": 0.05}),
    ("mute", {"id": 3}),
    ("break", {"after": 2}),
    ("overload", {"id": 3}),
    ("brownout", {"id": 2}),
    ("unplug", {}),
)
QUIET = (("GET", "/status"), ("GET", "/runs"), ("GET", "/scene"), ("GET", "/tools"))

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(MINUTES <= 0, reason="hours of work: scripts/test --soak"),
]


@dataclass
class Soak:
    """What was done and what came of it."""

    arm: RealArm
    chance: random.Random = field(default_factory=lambda: random.Random(5))
    results: Counter[str] = field(default_factory=Counter)
    requests: Counter[int] = field(default_factory=Counter)
    stops: int = 0
    missed: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)
    said: str = ""
    ended: threading.Event = field(default_factory=threading.Event)

    # --- the load beside it

    def press(self) -> None:
        """Requests of all kinds, each on a connection of its own, some with a wrong key."""
        own = random.Random(threading.get_ident())
        while not self.ended.wait(0.05):
            method, path = own.choice(QUIET)
            key = "wrong" if own.random() < 0.02 else self.arm.agent.key
            with contextlib.suppress(Unreachable):
                answer = Client(self.arm.client.url, key).request(method, path)
                self.requests[answer.status] += 1

    # --- one round of the loop

    def round(self) -> None:
        """A table, a goal, and perhaps a stop, a cancel or a fault into it."""
        arm, chance = self.arm, self.chance
        self.make_well()
        labels = chance.sample(("red block", "green block", "blue block"), chance.randint(0, 3))
        places = ((0.20, 0.08), (0.15, 0.02), (0.24, 0.0))
        blocks = [
            {"label": label, "x": x, "y": y, "yaw_deg": chance.uniform(0, 90)}
            for label, (x, y) in zip(labels, places, strict=False)
        ]
        arm.world("reset", blocks=blocks)
        asked = arm.client.request("POST", "/goals", {"goal": chance.choice(GOALS)})
        if asked.status != 202:
            self.results[f"refused at the door: {asked.body.get('code')}"] += 1
            return
        act: Callable[[], None] = chance.choice((self.stop, self.fault, self.cancel, self.wait))
        time.sleep(chance.uniform(0, 4))
        act()
        self.finish(str(asked.body["id"]))

    def wait(self) -> None:
        """Let it go on."""

    def stop(self) -> None:
        """A stop, by any of the doors; missed when it was not written or the arm stays stiff."""
        self.stops += 1
        path = self.chance.choice(("/stop", "/call/stop"))
        answer = self.arm.agent.request("POST", path, {})
        limp = False
        with contextlib.suppress(AssertionError):
            wait_until(lambda: not any(self.arm.world("state")["torque"]), "a limp arm", 2.0)
            limp = True
        if not (answer.status == 200 and limp and self.arm.status()["stopped"]):
            self.missed.append(f"{answer.status} {answer.body}")

    def fault(self) -> None:
        """Something breaks for a moment."""
        name, arguments = self.chance.choice(FAULTS)
        self.arm.world(name, **arguments)
        time.sleep(self.chance.uniform(0.2, 2))

    def cancel(self) -> None:
        """Whatever runs is cancelled."""
        run = self.arm.status().get("run")
        if run:
            self.arm.client.request("DELETE", f"/runs/{run['id']}", timeout_s=120.0)

    def finish(self, run_id: str) -> None:
        """The run to its end, whatever it asks."""
        run = self.arm.wait_run(run_id, "waiting")
        while run["state"] == "waiting":
            options = [*(run["question"].get("options") or ["1"]), "give up"]
            self.arm.client.request(
                "POST",
                f"/questions/{run['question']['id']}",
                {"answer": self.chance.choice(options)},
            )
            time.sleep(0.1)
            run = self.arm.wait_run(run_id, "waiting")
        self.results[str(run["result"])] += 1
        if run["result"] not in RESULTS or not run.get("sentence"):
            self.unnamed.append(str(run)[:500])

    def make_well(self) -> None:
        """All faults gone, plugged in, cleared; what a person is told to reset is reset."""
        self.arm.world("replug")
        self.arm.world("healthy")

        def ready() -> bool:
            self.said = str(self.arm.status()["arm"]["next"])
            if "clear the stop" in self.said:
                self.arm.client.request("POST", "/stop", {})
            cleared = self.arm.client.request("POST", "/stop/clear", {})
            self.said += f" {cleared.body}"
            return cleared.ok and bool(self.arm.status()["arm"]["connected"])

        try:
            wait_until(ready, "an arm that is well again", 120.0)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.said}\n{self.arm.log()[-2000:]}") from None


def core_pid(arm: RealArm) -> int:
    return int(arm.status()["core"]["pid"] or 0)


def watch(soak: Soak, gauges: tuple[Gauge, Gauge], began_s: float) -> None:
    assert soak.arm.daemon is not None
    while not soak.ended.wait(LOOK_S):
        at_s = time.monotonic() - began_s
        gauges[0].look(soak.arm.daemon.pid, at_s)
        with contextlib.suppress(Unreachable):
            gauges[1].look(core_pid(soak.arm), at_s)


def test_case_63_nothing_grows_every_run_has_a_name_and_no_stop_is_missed() -> None:
    gauges = (Gauge("daemon"), Gauge("core"))
    with real_arm() as arm:
        soak = Soak(arm.ready())
        began_s = time.monotonic()
        work = [threading.Thread(target=soak.press) for _ in range(3)]
        work.append(threading.Thread(target=watch, args=(soak, gauges, began_s)))
        for thread in work:
            thread.start()
        try:
            while time.monotonic() - began_s < MINUTES * 60:
                soak.round()
            took_s = time.monotonic() - began_s
        finally:
            soak.ended.set()
            for thread in work:
                thread.join()
        log_lines = arm.log().count("\n")
    tell(soak, gauges, took_s, log_lines)
    judge(soak, gauges, took_s)
    assert log_lines < 20 * sum(soak.results.values()) + 200, "the log is not filled"


def tell(soak: Soak, gauges: tuple[Gauge, Gauge], took_s: float, log_lines: int) -> None:
    """The figures, for whoever looks on."""
    lines = (
        f"{took_s / 60:.1f} minutes, {sum(soak.requests.values())} requests beside it",
        f"runs: {dict(soak.results)}; stops: {soak.stops}, missed {len(soak.missed)}",
        f"answers: {dict(soak.requests)}; lines of log: {log_lines}",
        *(gauge.line(took_s * WARM_SHARE) for gauge in gauges),
    )
    sys.stdout.write("\n" + "\n".join(lines) + "\n")


def judge(soak: Soak, gauges: tuple[Gauge, Gauge], took_s: float) -> None:
    assert soak.missed == []
    assert soak.unnamed == []
    assert sum(soak.results.values()) > 0
    for gauge in gauges:
        for what in ("descriptors", "threads"):
            first, last = gauge.growth(what, took_s * WARM_SHARE)
            assert last <= first + 3, gauge.line(took_s * WARM_SHARE)
        if took_s >= JUDGED_MINUTES * 60:
            assert gauge.slope_mib_per_h(took_s * WARM_SHARE) < MOST_MIB_PER_H, gauge.name
