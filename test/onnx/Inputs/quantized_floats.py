"""QuantizeLinear held against numpy's division of f32, to the bit, at ties, beside them, and far away.

  quantized_floats.py FOLDER SLUICE

For each scale, type and zero point the model has two results: the bytes, and what DequantizeLinear makes of them in the
same kernel.
"""

import os
import subprocess
import sys

import numpy
import onnx
from onnx import helper, numpy_helper

FOLDER, SLUICE = sys.argv[1:3]
TARGETS = ["native", "x86-64-v3", "x86-64"]
f32 = numpy.float32
random = numpy.random.default_rng(3)
# The last digits are all ones in the fourth; the last two are beyond what multiplications replace.
SCALES = [f32(s) for s in (0.0314760394, 0.1, 1 / 3, 1.9999999, 3e-17, -0.7, 8.0, 123456.7, 1e30, 1e-30)]


def points(scale):
    """Ties, the floats around them, other floats, and the ends of f32."""
    with numpy.errstate(over="ignore"):
        ties = (numpy.arange(-600, 600, dtype=f32) + f32(0.5)) * scale
        inside = random.uniform(-600, 600, 2000).astype(f32) * scale
        beside = [numpy.nextafter(ties, f32(side)) for side in (-numpy.inf, numpy.inf)]
        ends = numpy.array([0, -0.0, 1e-45, -1e-45, 1.2e-38, 3.4e38, -3.4e38, numpy.inf, -numpy.inf, 1e19, -1e19], f32)
        return numpy.concatenate([ties, *beside, inside, ends, -ends * scale])


nodes, inputs, initializers, outputs, expected, fed = [], [], [], [], {}, {}


def result(name, value):
    expected[name] = value
    kind = numpy_helper.from_array(value[:0]).data_type
    outputs.append(helper.make_tensor_value_info(name, kind, value.shape))


def feed(name, value):
    """Inputs of their own: nothing is computed once for two kernels."""
    inputs.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, value.shape))
    fed[name] = value
    return name


for i, scale in enumerate(SCALES):
    x = points(scale)
    initializers.append(numpy_helper.from_array(scale, f"s{i}"))
    for kind, zero in (("uint8", 0), ("uint8", 131), ("int8", 0), ("int8", -7), ("int16", 5), ("uint16", 0)):
        name = f"{kind}_{abs(zero)}_{i}"
        initializers.append(numpy_helper.from_array(numpy.array(zero, kind), f"z_{name}"))
        info = numpy.iinfo(kind)
        with numpy.errstate(over="ignore", invalid="ignore"):
            quotient = numpy.rint(x / scale) + f32(zero)
            byte = numpy.clip(quotient, info.min, info.max).astype(kind)
            real = (byte.astype("int32") - zero).astype(f32) * scale
        by = [f"s{i}", f"z_{name}"]
        nodes.append(helper.make_node("QuantizeLinear", [feed(f"x_{name}", x), *by], [f"q_{name}"]))
        result(f"q_{name}", byte)
        nodes.append(helper.make_node("QuantizeLinear", [feed(f"y_{name}", x), *by], [f"inner_{name}"]))
        nodes.append(helper.make_node("DequantizeLinear", [f"inner_{name}", *by], [f"r_{name}"]))
        result(f"r_{name}", real)

graph = helper.make_graph(nodes, "floats", inputs, outputs, initializers)
model = helper.make_model(graph, opset_imports=[helper.make_operatorsetid("", 21)], ir_version=10)
onnx.save(model, os.path.join(FOLDER, "floats.onnx"))

feeds = []
for name, value in fed.items():
    numpy.save(os.path.join(FOLDER, f"{name}.npy"), value)
    feeds += ["--input", f"{name}={FOLDER}/{name}.npy"]
for target in TARGETS:
    folder = os.path.join(FOLDER, target)
    command = [SLUICE, "run", os.path.join(FOLDER, "floats.onnx"), "--target", target, "--search-evals", "1", *feeds]
    subprocess.run([*command, "--output-dir", folder], check=True, stdout=subprocess.DEVNULL)
    for name, value in expected.items():
        ours = numpy.load(os.path.join(folder, f"{name}.npy"))
        if ours.tobytes() != value.tobytes():
            where = numpy.flatnonzero(ours != value)
            x = fed["x" + name[1:]]
            some = [(float(x[k]), float(ours[k]), float(value[k])) for k in where[:4]]
            print(f"{target}: {name} differs at {len(where)} of {len(value)}: {some}")
print(f"{len(expected)} results on {len(TARGETS)} targets")
