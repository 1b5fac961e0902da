"""Where LeRobot keeps calibration files, under the names of old and new releases."""

from __future__ import annotations

import os
from pathlib import Path

from armlabd.motion.calibrate_bus import CalibrateError

FOLLOWERS = ("so_follower", "so101_follower", "so100_follower")  # now, and in older releases


def root() -> Path:
    """LeRobot's calibration folder on this board, by its own environment variables."""
    named = os.environ.get("HF_LEROBOT_CALIBRATION")
    if named:
        return Path(named)
    home = os.environ.get("HF_LEROBOT_HOME")
    if home:
        return Path(home) / "calibration"
    cache = os.environ.get("HF_HOME")
    base = Path(cache) if cache else Path.home() / ".cache/huggingface"
    return base / "lerobot" / "calibration"


def find(named: str) -> Path:
    """The file that `named` means: a path, a folder with one file, or an arm's name.

    Raises CalibrateError naming what is there.
    """
    path = Path(named)
    if path.is_file():
        return path
    if path.is_dir():
        return _only(sorted(path.glob("*.json")), f"The folder {path}")
    robots = root() / "robots"
    found = [robots / folder / f"{named}.json" for folder in FOLLOWERS]
    there = [file for file in found if file.is_file()]
    if there:
        return _only(there, f"The name {named!r}")
    known = [file for folder in FOLLOWERS for file in sorted((robots / folder).glob("*.json"))]
    others = f" LeRobot has: {', '.join(map(str, known))}." if known else ""
    raise CalibrateError(
        f"There is no file {named}, and no arm of that name under {robots}.{others} Name the file."
    )


def _only(files: list[Path], what: str) -> Path:
    if len(files) == 1:
        return files[0]
    if not files:
        raise CalibrateError(f"{what} holds no calibration file (*.json). Name the file.")
    raise CalibrateError(f"{what} fits {len(files)} files: {', '.join(map(str, files))}. Name one.")
