"""Calibration and alignment: is there one, is it this arm's, and does it know the table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from armlabd.arm.calibration import Calibration, CalibrationError, parse
from armlabd.arm.joints import SERVO_IDS
from armlabd.doctor.report import Check, finding, ok, skipped
from armlabd.doctor.servos import Servos
from armlabd.doctor.subject import Subject
from armlabd.motion.health import STATES, calibration_trouble

CALIBRATE = "armlabd calibrate"
ALIGN = "armlabd calibrate --align"
IMPORT = "Or bring an existing one: armlabd calibration import FILE"


def calibration_file(subject: Subject) -> Path:
    """Where the calibration lies."""
    named = subject.config.arm.calibration
    return Path(named) if named and not subject.simulated else subject.state / "calibration.json"


def fit_checks(subject: Subject, servos: Servos | None) -> tuple[Check, Check]:
    """`servos`: what was read of them; None where a core was asked instead, or nothing was read."""
    path = calibration_file(subject)
    try:
        calibration = parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return _none(subject, path)
    except (OSError, UnicodeDecodeError) as error:
        words = getattr(error, "strerror", None) or "it is no text"
        first = finding(
            "calibration", f"{path} cannot be read: {words}.", "Mend its owner or mode."
        )
        return first, skipped("alignment", "It stands in the calibration.")
    except CalibrationError as error:
        first = finding("calibration", f"{path}: {error.sentence}", CALIBRATE, IMPORT)
        return first, skipped("alignment", "It stands in the calibration.")
    return _fits(subject, path, calibration, servos), _alignment(calibration)


def _none(subject: Subject, path: Path) -> tuple[Check, Check]:
    if subject.simulated:
        told = ok("calibration", "The virtual arm brings its own.")
        return told, _alignment(None)
    first = finding("calibration", f"There is none at {path}; the arm rests.", CALIBRATE, IMPORT)
    return first, skipped("alignment", "The arm has to be calibrated first.")


def _fits(subject: Subject, path: Path, calibration: Calibration, servos: Servos | None) -> Check:
    if subject.core is not None and subject.core.get("connected"):
        return _core_fits(path, subject.core)
    if servos is None or len(servos.facts) < len(SERVO_IDS):
        return ok(
            "calibration", f"{path} can be used; whether it is this arm's could not be asked."
        )
    trouble = calibration_trouble(servos.facts, calibration)
    if trouble is None:
        return ok("calibration", f"{path} is what these servos hold.")
    return finding("calibration", trouble.sentence, *_differs())


def _core_fits(path: Path, core: Mapping[str, Any]) -> Check:
    state = str(core.get("state"))
    if state in ("not_calibrated", "calibration_differs"):
        return finding("calibration", str(core.get("next")), *_differs())
    return ok("calibration", f"{path} is what these servos hold.")


def _differs() -> tuple[str, ...]:
    return (
        STATES["calibration_differs"],
        "armlabd calibration import FILE, with the file that belongs to this arm",
        f"or {CALIBRATE}",
    )


def _alignment(calibration: Calibration | None) -> Check:
    found = None if calibration is None else calibration.alignment
    if found is None:
        return finding(
            "alignment",
            "The arm does not know how it stands on the table: it may miss blocks by centimetres.",
            ALIGN,
        )
    told = f"Aligned; the worst of the touched points is off by {found.residual_mm:.1f} mm."
    return ok("alignment", told)
