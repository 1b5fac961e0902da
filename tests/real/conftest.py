"""Fixtures of the tests that drive real processes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from harness import RealArm, real_arm


@pytest.fixture
def arm() -> Iterator[RealArm]:
    """A real arm that is started, connected and cleared."""
    with real_arm() as one:
        yield one.ready()


@pytest.fixture(scope="module")
def shared() -> Iterator[RealArm]:
    """One real arm for the tests of a module that leave it as they found it."""
    with real_arm() as one:
        yield one.ready()
