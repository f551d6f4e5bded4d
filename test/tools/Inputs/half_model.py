"""half_model.py DIR: a model of half precision with operations that LLVM has for vectors and a function, and its data."""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

folder = sys.argv[1]
values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT16, [4, 19]) for name in ("x", "s", "y")}
nodes = [helper.make_node("Softmax", ["x"], ["s"]), helper.make_node("Relu", ["x"], ["y"])]
graph = helper.make_graph(nodes, "half", [values["x"]], [values["s"], values["y"]])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
          os.path.join(folder, "half.onnx"))

x = np.random.default_rng(1).normal(size=(4, 19)).astype(np.float16)
powers = np.exp(x.astype(np.float32))
softmax = (powers / powers.sum(axis=1, keepdims=True)).astype(np.float16)
for name, array in (("input_0", x), ("output_0", softmax), ("output_1", np.maximum(x, 0))):
    np.save(os.path.join(folder, f"{name}.npy"), array)
