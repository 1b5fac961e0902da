"""`armlabd calibrate [--align]`: with a person at the limp arm, while no daemon has it."""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Callable
from pathlib import Path

from armlabd.arm.calibration import Calibration, parse
from armlabd.arm.placement import Vector
from armlabd.bus.errors import PortError
from armlabd.cli.arm_port import Arm, opened
from armlabd.cli.exits import OK, REFUSED, USAGE
from armlabd.cli.keyboard import Keyboard
from armlabd.cli.show import complain, say
from armlabd.cli.stand_in import StandIn
from armlabd.config import Config, ConfigError
from armlabd.daemon.settings import StartError, calibration_text, file_text
from armlabd.daemon.sim_process import SimError
from armlabd.daemon.state import StateError
from armlabd.motion.calibrate import Person
from armlabd.motion.calibrate import calibrate as guide
from armlabd.motion.calibrate_align import alignment_of, told, touch_all, visits
from armlabd.motion.calibrate_bus import CalibrateError
from armlabd.motion.calibrate_progress import Progress

REFUSALS = (CalibrateError, PortError, StateError, StartError, SimError)


def guarded(command: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """A command whose refusals become a sentence and an exit code."""

    def run(options: argparse.Namespace) -> int:
        try:
            return command(options)
        except ConfigError as error:
            for fault in error.faults:
                complain(f"{error.path or 'settings'}: {fault}")
            return USAGE
        except REFUSALS as error:
            complain(str(error))
            return REFUSED

    return run


@guarded
def calibrate(options: argparse.Namespace) -> int:
    """armlabd calibrate: sweep and write, or with --align touch and fit."""
    if options.stand_in == "" and not options.sim:
        complain(
            "--stand-in moves the virtual arm only: add --sim, name the control socket of an "
            "armlabd sim, or put your own hands to it."
        )
        return USAGE
    with opened(options) as arm:
        person: Person = Keyboard()
        if options.stand_in is not None:
            person = StandIn(_control_of(arm, options.stand_in))
        try:
            (_align if options.align else _calibrate)(arm, person, options)
        finally:
            if isinstance(person, StandIn):
                person.let_go()
    return OK


def _control_of(arm: Arm, named: str) -> Path:
    """The control socket of the virtual arm that the stand-in moves."""
    control = Path(named) if named else arm.control
    assert control is not None  # --sim has one
    return control


def _calibrate(arm: Arm, person: Person, options: argparse.Namespace) -> None:
    say("Calibration. The arm will be limp: hold it, or let it lie.")
    guide(arm.bus, person, Progress(arm.state), options.fresh)
    _warn_of_named(arm.config, options.sim)
    say("Next: armlabd calibrate --align, so that the arm knows its zeros to the millimetre.")


def _align(arm: Arm, person: Person, options: argparse.Namespace) -> None:
    calibration = _own(arm, options.sim)
    asked = visits(points_of(arm.config))
    say(f"Alignment: {len(asked)} touches. The arm will be limp: hold it, or let it lie.")
    fit = touch_all(arm.bus, person, calibration, asked)
    for line in told(fit):
        say(line)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    progress = Progress(arm.state)
    progress.keep(calibration.aligned(alignment_of(fit, today)))
    say(f"Aligned to {fit.residual_mm:.1f} mm; kept in {progress.calibration_path}.")
    _warn_of_named(arm.config, options.sim)


def _own(arm: Arm, simulated: bool) -> Calibration:
    """The calibration this arm has now. Raises CalibrateError, StartError."""
    if simulated:
        from armlabd.sim.calibration import calibration_json

        text = file_text(arm.state / "calibration.json") or calibration_json()
    else:
        text = calibration_text(arm.config, arm.state) or ""
    if not text:
        raise CalibrateError("This arm is not calibrated yet: run armlabd calibrate first.")
    return parse(text)


def points_of(config: Config) -> list[tuple[str, Vector]]:
    """Where the tip is put: [[align.points]], else the centres of the markers."""
    named: list[tuple[str, Vector]] = [(p.name, (p.x, p.y, p.z)) for p in config.align.points]
    markers = config.perceive.marker_table()
    return named or [(f"the centre of marker {m.id}", (m.x, m.y, 0.0)) for m in markers]


def _warn_of_named(config: Config, simulated: bool) -> None:
    """A file named in the settings would be used instead of the new one."""
    if config.arm.calibration and not simulated:
        say(
            f"[arm] calibration names {config.arm.calibration}: leave it out of config.toml, or "
            "armlabd uses that file instead.",
            "yellow",
        )
