"""Writes ONNX graphs node by node: what the model graphs of bench and tests are made of.

A linear layer is a plain MatMul, or, quantised, the nodes that onnxruntime's dynamic int8 makes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Floats = NDArray[np.float32]
Value = tuple[str, int, list[str | int]]  # name, element type, shape

FLOAT: int = TensorProto.FLOAT
INT64: int = TensorProto.INT64
BOOL: int = TensorProto.BOOL
OPSET = 18
IR_VERSION = 9  # older runtimes on boards still read it


class Nodes:
    """A graph that grows: every method adds nodes and returns the name of what they compute."""

    def __init__(self, *, int8: bool = False) -> None:
        self._int8 = int8
        self._nodes: list[Any] = []
        self._weights: list[Any] = []
        self._constants: dict[tuple[object, ...], str] = {}
        self._count = 0

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """One node with one output."""
        return self.ops(kind, *inputs, outputs=1, **attributes)[0]

    def ops(self, kind: str, *inputs: str, outputs: int, **attributes: Any) -> list[str]:
        """One node with several outputs."""
        self._count += 1
        names = [f"{kind}_{self._count}_{index}" for index in range(outputs)]
        self._nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names

    def weight(self, values: NDArray[Any]) -> str:
        """A tensor that is part of the file."""
        self._count += 1
        name = f"w{self._count}"
        self._weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def whole(self, *values: int) -> str:
        """A constant vector of int64, written once."""
        return self._constant(values, np.array(values, np.int64))

    def number(self, value: float) -> str:
        """A constant float32, written once."""
        return self._constant((value, "f"), np.array([value], np.float32))

    def _constant(self, key: tuple[object, ...], values: NDArray[Any]) -> str:
        if key not in self._constants:
            self._constants[key] = self.weight(values)
        return self._constants[key]

    def linear(self, x: str, weights: Floats) -> str:
        """`x` times a matrix [inputs, outputs]."""
        if not self._int8:
            return self.op("MatMul", x, self.weight(weights))
        values, scale = quantised(weights)
        q, q_scale, q_zero = self.ops("DynamicQuantizeLinear", x, outputs=3)
        zero = self._constant(("i8",), np.array(0, np.int8))
        product = self.op("MatMulInteger", q, self.weight(values), q_zero, zero)
        scales = self.op("Mul", q_scale, self.weight(np.array([scale], np.float32)))
        return self.op("Mul", self.op("Cast", product, to=FLOAT), scales)

    def rows(self, table: Floats, ids: str) -> str:
        """Rows of a table by their numbers."""
        if not self._int8:
            return self.op("Gather", self.weight(table), ids)
        values, scale = quantised(table)
        row = self.op("Gather", self.weight(values), ids)
        factor = self.weight(np.array(scale, np.float32))
        zero = self._constant(("i8",), np.array(0, np.int8))
        return self.op("DequantizeLinear", row, factor, zero)

    def save(self, path: Path, inputs: list[Value], outputs: list[tuple[str, Value]]) -> None:
        """Write the file; `outputs` pairs what was computed with the name it gets outside."""
        for source, (name, _, _) in outputs:
            self._nodes.append(helper.make_node("Identity", [source], [name]))
        graph = helper.make_graph(
            self._nodes,
            path.stem,
            [helper.make_tensor_value_info(*value) for value in inputs],
            [helper.make_tensor_value_info(*value) for _, value in outputs],
            self._weights,
        )
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION)
        path.write_bytes(model.SerializeToString())


def quantised(weights: Floats) -> tuple[NDArray[np.int8], float]:
    """Symmetric int8 and its scale, one for the whole tensor."""
    scale = float(np.abs(weights).max()) / 127 or 1.0
    return np.clip(np.rint(weights / scale), -127, 127).astype(np.int8), scale


__all__ = ["BOOL", "FLOAT", "INT64", "Floats", "Nodes", "Value", "onnx", "quantised"]
