"""A model's folder, looked at without loading anything: which files, what its config says.

The layout is the public SmolVLM one: three graphs in `onnx/` or flat, config.json, tokenizer.json.
A folder without the seeing graph is a model for text only. Standard library only: the daemon looks
too, before it starts a worker.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armlabd.inference.backend import ModelError
from armlabd.inference.settings import DECODER, EMBEDDING, PLAIN, SEEING, WorkerSettings
from armlabd.verdict import Code

SMALLEST_GRAPH = 1024  # bytes; less is a pointer file or the start of a download
POINTER = b"version https://git-lfs"
FALLBACK_POSITIONS = 2048  # Llama's own default


@dataclass(frozen=True, slots=True)
class Numbers:
    """What config.json says; None where it is silent. Sizes in elements, `image` in pixels."""

    hidden: int | None
    layers: int | None
    heads: int | None
    kv_heads: int | None
    head: int | None
    vocabulary: int | None
    positions: int
    image_token: int | None
    image: int | None
    patch: int | None
    seeing_heads: int | None
    ends: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Folder:
    """The files of a model that can be loaded."""

    path: Path
    graphs: dict[str, Path]
    numbers: Numbers

    @property
    def sees(self) -> bool:
        """True when it takes pictures."""
        return SEEING in self.graphs

    @property
    def graph_bytes(self) -> int:
        """Size of all graphs, their external data included."""
        return sum(_with_data(path) for path in self.graphs.values())


def broken(sentence: str) -> ModelError:
    """A folder that cannot be used."""
    return ModelError(Code.NO_MODEL, sentence)


def look_at(settings: WorkerSettings) -> Folder:
    """The folder's files. Raises ModelError(NO_MODEL) that names what is missing and the remedy."""
    path = settings.path
    if not path.is_dir():
        raise broken(
            f"There is no model folder {path}. Fetch the model with `armlabd models fetch`, or "
            "name a folder that is there."
        )
    for name in ("config.json", "tokenizer.json"):
        if not (path / name).is_file():
            raise broken(f"The model folder {path} has no {name}. Fetch the model anew.")
    graphs = {graph: _graph(settings, graph) for graph in (DECODER, EMBEDDING)}
    if any(_place(path).glob(f"{SEEING}*.onnx")):
        graphs[SEEING] = _graph(settings, SEEING)
    return Folder(path, graphs, _numbers(path))


def _place(path: Path) -> Path:
    return path / "onnx" if (path / "onnx").is_dir() else path


def _graph(settings: WorkerSettings, graph: str) -> Path:
    place = _place(settings.path)
    path = place / settings.file_of(graph)
    if not path.is_file():
        there = ", ".join(variants_of(place, graph)) or "none"
        raise broken(
            f"The model folder has no {path.name} in {place}. Variants of {graph} that are there: "
            f"{there}. Choose one of them, or fetch the model anew."
        )
    size = path.stat().st_size
    if size < SMALLEST_GRAPH:
        with path.open("rb") as file:
            pointer = file.read(len(POINTER)) == POINTER
        what = "a pointer to the file, not the file" if pointer else f"only {size} bytes long"
        raise broken(f"{path} is {what}. Fetch the model anew.")
    return path


def variants_of(place: Path, graph: str) -> list[str]:
    """Variants of a graph that are there: "fp32", "int8", ..."""
    names = [path.stem.removeprefix(graph) for path in sorted(place.glob(f"{graph}*.onnx"))]
    return [name.removeprefix("_") or PLAIN[1] for name in names]


def _with_data(path: Path) -> int:
    """The file and its external data (`NAME.onnx_data`, `NAME.onnx_data_1`, ...)."""
    pieces = path.parent.glob(f"{path.name}_data*")
    return path.stat().st_size + sum(piece.stat().st_size for piece in pieces)


def _numbers(path: Path) -> Numbers:
    whole = read_json(path / "config.json")
    text = _part(whole, "text_config") or whole
    seeing = _part(whole, "vision_config")
    hidden, heads = _whole(text, "hidden_size"), _whole(text, "num_attention_heads")
    head = _whole(text, "head_dim")
    if head is None and hidden and heads:
        head = hidden // heads
    return Numbers(
        hidden=hidden,
        layers=_whole(text, "num_hidden_layers"),
        heads=heads,
        kv_heads=_whole(text, "num_key_value_heads") or heads,
        head=head,
        vocabulary=_whole(text, "vocab_size"),
        positions=_whole(text, "max_position_embeddings") or FALLBACK_POSITIONS,
        image_token=_whole(whole, "image_token_id"),
        image=_whole(seeing, "image_size"),
        patch=_whole(seeing, "patch_size"),
        seeing_heads=_whole(seeing, "num_attention_heads"),
        ends=_ends(path, whole, text),
    )


def _ends(path: Path, *configs: dict[str, Any]) -> tuple[int, ...]:
    """The tokens that end an answer: generation_config.json's, else config.json's."""
    generation = path / "generation_config.json"
    first = [read_json(generation)] if generation.is_file() else []
    for config in (*first, *configs):
        ends = config.get("eos_token_id")
        ends = ends if isinstance(ends, list) else [ends]
        if ends and all(type(end) is int and end >= 0 for end in ends):
            return tuple(ends)
    raise broken(f"No file in {path} says which token ends an answer (eos_token_id).")


def read_json(path: Path) -> dict[str, Any]:
    """An object from a JSON file. Raises ModelError(NO_MODEL)."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise broken(f"{path} cannot be read ({error}). Fetch the model anew.") from error
    if not isinstance(found, dict):
        raise broken(f"{path} holds no JSON object. Fetch the model anew.")
    return found


def _part(config: dict[str, Any], name: str) -> dict[str, Any]:
    part = config.get(name)
    return part if isinstance(part, dict) else {}


def _whole(config: dict[str, Any], name: str) -> int | None:
    value = config.get(name)
    return value if type(value) is int and value > 0 else None
