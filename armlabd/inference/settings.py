"""What the model worker is told: which files, how much of the machine, which limits."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

DECODER, EMBEDDING, SEEING = "decoder_model_merged", "embed_tokens", "vision_encoder"
GRAPHS = (DECODER, EMBEDDING, SEEING)
PLAIN = ("", "fp32")  # words for files without a suffix
DEFAULT_WINDOW = 2048  # tokens; the cache of SmolVLM-256M takes 46 kB each


def spare_cores() -> int:
    """All cores but one, which is left to the arm; at least 1."""
    return max(1, len(os.sched_getaffinity(0)) - 1)


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """One model and how it is run. Times in seconds; 0 = never for `idle_unload_s`.

    `variants` names the file of each graph: {"decoder_model_merged": "q4", ...} (or "int8", "fp16",
    ..., "fp32" for the file without a suffix); graphs that are not named take `variant`. `window`
    is prompt and answer together, at most what the model was made for; `tiles` how many pieces a
    picture may be cut into. `temperature` 0 takes the likeliest token; with others `seed` fixes the
    series of answers since loading.
    `address_space_bytes` bounds the worker's virtual memory (0 = not).
    """

    folder: str
    model: str
    variant: str = "fp32"
    variants: dict[str, str] = field(default_factory=dict)
    threads: int = field(default_factory=spare_cores)
    providers: tuple[str, ...] = ("CPUExecutionProvider",)
    tiles: int = 1
    window: int = DEFAULT_WINDOW
    load_s: float = 120.0
    idle_unload_s: float = 0.0
    temperature: float = 0.0
    seed: int = 0
    forced: bool = True  # feed what the schema leaves no choice about as one step
    address_space_bytes: int = 0

    def file_of(self, graph: str) -> str:
        """The file's name."""
        variant = self.variants.get(graph, self.variant)
        return f"{graph}.onnx" if variant in PLAIN else f"{graph}_{variant}.onnx"

    @property
    def path(self) -> Path:
        """The model's folder."""
        return Path(self.folder)

    def as_fields(self) -> dict[str, Any]:
        """For the wire."""
        return asdict(self)

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> WorkerSettings:
        """From the wire."""
        known = {one.name for one in fields(cls)}
        told = {key: value for key, value in values.items() if key in known}
        return cls(**{**told, "providers": tuple(told["providers"])})

    def digest(self) -> str:
        """The same for the same settings."""
        return json.dumps(self.as_fields(), sort_keys=True)
