"""A daemon that answers what it was told to, and no other one found by accident."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from armlabd.cli import commands, goals, models
from armlabd.cli.client import (
    Answer,
)


class Daemon:
    """Answers what it was told to; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self.answers: list[Answer | Exception] = []

    def request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, timeout_s: float = 0
    ) -> Answer:
        self.asked.append((method, path, body))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def daemon(monkeypatch: Any) -> Daemon:
    one = Daemon()
    for module in (commands, goals, models):
        monkeypatch.setattr(module, "client_of", lambda options: one)
    return one


@pytest.fixture(autouse=True)
def alone(monkeypatch: Any, tmp_path: Path) -> None:
    """No daemon, key or core of this machine is found by accident."""
    for name in ("ARM_OPERATOR_KEY", "ARM_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))


TESTS = Path(__file__).parents[1]
for folder in (TESTS, TESTS / "inference"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
