"""The table of commands, and those that only ask the daemon."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from armlabd.cli.client import (
    MOTION_TIMEOUT_S,
    STOP_TIMEOUT_S,
    Answer,
    Client,
    Unreachable,
    WrongUse,
    find_key,
    find_url,
)
from armlabd.cli.exits import OK, REFUSED
from armlabd.cli.show import as_json, check_lines, complain, error_of, say, status_lines

Options = argparse.Namespace


def client_of(options: Options) -> Client:
    """The daemon and key that the options name."""
    url = find_url(options.url, options.state)
    return Client(url, find_key(options.key, options.state), options.certificate)


def _done(options: Options, body: Mapping[str, Any], ok: bool, message: str = "") -> int:
    if options.json:
        as_json(body)
    elif ok:
        say(message or str(body.get("message", "done")))
    else:
        complain(error_of(body))
    return OK if ok else REFUSED


def status(options: Options) -> int:
    """armlabd status."""
    answer = client_of(options).request("GET", "/status")
    if not answer.ok or options.json:
        return _done(options, answer.body, answer.ok)
    for text, style in status_lines(answer.body):
        say(text, style)
    return OK


def stop(options: Options) -> int:
    """armlabd stop: through the daemon, or straight to the core when that does not stop it."""
    answer: Answer | None = None
    try:
        answer = client_of(options).request("POST", "/stop", {}, STOP_TIMEOUT_S)
    except Unreachable:
        if options.url:
            raise
    if answer is None or not (answer.ok and answer.body.get("written")):
        said = None if options.url else _stop_core(options)
        if said is not None:
            return said
    if answer is None:
        raise Unreachable("No armlabd and no motion core answers on this board: nothing to stop.")
    code = _done(options, answer.body, answer.ok)
    all_confirmed = answer.body.get("confirmed") == answer.body.get("of", 6)
    return code if all_confirmed else REFUSED


def _stop_core(options: Options) -> int | None:
    """Stop the cores of this board without the daemon; None when there is none."""
    from armlabd.cli.local_stop import stop_core

    said = stop_core(options.state)
    if said is None:
        return None
    _done(options, {**said.as_dict(), "message": said.sentence}, ok=True)
    return OK if said.confirmed == said.of else REFUSED


def clear_stop(options: Options) -> int:
    """armlabd clear-stop."""
    answer = client_of(options).request("POST", "/stop/clear", {})
    return _done(options, answer.body, answer.ok)


def call(options: Options) -> int:
    """armlabd call TOOL name=value ..."""
    args = arguments(options.args)
    path = f"/call/{options.tool}"
    answer = client_of(options).request("POST", path, args, MOTION_TIMEOUT_S)
    if answer.ok and not options.json:
        say(json.dumps(answer.body))
        return OK
    return _done(options, answer.body, answer.ok)


def arguments(texts: list[str]) -> dict[str, object]:
    """`name=value` words as arguments; values are JSON where they can be. Raises WrongUse."""
    found: dict[str, object] = {}
    for text in texts:
        name, value = _pair(text)
        if name in found:
            raise WrongUse(f"{name} is given twice. Give it once.")
        found[name] = value
    return found


def _pair(text: str) -> tuple[str, object]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise WrongUse(f"{text!r} is no argument. Write name=value, such as x=0.2.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def answer(options: Options) -> int:
    """armlabd answer TEXT."""
    client = client_of(options)
    question = options.question
    if question is None:
        listed = client.request("GET", "/questions")
        waiting = listed.body.get("questions", [])
        if not listed.ok:
            return _done(options, listed.body, ok=False)
        if len(waiting) != 1:
            return _which(waiting)
        question = waiting[0]["id"]
    question = str(question).replace("/", "")
    answered = client.request("POST", f"/questions/{question}", {"answer": options.answer})
    return _done(options, answered.body, answered.ok)


def _which(waiting: list[dict[str, Any]]) -> int:
    if not waiting:
        complain("No question is open.")
    else:
        names = ", ".join(str(item["id"]) for item in waiting)
        complain(f"Several questions are open. Name one with --question: {names}.")
    return REFUSED


def read_plan(path: Path) -> dict[str, Any]:
    """A plan file as an object. Raises WrongUse."""
    try:
        plan = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WrongUse(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise WrongUse(f"{path} is no JSON: {error}.") from error
    if isinstance(plan, list):
        plan = {"steps": plan}
    if not isinstance(plan, dict):
        raise WrongUse(f'{path} must hold {{"steps": [...]}}.')
    return plan


def check(options: Options) -> int:
    """armlabd check PLAN.json."""
    answer = client_of(options).request("POST", "/plans/check", read_plan(options.plan))
    if not answer.ok or options.json:
        return _done(options, answer.body, answer.ok)
    for text, style in check_lines(answer.body):
        say(text, style)
    return REFUSED if answer.body.get("faults") else OK


def runs(options: Options) -> int:
    """armlabd runs."""
    answer = client_of(options).request("GET", "/runs")
    if not answer.ok or options.json:
        return _done(options, answer.body, answer.ok)
    if not answer.body["runs"]:
        say("There were no runs yet.")
    for run in answer.body["runs"]:
        end = f"{run['result']} ({run['cause']})" if run["result"] else run["state"]
        say(f"{run['id']}  {end:<28} {run['goal']}")
    return OK


def cancel(options: Options) -> int:
    """armlabd cancel [RUN]: the arm comes to rest and leaves the table; no stop is set."""
    client = client_of(options)
    run_id = options.run
    if run_id is None:
        status = client.request("GET", "/status")
        if not status.ok:
            return _done(options, status.body, ok=False)
        if not status.body.get("run"):
            complain("No run is going on.")
            return REFUSED
        run_id = status.body["run"]["id"]
    answer = client.request("DELETE", f"/runs/{run_id}", timeout_s=MOTION_TIMEOUT_S)
    message = f"{run_id}: {answer.body.get('result')}. {answer.body.get('sentence')}"
    return _done(options, answer.body, answer.ok, message)


def _lazy(module: str, name: str) -> Callable[[Options], int]:
    """A command whose module is only imported when it is used."""

    def command(options: Options) -> int:
        import importlib

        function: Callable[[Options], int] = getattr(
            importlib.import_module(f"armlabd.cli.{module}"), name
        )
        return function(options)

    return command


COMMANDS: Mapping[str, Callable[[Options], int]] = {
    "run": _lazy("processes", "run"),
    "sim": _lazy("processes", "sim"),
    "fault": _lazy("fault", "fault"),
    "bench": _lazy("processes", "bench"),
    "doctor": _lazy("doctor", "doctor"),
    "markers": _lazy("markers", "markers"),
    "goal": _lazy("goals", "goal"),
    "plan": _lazy("goals", "plan"),
    "calibrate": _lazy("calibrate", "calibrate"),
    "calibration": _lazy("calibration", "calibration"),
    "models": _lazy("models", "models"),
    "keys": _lazy("files", "keys"),
    "audit": _lazy("files", "audit"),
    "status": status,
    "stop": stop,
    "clear-stop": clear_stop,
    "call": call,
    "answer": answer,
    "check": check,
    "runs": runs,
    "cancel": cancel,
}
