"""Other people's programs against `armlabd sim`, unchanged: scan, read, move, calibrate.

Each peer gets a throw-away environment from PyPI and a virtual arm of its own under one temporary
folder; nothing stays. A virtual arm that satisfies programs written for real servos is a fair
stand-in for them. Exit status 0 when every peer went through, else 1.

Usage: scripts/test --peers [NAME ...]   (feetech-cli rustypot lerobot; default: all)
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
CASES = ROOT / "scripts" / "peer_cases"
STEPS = ("scan", "read", "move", "calibrate")
MARK = "PEER "
READY_S = 30.0
CASE_S = 180.0
INSTALL_S = 600.0


@dataclass(frozen=True)
class Peer:
    """A package and the case that drives it. `alone`: installed without what it depends on."""

    name: str
    case: str
    packages: tuple[str, ...]
    alone: tuple[str, ...] = ()


PEERS = (
    Peer("feetech-cli", "feetech_cli_case.py", ("feetech-cli",)),
    Peer("rustypot", "rustypot_case.py", ("rustypot",)),
    Peer(
        "lerobot",
        "lerobot_case.py",
        # what its bus, robot class and configuration really use; the rest is stood in for
        ("pyserial", "deepdiff<9", "draccus", "tqdm", "numpy", "huggingface_hub", "packaging"),
        ("lerobot", "feetech-servo-sdk"),
    ),
)


@dataclass
class Outcome:
    """What became of one peer."""

    name: str
    version: str = ""
    took_s: float = 0.0
    steps: dict[str, bool] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """True when all four steps were done."""
        return all(self.steps.get(step) for step in STEPS)

    def row(self) -> str:
        """One line of the table."""
        words = {True: "ok", False: "FAILED", None: "-"}
        cells = "".join(f"{words[self.steps.get(step)]:<11}" for step in STEPS)
        return f"{self.name:<13}{self.version:<10}{cells}{self.took_s:6.0f} s"


class PeerError(Exception):
    """A peer could not even be tried; the sentence says why."""


def main() -> int:
    """Run the peers named on the command line, or all."""
    known = {peer.name: peer for peer in PEERS}
    parser = argparse.ArgumentParser(prog="scripts/test --peers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    chosen = parser.parse_args().names or list(known)
    if wrong := [name for name in chosen if name not in known]:
        parser.error(f"there is no peer {wrong[0]}; there are: {', '.join(known)}")
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        for name in chosen:
            print(f"{name} ...", flush=True)
            outcomes.append(_try(known[name], Path(folder)))
    _show(outcomes)
    return 0 if all(outcome.ok for outcome in outcomes) else 1


def _show(outcomes: list[Outcome]) -> None:
    print()
    print(f"{'peer':<13}{'version':<10}{''.join(f'{step:<11}' for step in STEPS)}  took")
    for outcome in outcomes:
        print(outcome.row())
    for outcome in outcomes:
        for line in outcome.told:
            print(f"  {outcome.name}: {line}")


def _try(peer: Peer, folder: Path) -> Outcome:
    """One peer from installation to its last step."""
    began_s = time.monotonic()
    outcome = Outcome(peer.name)
    place = folder / peer.name
    place.mkdir()
    try:
        python = _environment(peer, place / "env")
        outcome.version = _version(python, (*peer.alone, *peer.packages)[0])
        _with_arm(peer, python, place, outcome)
    except (PeerError, OSError, subprocess.TimeoutExpired) as error:
        outcome.told.append(" ".join(str(error).split())[-400:])
    outcome.took_s = time.monotonic() - began_s
    return outcome


def _environment(peer: Peer, folder: Path) -> Path:
    """A fresh environment with the peer in it; its interpreter. Raises PeerError."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    if peer.alone:
        _install(python, "--no-deps", *peer.alone)
    _install(python, *peer.packages)
    return python


def _install(python: Path, *words: str) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    ran = subprocess.run(
        [*command, *words], capture_output=True, text=True, timeout=INSTALL_S, check=False
    )
    if ran.returncode:
        raise PeerError(f"pip install {' '.join(words)} failed: {ran.stderr.strip()}")


def _version(python: Path, package: str) -> str:
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    ran = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    return ran.stdout.strip() or "?"


def _with_arm(peer: Peer, python: Path, place: Path, outcome: Outcome) -> None:
    """Start a virtual arm, run the case, end the arm."""
    state = place / "arm"
    state.mkdir()
    command = [sys.executable, "-m", "armlabd", "sim", "--state", str(state), "--orphan-s", "60"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (place / "sim.txt").open("wb") as log:
        arm = subprocess.Popen(
            command, stdout=log, stderr=log, env=environment, start_new_session=True
        )
    try:
        _wait_for(state, arm)
        _run_case(peer, python, place, outcome)
    finally:
        _end(arm, state)


def _wait_for(state: Path, arm: subprocess.Popen[bytes]) -> None:
    until_s = time.monotonic() + READY_S
    while not ((state / "bus").exists() and (state / "control.sock").exists()):
        if arm.poll() is not None or time.monotonic() > until_s:
            raise PeerError("The virtual arm did not start.")
        time.sleep(0.05)


def _end(arm: subprocess.Popen[bytes], state: Path) -> None:
    """By its own command, so that its processes go with it."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
            channel.connect(str(state / "control.sock"))
            channel.sendall(b'{"cmd": "quit"}\n')
            channel.recv(1)
        arm.wait(10)
    except (OSError, subprocess.TimeoutExpired):
        arm.terminate()
        arm.wait(10)


def _run_case(peer: Peer, python: Path, place: Path, outcome: Outcome) -> None:
    """The case in the peer's environment; what it tells goes into `outcome`."""
    arm, home = place / "arm", place / "home"
    home.mkdir()
    command = [python, CASES / peer.case, arm / "bus", arm / "control.sock", home]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    ran = subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=CASE_S,
        check=False,
        env={**environment, "HOME": str(home), "HF_HUB_OFFLINE": "1"},
    )
    for line in ran.stdout.splitlines():
        if line.startswith(MARK):
            told = json.loads(line.removeprefix(MARK))
            outcome.steps[told["step"]] = told["ok"]
            outcome.told.append(f"{told['step']}: {told['told']}")
    if not outcome.ok and all(outcome.steps.values()):
        words = (ran.stderr or ran.stdout).strip().splitlines()[-3:]
        outcome.told.append(f"ended early: {' / '.join(words)}"[:400])


if __name__ == "__main__":
    sys.exit(main())
