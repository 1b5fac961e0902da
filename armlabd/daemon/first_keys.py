"""The keys of a first start: made once, shown once, the operator's kept for this board."""

from __future__ import annotations

import datetime
import logging
from pathlib import Path

from armlabd.daemon.state import StateError
from armlabd.durable import write_atomic
from armlabd.gate.roles import KeyRing, NewKey, Role

log = logging.getLogger(__name__)
OPERATOR_KEY_FILE = "operator.key"


def first_keys(keys: KeyRing, state: Path) -> tuple[NewKey, ...]:
    """Keys made at a first start; the operator's also in a file only this user can read.

    Raises StateError.
    """
    try:
        made = keys.first_keys(datetime.datetime.now(datetime.UTC).date().isoformat())
    except OSError as error:
        raise StateError(
            f"The first keys cannot be kept in {state}: {error.strerror or error}. Free the disk "
            "or mend the folder, then start again."
        ) from error
    for key in made:
        if key.role is Role.OPERATOR:
            _keep(state / OPERATOR_KEY_FILE, key.text)
    return made


def _keep(path: Path, text: str) -> None:
    """The operator's key for the command line; it is shown as well, so a loss ends no start."""
    try:
        write_atomic(path, text.encode() + b"\n", 0o600)
    except OSError as error:
        why = error.strerror or error
        log.warning("%s cannot be written (%s): keep the key that is shown", path, why)
