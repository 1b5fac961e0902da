"""The graphs of a model in onnxruntime: loaded, and held against what config.json says.

Names, element types, shapes and the layout of the cache are read from the graphs; one that
disagrees is refused with a sentence. Imported only in the worker.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from armlabd.inference.backend import ModelError
from armlabd.inference.folder import Folder, broken
from armlabd.inference.memory import lacking
from armlabd.inference.settings import DECODER, EMBEDDING, SEEING, WorkerSettings
from armlabd.verdict import Code

PAST = re.compile(r"past_key_values\.(\d+)\.(key|value)")
KEEP = "num_logits_to_keep"  # some exports let one ask for the last rows only
TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}
ONLY_ERRORS = 3  # onnxruntime's severity

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Cache:
    """How the decoder keeps keys and values: input names with their outputs, sizes, type."""

    pairs: tuple[tuple[str, str], ...]
    kv_heads: int
    head: int
    dtype: Any

    def empty(self) -> dict[str, Any]:
        """A cache of length 0."""
        nothing = np.zeros((1, self.kv_heads, 0, self.head), self.dtype)
        return {past: ort.OrtValue.ortvalue_from_numpy(nothing) for past, _ in self.pairs}


@dataclass(frozen=True, slots=True)
class Graphs:
    """Sessions that were checked. `notes` are sentences about what is not as configured."""

    decoder: Any
    embedding: Any
    seeing: Any | None
    cache: Cache
    hidden: int
    vocabulary: int
    keeps_rows: bool
    pixel_type: Any
    notes: tuple[str, ...]


def load(settings: WorkerSettings, folder: Folder) -> Graphs:
    """Load and check all graphs. Raises ModelError."""
    ort.set_default_logger_severity(ONLY_ERRORS)
    notes: list[str] = []
    providers = _available(settings.providers, notes)
    sessions = {
        graph: _session(path, settings, providers, notes) for graph, path in folder.graphs.items()
    }
    return _checked(sessions, folder, tuple(dict.fromkeys(notes)))


def _available(wanted: tuple[str, ...], notes: list[str]) -> list[str]:
    """The providers that this onnxruntime has; the CPU's always comes last."""
    there = ort.get_available_providers()
    has = ", ".join(there)
    notes += [
        f"{name} is not in this onnxruntime ({has}): the processor computes."
        for name in wanted
        if name not in there
    ]
    chosen = [name for name in wanted if name in there]
    return [*(name for name in chosen if not name.startswith("CPU")), "CPUExecutionProvider"]


def _session(path: Path, settings: WorkerSettings, providers: list[str], notes: list[str]) -> Any:
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = settings.threads, 1
    options.enable_mem_pattern = False  # costs nothing, saves about 110 MiB on the 256M shape
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.use_device_allocator_for_initializers", "1")
    try:
        session = ort.InferenceSession(path, options, providers=providers)
    except Exception as error:  # onnxruntime's errors share no base but Exception
        raise load_error(path, error) from error
    if session.get_providers()[0] != providers[0]:
        used = session.get_providers()[0]
        notes.append(f"{path.name} fell back from {providers[0]} to {used}.")
    return session


def load_error(path: Path, error: Exception) -> ModelError:
    """What onnxruntime said about a file, in words."""
    said = str(error).strip().splitlines()
    first = said[0][:300] if said else type(error).__name__
    if lacking(error):
        return ModelError(
            Code.MODEL_MEMORY,
            f"{path.name} did not fit the memory ({first}). Use a smaller variant or model.",
        )
    return broken(
        f"{path} cannot be loaded: {first}. It is damaged or not for this onnxruntime "
        f"({ort.__version__}): fetch the model anew or use another variant."
    )


def _checked(sessions: Mapping[str, Any], folder: Folder, notes: tuple[str, ...]) -> Graphs:
    numbers = folder.numbers
    decoder, embedding = sessions[DECODER], sessions[EMBEDDING]
    inputs = _inputs(decoder)
    cache = _cache(decoder, inputs)
    hidden = _agreed(_shape(inputs, "inputs_embeds", DECODER), 2, numbers.hidden, "hidden_size")
    _typed(inputs, "inputs_embeds", "tensor(float)", DECODER)
    for name in ("attention_mask", "position_ids"):
        _shape(inputs, name, DECODER)
        _typed(inputs, name, "tensor(int64)", DECODER)
    _known(inputs, DECODER, {"inputs_embeds", "attention_mask", "position_ids", KEEP})
    rows = _inputs(embedding)
    _typed(rows, "input_ids", "tensor(int64)", EMBEDDING)
    vectors = _shape(_outputs(embedding), "inputs_embeds", EMBEDDING)
    _agreed(vectors, 2, hidden, "hidden_size")
    logits = _shape(_outputs(decoder), "logits", DECODER)
    vocabulary = _agreed(logits, 2, numbers.vocabulary, "vocab_size")
    _count(len(cache.pairs) // 2, numbers.layers, "num_hidden_layers")
    _count(cache.kv_heads, numbers.kv_heads, "num_key_value_heads")
    _count(cache.head, numbers.head, "head_dim")
    seeing = sessions.get(SEEING)
    pixels = _seeing(seeing, folder, hidden) if seeing is not None else np.float32
    keeps = KEEP in inputs
    return Graphs(decoder, embedding, seeing, cache, hidden, vocabulary, keeps, pixels, notes)


def _seeing(session: Any, folder: Folder, hidden: int) -> Any:
    """Check the seeing graph; the element type of its pixels."""
    inputs = _inputs(session)
    pixels = _shape(inputs, "pixel_values", SEEING)
    _typed(inputs, "pixel_attention_mask", "tensor(bool)", SEEING)
    _known(inputs, SEEING, {"pixel_values", "pixel_attention_mask"})
    if len(pixels) != 5:
        raise broken(f"{SEEING} takes pixel_values of {len(pixels)} axes; 5 are needed.")
    for axis in (3, 4):
        _agreed(pixels, axis, folder.numbers.image, "image_size")
    features = _outputs(session)
    _agreed(_shape(features, "image_features", SEEING), 2, hidden, "hidden_size")
    if folder.numbers.image_token is None:
        raise broken("config.json names no image_token_id, but there is a vision_encoder.")
    return _dtype(inputs["pixel_values"], SEEING)


def _cache(decoder: Any, inputs: Mapping[str, Any]) -> Cache:
    outputs = _outputs(decoder)
    found = [(name, PAST.fullmatch(name)) for name in inputs if PAST.fullmatch(name)]
    pairs = tuple((name, name.replace("past_key_values", "present")) for name, _ in found)
    lost = [present for _, present in pairs if present not in outputs]
    if not pairs or lost:
        what = f"lacks {lost[0]}" if lost else "has no past_key_values"
        raise broken(f"{DECODER} {what}: it is not of the merged layout with a cache.")
    shapes = {tuple(inputs[name].shape[1::2]) for name, _ in pairs}
    heads, head = next(iter(shapes)) if len(shapes) == 1 else (None, None)
    if type(heads) is not int or type(head) is not int:
        raise broken(f"{DECODER} has past_key_values of shape {inputs[pairs[0][0]].shape}.")
    return Cache(pairs, heads, head, _dtype(inputs[pairs[0][0]], DECODER))


def _inputs(session: Any) -> dict[str, Any]:
    return {one.name: one for one in session.get_inputs()}


def _outputs(session: Any) -> dict[str, Any]:
    return {one.name: one for one in session.get_outputs()}


def _shape(values: Mapping[str, Any], name: str, graph: str) -> list[Any]:
    if name not in values:
        raise broken(f"{graph} has no {name}; it has {', '.join(list(values)[:6])}.")
    return list(values[name].shape)


def _typed(values: Mapping[str, Any], name: str, wanted: str, graph: str) -> None:
    _shape(values, name, graph)
    if values[name].type != wanted:
        raise broken(f"{graph} takes {name} as {values[name].type}; {wanted} is needed.")


def _dtype(value: Any, graph: str) -> Any:
    if value.type not in TYPES:
        raise broken(f"{graph} takes {value.name} as {value.type}; float or float16 is needed.")
    return TYPES[value.type]


def _known(values: Mapping[str, Any], graph: str, names: set[str]) -> None:
    others = [name for name in values if name not in names and not PAST.fullmatch(name)]
    if others:
        raise broken(f"{graph} wants {others[0]}, which the worker cannot give.")


def _agreed(shape: list[Any], axis: int, wanted: int | None, key: str) -> int:
    """The size of an axis, which config.json must agree with."""
    size = shape[axis] if len(shape) > axis else None
    size = size if type(size) is int else wanted
    if size is None:
        raise broken(f"Neither the graph nor config.json says what {key} is.")
    _count(size, wanted, key)
    return int(size)


def _count(found: int, wanted: int | None, key: str) -> None:
    if wanted is not None and found != wanted:
        raise broken(
            f"The graphs have {key} {found}, config.json says {wanted}: the files belong to "
            "different models. Fetch the model anew."
        )
