"""Shapes of SmolVLM models (from their public config.json files), and weights by chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Shape:
    """The text part of a model, and its seeing part. Sizes in elements, pictures in pixels."""

    hidden: int
    inner: int
    layers: int
    heads: int
    kv_heads: int
    head: int  # elements of one head
    vocabulary: int
    positions: int
    image: int = 64
    patch: int = 8
    shuffle: int = 4  # patches along one side that become one token
    seeing_hidden: int = 32
    seeing_inner: int = 64
    seeing_layers: int = 1
    seeing_heads: int = 2
    rope_base: float = 1e5
    epsilon: float = 1e-5

    @property
    def patches(self) -> int:
        """Patches along one side of a tile."""
        return self.image // self.patch

    @property
    def tile_tokens(self) -> int:
        """Tokens that one tile takes in the prompt."""
        return (self.patches // self.shuffle) ** 2


TINY = Shape(64, 128, 2, 4, 2, 16, 512, 4096)
SMOLVLM_256M = Shape(
    576, 1536, 30, 9, 3, 64, 49280, 8192, 512, 16, 4, 768, 3072, 12, 12
)  # HuggingFaceTB/SmolVLM-256M-Instruct


class Weights(Protocol):
    """Where the builder takes weights from. Names are those of GGUF files (llama.cpp)."""

    def matrix(self, name: str, inputs: int, outputs: int) -> Floats:
        """[inputs, outputs]."""

    def vector(self, name: str, size: int) -> Floats:
        """The weights of a norm."""


class RandomWeights:
    """Weights by chance, the same for the same seed. Spread so that choices are no near-ties."""

    def __init__(self, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)

    def matrix(self, name: str, inputs: int, outputs: int) -> Floats:
        """[inputs, outputs]; an embedding's rows have unit spread."""
        spread = 1.0 if name == "token_embd" else 1.5 / float(np.sqrt(inputs))
        values = self._random.standard_normal((inputs, outputs), dtype=np.float32)
        return np.multiply(values, np.float32(spread), out=values)

    def vector(self, name: str, size: int) -> Floats:
        """Ones: norms of a fresh model."""
        return np.ones(size, np.float32)
