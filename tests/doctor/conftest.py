"""A healthy board and arm, all of it fake, for tests to break one thing at a time."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "bus"))

from patient import Patient


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    made = Patient(tmp_path)
    assert made.report().findings == (), made.report().lines()
    assert os.listdir(made.state)
    return made
