"""What a calibration has done so far, kept on disk, so that it can be interrupted at any moment.

Two phases: `sweeping` (joints that are done; nothing was written to a servo yet) and `writing` (the
whole plan of writes and the calibration it leads to). The file goes away when the calibration lies
in its place.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from armlabd.arm.calibration import FIELDS, Calibration, CalibrationError, JointCalibration, parse
from armlabd.arm.joints import JOINT_NAMES
from armlabd.durable import remove, write_atomic
from armlabd.motion.calibrate_bus import CalibrateError, Change, changes_of

FILE = "calibrating.json"
CALIBRATION = "calibration.json"


@dataclass(slots=True)
class Sweeping:
    """Phase one: `offsets` the servos held, encoder counts of the held pose, joints swept."""

    offsets: tuple[int, ...]
    start: tuple[int, ...]
    joints: dict[str, JointCalibration] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Writing:
    """Phase two: what is to be written, and what the arm then has."""

    changes: tuple[Change, ...]
    calibration: Calibration


class Progress:
    """The progress file of a state folder. Raises CalibrateError for a disk that refuses."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def calibration_path(self) -> Path:
        """Where the finished calibration lies."""
        return self._folder / CALIBRATION

    def load(self) -> Sweeping | Writing | None:
        """Where an earlier calibration was interrupted; None when there was none.

        Raises CalibrateError for a file that cannot be read.
        """
        try:
            values = json.loads((self._folder / FILE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise self._unreadable(str(error)) from error
        try:
            return _phase_of(values)
        except (KeyError, TypeError, ValueError, CalibrationError, CalibrateError) as error:
            raise self._unreadable(str(error)) from error

    def save(self, phase: Sweeping | Writing) -> None:
        """Keep the phase: old or new at any power cut."""
        self._write(FILE, json.dumps(_as_dict(phase)))

    def finish(self, calibration: Calibration) -> None:
        """Put the calibration in its place, read it back, then forget the progress."""
        self.keep(calibration)
        self.forget()

    def keep(self, calibration: Calibration) -> None:
        """Put a calibration in its place and read it back."""
        self._write(CALIBRATION, calibration.to_text())
        try:
            same = parse(self.calibration_path.read_text(encoding="utf-8")) == calibration
        except (OSError, CalibrationError):
            same = False
        if not same:
            raise CalibrateError(f"{self.calibration_path} does not hold what was written to it.")

    def forget(self) -> None:
        """No calibration is under way."""
        try:
            remove(self._folder / FILE)
        except OSError as error:
            raise self._refused(FILE, error) from error

    def _write(self, name: str, text: str) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomic(self._folder / name, text.encode())
        except OSError as error:
            raise self._refused(name, error) from error

    def _refused(self, name: str, error: OSError) -> CalibrateError:
        return CalibrateError(
            f"{self._folder / name} cannot be written: {error.strerror}. Mend the folder or name "
            "another with --state."
        )

    def _unreadable(self, why: str) -> CalibrateError:
        return CalibrateError(
            f"{self._folder / FILE} of an interrupted calibration cannot be read ({why}). Start "
            "anew with --fresh."
        )


def _as_dict(phase: Sweeping | Writing) -> dict[str, Any]:
    if isinstance(phase, Sweeping):
        joints = {name: asdict(joint) for name, joint in phase.joints.items()}
        return {
            "phase": "sweeping",
            "offsets": list(phase.offsets),
            "start": list(phase.start),
            "joints": joints,
        }
    return {
        "phase": "writing",
        "changes": [list(change) for change in phase.changes],
        "calibration": phase.calibration.to_text(),
    }


def _phase_of(values: Any) -> Sweeping | Writing:
    if values["phase"] == "writing":
        return Writing(changes_of(values["changes"]), parse(values["calibration"]))
    if values["phase"] != "sweeping":
        raise ValueError(f"there is no phase {values['phase']!r}")
    return Sweeping(
        _six(values["offsets"]),
        _six(values["start"]),
        {name: _joint(name, fields) for name, fields in values["joints"].items()},
    )


def _six(values: Any) -> tuple[int, ...]:
    if len(values) != len(JOINT_NAMES) or not all(type(value) is int for value in values):
        raise ValueError("six whole numbers are wanted")
    return tuple(values)


def _joint(name: str, values: Any) -> JointCalibration:
    if name not in JOINT_NAMES or set(values) != set(FIELDS):
        raise ValueError(f"{name} is no joint with {', '.join(FIELDS)}")
    return JointCalibration(**values)
