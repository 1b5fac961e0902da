"""`armlabd calibration`: show the calibration of this board's arm, or take over a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from armlabd.arm.calibration import Calibration, CalibrationError, parse
from armlabd.cli.client import WrongUse
from armlabd.cli.exits import OK, REFUSED
from armlabd.cli.show import complain, say
from armlabd.daemon.state import state_folder
from armlabd.durable import write_atomic

FILE = "calibration.json"


def calibration(options: argparse.Namespace) -> int:
    """armlabd calibration show|import FILE."""
    path = state_folder(options.state, simulated=False) / FILE
    return _show(path) if options.what == "show" else _import(options.file, path)


def _show(path: Path) -> int:
    try:
        found = parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        complain(f"There is no calibration at {path}. Take one over: armlabd calibration import.")
        return REFUSED
    except (OSError, UnicodeDecodeError, CalibrationError) as error:
        complain(f"{path} cannot be used: {_why(error)}")
        return REFUSED
    for line in lines_of(found):
        say(line)
    return OK


def _import(source: Path, path: Path) -> int:
    """Check a file, ours or LeRobot's, and keep it in our own form. No servo is written."""
    try:
        found = parse(source.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUse(f"{source} cannot be read: {_why(error)}") from error
    except CalibrationError as error:
        complain(f"{source} cannot be used: {error.sentence}")
        return REFUSED
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomic(path, found.to_text().encode())
    except OSError as error:
        complain(f"{path} cannot be written: {_why(error)} Use --state or root.")
        return REFUSED
    for line in lines_of(found):
        say(line)
    say(f"Kept as {path}. Start armlabd again to use it.")
    return OK


def lines_of(found: Calibration) -> list[str]:
    """One line a joint: servo, offset and range in counts, travel in degrees."""
    travel = found.travel_deg()
    lines = []
    for name, joint in found.joints.items():
        low, high = travel.get(name, (0.0, 100.0))
        unit = "deg" if name in travel else "%"
        lines.append(
            f"{name:<14} servo {joint.id}  offset {joint.homing_offset:+5d}  range "
            f"{joint.range_min:4d} to {joint.range_max:4d}  travel {low:+.0f} to {high:+.0f} {unit}"
        )
    return lines


def _why(error: Exception) -> str:
    if isinstance(error, CalibrationError):
        return error.sentence
    if isinstance(error, UnicodeDecodeError):
        return "it is no UTF-8 text."
    return f"{getattr(error, 'strerror', None) or error}."
