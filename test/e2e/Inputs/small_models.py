"""Writes small models for tests."""

import os

import onnx
from onnx import TensorProto, helper, numpy_helper


def save(folder, name, nodes, weights, shape, kind, result):
    """A model of one input x and one output y, as folder/name.onnx; returns the path.

    nodes: (operator, names of inputs, names of outputs, attributes), where names are joined by spaces. shape and kind
    are those of the input, and result is the shape of the output.
    """
    path = os.path.join(folder, name + ".onnx")
    graph = helper.make_graph(
        [helper.make_node(op, inputs.split(), outputs.split(), name=outputs.split()[0], **attributes)
         for op, inputs, outputs, attributes in nodes], name,
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)],
        [numpy_helper.from_array(value, key) for key, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path
