"""Integers that trap a processor's division, floats without an integer, empty windows and constant rows, by a model.

  special_values.py FOLDER SLUICE

A model reads operands as inputs, and another holds them, so that kernels and the evaluation of constants are both held
against integers of Python and the standard's formulas in numpy.
"""

import os
import subprocess
import sys

import numpy
import onnx
from onnx import helper, numpy_helper

FOLDER, SLUICE = sys.argv[1:]
KINDS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = [numpy.nan, numpy.inf, -numpy.inf, 1e30, -1e30, 3e9, -3e9, 300.0, -129.0, -1.0, -0.5, 0.5, 255.0]
failures = []


def number_of(kind):
    """Of an element type, as TensorProto has it."""
    return numpy_helper.from_array(numpy.zeros(0, kind)).data_type


def wrap(value, kind):
    """The low bits of a Python integer."""
    info = numpy.iinfo(kind)
    return (value - int(info.min)) % (int(info.max) - int(info.min) + 1) + int(info.min)


def quotient(a, b):
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def floored(a, b):
    return a if b == 0 else a % b


def truncated(a, b):
    return a if b == 0 else a - quotient(a, b) * b


def shifted(a, b, bits, direction):
    return 0 if b >= bits else a << b if direction == "LEFT" else a >> b


def to_integer(value, kind):
    """NaN becomes 0. What does not fit 64 bits is clamped to them, what does not fit the type wraps."""
    if numpy.isnan(value):
        return 0
    if kind == "uint64":
        return int(min(max(value, 0.0), 2.0**64)) if value < 2.0**64 else 2**64 - 1
    if abs(value) >= 2.0**63:
        return wrap(2**63 - 1 if value > 0 else -(2**63), kind)
    return wrap(int(value), kind)


def softmax(x):
    with numpy.errstate(invalid="ignore", over="ignore"):
        e = numpy.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)


def log_softmax(x):
    with numpy.errstate(invalid="ignore", over="ignore", divide="ignore"):
        s = x - x.max(1, keepdims=True)
        return s - numpy.log(numpy.exp(s).sum(1, keepdims=True))


def average(x, kernel, pad, with_pad):
    """Of windows of one dimension. Those without an element are 0."""
    padded = numpy.pad(x, ((0, 0), (0, 0), (pad, pad)))
    counts = numpy.pad(numpy.ones(x.shape[2]), pad, constant_values=with_pad)
    count = padded.shape[2] - kernel + 1
    return numpy.stack([padded[:, :, i:i + kernel].sum(2) / max(1, counts[i:i + kernel].sum()) for i in range(count)], 2)


operands, nodes, expected = {}, [], {}


def operator(name, op, values, result, **attributes):
    """A node of operands given by values, which nodes share where they are alike."""
    names = []
    for value in values:
        known = [key for key, other in operands.items() if other is value]
        names.append(known[0] if known else f"o{len(operands)}")
        operands[names[-1]] = value
    nodes.append(helper.make_node(op, names, [name], **attributes))
    expected[name] = result


for kind in KINDS:
    info = numpy.iinfo(kind)
    values = sorted({wrap(int(v), kind) for v in (info.min, info.min + 1, -7, -2, -1, 0, 1, 2, 7, 31, info.max)})
    pairs = [(a, b) for a in values for b in values]
    left, right = (numpy.array(column, kind) for column in zip(*pairs))
    for name, op, function, attributes in (("div", "Div", quotient, {}), ("mod", "Mod", floored, {}),
                                           ("fmod", "Mod", truncated, {"fmod": 1})):
        result = numpy.array([wrap(function(a, b), kind) for a, b in pairs], kind)
        operator(f"{name}_{kind}", op, (left, right), result, **attributes)
    floats = numpy.array(FLOATS, numpy.float32)
    for element in (floats, floats.astype(numpy.float64)):
        result = numpy.array([to_integer(v, kind) for v in element.astype(float)], kind)
        operator(f"cast_{element.dtype}_{kind}", "Cast", (element,), result, to=number_of(info.dtype))
    if kind[0] == "u":
        bits = [0, 1, info.bits - 1, info.bits, info.bits + 1, int(info.max)]
        pairs = [(a, b) for a in values for b in bits]
        left, right = (numpy.array(column, kind) for column in zip(*pairs))
        for direction in ("LEFT", "RIGHT"):
            result = numpy.array([wrap(shifted(a, b, info.bits, direction), kind) for a, b in pairs], kind)
            operator(f"{direction}_{kind}", "BitShift", (left, right), result, direction=direction)

rests = numpy.array([5.5, -5.5, 5.5, -5.5, 0.0, -0.0, numpy.inf, 1.0, -1.0, numpy.nan, 1.0, 7.0], numpy.float32)
divisors = numpy.array([2.0, 2.0, -2.0, -2.0, 3.0, 3.0, 2.0, numpy.inf, numpy.inf, 1.0, 0.0, numpy.nan], numpy.float32)
with numpy.errstate(invalid="ignore", over="ignore"):
    operator("fmod_float", "Mod", (rests, divisors), numpy.fmod(rests, divisors), fmod=1)
rows = numpy.array([[-numpy.inf] * 3, [numpy.inf, 0, 1], [-numpy.inf, 0, 1], [numpy.nan, 0, 1], [3e38, -3e38, 0]],
                   numpy.float32)
operator("softmax", "Softmax", (rows,), softmax(rows), axis=1)
operator("log_softmax", "LogSoftmax", (rows,), log_softmax(rows), axis=1)
image = numpy.array([[[1, 2, 4]]], numpy.float32)
for kernel, pad in ((2, 2), (1, 3), (3, 5)):
    for with_pad in (0, 1):
        operator(f"average_{kernel}_{with_pad}", "AveragePool", (image,), average(image, kernel, pad, with_pad),
                 kernel_shape=[kernel], pads=[pad, pad], count_include_pad=with_pad)
constant = numpy.array([[[3, 3, 3]], [[-1e30, -1e30, -1e30]], [[0, 0, 0]]], numpy.float32)
operator("mvn", "MeanVarianceNormalization", (constant,), numpy.zeros_like(constant), axes=[2])
scale, bias = numpy.array([2, 3, 4], numpy.float32), numpy.array([-1, 0, 1], numpy.float32)
operator("layer", "LayerNormalization", (constant, scale, bias), numpy.broadcast_to(bias, constant.shape), axis=2)


def tensor_info(name, value):
    return helper.make_tensor_value_info(name, number_of(value.dtype), value.shape)


def save(name, graph_nodes, inputs, outputs, initializers):
    path = os.path.join(FOLDER, name + ".onnx")
    graph = helper.make_graph(graph_nodes, name, [tensor_info(*pair) for pair in inputs.items()],
                              [tensor_info(*pair) for pair in outputs.items()],
                              [numpy_helper.from_array(value, key) for key, value in initializers.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def run(path, inputs, *options):
    out = path + ".out"
    line = [SLUICE, "run", path, "--search-evals", "1", "--output-dir", out, *options]
    for name, value in inputs.items():
        numpy.save(os.path.join(FOLDER, name + ".npy"), value)
        line += ["--input", f"{name}={os.path.join(FOLDER, name)}.npy"]
    result = subprocess.run(line, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"{' '.join(line)}\n{result.returncode}\n{result.stderr}")
    return out


def compare(what, actual, wanted):
    same = actual == wanted
    if wanted.dtype.kind == "f":
        same = numpy.isclose(actual, wanted, 1e-5, 1e-6, equal_nan=True)
    if actual.dtype != wanted.dtype or not same.all():
        failures.append(f"{what}:\n{actual}\nis not\n{wanted}\nat {numpy.argwhere(~same).tolist()}")


# Outputs of constants alone are folded: all are computed beside an input that changes nothing.
for way, inputs, constants in (("inputs", operands, {}), ("constants", {}, operands)):
    given = inputs or {"unused": numpy.zeros(1, numpy.float32)}
    extra = [] if inputs else [helper.make_node("Identity", ["unused"], ["same"])]
    results = dict(expected) if inputs else {**expected, "same": given["unused"]}
    folder = run(save(way, nodes + extra, given, results, constants), given)
    for name, wanted in expected.items():
        compare(f"{name} of {way}", numpy.load(f"{folder}/{name}.npy"), wanted)

# A step of 0.01 against the gradient of a sum of weighted normalizations, of rows that are constant.
x = numpy.array([[1, -2], [0.5, 3]], numpy.float32)
factor = numpy.array([1, -2, 4], numpy.float32)
for name, op, more, attributes, inverse in (("layer", "LayerNormalization", ["one"], {"axis": 1, "epsilon": 0.25}, 2),
                                            ("mvn", "MeanVarianceNormalization", [], {"axes": [1]}, 1e9)):
    steps = [helper.make_node("MatMul", ["x", "w"], ["rows"]), helper.make_node(op, ["rows", *more], ["n"], **attributes),
             helper.make_node("Mul", ["n", "factor"], ["m"]), helper.make_node("ReduceSum", ["m"], ["loss"], keepdims=0)]
    weights = {"w": numpy.zeros((2, 3), numpy.float32), "factor": factor}
    if more:
        weights["one"] = numpy.ones(3, numpy.float32)
    path = save(f"train_{name}", steps, {"x": x}, {"loss": numpy.float32(0)}, weights)
    folder = run(path, {"x": x}, "--train", "loss=output:loss")
    by_rows = inverse * (factor - factor.mean())
    compare(f"a step of {name}", numpy.load(f"{folder}/states/w.npy"),
            (-0.01 * x.T @ numpy.stack([by_rows, by_rows])).astype(numpy.float32))

sys.exit("\n".join(failures) or 0)
