"""Which model a person chose while the daemon ran: kept in STATE/models.json over a restart.

config.toml stays the default: without a choice, or when the file is broken, it counts.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armlabd.durable import write_atomic
from armlabd.verdict import Code, Verdict

log = logging.getLogger(__name__)
NAME = "models.json"
PLANNER, VISION = "planner", "vision"
WORDS: Mapping[str, tuple[str, ...]] = {  # what may do each job
    PLANNER: ("rules", "ollama", "smolvlm"),
    VISION: ("none", "ollama", "smolvlm"),
}
NEEDS_MODEL = ("ollama", "smolvlm")
DEFAULT = "config"  # forget the choice: config.toml counts
MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class Choice:
    """A backend and its model; no model for "rules" and "none"."""

    backend: str
    model: str = ""

    def __str__(self) -> str:
        return f"{self.backend}:{self.model}" if self.model else self.backend


class ChoiceFile:
    """The choices of a state folder. `fault` says why a file that is there does not count."""

    def __init__(self, state: Path) -> None:
        self._path = state / NAME
        self.fault = ""
        self._rows = self._read()

    def of(self, job: str) -> Choice | None:
        """What a person chose for a job."""
        return self._rows.get(job)

    def keep(self, job: str, choice: Choice | None) -> str:
        """Remember it (None: forget it); a sentence when the disk does not take it."""
        self._rows = {name: one for name, one in self._rows.items() if name != job}
        if choice is not None:
            self._rows[job] = choice
        rows = {name: {"backend": c.backend, "model": c.model} for name, c in self._rows.items()}
        try:
            write_atomic(self._path, json.dumps(rows).encode() + b"\n", 0o600)
        except OSError as error:
            why = error.strerror or error
            return f"It is not remembered over a restart ({why}): free the disk, choose it again."
        self.fault = ""
        return ""

    def _read(self) -> dict[str, Choice]:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            return {job: _chosen(job, row) for job, row in found.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, AttributeError, RecursionError) as error:
            self.fault = (
                f"{self._path} cannot be read ({str(error)[:120]}): config.toml counts. Choose "
                "the model again with armlabd models use."
            )
            log.warning("%s", self.fault)
            return {}


def _chosen(job: str, row: Any) -> Choice:
    """A row of the file. Raises ValueError."""
    read = read_choice(job, row) if isinstance(row, dict) and job in WORDS else None
    if not isinstance(read, Choice):
        raise ValueError(f"{job}: {row!r:.60} is no choice")
    return read


def read_choice(job: str, body: Mapping[str, Any]) -> Choice | Verdict | None:
    """`{"backend": ..., "model": ...}` as a choice; None for "config"; a refusal otherwise."""
    extra = sorted(set(body) - {"backend", "model"})
    if extra:
        names = ", ".join(extra)[:80]
        return Verdict.refused(
            Code.UNKNOWN_PARAMETER, f"{names}: not known here. Allowed are backend and model."
        )
    words = (*WORDS[job], DEFAULT)
    if "backend" not in body:
        sentence = f"backend is missing. Allowed are {', '.join(words)}."
        return Verdict.refused(Code.MISSING, sentence)
    backend, model = body["backend"], body.get("model", "")
    if not isinstance(backend, str) or backend not in words:
        sentence = f"backend = {backend!r:.60} is not known. Allowed are {', '.join(words)}."
        return Verdict.refused(Code.WRONG_TYPE, sentence)
    wrong = _wrong_model(backend, model)
    if wrong is not None:
        return wrong
    return None if backend == DEFAULT else Choice(backend, model)


def _wrong_model(backend: str, model: object) -> Verdict | None:
    if not isinstance(model, str) or len(model) > MAX_NAME or not (model.isprintable()):
        sentence = f"model = {model!r:.60} is no name: text of at most {MAX_NAME} characters."
        return Verdict.refused(Code.WRONG_TYPE, sentence)
    if backend in NEEDS_MODEL and not model:
        sentence = f"backend {backend} needs a model. GET /models lists them."
        return Verdict.refused(Code.MISSING, sentence)
    if backend not in NEEDS_MODEL and model:
        sentence = f"backend {backend} takes no model. Leave it out."
        return Verdict.refused(Code.UNKNOWN_PARAMETER, sentence)
    return None
