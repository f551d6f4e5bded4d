"""Layers that several models share. Images are NCHW, rows are [batch, features]."""

from __future__ import annotations

import math
from typing import Optional, Sequence, Union

from .writer import Dim, ModelError, ModelWriter, Value, static

Pair = Union[int, tuple[int, int]]
# Zeros on each side; or TensorFlow's rule: as little as keeps ceil(size / stride).
Padding = Union[Pair, str]
SAME = "same"
VALID = 0


def pair(value: Pair) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else value


class Layers:
    """Layers written to one model. `batch_norm`: convolutions of `conv_unit` are followed by one and have no bias."""

    def __init__(self, writer: ModelWriter, batch_norm: bool = False, epsilon: float = 1e-5) -> None:
        self.writer = writer
        self.batch_norm = batch_norm
        self.epsilon = epsilon

    # Images

    def image(self, size: int, channels: int = 3, name: str = "image") -> Value:
        return self.writer.input(name, (self.writer.batch, channels, size, size))

    def conv(self, x: Value, filters: int, kernel: Pair, stride: int = 1, padding: Padding = VALID, groups: int = 1,
             bias: bool = True, name: str = "conv") -> Value:
        height, width = pair(kernel)
        per_group = x.channels // groups
        spread = math.sqrt(2.0 / (per_group * height * width))
        with self.writer.scope(name):
            operands = [x, self.writer.parameter("weight", (filters, per_group, height, width), spread)]
            if bias:
                operands.append(self.writer.parameter("bias", (filters,)))
        sizes, pads = self._window(x, (height, width), stride, padding, name)
        return self.writer.node("Conv", operands, (x.shape[0], filters, *sizes), name, kernel_shape=[height, width],
                                strides=[stride, stride], pads=pads, group=groups)

    def normalize(self, x: Value, name: str = "norm") -> Value:
        """Batch normalization. Its running mean and variance are not trained."""
        with self.writer.scope(name):
            operands = [x, self.writer.parameter("scale", (x.channels,), mean=1.0),
                        self.writer.parameter("bias", (x.channels,)),
                        self.writer.parameter("mean", (x.channels,), trainable=False),
                        self.writer.parameter("variance", (x.channels,), mean=1.0, trainable=False)]
        return self.writer.node("BatchNormalization", operands, x.shape, name, epsilon=self.epsilon)

    def conv_unit(self, x: Value, filters: int, kernel: Pair, stride: int = 1, padding: Padding = VALID,
                  relu: bool = True, bias: bool = True, name: str = "conv") -> Value:
        """Convolution, batch normalization where the model has it, ReLU."""
        y = self.conv(x, filters, kernel, stride, padding, bias=bias and not self.batch_norm, name=name)
        if self.batch_norm:
            y = self.normalize(y, f"{name}_norm")
        return self.relu(y) if relu else y

    def max_pool(self, x: Value, kernel: int, stride: int, padding: Padding = VALID, name: str = "max_pool") -> Value:
        sizes, pads = self._window(x, pair(kernel), stride, padding, name)
        return self.writer.node("MaxPool", [x], (*x.shape[:2], *sizes), name, kernel_shape=[kernel, kernel],
                                strides=[stride, stride], pads=pads)

    def average_pool(self, x: Value, kernel: int, stride: int, padding: Padding = VALID,
                     name: str = "average_pool") -> Value:
        """The mean of what the window covers; padding does not count."""
        sizes, pads = self._window(x, pair(kernel), stride, padding, name)
        return self.writer.node("AveragePool", [x], (*x.shape[:2], *sizes), name, kernel_shape=[kernel, kernel],
                                strides=[stride, stride], pads=pads, count_include_pad=0)

    def global_pool(self, x: Value) -> Value:
        """The mean over the image: [batch, channels]."""
        return self.flatten(self.writer.node("GlobalAveragePool", [x], (*x.shape[:2], 1, 1), "global_pool"))

    def flatten(self, x: Value) -> Value:
        return self.writer.node("Flatten", [x], (x.shape[0], math.prod(static(dim) for dim in x.shape[1:])), "flatten",
                                axis=1)

    # Rows

    def linear(self, x: Value, features: int, bias: bool = True, name: str = "linear", gain: float = 2.0) -> Value:
        """x W^T + b. The weights' variance is gain / inputs."""
        with self.writer.scope(name):
            operands = [x, self.writer.parameter("weight", (features, x.channels), math.sqrt(gain / x.channels))]
            if bias:
                operands.append(self.writer.parameter("bias", (features,)))
        return self.writer.node("Gemm", operands, (x.shape[0], features), name, transB=1)

    # Element by element, and between tensors

    def unary(self, op: str, x: Value, name: str = "") -> Value:
        return self.writer.node(op, [x], x.shape, name)

    def relu(self, x: Value) -> Value:
        return self.unary("Relu", x)

    def add(self, left: Value, right: Value, name: str = "add") -> Value:
        return self.binary("Add", left, right, name)

    def binary(self, op: str, left: Value, right: Value, name: str = "") -> Value:
        """Of equal shapes, or `right` a constant or parameter that is spread over `left`."""
        return self.writer.node(op, [left, right], left.shape, name)

    def concat(self, parts: Sequence[Value], axis: int = 1, name: str = "concat") -> Value:
        dims: list[Dim] = list(parts[0].shape)
        dims[axis] = sum(static(part.shape[axis]) for part in parts)
        return self.writer.node("Concat", parts, tuple(dims), name, axis=axis)

    def dropout(self, x: Value, ratio: float) -> Value:
        """Nothing at inference; training drops this share."""
        return self.writer.node("Dropout", [x, self.writer.constant("ratio", ratio)], x.shape, "dropout")

    def logits(self, x: Value, classes: int, dropout: Optional[float] = None) -> None:
        """The classifier's end: the loss is the compiler's to add."""
        if dropout is not None:
            x = self.dropout(x, dropout)
        self.writer.output(self.linear(x, classes, name="classifier", gain=1.0), "logits")

    def _window(self, x: Value, kernel: tuple[int, int], stride: int, padding: Padding,
                name: str) -> tuple[list[int], list[int]]:
        """Output sizes, and pads as ONNX has them: begins, then ends."""
        sizes, begins, ends = [], [], []
        for axis, length in enumerate(kernel):
            size = static(x.shape[2 + axis])
            if padding == SAME:
                total = max((-(-size // stride) - 1) * stride + length - size, 0)
                begin, end = total // 2, total - total // 2
            else:
                begin = end = pair(padding)[axis]  # type: ignore[arg-type]
            result = (size + begin + end - length) // stride + 1
            if size + begin + end < length:
                raise ModelError(f"the image is too small for '{name}', an extent of {size} for a window of "
                                 f"{length}, give a larger --size")
            sizes.append(result)
            begins.append(begin)
            ends.append(end)
        return sizes, begins + ends
