"""Shared by the tests of the motion core."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from armlabd.bench.arena import Arena


@pytest.fixture
def arena(tmp_path: Path) -> Arena:
    """A core that is cleared, leased and ready, its arm limp at the home pose."""
    return Arena(tmp_path).ready()


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Arena]:
    """Cores of the test's own making, in the same state folder."""
    return lambda **given: Arena(tmp_path, **given)
