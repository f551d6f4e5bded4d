"""Bytes that are moved between DequantizeLinear and QuantizeLinear, and functions of bytes, held against numpy.

  quantized_bytes.py FOLDER SLUICE

Movements keep every byte where both nodes have the same scale and zero point, and round once where they differ.
Functions of one byte are tables: they may differ by one where f32 rounds the other way.
"""

import os
import subprocess
import sys

import numpy
import onnx
from onnx import helper, numpy_helper

FOLDER, SLUICE = sys.argv[1:]
SHAPE = [1, 6, 5, 8]
random = numpy.random.default_rng(3)
nodes, inputs, initializers, outputs, expected, fed = [], [], [], [], {}, {}


def number_of(value):
    return numpy_helper.from_array(numpy.zeros(0, value.dtype)).data_type


def constant(value):
    name = f"c{len(initializers)}"
    initializers.append(numpy_helper.from_array(value, name))
    return name


def node(kind, names, **attributes):
    nodes.append(helper.make_node(kind, names, [f"v{len(nodes)}"], **attributes))
    return nodes[-1].output[0]


class Scale:
    def __init__(self, scale, zero):
        self.scale, self.zero = numpy.float32(scale), numpy.asarray(zero)
        self.names = [constant(self.scale), constant(self.zero)]

    def to_reals(self, x):
        return (x.astype("float32") - self.zero.astype("float32")) * self.scale

    def to_bytes(self, x):
        info = numpy.iinfo(self.zero.dtype)
        rounded = numpy.rint(x.astype("float32") / self.scale) + self.zero.astype("float32")
        return numpy.clip(rounded, info.min, info.max).astype(self.zero.dtype)


def read(kind, scale, shape=SHAPE):
    """An input of bytes, and the reals that it stands for."""
    info = numpy.iinfo(kind)
    name = f"x{len(inputs)}"
    fed[name] = random.integers(info.min, info.max + 1, shape).astype(kind)
    fed[name].flat[: info.max - info.min + 1] = numpy.arange(info.min, info.max + 1)[: fed[name].size]
    inputs.append(helper.make_tensor_value_info(name, number_of(fed[name]), shape))
    return fed[name], node("DequantizeLinear", [name, *scale.names])


def write(value, scale, what, most=0):
    """A result of bytes that may differ from `what` by `most`."""
    name = node("QuantizeLinear", [value, *scale.names])
    expected[name] = what, most
    outputs.append(helper.make_tensor_value_info(name, number_of(what), what.shape))
    return name


def movements(kind, zero):
    scale, other = Scale(0.0371, zero), Scale(0.05, zero)
    x, reals = read(kind, scale)
    turned = node("Transpose", [node("Reshape", [reals, constant(numpy.array([1, 2, 3, 5, 8]))])], perm=[0, 2, 1, 3, 4])
    shuffled = node("Reshape", [turned, constant(numpy.array(SHAPE))])
    what = x.reshape(1, 2, 3, 5, 8).transpose(0, 2, 1, 3, 4).reshape(SHAPE)
    write(shuffled, scale, what)
    part = node("Slice", [reals, *[constant(numpy.array([value])) for value in (1, 6, 2, 2)]])
    write(part, scale, x[:, :, 1:6:2])
    y, more = read(kind, scale)
    write(node("Concat", [shuffled, more], axis=1), scale, numpy.concatenate([what, y], 1))
    # Of other scales, something is left to compute.
    write(shuffled, other, other.to_bytes(scale.to_reals(what)))
    z, others = read(kind, other)
    mixed = numpy.concatenate([scale.to_reals(x), other.to_reals(z)], 1)
    write(node("Concat", [reals, others], axis=1), scale, scale.to_bytes(mixed))
    pooled = node("MaxPool", [reals], kernel_shape=[2, 2], strides=[1, 2])
    windows = numpy.lib.stride_tricks.sliding_window_view(x, (2, 2), (2, 3))[:, :, :, ::2]
    write(pooled, scale, windows.max((-2, -1)))


def functions(kind, zero):
    scale, out = Scale(0.05, zero), Scale(0.013, zero)
    x, reals = read(kind, scale)
    values = scale.to_reals(x).astype("float64")
    sigmoid = 1 / (1 + numpy.exp(-values))
    unit = Scale(1 / 255, numpy.zeros((), "uint8"))
    gate = node("Sigmoid", [reals])
    name = write(gate, unit, unit.to_bytes(sigmoid), 1)
    # The gate's bytes are read again: all of it is a function of x.
    gated = node("Mul", [reals, node("DequantizeLinear", [name, *unit.names])])
    write(gated, out, out.to_bytes(values * unit.to_reals(unit.to_bytes(sigmoid))), 2)
    half = node("Mul", [reals, constant(numpy.float32(0.5))])
    write(node("Tanh", [half]), out, out.to_bytes(numpy.tanh(values * 0.5)), 1)
    # Of two tensors: no table.
    y, others = read(kind, scale)
    both = numpy.tanh(values + scale.to_reals(y))
    write(node("Tanh", [node("Add", [reals, others])]), out, out.to_bytes(both), 1)


for kind, zero in (("uint8", 121), ("int8", -7)):
    movements(kind, numpy.asarray(zero, kind))
    functions(kind, numpy.asarray(zero, kind))

graph = helper.make_graph(nodes, "bytes", inputs, outputs, initializers)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
path = os.path.join(FOLDER, "bytes.onnx")
onnx.save(model, path)
words = [SLUICE, "run", path, "--output-dir", f"{FOLDER}/out", "--dump-phases", f"{FOLDER}/phases"]
for name, value in fed.items():
    numpy.save(os.path.join(FOLDER, name + ".npy"), value)
    words += ["--input", f"{name}={FOLDER}/{name}.npy"]
subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
for name, (what, most) in expected.items():
    got = numpy.load(os.path.join(FOLDER, "out", name + ".npy"))
    assert got.dtype == what.dtype and got.shape == what.shape, (name, got.dtype, got.shape)
    apart = numpy.abs(got.astype(int) - what.astype(int))
    if apart.max() > most or (apart > 0).mean() > 0.02:
        print(f"{name} differ: by {apart.max()} at most, {(apart > 0).mean():.3f} of the elements")
print(len(expected), "results")
