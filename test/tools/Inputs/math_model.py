"""Writes a model of one node of f32 for each function of mathematics, with inputs and references of numpy in f64.

usage: math_model.py FOLDER
"""

import math
import os
import sys

import numpy
from onnx import TensorProto, helper, numpy_helper, save

VALUES = numpy.linspace(-20, 20, 67).astype(numpy.float32)
WIDE = numpy.concatenate([VALUES, [1e4, -1e4, 12345.678, 1e6, 3.0e-5]]).astype(numpy.float32)
UNIT = numpy.linspace(-0.999, 0.999, 67).astype(numpy.float32)
POSITIVE = numpy.geomspace(1e-6, 1e6, 67).astype(numpy.float32)

FUNCTIONS = {
    "Exp": (VALUES, numpy.exp), "Log": (POSITIVE, numpy.log), "Sqrt": (POSITIVE, numpy.sqrt),
    "Tanh": (VALUES, numpy.tanh), "Sigmoid": (VALUES, lambda x: 1 / (1 + numpy.exp(-x))),
    "Erf": (VALUES, numpy.vectorize(math.erf)), "Softplus": (VALUES, lambda x: numpy.log1p(numpy.exp(x))),
    "Sin": (WIDE, numpy.sin), "Cos": (WIDE, numpy.cos), "Tan": (UNIT, numpy.tan),
    "Asin": (UNIT, numpy.arcsin), "Acos": (UNIT, numpy.arccos), "Atan": (VALUES, numpy.arctan),
    "Sinh": (UNIT, numpy.sinh), "Cosh": (UNIT, numpy.cosh), "Asinh": (VALUES, numpy.arcsinh),
    "Acosh": (1 + POSITIVE, numpy.arccosh), "Atanh": (UNIT, numpy.arctanh),
    "Floor": (VALUES, numpy.floor), "Round": (VALUES, numpy.round),
}


def main():
    folder = sys.argv[1]
    os.makedirs(os.path.join(folder, "test_data_set_0"), exist_ok=True)
    nodes, inputs, outputs, data, references = [], [], [], [], []

    def add(operator, arguments, reference):
        names = []
        for argument in arguments:
            names.append(f"x{len(inputs)}")
            inputs.append(helper.make_tensor_value_info(names[-1], TensorProto.FLOAT, argument.shape))
            data.append(argument)
        output = f"y{len(outputs)}"
        nodes.append(helper.make_node(operator, names, [output], name=f"{operator}_{len(nodes)}"))
        outputs.append(helper.make_tensor_value_info(output, TensorProto.FLOAT, arguments[0].shape))
        references.append(reference(*(argument.astype(numpy.float64) for argument in arguments)).astype(numpy.float32))

    for operator, (values, reference) in FUNCTIONS.items():
        add(operator, [values], reference)
    exponents = numpy.linspace(-2.5, 3, POSITIVE.size).astype(numpy.float32)
    add("Pow", [numpy.geomspace(1e-2, 1e2, POSITIVE.size).astype(numpy.float32), exponents], numpy.power)
    graph = helper.make_graph(nodes, "mathematics", inputs, outputs)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8),
         os.path.join(folder, "mathematics.onnx"))
    for kind, arrays in (("input", data), ("output", references)):
        for number, array in enumerate(arrays):
            numpy.save(os.path.join(folder, "test_data_set_0", f"{kind}_{number}.npy"), array)


main()
