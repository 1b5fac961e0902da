"""`armlabd run`, `armlabd sim`, `armlabd bench`: commands that start processes."""

from __future__ import annotations

import argparse
import asyncio
import logging
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from armlabd.cli.exits import OK, REFUSED, USAGE
from armlabd.cli.show import as_json, complain, say
from armlabd.config import Config, ConfigError, load_config
from armlabd.daemon.core_process import CoreError
from armlabd.daemon.main import Options, Ready, serve
from armlabd.daemon.service import start_logging
from armlabd.daemon.settings import StartError
from armlabd.daemon.sim_process import SimError
from armlabd.daemon.state import StateError

if TYPE_CHECKING:
    from armlabd.bench.report import Report


def run(options: argparse.Namespace) -> int:
    """The daemon, until SIGTERM or Ctrl-C."""
    try:
        config = load_config(options.config)
        _start_logging(config)
        chosen = Options(options.sim, options.state, options.port)
        asyncio.run(serve(config, chosen, _tell))
    except ConfigError as error:
        for fault in error.faults:
            complain(f"{error.path or 'settings'}: {fault}")
        return USAGE
    except _refusals() as error:
        complain(str(error))
        return REFUSED
    return OK


def _refusals() -> tuple[type[Exception], ...]:
    """What may end a start with a sentence; read only then, because the doors take a while."""
    from armlabd.doors.http.server import DoorError
    from armlabd.gate.roles import KeyFileError

    return StartError, StateError, DoorError, CoreError, SimError, KeyFileError


def _start_logging(config: Config) -> None:
    start_logging(getattr(logging, config.log.level.upper()))


def _tell(ready: Ready) -> None:
    kind = "virtual arm" if ready.simulated else "real arm"
    say(f"armlabd answers at {ready.url} ({kind}), ready after {ready.start_s:.2f} s")
    if ready.others:
        say(f"other machines: {ready.others}")
    say(f"state: {ready.state}")
    for key in ready.new_keys:
        say(f"new {key.role.label} key, shown this once: {key.text}")
    sys.stdout.flush()


def sim(options: argparse.Namespace) -> int:
    """The virtual servo bus alone, for other programs to talk to."""
    command = [sys.executable, "-m", "armlabd.sim", "--state", str(options.state)]
    arguments = ["--seed", str(options.seed), "--orphan-s", str(options.orphan_s)]
    try:
        return subprocess.run([*command, *arguments], check=False).returncode
    except KeyboardInterrupt:
        return OK


def bench(options: argparse.Namespace) -> int:
    """Measure one of the bars."""
    from armlabd.bench import BENCHES, model

    if options.what == "planner":
        return _bench_planner(options)
    if options.what == "model":
        return _tell_report(model(options.count, options.folder), options)
    report = BENCHES[options.what](options.count)
    if options.plot is not None and not _write_plot(options.plot, report.plot):
        return REFUSED
    return _tell_report(report, options)


def _bench_planner(options: argparse.Namespace) -> int:
    """The goal suite."""
    from armlabd.bench.goals import GoalsError
    from armlabd.bench.planner import Suite, measure
    from armlabd.bench.subjects import OLLAMA_URL, ChoiceError, Subject

    try:
        url = options.url or OLLAMA_URL
        subject = Subject(options.backend, options.form, url, options.variant)
        report = measure(Suite(subject, options.goals, options.limit, options.jobs))
    except ChoiceError as error:
        complain(str(error))
        return USAGE
    except GoalsError as error:
        for fault in error.faults:
            complain(f"{error.name}: {fault}")
        return USAGE
    return _tell_report(report, options)


def _tell_report(report: Report, options: argparse.Namespace) -> int:
    if options.json:
        as_json(report.as_dict())
    else:
        for line in report.lines():
            say(line)
    return OK if report.held else REFUSED


def _write_plot(path: Path, plot: str) -> bool:
    """The picture of a bench; False when it has none or the file cannot be written."""
    if not plot:
        complain("This bench draws no picture: leave --plot out.")
        return False
    try:
        path.write_text(plot, encoding="utf-8")
    except OSError as error:
        complain(f"{path} cannot be written: {error.strerror}. Name another file with --plot.")
        return False
    return True
