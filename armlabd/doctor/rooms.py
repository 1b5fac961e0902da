"""The house itself: daemon, core, stop, model, keys."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from armlabd.doctor.report import Check, finding, ok
from armlabd.doctor.subject import Subject, daemon_pid
from armlabd.gate.keyfile import KeyFileError, load_keys
from armlabd.motion.latch import read_cause

PRIVATE = 0o077  # bits that nobody but the owner should have
START = "armlabd run"


def daemon_check(subject: Subject) -> Check:
    """Is the daemon there, and its core with it?"""
    pid = daemon_pid(subject.state, subject.roots.proc)
    if pid is None and subject.core is not None:
        core = subject.core.get("pid")
        return finding(
            "daemon",
            f"A motion core (process {core}) runs without a daemon: it parks and leaves by itself.",
            _start(subject),
        )
    if pid is None:
        return ok("daemon", f"It does not run; {_start(subject)} starts it.")
    if subject.core is None:
        return finding(
            "daemon",
            f"It runs (process {pid}), but its motion core does not answer: nothing moves.",
            "Look at its log: journalctl -u armlabd -n 50",
            "sudo systemctl restart armlabd",
        )
    return ok("daemon", f"It runs (process {pid}), with its motion core.")


def _start(subject: Subject) -> str:
    return f"{START} --sim" if subject.simulated else START


def stop_check(subject: Subject) -> Check:
    """Is the arm stopped? That is no fault of the machine, but somebody wants to know."""
    if subject.core is not None:
        stop: Mapping[str, Any] = subject.core.get("stop") or {}
        stopped, sentence = bool(subject.core.get("stopped")), str(stop.get("sentence", ""))
    else:
        cause = read_cause(subject.state / "stop.json")
        stopped, sentence = cause is not None, "" if cause is None else cause.sentence
    if not stopped:
        return ok("stop", "The arm is not stopped.")
    start = () if subject.core is not None else (_start(subject),)
    return finding(
        "stop",
        f"The arm is stopped. {sentence}".strip(),
        *start,
        "See that nobody reaches into the arm and that the cause is gone.",
        "armlabd clear-stop",
    )


def model_check(subject: Subject) -> Check:
    """The model that plans, as the daemon sees it; without a daemon, what the settings name."""
    planner = (subject.status or {}).get("planner")
    if isinstance(planner, Mapping):
        return _planner(planner)
    own = subject.config.planner
    named = [name for name in (own.ollama.model, own.smolvlm.model) if name]
    if own.backend == "rules" or not named:
        return ok("model", "None is needed: sentences are understood by rules.")
    return ok("model", f"The settings name {' and '.join(named)}; a running daemon looks for it.")


def _planner(planner: Mapping[str, Any]) -> Check:
    name = f"{planner.get('backend', '')} {planner.get('model', '')}".strip()
    if not planner.get("model"):
        return ok("model", "None is used: sentences are understood by rules.")
    if planner.get("state") in ("absent", "failed"):
        why = planner.get("detail") or planner.get("next") or "It cannot be used."
        text = f"{name} does not plan, the rules do: {why}"
        return finding("model", text, "armlabd models list")
    return ok("model", f"{name} plans ({planner.get('state')}).")


def keys_check(subject: Subject) -> Check:
    """Keys and who may read them."""
    path, own = subject.state / "keys.json", subject.state / "operator.key"
    try:
        keys = load_keys(path)
    except KeyFileError as error:
        return finding("keys", str(error), "Move the file away; the next start makes new keys.")
    open_to_all = [file for file in (path, own) if _open_to_others(file)]
    if open_to_all:
        names = " and ".join(file.name for file in open_to_all)
        steps = [f"chmod 600 {file}" for file in open_to_all]
        return finding(
            "keys",
            f"{names} can be read by other users of this board: they could drive the arm.",
            *steps,
            "Revoke and replace the keys if others were on it: armlabd keys list",
        )
    return _operators(subject, keys, own)


def _operators(subject: Subject, keys: tuple[Any, ...], own: Path) -> Check:
    if not keys:
        return ok("keys", "There are none yet; the first start makes them.")
    valid = [key for key in keys if not key.revoked]
    if not any(key.role == "operator" for key in valid):
        step = "armlabd keys add NAME --role operator"
        return finding("keys", "No valid operator key is left: nobody can clear a stop.", step)
    return ok("keys", f"{len(valid)} valid, readable by their owner only.{_own_words(own)}")


def _own_words(own: Path) -> str:
    there = own.exists()
    return " The command line of this board has its own." if there else ""


def _open_to_others(path: Path) -> bool:
    try:
        return bool(stat.S_IMODE(path.stat().st_mode) & PRIVATE)
    except OSError:
        return False
