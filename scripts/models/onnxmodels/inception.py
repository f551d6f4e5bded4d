"""Inception-V4 (Szegedy, Ioffe, Vanhoucke, Alemi 2017, figures 3 to 9), all channels times `wide`."""

from __future__ import annotations

from typing import Union

from .layers import SAME, VALID, Layers, Padding
from .writer import ModelWriter, Value

# A branch: filters and kernel of each convolution; stride 1 and padding SAME unless the step says otherwise.
Step = tuple[int, Union[int, tuple[int, int]]]
ROW, COLUMN = (1, 7), (7, 1)


class Inception(Layers):
    """Its cells. An image of 299 gives 35, 17 and 8 pixels in cells A, B and C."""

    def __init__(self, writer: ModelWriter, wide: int, batch_norm: bool) -> None:
        super().__init__(writer, batch_norm, epsilon=1e-3)
        self.wide = wide

    def chain(self, x: Value, name: str, *steps: Step, last: tuple[int, Padding] = (1, SAME)) -> Value:
        """Convolutions one after the other; `last`: stride and padding of the last one."""
        for index, (filters, kernel) in enumerate(steps):
            stride, padding = last if index == len(steps) - 1 else (1, SAME)
            x = self.conv_unit(x, filters * self.wide, kernel, stride, padding, bias=False, name=f"{name}.{index}")
        return x

    def stem(self, x: Value) -> Value:
        x = self.chain(x, "conv1", (32, 3), last=(2, VALID))
        x = self.chain(x, "conv2", (32, 3), last=(1, VALID))
        x = self.chain(x, "conv3", (64, 3))
        x = self.concat([self.max_pool(x, 3, 2), self.chain(x, "mixed3", (96, 3), last=(2, VALID))])
        x = self.concat([self.chain(x, "mixed4a", (64, 1), (96, 3), last=(1, VALID)),
                         self.chain(x, "mixed4b", (64, 1), (64, ROW), (64, COLUMN), (96, 3), last=(1, VALID))])
        return self.concat([self.chain(x, "mixed5", (192, 3), last=(2, VALID)), self.max_pool(x, 3, 2)])

    def cell_a(self, x: Value) -> Value:
        return self.concat([self.chain(x, "a", (96, 1)), self.chain(x, "b", (64, 1), (96, 3)),
                            self.chain(x, "c", (64, 1), (96, 3), (96, 3)),
                            self.chain(self.average_pool(x, 3, 1, 1), "d", (96, 1))])

    def reduction_a(self, x: Value) -> Value:
        return self.concat([self.chain(x, "a", (384, 3), last=(2, VALID)),
                            self.chain(x, "b", (192, 1), (224, 3), (256, 3), last=(2, VALID)), self.max_pool(x, 3, 2)])

    def cell_b(self, x: Value) -> Value:
        return self.concat([self.chain(x, "a", (384, 1)), self.chain(x, "b", (192, 1), (224, ROW), (256, COLUMN)),
                            self.chain(x, "c", (192, 1), (192, COLUMN), (224, ROW), (224, COLUMN), (256, ROW)),
                            self.chain(self.average_pool(x, 3, 1, 1), "d", (128, 1))])

    def reduction_b(self, x: Value) -> Value:
        return self.concat([self.chain(x, "a", (192, 1), (192, 3), last=(2, VALID)),
                            self.chain(x, "b", (256, 1), (256, ROW), (320, COLUMN), (320, 3), last=(2, VALID)),
                            self.max_pool(x, 3, 2)])

    def cell_c(self, x: Value) -> Value:
        short = self.chain(x, "b", (384, 1))
        long = self.chain(x, "c", (384, 1), (448, (3, 1)), (512, (1, 3)))
        return self.concat([self.chain(x, "a", (256, 1)), self.chain(short, "b_row", (256, (1, 3))),
                            self.chain(short, "b_column", (256, (3, 1))), self.chain(long, "c_row", (256, (1, 3))),
                            self.chain(long, "c_column", (256, (3, 1))),
                            self.chain(self.average_pool(x, 3, 1, 1), "d", (256, 1))])


def inception_v4(writer: ModelWriter, wide: int, size: int, classes: int, batch_norm: bool) -> None:
    net = Inception(writer, wide, batch_norm)
    with writer.scope("stem"):
        x = net.stem(net.image(size))
    stages = ((4, net.cell_a, "a", net.reduction_a), (7, net.cell_b, "b", net.reduction_b), (3, net.cell_c, "c", None))
    for count, cell, name, reduction in stages:
        for index in range(count):
            with writer.scope(f"{name}{index}"):
                x = cell(x)
        if reduction:
            with writer.scope(f"reduction_{name}"):
                x = reduction(x)
    net.logits(net.global_pool(x), classes, dropout=0.2)
