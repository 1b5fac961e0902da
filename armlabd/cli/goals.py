"""`armlabd goal` and `armlabd plan`: start a run and show each stage as it happens."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from armlabd.cli.client import Client
from armlabd.cli.commands import client_of, read_plan
from armlabd.cli.exits import OK, REFUSED
from armlabd.cli.show import (
    as_json,
    check_lines,
    complain,
    error_of,
    plan_lines,
    question_lines,
    say,
    scene_lines,
    step_line,
)

POLL_S = 0.2  # five a second: a quarter of the default limit on GET


def goal(options: argparse.Namespace) -> int:
    """armlabd goal TEXT."""
    return _start(options, "/goals", {"goal": options.text})


def plan(options: argparse.Namespace) -> int:
    """armlabd plan PLAN.json."""
    return _start(options, "/plans/run", read_plan(options.plan))


def _start(options: argparse.Namespace, path: str, body: dict[str, Any]) -> int:
    client = client_of(options)
    started = client.request("POST", path, body)
    if not started.ok or options.no_wait or "id" not in started.body:
        if options.json or started.ok:
            as_json(started.body)
        else:
            complain(error_of(started.body))
        return OK if started.ok else REFUSED
    run_id = str(started.body["id"])
    try:
        return follow(client, run_id, options.json)
    except KeyboardInterrupt:
        complain(f"{run_id} goes on. 'armlabd cancel' ends it, 'armlabd stop' stops the arm.")
        return REFUSED


def follow(
    client: Client, run_id: str, quiet: bool = False, sleep: Callable[[float], None] = time.sleep
) -> int:
    """Show a run until it ends; 0 only when it is done."""
    seen = _Seen()
    while True:
        answer = client.request("GET", f"/runs/{run_id}")
        if answer.status == 429:
            sleep(1.0)
            continue
        if not answer.ok:
            complain(error_of(answer.body))
            return REFUSED
        run = answer.body
        if not quiet:
            seen.show(run)
        if run["state"] == "ended":
            return _ended(run, quiet)
        sleep(POLL_S)


class _Seen:
    """What was shown of a run so far."""

    def __init__(self) -> None:
        self.state = ""
        self.steps = 0
        self.question: object = None
        self.checks: object = None
        self.scene: object = None

    def show(self, run: dict[str, Any]) -> None:
        """Print what is new."""
        if run["scene"] is not None and run["scene"] != self.scene:
            self.scene = run["scene"]
            say("scene")
            for text, style in scene_lines(run["scene"]):
                say(text, style)
        if run["checks"] is not None and run["checks"] != self.checks:
            self.checks = run["checks"]
            say("plan")
            for text in plan_lines(run["plan"]):
                say(text)
            say("checks of the whole plan, before anything moves")
            for text, style in check_lines(run["checks"]):
                say(text, style)
        if run["state"] not in (self.state, "ended"):  # of the end the last line tells
            self.state = run["state"]
            say(f"{run['id']}: {self.state}")
        for row in run["steps"][self.steps :]:
            say(*step_line(row))
        self.steps = len(run["steps"])
        question = run["question"]
        if question is not None and question["id"] != self.question:
            self.question = question["id"]
            for text, style in question_lines(question):
                say(text, style)


def _ended(run: dict[str, Any], quiet: bool) -> int:
    done = run["result"] == "done"
    if quiet:
        as_json(run)
    elif done:
        say(f"{run['id']}: done. {run['sentence']}", "green")
    else:
        complain(f"{run['id']}: {run['result']} ({run['cause']}): {run['sentence']}")
    return OK if done else REFUSED
