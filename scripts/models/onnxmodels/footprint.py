"""A training step counted at MXNet's grain, from the forward model and rules.

SwapAdvisor's Table 1 gives bytes, operators and tensor sizes of training graphs
that MXNet built. This counts the same of ours, from shapes alone:

- Operators: each forward operator; one backward operator for each that a
  gradient passes (MXNet: one, whatever number of gradients it writes); sums of
  gradients of a tensor with several readers: one operator up to seven readers,
  a chain of additions and a copy from eight on (MXNet's AggregateGradient);
  the loss, forward and backward, and a copy for its head.
- Bytes: every tensor once, without reuse. ReLU, sigmoid, tanh and addition
  write over an operand that nobody needs again, and their gradients over the
  gradient they read. A tensor's gradient is one buffer that its readers add
  into. Each weight is there three times: value, gradient, momentum.
- What only cuts the model's inputs or joins its outputs is the file's, not the
  model's: MXNet has a tensor for each step. It does not count.

Models must be written without weights and for a batch size: what lies in
external data is a weight, what is inside are constants.
"""

from __future__ import annotations

import collections
import dataclasses
import math
from typing import Iterable, Optional

import onnx
from onnx import TensorProto, shape_inference

from .writer import ModelError

ELEMENT_BYTES = {TensorProto.FLOAT: 4, TensorProto.INT64: 8, TensorProto.BOOL: 1}
# Written over their operand, and their gradients over the result's gradient.
IN_PLACE = {"Relu", "Sigmoid", "Tanh", "Add"}
# Their gradient is the same data.
PASSES_GRADIENT = {"Add", "Flatten", "Reshape", "Identity"}
# Backward reads what they wrote, so that nobody may write over it.
KEEPS_OUTPUT = {"Relu", "Sigmoid", "Tanh", "MaxPool", "Softmax"}
# MXNET_EXEC_INPLACE_GRAD_SUM_CAP: from here on gradients are added one by one.
CHAIN_FROM = 8


@dataclasses.dataclass
class Footprint:
    """What one training step has."""

    operators: int = 0
    #: Where gradients of data and of weights have operators of their own.
    operators_apart: int = 0
    weight_bytes: int = 0
    activation_bytes: int = 0
    gradient_bytes: int = 0
    sizes: set[int] = dataclasses.field(default_factory=set)
    #: By the first part of the operators' names.
    operators_of: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    bytes_of: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)

    @property
    def total_bytes(self) -> int:
        return self.weight_bytes + self.activation_bytes + self.gradient_bytes


class Counter:
    """One model's count."""

    def __init__(self, model: onnx.ModelProto) -> None:
        inferred = shape_inference.infer_shapes(model, strict_mode=True).graph
        for value in inferred.input:
            if any(dim.WhichOneof("value") != "dim_value" for dim in value.type.tensor_type.shape.dim):
                raise ModelError(f"input '{value.name}' has a dimension without a fixed size, build the model with "
                                 "--batch N")
        self.bytes: dict[str, int] = {}
        self.rows: dict[str, int] = {}
        for value in [*inferred.input, *inferred.value_info, *inferred.output]:
            tensor = value.type.tensor_type
            dims = [dim.dim_value for dim in tensor.shape.dim]
            self.bytes[value.name] = _bytes(tensor.elem_type, dims)
            self.rows[value.name] = dims[0] if dims else 1
        # Weights point to data beside the file; constants the graph computes with are inside.
        self.weights = {tensor.name: _bytes(tensor.data_type, tensor.dims) for tensor in inferred.initializer
                        if tensor.data_location == TensorProto.EXTERNAL}
        self.constants = {tensor.name for tensor in inferred.initializer} - self.weights.keys()
        # Running means and variances: one of each, no gradient.
        for node in inferred.node:
            if node.op_type == "BatchNormalization":
                self.constants.update(node.input[3:])
        self.inputs = {value.name for value in inferred.input}
        self.outputs = {value.name for value in inferred.output}
        self.nodes = self._inside(inferred)
        self.readers: collections.Counter[str] = collections.Counter(
            name for node in self.nodes for name in node.input if name not in self.constants)
        self.producer = {name: node for node in self.nodes for name in node.output}
        self.result = Footprint()
        self._has_gradient: set[str] = set()

    def count(self) -> Footprint:
        for node in self.nodes:
            self._count_node(node)
        for name in self.weights.keys() - self.constants:
            self.result.weight_bytes += 3 * self.weights[name]
            self.result.sizes.add(self.weights[name])
            self._count_sum(name)
        for name in {name for node in self.nodes for name in node.input} & self.inputs:
            self._activation(name, name)
        for name in sorted(self.outputs):
            self._count_loss(name)
        return self.result

    def _inside(self, graph: onnx.GraphProto) -> list[onnx.NodeProto]:
        """Without what cuts inputs (their parts become the inputs) and joins outputs (the parts become outputs)."""
        nodes = list(graph.node)
        kept = []
        for node in nodes:
            if node.op_type == "Split" and set(node.input) - self.constants <= self.inputs:
                self.inputs = (self.inputs - set(node.input)) | set(node.output)
            elif node.op_type == "Concat" and set(node.output) <= self.outputs:
                self.outputs = (self.outputs - set(node.output)) | set(node.input)
            else:
                kept.append(node)
        return kept

    def _count_node(self, node: onnx.NodeProto) -> None:
        """The operator, what it writes, its backward operator and the gradients that writes."""
        part = node.name.split("/")[0]
        operands = [name for name in node.input if name not in self.constants]
        graded = [name for name in operands if name not in self.inputs]
        weights = [name for name in graded if name in self.weights]
        self._operators(part, 1)
        over = node.op_type in PASSES_GRADIENT - {"Add"} or (
            node.op_type in IN_PLACE and any(self._dies_at(name) for name in operands))
        for name in node.output:
            if not over:
                self._activation(name, part)
            self._count_sum(name)
        if graded:
            self._operators(part, 1, 2 if weights and len(graded) > len(weights) else 1)
        if node.op_type in PASSES_GRADIENT or node.op_type in IN_PLACE:
            return
        for name in graded:
            if name not in self.weights and name not in self._has_gradient:
                self._has_gradient.add(name)
                self._gradient(self.bytes[name], part)

    def _dies_at(self, name: str) -> bool:
        """Its one reader may write over it."""
        made_by: Optional[onnx.NodeProto] = self.producer.get(name)
        return self.readers[name] == 1 and made_by is not None and made_by.op_type not in KEEPS_OUTPUT

    def _count_sum(self, name: str) -> None:
        """Adding up the gradients that a tensor's readers send."""
        readers = self.readers[name]
        if readers > 1:
            added = 1 if readers < CHAIN_FROM else readers
            made_by = self.producer.get(name)
            self._operators((made_by.name if made_by else name).split("/")[0], added)

    def _count_loss(self, logits: str) -> None:
        """SoftmaxOutput: probabilities over the logits, a label a row, the logits' gradient, a copy for the head."""
        self._operators("loss", 3)
        self._gradient(self.bytes[logits], "loss")
        self.result.sizes.add(4 * self.rows[logits])

    def _operators(self, part: str, count: int, apart: Optional[int] = None) -> None:
        self.result.operators += count
        self.result.operators_apart += count if apart is None else apart
        self.result.operators_of[part] += count

    def _activation(self, name: str, part: str) -> None:
        self.result.activation_bytes += self.bytes[name]
        self.result.bytes_of[part] += self.bytes[name]
        self.result.sizes.add(self.bytes[name])

    def _gradient(self, size: int, part: str) -> None:
        self.result.gradient_bytes += size
        self.result.bytes_of[part] += size
        self.result.sizes.add(size)


def _bytes(element: int, dims: Iterable[int]) -> int:
    return ELEMENT_BYTES[element] * math.prod(dims)

