"""The Ollama stand-in lies one folder up, the tiny model's builder beside this file.

After each test no worker is left.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
for folder in (HERE, HERE.parent):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from ollama_stand_in import OllamaStandIn, ollama  # noqa: E402
from tiny import build_tiny  # noqa: E402

from armlabd.inference.settings import WorkerSettings  # noqa: E402
from armlabd.inference.smolvlm import SmolVlm  # noqa: E402


@pytest.fixture
async def server() -> AsyncIterator[OllamaStandIn]:
    """A healthy server with one model that can plan and one that can see."""
    async with ollama() as stand_in:
        stand_in.add("plan:1b")
        stand_in.add("see:2b", abilities=("completion", "vision"))
        stand_in.add("embed:latest", abilities=("embedding",))
        yield stand_in


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that sees, fp32 and int8."""
    folder = build_tiny(tmp_path_factory.mktemp("tiny"))
    return build_tiny(folder, int8=True)


@pytest.fixture
async def smolvlm(tiny_folder: Path) -> AsyncIterator[SmolVlm]:
    """A backend on the tiny model, cold."""
    backend = SmolVlm(WorkerSettings(str(tiny_folder), "tiny"))
    yield backend
    await backend.close()
    assert backend.pid is None
