"""`armlabd doctor`: what is wrong with this board and its arm, and what to do first."""

from __future__ import annotations

import argparse
from typing import Any

from armlabd.cli.client import Client, Unreachable, WrongUse, find_key, note_of
from armlabd.cli.exits import OK, REFUSED, USAGE
from armlabd.cli.show import as_json, complain, say
from armlabd.config import ConfigError, load_config
from armlabd.daemon.state import state_folder
from armlabd.doctor.board import kernel_synced
from armlabd.doctor.examine import examine
from armlabd.doctor.report import Report
from armlabd.doctor.subject import Subject, User, ask_core

STYLES = {"ok": None, "finding": "yellow", "skipped": "dim"}
STATUS_TIMEOUT_S = 3.0


def doctor(options: argparse.Namespace) -> int:
    """armlabd doctor: exit 0 when nothing is wrong, 1 when there are findings."""
    try:
        config = load_config(options.config)
    except ConfigError as error:
        for fault in error.faults:
            complain(f"{error.path or 'settings'}: {fault}")
        return USAGE
    folder = state_folder(options.state, options.sim)
    subject = Subject(
        config,
        folder,
        options.sim,
        core=ask_core(folder),
        status=_status(options),
        user=User.now(),
        synced=kernel_synced,
    )
    report = examine(subject)
    if options.json:
        as_json(report.as_dict())
    else:
        _tell(report)
    return OK if report.healthy else REFUSED


def _status(options: argparse.Namespace) -> dict[str, Any] | None:
    """What the daemon of this folder says; None when none answers or the key is not right."""
    note = note_of(state_folder(options.state, options.sim))
    if note is None:
        return None
    try:
        client = Client(str(note["url"]), find_key(None, options.state))
        answer = client.request("GET", "/status", timeout_s=STATUS_TIMEOUT_S)
    except (Unreachable, WrongUse):
        return None
    return answer.body if answer.ok else None


def _tell(report: Report) -> None:
    say(report.about)
    for check in report.checks:
        for line in check.lines():
            say(line, STYLES[check.state])
    say(report.lines()[-1])
