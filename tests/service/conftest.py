"""One board for all tests of this folder, installed and calibrated by the commands of README."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import board as b
from use import CONTROL, FLAGS, INSTALL, WHERE, Steps, laptop_of, state_of, stopped

READY = os.environ.get("ARMLABD_SERVICE") == "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here) and "needs_board" in item.keywords and not READY:
            item.add_marker(pytest.mark.skip(reason="scripts/test --service runs it"))


@pytest.fixture(scope="session")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[b.Board]:
    """A board as it comes from the card, with the wheels beside it; off."""
    b.wheelhouse()
    with b.board_with_laptop(tmp_path_factory.mktemp("board")) as made:
        yield made


@pytest.fixture(scope="session")
def installed(board: b.Board) -> b.Board:
    """Installed on the card and booted for the first time."""
    board.offline(INSTALL, *FLAGS, *WHERE)
    board.boot()
    board.wait(board.active, b.BOOT_S, "the service did not become active")
    return board


@pytest.fixture(scope="session")
def first_block(installed: b.Board) -> Steps:
    """Everything up to the first block in the bin."""
    steps = Steps()
    for extra in ((), ("--align",)):
        steps(installed, "armlabd", "calibrate", *extra, "--stand-in", CONTROL)
    installed.wait(installed.active, 20, "the service did not come back after calibrating")
    installed.wait(lambda: state_of(installed) == "ready", 20, "the arm was not ready")
    steps(installed, "armlabd", "clear-stop")
    steps(installed, "armlabd", "goal", "put the red block in the bin")
    return steps


@pytest.fixture
def ready(installed: b.Board, first_block: Steps) -> b.Board:
    """A board whose service is active, whose arm is ready, at home and not stopped."""
    if installed.process is None:
        installed.boot()
    installed.wait(installed.active, 30, "the service is not active")
    installed.wait(lambda: state_of(installed) == "ready", 30, "the arm is not ready")
    laptop = laptop_of(installed)
    laptop.ask("POST", "/stop/clear", {})
    installed.wait(lambda: not stopped(installed), 10, "the stop could not be cleared")
    said: list[object] = []
    installed.wait(lambda: at_home(laptop, said), 30, f"it did not go home: {said}")
    return installed


def at_home(laptop: b.Laptop, said: list[object]) -> bool:
    """Send it home; a busy machine may have an old reading now and then."""
    status, answer = laptop.ask("POST", "/call/go_home", {})
    said.append(answer.get("error"))
    return status == 200
