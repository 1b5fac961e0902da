"""Align the virtual arm, then run the main job on it and show every stage, as a person would watch.

The virtual arm hides joint zeros and play from the product, as a real one does: a stand-in for a
person puts its limp fingertip on four points of the table first.

The daemon runs as it would on a board: own processes, real bytes on a pty, HTTP with a key. The
judge is the virtual world itself, which the daemon cannot see: is the block in the bin?
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from armlabd.cli.client import Client
from armlabd.cli.goals import follow
from armlabd.cli.show import as_json, complain, say, status_lines

START_TIMEOUT_S = 30.0
GOAL = "put the red block in the bin"
BLOCK = "red block"


def main() -> int:
    """Exit 0 when the block is in the bin."""
    options = _options()
    state = Path(tempfile.mkdtemp(prefix="armlabd-"))
    if not align(state):
        shutil.rmtree(state, ignore_errors=True)
        return 1
    command = [sys.executable, "-m", "armlabd", "run", "--sim", "--port", "0"]
    title("2  The daemon starts on a virtual arm, and starts stopped")
    daemon = subprocess.Popen([*command, "--state", str(state)], start_new_session=True)
    try:
        return show(daemon, state / "sim", options)
    finally:
        daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(45)
        except subprocess.TimeoutExpired:
            daemon.kill()
        shutil.rmtree(state, ignore_errors=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("out/demo"), help="folder for the pictures"
    )
    parser.add_argument("--goal", default=GOAL)
    return parser.parse_args()


def align(state: Path) -> bool:
    """Touch four points with the limp arm; true when zeros and base were found."""
    title("1  Alignment: the limp fingertip on four points of the table")
    command = [sys.executable, "-m", "armlabd", "calibrate", "--align", "--sim", "--stand-in"]
    return subprocess.run([*command, "--state", str(state)], check=False).returncode == 0


def title(text: str) -> None:
    """A heading between the stages."""
    say(f"\n=== {text}", "bold cyan")


def show(daemon: subprocess.Popen[bytes], state: Path, options: argparse.Namespace) -> int:
    """The stages one after the other."""
    client = wait_for(daemon, state)
    for text, style in status_lines(client.request("GET", "/status").body):
        say(text, style)
    title("3  A person clears the stop (operator key)")
    cleared = client.request("POST", "/stop/clear", {})
    say(str(cleared.body.get("message", cleared.body)))
    title(f"4  The goal, over HTTP: {options.goal!r}")
    began_s = time.monotonic()
    started = client.request("POST", "/goals", {"goal": options.goal})
    if not started.ok:
        complain(json.dumps(started.body))
        return 1
    code = follow(client, started.body["id"])
    took_s = time.monotonic() - began_s
    return report(state, options.out, started.body["id"], code, took_s)


def wait_for(daemon: subprocess.Popen[bytes], state: Path) -> Client:
    """The client, once the daemon wrote down where it answers and its arm is there."""
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline_s and daemon.poll() is None:
        try:
            note = json.loads((state / "daemon.json").read_text())
            client = Client(note["url"], (state / "operator.key").read_text().strip())
            if client.request("GET", "/status").body["arm"]["connected"]:
                return client
        except (OSError, ValueError, KeyError):
            pass
        time.sleep(0.1)
    raise SystemExit("The daemon did not come up; its message stands above.")


def report(state: Path, out: Path, run_id: str, code: int, took_s: float) -> int:
    """What the run folder holds, and the judgement of the virtual world."""
    folder = state / "runs" / run_id
    title("5  What the camera saw, before and after")
    out.mkdir(parents=True, exist_ok=True)
    for name, shown in (("picture-1.png", "before.png"), ("picture-after.png", "after.png")):
        shutil.copyfile(folder / name, out / shown)
        say(f"picture: {out / shown}")
    title("6  The judge: the virtual world")
    world = ask_world(state)
    inside = BLOCK in world.get("in_bin", [])
    say(f"in the bin: {', '.join(world.get('in_bin', [])) or 'nothing'}   ({took_s:.1f} s)")
    if code == 0 and inside:
        say("The red block is in the bin.", "bold green")
        return 0
    complain("The red block is NOT in the bin.")
    as_json(world)
    return 1


def ask_world(state: Path) -> dict[str, Any]:
    """The state of the virtual world, over its control socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control:
        control.settimeout(5.0)
        control.connect(os.fspath(state / "control.sock"))
        control.sendall(b'{"cmd": "state"}\n')
        with control.makefile("rb") as lines:
            world: dict[str, Any] = json.loads(lines.readline())
    return world


if __name__ == "__main__":
    sys.exit(main())
