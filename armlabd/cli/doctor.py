"""`armlabd doctor`: what is wrong with this board and its arm, and what to do first."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from typing import Any

from armlabd.cli.client import Client, Unreachable, WrongUse, find_key, note_of
from armlabd.cli.exits import OK, REFUSED, USAGE
from armlabd.cli.show import as_json, complain, say
from armlabd.config import ConfigError, load_config
from armlabd.daemon.state import state_folder
from armlabd.doctor.board import kernel_synced
from armlabd.doctor.examine import examine
from armlabd.doctor.press import press_test, watch_of
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
    kept: list[bytes] = []
    subject = Subject(
        config,
        folder,
        options.sim,
        core=ask_core(folder),
        status=_status(options),
        user=User.now(),
        synced=kernel_synced,
        live=lambda: _live(options),
        keep=kept.append if options.picture else None,
    )
    report = _press(subject) if options.press else examine(subject)
    if options.json:
        as_json(report.as_dict())
    else:
        _tell(report)
    wrote = options.picture is None or _write(options.picture, kept)
    return OK if report.healthy and wrote else REFUSED


def _press(subject: Subject) -> Report:
    """The press test alone; what it asks for goes to standard error."""
    with contextlib.closing(watch_of(subject)) as watch:
        check = press_test(subject, watch, lambda text: complain(text))
    return Report("armlabd doctor: the stop button.", (check,))


def _write(path: Path, kept: list[bytes]) -> bool:
    """The picture with what is seen in it, as a file."""
    if not kept:
        complain("No picture was taken: see what is said of the camera.")
        return False
    try:
        path.write_bytes(kept[-1])
    except OSError as error:
        complain(f"{path} cannot be written: {error.strerror or error}. Name another --picture.")
        return False
    complain(f"What the camera sees is in {path}.")
    return True


def _status(options: argparse.Namespace) -> dict[str, Any] | None:
    """What the daemon of this folder says; None when none answers or the key is not right."""
    client = _client(options)
    try:
        answer = client and client.request("GET", "/status", timeout_s=STATUS_TIMEOUT_S)
    except (Unreachable, WrongUse):
        return None
    return answer.body if answer and answer.ok else None


def _live(options: argparse.Namespace) -> bytes | None:
    """The daemon's picture of now; None when none answers."""
    client = _client(options)
    try:
        return None if client is None else client.fetch("/camera.jpg")
    except (Unreachable, WrongUse):
        return None


def _client(options: argparse.Namespace) -> Client | None:
    """The daemon of this folder, if there is one."""
    note = note_of(state_folder(options.state, options.sim))
    if note is None:
        return None
    try:
        return Client(str(note["url"]), find_key(None, options.state))
    except WrongUse:
        return None


def _tell(report: Report) -> None:
    say(report.about)
    for check in report.checks:
        for line in check.lines():
            say(line, STYLES[check.state])
    say(report.lines()[-1])
