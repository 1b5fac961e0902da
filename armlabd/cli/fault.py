"""`armlabd fault`: make something go wrong on the virtual arm, as a person types it."""

from __future__ import annotations

import argparse
import json
import socket
from pathlib import Path
from typing import Any

from armlabd.cli.exits import OK, REFUSED, UNREACHABLE
from armlabd.cli.show import complain, say
from armlabd.daemon.state import state_folder
from armlabd.sim.fault_commands import FAULTS

WAIT_S = 5.0
ENDS = ("healthy", "replug")


def fault(options: argparse.Namespace) -> int:
    """armlabd fault [WORDS]: tell the virtual arm; without words, what there is."""
    line = " ".join(options.words)
    if not line:
        for name, command in FAULTS.items():
            say(f"{name:<14} {(command.__doc__ or '').splitlines()[0]}")
        return OK
    path = _control(options.state)
    if path is None:
        complain("No virtual arm runs here. Start one: armlabd run --sim (or name its --state).")
        return UNREACHABLE
    answer = _ask(path, line)
    if not answer.pop("ok", False):
        complain(str(answer.get("error", "The virtual arm did not answer.")))
        return REFUSED
    end = "" if options.words[0] in ENDS else " End it with: armlabd fault healthy"
    say(json.dumps(answer, indent=1) if answer else f"Done: {line}.{end}")
    return OK


def _control(state: Path | None) -> Path | None:
    """The control socket of the virtual arm in the state folder, or right in it."""
    folders = [state_folder(state, True), *([state] if state is not None else [])]
    found = [folder / "control.sock" for folder in folders]
    return next((path for path in found if path.exists()), None)


def _ask(path: Path, line: str) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        channel.settimeout(WAIT_S)
        try:
            channel.connect(str(path))
            channel.sendall(line.encode() + b"\n")
            with channel.makefile("rb") as answers:
                found = json.loads(answers.readline() or b"{}")
        except (OSError, ValueError) as error:
            return {"error": f"The virtual arm at {path} does not answer: {error}."}
    return found if isinstance(found, dict) else {}
