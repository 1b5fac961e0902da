"""The two text graphs of the public SmolVLM layout: embed_tokens and decoder_model_merged.

A Llama: RMS norm, rotary positions in half-split order, shared key-value heads, SwiGLU.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from armlabd.bench.nodes import BOOL, FLOAT, INT64, Nodes, Value
from armlabd.bench.shapes import Shape, Weights


def save_embedding(path: Path, shape: Shape, weights: Weights, *, int8: bool = False) -> None:
    """input_ids -> inputs_embeds."""
    nodes = Nodes(int8=int8)
    table = weights.matrix("token_embd", shape.vocabulary, shape.hidden)
    rows = nodes.rows(table, "input_ids")
    ids: Value = ("input_ids", INT64, ["batch", "seq"])
    nodes.save(path, [ids], [(rows, ("inputs_embeds", FLOAT, ["batch", "seq", shape.hidden]))])


def save_decoder(path: Path, shape: Shape, weights: Weights, *, int8: bool = False) -> None:
    """Embeddings and a cache -> logits and the longer cache."""
    decoder = _Decoder(Nodes(int8=int8), shape, weights)
    decoder.build()
    decoder.nodes.save(path, decoder.inputs(), decoder.outputs)


class _Decoder:
    """One decoder being written: shared values first, then layer by layer."""

    def __init__(self, nodes: Nodes, shape: Shape, weights: Weights) -> None:
        self.nodes, self.shape, self.weights = nodes, shape, weights
        self.outputs: list[tuple[str, Value]] = []
        self._cos, self._sin = self._rotation()
        self._bias = self._causal()

    def inputs(self) -> list[Value]:
        """What the graph is given."""
        shape = self.shape
        past: list[str | int] = ["batch", shape.kv_heads, "past", shape.head]
        return [
            ("inputs_embeds", FLOAT, ["batch", "seq", shape.hidden]),
            ("attention_mask", INT64, ["batch", "total"]),
            ("position_ids", INT64, ["batch", "seq"]),
            *(
                (f"past_key_values.{layer}.{part}", FLOAT, past)
                for layer in range(shape.layers)
                for part in ("key", "value")
            ),
        ]

    def build(self) -> None:
        """All layers, then the logits."""
        x, kept = "inputs_embeds", []
        for layer in range(self.shape.layers):
            x, key, value = self._attended(x, layer)
            kept += [(key, self._present(layer, "key")), (value, self._present(layer, "value"))]
            x = self._widened(x, layer)
        shape = self.shape
        head = self.weights.matrix("output", shape.hidden, shape.vocabulary)
        logits = self.nodes.linear(self._norm(x, "output_norm"), head)
        self.outputs = [(logits, ("logits", FLOAT, ["batch", "seq", shape.vocabulary])), *kept]

    def _present(self, layer: int, part: str) -> Value:
        dims: list[str | int] = ["batch", self.shape.kv_heads, "total", self.shape.head]
        return f"present.{layer}.{part}", FLOAT, dims

    def _rotation(self) -> tuple[str, str]:
        """Cosine and sine of every position's angles."""
        n, head = self.nodes, self.shape.head
        rates = self.shape.rope_base ** -(np.arange(0, head, 2) / head)
        inverse = n.weight(rates.astype(np.float32).reshape(1, 1, -1))
        position = n.op("Cast", "position_ids", to=FLOAT)
        half = n.op("Mul", n.op("Unsqueeze", position, n.whole(-1)), inverse)
        angle = n.op("Unsqueeze", n.op("Concat", half, half, axis=-1), n.whole(1))
        return n.op("Cos", angle), n.op("Sin", angle)

    def _causal(self) -> str:
        """0 where a token may look, very little where it may not."""
        n = self.nodes
        new = n.op("Shape", "inputs_embeds", start=1, end=2)
        total = n.op("Shape", "attention_mask", start=1, end=2)
        rows = n.op("Add", self._range(new), n.op("Sub", total, new))
        columns = n.op("Unsqueeze", self._range(total), n.whole(0))
        seen = n.op("LessOrEqual", columns, n.op("Unsqueeze", rows, n.whole(1)))
        there = n.op("Cast", "attention_mask", to=BOOL)
        both = n.op(
            "And",
            n.op("Unsqueeze", seen, n.whole(0, 1)),
            n.op("Unsqueeze", there, n.whole(1, 2)),
        )
        return n.op("Where", both, n.number(0.0), n.number(-1e9))

    def _range(self, count: str) -> str:
        n = self.nodes
        start, end, step = (n.op("Squeeze", v) for v in (n.whole(0), count, n.whole(1)))
        return n.op("Range", start, end, step)

    def _norm(self, x: str, name: str) -> str:
        n = self.nodes
        mean = n.op("ReduceMean", n.op("Mul", x, x), n.whole(-1), keepdims=1)
        root = n.op("Sqrt", n.op("Add", mean, n.number(self.shape.epsilon)))
        weights = self.weights.vector(name, self.shape.hidden)
        return n.op("Mul", n.op("Div", x, root), n.weight(weights))

    def _heads(self, x: str, name: str, count: int) -> str:
        """A projection cut into heads: [batch, heads, seq, head]."""
        n, shape = self.nodes, self.shape
        matrix = self.weights.matrix(name, shape.hidden, count * shape.head)
        cut = n.op("Reshape", n.linear(x, matrix), n.whole(0, 0, count, shape.head))
        return n.op("Transpose", cut, perm=[0, 2, 1, 3])

    def _turned(self, x: str) -> str:
        n = self.nodes
        first, second = n.ops("Split", x, outputs=2, axis=-1, num_outputs=2)
        swapped = n.op("Concat", n.op("Neg", second), first, axis=-1)
        return n.op("Add", n.op("Mul", x, self._cos), n.op("Mul", swapped, self._sin))

    def _shared(self, x: str) -> str:
        """Key-value heads repeated for the query heads that share them."""
        shape = self.shape
        which = np.repeat(np.arange(shape.kv_heads), shape.heads // shape.kv_heads)
        return self.nodes.op("Gather", x, self.nodes.whole(*which.tolist()), axis=1)

    def _attended(self, x: str, layer: int) -> tuple[str, str, str]:
        n, shape, name = self.nodes, self.shape, f"blk.{layer}"
        y = self._norm(x, f"{name}.attn_norm")
        query = self._turned(self._heads(y, f"{name}.attn_q", shape.heads))
        key = self._turned(self._heads(y, f"{name}.attn_k", shape.kv_heads))
        value = self._heads(y, f"{name}.attn_v", shape.kv_heads)
        key = n.op("Concat", f"past_key_values.{layer}.key", key, axis=2)
        value = n.op("Concat", f"past_key_values.{layer}.value", value, axis=2)
        turned = n.op("Transpose", self._shared(key), perm=[0, 1, 3, 2])
        scores = n.op("Mul", n.op("MatMul", query, turned), n.number(shape.head**-0.5))
        weights = n.op("Softmax", n.op("Add", scores, self._bias), axis=-1)
        mixed = n.op("Transpose", n.op("MatMul", weights, self._shared(value)), perm=[0, 2, 1, 3])
        joined = n.op("Reshape", mixed, n.whole(0, 0, shape.heads * shape.head))
        out = self.weights.matrix(f"{name}.attn_output", shape.heads * shape.head, shape.hidden)
        return n.op("Add", x, n.linear(joined, out)), key, value

    def _widened(self, x: str, layer: int) -> str:
        n, shape, name = self.nodes, self.shape, f"blk.{layer}"
        y = self._norm(x, f"{name}.ffn_norm")
        gate = n.linear(y, self.weights.matrix(f"{name}.ffn_gate", shape.hidden, shape.inner))
        up = n.linear(y, self.weights.matrix(f"{name}.ffn_up", shape.hidden, shape.inner))
        opened = n.op("Mul", n.op("Mul", gate, n.op("Sigmoid", gate)), up)
        down = self.weights.matrix(f"{name}.ffn_down", shape.inner, shape.hidden)
        return n.op("Add", x, n.linear(opened, down))
