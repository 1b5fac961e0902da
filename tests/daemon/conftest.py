"""The Ollama stand-in and the tiny model's builder lie in neighbouring folders."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
for folder in (TESTS, TESTS / "inference"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
