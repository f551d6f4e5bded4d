"""NASNet-A (Zoph, Vasudevan, Shlens, Le 2018; figure 4 and appendix A.4).

A cell reads the two before it, brings both to `filters` channels, and
concatenates sums of separable convolutions, pools and identities. `repeats`
normal cells stand in each of three stages; a reduction cell stands before the
second and the third, two more form the stem.
"""

from __future__ import annotations

from typing import Optional

from .layers import SAME, VALID, Layers
from .writer import ModelError, ModelWriter, Value, static

# Channels of the last cell's concatenation over the filters of the first stage: 4 (two doublings) x 6 (parts).
PENULTIMATE = 24


class NasNet(Layers):
    """NASNet-A's cells."""

    def __init__(self, writer: ModelWriter, batch_norm: bool) -> None:
        super().__init__(writer, batch_norm, epsilon=1e-3)

    def normalized(self, x: Value, name: str) -> Value:
        return self.normalize(x, name) if self.batch_norm else x

    def separable(self, x: Value, filters: int, kernel: int, stride: int, name: str) -> Value:
        """ReLU, depthwise, pointwise, normalization: twice, the stride in the first."""
        for index, step in enumerate((stride, 1)):
            x = self.relu(x)
            x = self.conv(x, x.channels, kernel, step, SAME, groups=x.channels, bias=False, name=f"{name}.depth{index}")
            x = self.conv(x, filters, 1, bias=False, name=f"{name}.point{index}")
            x = self.normalized(x, f"{name}.norm{index}")
        return x

    def squeeze(self, x: Value, filters: int, name: str) -> Value:
        y = self.conv(self.relu(x), filters, 1, bias=False, name=name)
        return self.normalized(y, f"{name}_norm")

    def adjust(self, before: Optional[Value], x: Value, filters: int) -> Value:
        """The cell before last in the shape this cell computes in."""
        if before is None:
            return x
        if before.shape[2] == x.shape[2]:
            return before if before.channels == filters else self.squeeze(before, filters, "adjust")
        return self.factorized_reduction(before, filters)

    def factorized_reduction(self, x: Value, filters: int) -> Value:
        """Halves the image: every second pixel, and every second one a pixel further down and right."""
        x = self.relu(x)
        even = self.conv(self.average_pool(x, 1, 2, VALID, "path1"), filters // 2, 1, bias=False, name="adjust1")
        size = static(x.shape[2])
        padded = self.writer.node("Pad", [x, self.writer.constant("below_right", [0, 0, 0, 0, 0, 0, 1, 1], "int64")],
                                  (*x.shape[:2], size + 1, size + 1), "padded")
        bounds = [self.writer.constant(name, values, "int64")
                  for name, values in (("from", [1, 1]), ("to", [size + 1, size + 1]), ("axes", [2, 3]))]
        moved = self.writer.node("Slice", [padded, *bounds], x.shape, "moved")
        odd = self.conv(self.average_pool(moved, 1, 2, VALID, "path2"), filters // 2, 1, bias=False, name="adjust2")
        return self.normalized(self.concat([even, odd]), "adjust_norm")

    def normal(self, x: Value, before: Optional[Value], filters: int) -> Value:
        p = self.adjust(before, x, filters)
        h = self.squeeze(x, filters, "begin")
        sums = [
            self.add(self.separable(h, filters, 5, 1, "left1"), self.separable(p, filters, 3, 1, "right1")),
            self.add(self.separable(p, filters, 5, 1, "left2"), self.separable(p, filters, 3, 1, "right2")),
            self.add(self.average_pool(h, 3, 1, SAME), p),
            self.add(self.average_pool(p, 3, 1, SAME), self.average_pool(p, 3, 1, SAME)),
            self.add(self.separable(h, filters, 3, 1, "left5"), h),
        ]
        return self.concat([p, *sums])

    def reduction(self, x: Value, before: Optional[Value], filters: int) -> Value:
        p = self.adjust(before, x, filters)
        h = self.squeeze(x, filters, "begin")
        first = self.add(self.separable(h, filters, 5, 2, "left1"), self.separable(p, filters, 7, 2, "right1"))
        second = self.add(self.max_pool(h, 3, 2, SAME), self.separable(p, filters, 7, 2, "right2"))
        third = self.add(self.average_pool(h, 3, 2, SAME), self.separable(p, filters, 5, 2, "right3"))
        fourth = self.add(self.average_pool(first, 3, 1, SAME), second)
        fifth = self.add(self.separable(first, filters, 3, 1, "left5"), self.max_pool(h, 3, 2, SAME))
        return self.concat([second, third, fourth, fifth])


def nasnet(writer: ModelWriter, repeats: int, penultimate: int, stem: int, skip_reduction: bool, size: int,
           classes: int, batch_norm: bool) -> None:
    """NASNet-A (`repeats` @ `penultimate`). `skip_reduction`: the cell after a reduction reads past it."""
    if penultimate % (4 * PENULTIMATE):
        raise ModelError(f"option '--filters' is {penultimate}, give a multiple of {4 * PENULTIMATE}")
    net = NasNet(writer, batch_norm)
    filters = penultimate // PENULTIMATE
    x = net.conv(net.image(size), stem, 3, 2, VALID, bias=False, name="stem")
    x = net.normalized(x, "stem_norm")
    before: Optional[Value] = None
    for index, part in enumerate((filters // 4, filters // 2)):
        with writer.scope(f"stem{index}"):
            x, before = net.reduction(x, before, part), x
    for stage in range(3):
        width = filters * 2**stage
        if stage > 0:
            with writer.scope(f"reduction{stage}"):
                x, last = net.reduction(x, before, width), x
            before = before if skip_reduction else last
        for index in range(repeats):
            with writer.scope(f"normal{stage}.{index}"):
                x, before = net.normal(x, before, width), x
    net.logits(net.global_pool(net.relu(x)), classes)
