"""Tests with a real model and long ones with random weights: `scripts/test --models`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
for folder in (HERE, HERE.parent, HERE.parent / "inference"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

WANTED = os.environ.get("ARMLABD_REAL_MODEL") == "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = "needs a real model, minutes long: scripts/test --models"
    for item in items:
        if item.path.is_relative_to(HERE) and not WANTED:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The folder of SmolLM2-135M-Instruct."""
    from real import smollm2_folder

    return smollm2_folder()
