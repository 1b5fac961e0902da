"""A tiny SmolVLM with weights by chance, built in the run: nothing is shipped or fetched."""

from __future__ import annotations

from pathlib import Path

from armlabd.bench.models_made import save_model
from armlabd.bench.shapes import TINY


def build_tiny(folder: Path, *, vision: bool = True, seed: int = 0, int8: bool = False) -> Path:
    """A folder of the public layout: 512 tokens, 2 layers, tiles of 64 px that take 4 tokens."""
    return save_model(folder, TINY, seeing=vision, seed=seed, int8=int8)
