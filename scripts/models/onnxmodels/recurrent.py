"""RNN-L-XK and BRNN-L-XK of SwapAdvisor: LSTM layers unrolled, the cells of a layer share their weights.

The cell has the operators of MXNet's symbol LSTM cell, thirteen of them; each
step has its own classifier, with shared weights too.
"""

from __future__ import annotations

from .layers import Layers
from .writer import ModelWriter, Value


class Cell:
    """One layer in one direction: its weights, and its state as it goes through time."""

    def __init__(self, layers: Layers, features: int, hidden: int, name: str) -> None:
        self.layers = layers
        self.hidden = hidden
        self.name = name
        writer = layers.writer
        with writer.scope(name):
            self.input_weight = writer.parameter("input_weight", (4 * hidden, features), features**-0.5)
            self.state_weight = writer.parameter("state_weight", (4 * hidden, hidden), hidden**-0.5)
        self.h = writer.input(f"{name}_h", (writer.batch, hidden))
        self.c = writer.input(f"{name}_c", (writer.batch, hidden))

    def step(self, x: Value, time: int) -> Value:
        """Takes one input and returns the new hidden state."""
        layers, writer = self.layers, self.layers.writer
        row = (x.shape[0], 4 * self.hidden)
        with writer.scope(f"{self.name}.t{time}"):
            gates = layers.add(writer.node("Gemm", [x, self.input_weight], row, "input", transB=1),
                               writer.node("Gemm", [self.h, self.state_weight], row, "state", transB=1), "gates")
            parts = writer.nodes("Split", [gates], [(x.shape[0], self.hidden)] * 4, "split", axis=1)
            allow = layers.unary("Sigmoid", parts[0], "in_gate")
            update = layers.unary("Tanh", parts[1], "in_transform")
            keep = layers.unary("Sigmoid", parts[2], "forget_gate")
            show = layers.unary("Sigmoid", parts[3], "out_gate")
            kept, new = layers.binary("Mul", keep, self.c, "kept"), layers.binary("Mul", allow, update, "new")
            self.c = layers.add(kept, new, "c")
            self.h = layers.binary("Mul", show, layers.unary("Tanh", self.c, "shown"), "h")
        return self.h


def lstm(writer: ModelWriter, count: int, hidden: int, steps: int, features: int, classes: int,
         bidirectional: bool) -> None:
    """`x` is [batch, steps * features], `logits` [steps * batch, classes], both a step after the other.

    States enter as inputs `lN_h` and `lN_c` (`lN_back_h` and `lN_back_c` for the reversed direction).
    """
    layers = Layers(writer)
    x = writer.input("x", (writer.batch, steps * features))
    sequence = writer.nodes("Split", [x], [(writer.batch, features)] * steps, "steps", axis=1) if steps > 1 else [x]
    for index in range(count):
        width = sequence[0].channels
        ahead = Cell(layers, width, hidden, f"l{index}")
        forward = [ahead.step(value, time) for time, value in enumerate(sequence)]
        if bidirectional:
            back = Cell(layers, width, hidden, f"l{index}_back")
            backward = [back.step(value, time) for time, value in reversed(list(enumerate(sequence)))][::-1]
            forward = [layers.concat([left, right], name=f"l{index}.both") for left, right in zip(forward, backward)]
        sequence = forward
    width = sequence[0].channels
    weight = writer.parameter("classifier/weight", (classes, width), width**-0.5)
    rows = [writer.node("Gemm", [value, weight], (writer.batch, classes), "classifier", transB=1) for value in sequence]
    if steps == 1:
        writer.output(rows[0], "logits")
        return
    count = "rows" if isinstance(writer.batch, str) else steps * writer.batch
    writer.output(writer.node("Concat", rows, (count, classes), "joined", axis=0), "logits")
