"""The third graph of the public SmolVLM layout: vision_encoder, pixels -> features of one tile.

A SigLIP: patches, learned places, layer norm, full attention; then blocks of patches are shuffled
into tokens and projected to the text part's width.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from armlabd.bench.nodes import BOOL, FLOAT, Floats, Nodes, Value
from armlabd.bench.shapes import Shape, Weights


def save_seeing(path: Path, shape: Shape, weights: Weights, *, int8: bool = False) -> None:
    """pixel_values, pixel_attention_mask -> image_features [num_images, tokens, hidden]."""
    seeing = _Seeing(Nodes(int8=int8), shape, weights)
    side = shape.image
    inputs: list[Value] = [
        ("pixel_values", FLOAT, ["batch", "num_images", 3, side, side]),
        ("pixel_attention_mask", BOOL, ["batch", "num_images", side, side]),
    ]
    out: Value = ("image_features", FLOAT, ["num_images_out", shape.tile_tokens, shape.hidden])
    seeing.nodes.save(path, inputs, [(seeing.build(), out)])


class _Seeing:
    def __init__(self, nodes: Nodes, shape: Shape, weights: Weights) -> None:
        self.nodes, self.shape, self.weights = nodes, shape, weights

    def build(self) -> str:
        """From pixels to features."""
        x = self._patches()
        for layer in range(self.shape.seeing_layers):
            x = self._attended(x, f"v.blk.{layer}")
            x = self._widened(x, f"v.blk.{layer}")
        return self._shuffled(self._norm(x, "v.post_ln"))

    def _matrix(self, name: str, inputs: int, outputs: int) -> Floats:
        return self.weights.matrix(name, inputs, outputs)

    def _patches(self) -> str:
        n, s = self.nodes, self.shape
        pixels = n.op("Reshape", "pixel_values", n.whole(-1, 3, s.image, s.image))
        seen = n.op("Cast", "pixel_attention_mask", to=FLOAT)
        seen = n.op("Reshape", seen, n.whole(-1, 1, s.image, s.image))
        kernel = self._matrix("v.patch_embd", 3 * s.patch * s.patch, s.seeing_hidden)
        shaped = kernel.T.reshape(s.seeing_hidden, 3, s.patch, s.patch)
        sides = {"kernel_shape": [s.patch, s.patch], "strides": [s.patch, s.patch]}
        x = n.op("Conv", n.op("Mul", pixels, seen), n.weight(shaped), **sides)
        x = n.op("Reshape", x, n.whole(0, s.seeing_hidden, s.patches**2))
        places = self._matrix("v.position_embd", s.patches**2, s.seeing_hidden)
        x = n.op("Transpose", x, perm=[0, 2, 1])
        return n.op("Add", x, n.weight(places[np.newaxis]))

    def _norm(self, x: str, name: str) -> str:
        width = self.shape.seeing_hidden
        scale = self.nodes.weight(self.weights.vector(name, width))
        shift = self.nodes.weight(np.zeros(width, np.float32))
        return self.nodes.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=1e-6)

    def _heads(self, x: str, name: str) -> str:
        n, s = self.nodes, self.shape
        matrix = self._matrix(name, s.seeing_hidden, s.seeing_hidden)
        size = s.seeing_hidden // s.seeing_heads
        cut = n.op("Reshape", n.linear(x, matrix), n.whole(0, 0, s.seeing_heads, size))
        return n.op("Transpose", cut, perm=[0, 2, 1, 3])

    def _attended(self, x: str, name: str) -> str:
        n, s = self.nodes, self.shape
        y = self._norm(x, f"{name}.ln1")
        query, key, value = (self._heads(y, f"{name}.attn_{part}") for part in "qkv")
        turned = n.op("Transpose", key, perm=[0, 1, 3, 2])
        factor = n.number((s.seeing_hidden // s.seeing_heads) ** -0.5)
        scores = n.op("Softmax", n.op("Mul", n.op("MatMul", query, turned), factor), axis=-1)
        mixed = n.op("Transpose", n.op("MatMul", scores, value), perm=[0, 2, 1, 3])
        joined = n.op("Reshape", mixed, n.whole(0, 0, s.seeing_hidden))
        out = self._matrix(f"{name}.attn_out", s.seeing_hidden, s.seeing_hidden)
        return n.op("Add", x, n.linear(joined, out))

    def _widened(self, x: str, name: str) -> str:
        n, s = self.nodes, self.shape
        y = self._norm(x, f"{name}.ln2")
        up = n.linear(y, self._matrix(f"{name}.ffn_up", s.seeing_hidden, s.seeing_inner))
        # GELU by its sigmoid form: close enough for weights by chance
        gate = n.op("Sigmoid", n.op("Mul", up, n.number(1.702)))
        down = self._matrix(f"{name}.ffn_down", s.seeing_inner, s.seeing_hidden)
        return n.op("Add", x, n.linear(n.op("Mul", up, gate), down))

    def _shuffled(self, x: str) -> str:
        n, s = self.nodes, self.shape
        side, width = s.patches // s.shuffle, s.shuffle * s.shuffle * s.seeing_hidden
        x = n.op("Reshape", x, n.whole(-1, side, s.shuffle, side, s.shuffle, s.seeing_hidden))
        x = n.op("Transpose", x, perm=[0, 1, 3, 2, 4, 5])
        x = n.op("Reshape", x, n.whole(-1, side * side, width))
        return n.linear(x, self._matrix("mm.model.fc", width, s.hidden))
