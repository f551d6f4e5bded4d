"""Products of bytes held against integers of numpy, to the bit, on every level of x86-64, or on the targets given.

  quantized_products.py FOLDER SLUICE [TARGET=RUNNER...]

A RUNNER is the command of a target's sluice-runner, which runs under an emulator.
One model holds MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv and groups of DequantizeLinear and QuantizeLinear
in pairs of signs, with zero points one for all, a row, a column or none, with constant weights and with weights that are
inputs, of extents around those of tiles and panels.
"""

import os
import shlex
import subprocess
import sys

import numpy
import onnx
from onnx import helper, numpy_helper

FOLDER, SLUICE = sys.argv[1:3]
RUNNERS = dict(argument.split("=", 1) for argument in sys.argv[3:])
TARGETS = list(RUNNERS) or ["native", "x86-64-v3", "x86-64"]
random = numpy.random.default_rng(7)
nodes, inputs, initializers, outputs, expected, fed = [], [], [], [], {}, {}


def number_of(kind):
    return numpy_helper.from_array(numpy.zeros(0, kind)).data_type


def take(name, value, is_constant):
    """A value of the model: an initializer, or an input that is fed."""
    if is_constant:
        initializers.append(numpy_helper.from_array(value, name))
    else:
        inputs.append(helper.make_tensor_value_info(name, number_of(value.dtype), value.shape))
        fed[name] = value
    return name


def bytes_of(kind, shape):
    info = numpy.iinfo(kind)
    return random.integers(info.min, info.max + 1, shape).astype(kind)


def result(name, value):
    expected[name] = value
    outputs.append(helper.make_tensor_value_info(name, number_of(value.dtype), value.shape))


def product(a, b):
    """Modulo 2^32."""
    return numpy.matmul(a.astype("int64"), b.astype("int64")).astype("uint64").astype("uint32").astype("int32")


def convolution(x, w, strides, pads, dilations, groups):
    """x is less its zero point: padding is 0."""
    x = numpy.pad(x.astype("int64"), [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
    filters, inputs_of, height, width = w.shape
    out_h = (x.shape[2] - (height - 1) * dilations[0] - 1) // strides[0] + 1
    out_w = (x.shape[3] - (width - 1) * dilations[1] - 1) // strides[1] + 1
    y = numpy.zeros((x.shape[0], filters, out_h, out_w), "int64")
    per_group = filters // groups
    for m in range(filters):
        first = m // per_group * inputs_of
        for i in range(height):
            for j in range(width):
                top, left = i * dilations[0], j * dilations[1]
                window = x[:, first : first + inputs_of, top :: strides[0], left :: strides[1]][:, :, :out_h, :out_w]
                y[:, m] += numpy.einsum("nchw,c->nhw", window, w[m, :, i, j].astype("int64"))
    return y.astype("int32")


def requantize(sums, scale, zero):
    """`scale` is of f32, as is all that is computed."""
    info = numpy.iinfo(zero.dtype)
    rounded = numpy.rint(sums.astype("float32") * scale).astype("int64") + int(zero)
    return numpy.clip(rounded, info.min, info.max).astype(zero.dtype)


def along(zero, rank, axis):
    return zero.reshape([-1 if i == axis % rank else 1 for i in range(rank)]) if zero.ndim == 1 else zero


def matmul_integer(case, lhs, rhs, kinds, zeros, is_constant):
    a, b = bytes_of(kinds[0], lhs), bytes_of(kinds[1], rhs)
    za, zb = (None if shape is None else bytes_of(kind, shape) for kind, shape in zip(kinds, zeros))
    names = [take(f"a{case}", a, False), take(f"b{case}", b, is_constant)]
    if za is not None or zb is not None:
        names.append("" if za is None else take(f"za{case}", za, False))
    if zb is not None:
        names.append(take(f"zb{case}", zb, is_constant))
    nodes.append(helper.make_node("MatMulInteger", names, [f"y{case}"]))
    wide_a, wide_b = a.astype("int64"), b.astype("int64")
    if za is not None:
        wide_a = wide_a - along(za.astype("int64"), a.ndim, -2)
    if zb is not None:
        wide_b = wide_b - zb.astype("int64")
    result(f"y{case}", product(wide_a, wide_b))


def qlinear_matmul(case, lhs, rhs, kinds, is_per_column):
    a, b = bytes_of(kinds[0], lhs), bytes_of(kinds[1], rhs)
    count = (rhs[-1],) if is_per_column else ()
    za, zb, zy = bytes_of(kinds[0], ()), bytes_of(kinds[1], count), bytes_of(kinds[2], ())
    sa, sy = numpy.float32(0.011), numpy.float32(1.7)
    sb = (random.random(count) * 0.01 + 0.005).astype("float32")
    names = [take(f"a{case}", a, False), take(f"sa{case}", sa, True), take(f"za{case}", za, True)]
    names += [take(f"b{case}", b, True), take(f"sb{case}", sb, True), take(f"zb{case}", zb, True)]
    names += [take(f"sy{case}", sy, True), take(f"zy{case}", zy, True)]
    nodes.append(helper.make_node("QLinearMatMul", names, [f"y{case}"]))
    sums = product(a.astype("int64") - int(za), b.astype("int64") - zb.astype("int64"))
    result(f"y{case}", requantize(sums, sa * sb / sy, zy))


def conv_of(case, form, shape, weight, kinds, how, is_per_filter=False, is_constant=True, relu=False):
    """`form` is integer, qlinear, or group: DequantizeLinear, Conv, perhaps Relu, QuantizeLinear."""
    strides, pads, dilations, groups = how
    x, w = bytes_of(kinds[0], shape), bytes_of(kinds[1], weight)
    count = (weight[0],) if is_per_filter else ()
    zx, zw, zy = bytes_of(kinds[0], ()), bytes_of(kinds[1], count), bytes_of(kinds[0], ())
    attributes = {"strides": strides, "pads": pads, "dilations": dilations, "group": groups}
    sums = convolution(x.astype("int64") - int(zx), w.astype("int64") - along(zw.astype("int64"), 4, 0), strides, pads,
                       dilations, groups)
    xs = [take(f"x{case}", x, False), take(f"zx{case}", zx, True)]
    ws = [take(f"w{case}", w, is_constant), take(f"zw{case}", zw, is_constant)]
    if form == "integer":
        nodes.append(helper.make_node("ConvInteger", [xs[0], ws[0], xs[1], ws[1]], [f"y{case}"], **attributes))
        result(f"y{case}", sums)
        return
    sx, sy = numpy.float32(0.02), numpy.float32(0.9)
    sw = (random.random(count) * 0.01 + 0.002).astype("float32")
    bias = random.integers(-5000, 5000, weight[0]).astype("int32")
    sums = sums + along(bias, 4, 1)
    scale = along(numpy.asarray(sx * sw), 4, 1)
    scales = [take(f"sx{case}", sx, True), take(f"sw{case}", sw, True), take(f"sy{case}", sy, True)]
    names = [take(f"bias{case}", bias, True), take(f"zy{case}", zy, True)]
    if form == "qlinear":
        operands = [xs[0], scales[0], xs[1], ws[0], scales[1], ws[1], scales[2], names[1], names[0]]
        nodes.append(helper.make_node("QLinearConv", operands, [f"y{case}"], **attributes))
        result(f"y{case}", requantize(sums, scale / sy, zy))
        return
    axis = {"axis": 0} if is_per_filter else {}
    product_scale = take(f"sb{case}", numpy.asarray(sx * sw), True)
    bias_zero = take(f"zb{case}", numpy.zeros(count, "int32"), True)
    nodes.append(helper.make_node("DequantizeLinear", [xs[0], scales[0], xs[1]], [f"dx{case}"]))
    nodes.append(helper.make_node("DequantizeLinear", [ws[0], scales[1], ws[1]], [f"dw{case}"], **axis))
    nodes.append(helper.make_node("DequantizeLinear", [names[0], product_scale, bias_zero], [f"db{case}"], **axis))
    nodes.append(helper.make_node("Conv", [f"dx{case}", f"dw{case}", f"db{case}"], [f"c{case}"], **attributes))
    if relu:
        nodes.append(helper.make_node("Relu", [f"c{case}"], [f"r{case}"]))
    nodes.append(helper.make_node("QuantizeLinear", [f"{'r' if relu else 'c'}{case}", scales[2], names[1]], [f"y{case}"]))
    info = numpy.iinfo(kinds[0])
    scaled = sums.astype("float32") * (scale / sy)
    if relu:
        scaled = numpy.maximum(scaled, numpy.float32(0))
    result(f"y{case}", numpy.clip(numpy.rint(scaled).astype("int64") + int(zy), info.min, info.max).astype(kinds[0]))


U, S = "uint8", "int8"
MATMULS = [
    ((7, 33), (33, 37), (U, S), ((), ()), True),
    ((5, 64), (64, 32), (U, U), ((), (32,)), True),
    ((2, 3, 40), (40, 65), (S, S), ((), None), True),
    ((2, 3, 41), (41, 8), (S, U), (None, ()), True),
    ((1, 130), (130, 100), (U, S), ((1,), (100,)), True),
    ((37, 20), (20, 96), (U, S), ((37,), None), True),
    ((3, 17, 12), (3, 12, 33), (U, S), ((), ()), False),
    ((2, 1, 5, 9), (3, 9, 18), (S, U), ((), ()), False),
    ((40, 128), (128, 48), (U, S), ((), None), True),
    ((165, 288), (288, 96), (U, S), ((), None), True),
]
WINDOWS = [
    ((1, 3, 9, 11), (20, 3, 3, 3), ([1, 1], [1, 1, 1, 1], [1, 1], 1)),
    ((2, 16, 14, 15), (33, 16, 3, 3), ([2, 2], [0, 1, 1, 0], [1, 1], 1)),
    ((1, 12, 7, 8), (34, 12, 3, 2), ([1, 1], [1, 0, 1, 1], [2, 2], 1)),
    ((1, 8, 9, 9), (24, 4, 3, 3), ([1, 1], [1, 1, 1, 1], [1, 1], 2)),
    ((1, 20, 9, 9), (40, 20, 1, 1), ([1, 1], [0, 0, 0, 0], [1, 1], 1)),
    ((1, 64, 12, 40), (40, 64, 3, 3), ([1, 1], [1, 1, 1, 1], [1, 1], 1)),
    ((1, 33, 9, 9), (33, 1, 3, 3), ([2, 2], [1, 1, 1, 1], [1, 1], 33)),
]
for i, case in enumerate(MATMULS):
    matmul_integer(f"_m{i}", *case)
for i, (kinds, is_per_column) in enumerate([((U, S, U), True), ((S, S, S), False), ((U, U, U), False)]):
    qlinear_matmul(f"_q{i}", (11, 36), (36, 50), kinds, is_per_column)
for i, (shape, weight, how) in enumerate(WINDOWS):
    kinds = [(U, S), (S, S), (U, U)][i % 3]
    conv_of(f"_i{i}", "integer", shape, weight, kinds, how, i % 2 == 0)
    conv_of(f"_l{i}", "qlinear", shape, weight, kinds, how, i % 2 == 1)
    conv_of(f"_g{i}", "group", shape, weight, kinds, how, i % 2 == 0, relu=i % 2 == 1)
conv_of("_d", "integer", *WINDOWS[0][:2], (U, S), WINDOWS[0][2], is_constant=False)

graph = helper.make_graph(nodes, "products", inputs, outputs, initializers)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model)
path = os.path.join(FOLDER, "model.onnx")
onnx.save(model, path)
operands = []
for name, value in fed.items():
    numpy.save(os.path.join(FOLDER, name + ".npy"), value)
    operands += ["--input", f"{name}={os.path.join(FOLDER, name)}.npy"]


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{target}: {done.stdout}")


failures = []
for target in TARGETS:
    folder = os.path.join(FOLDER, "out-" + target)
    command = [SLUICE, "run", path, "--search-evals", "1", "--target", "cpu:" + target]
    if target in RUNNERS:
        kept = os.path.join(FOLDER, "kept-" + target)
        run(command + ["--keep", kept] + operands)
        run(shlex.split(RUNNERS[target]) + ["run", kept, "--output-dir", folder])
        files = [f"output_{i}" for i in range(len(outputs))]
    else:
        run(command + ["--output-dir", folder] + operands)
        files = [output.name for output in outputs]
    for output, file in zip(outputs, files):
        actual, value = numpy.load(os.path.join(folder, file + ".npy")), expected[output.name]
        wrong = int((actual != value).sum())
        if actual.dtype != value.dtype or wrong:
            failures.append(f"{target}: {output.name}: {wrong} of {value.size} elements differ")
print("\n".join(failures))
print(f"{len(expected)} products on {len(TARGETS)} targets")
sys.exit(bool(failures))
