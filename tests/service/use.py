"""Commands and questions of a person with a board: README's steps, the laptop, what is told."""

from __future__ import annotations

import time

import board as b

INSTALL = "/root/armlabd/scripts/install.sh"
CAMERA, CONTROL = f"{b.RUN}/table.png", f"{b.RUN}/control.sock"
FLAGS = ("--no-models", "--wheelhouse", "/wheels", "--lan", "--port", "/dev/ttyACM0")
WHERE = ("--camera", CAMERA, "--yes")


class Steps:
    """The commands of README from a flashed card to the first block, and what each took."""

    def __init__(self) -> None:
        self.took_s: dict[str, float] = {}

    def __call__(self, board: b.Board, *words: str) -> str:
        began_s = time.monotonic()
        done = board.up(*words)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        self.took_s[" ".join(words)] = round(time.monotonic() - began_s, 1)
        return done.stdout + done.stderr


def state_of(board: b.Board) -> str:
    """The arm's state, as the laptop is told."""
    answer = laptop_of(board).ask("GET", "/status")[1]
    return str(answer.get("arm", {}).get("state", ""))


def laptop_of(board: b.Board, role: str = "operator") -> b.Laptop:
    """The laptop with the key of that role."""
    key = (board.root / f"etc/armlabd/credentials/arm_{role}_key").read_text().strip()
    return b.Laptop(board.network, key)


def stopped(board: b.Board) -> bool:
    """Whether the arm is stopped, as the laptop is told; True while nobody answers."""
    return laptop_of(board).ask("GET", "/status")[1].get("stopped") is not False
