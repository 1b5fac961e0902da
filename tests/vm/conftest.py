"""One emulated machine for all tests of this folder, booted once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "service")]

READY = os.environ.get("ARMLABD_VM") == "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = pytest.mark.skip(reason="scripts/test --vm runs it")
    for item in items:
        if item.path.is_relative_to(HERE) and "needs_machine" in item.keywords and not READY:
            item.add_marker(here)


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Switched on with the stop line open and no arm plugged in."""
    import board as b
    import forge
    import image
    from machine import Machine

    kernel = forge.kernel()
    disk = image.disk(kernel)
    folder = tmp_path_factory.mktemp("vm")
    bus = b.BareBus(folder / "arm")
    try:
        made = Machine(folder, kernel, disk, bus)
        try:
            made.booted()
            yield made
        finally:
            made.close()
    finally:
        bus.close()
