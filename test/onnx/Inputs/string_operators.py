"""Gives strings to every operator of ONNX, and asks each for strings where it has a choice: it is imported or refused.

  string_operators.py FOLDER COMMAND...

COMMAND reads a model, whose path is added to it. Exits 1 where the command ends with a status other than 0 and 1.
"""

import subprocess
import sys

import onnx
from onnx import TensorProto, defs, helper

REQUIRED = {
    defs.OpSchema.AttrType.INT: 1,
    defs.OpSchema.AttrType.FLOAT: 1.0,
    defs.OpSchema.AttrType.STRING: "a",
    defs.OpSchema.AttrType.INTS: [1, 1],
    defs.OpSchema.AttrType.FLOATS: [1.0],
    defs.OpSchema.AttrType.STRINGS: ["a"],
}
CHOSEN = ("dtype", "to", "output_dtype", "output_datatype", "stash_type")
OPSETS = {"": 17, "ai.onnx.ml": 3}


def nodes_of(schema, number):
    attributes = {}
    for name, attribute in schema.attributes.items():
        if name in CHOSEN:
            attributes[name] = TensorProto.STRING
        elif attribute.required and attribute.type in REQUIRED:
            attributes[name] = REQUIRED[attribute.type]
        elif attribute.required:
            return  # A graph or a tensor.
    outputs = [f"y{number}_{i}" for i in range(max(schema.min_output, 1))]
    for operand in ("list", "matrix", "image", "text"):
        count = max(schema.min_input, min(schema.max_input, 3))
        names = [f"{name}_{operand}" for name in outputs]
        yield helper.make_node(schema.name, [operand] * count, names, domain=schema.domain, **attributes)
    if count > 1:  # Numbers first, and strings behind them.
        names = [f"{name}_mixed" for name in outputs]
        yield helper.make_node(schema.name, ["number"] + ["list"] * (count - 1), names, domain=schema.domain, **attributes)


shapes = {"list": [3], "matrix": [2, 3], "image": [1, 2, 4, 4]}
inputs = [helper.make_tensor_value_info(name, TensorProto.STRING, shape) for name, shape in shapes.items()]
inputs.append(helper.make_tensor_value_info("number", TensorProto.FLOAT, [3]))
schemas = [defs.get_schema(schema.name, OPSETS[schema.domain], schema.domain)
           for schema in defs.get_all_schemas() if schema.domain in OPSETS and not schema.deprecated]
assert len(schemas) > 150
failures = []
for number, schema in enumerate(schemas):
    nodes = list(nodes_of(schema, number))
    outputs = [helper.make_tensor_value_info(node.output[0], TensorProto.STRING, [3]) for node in nodes]
    words = helper.make_tensor("text", TensorProto.STRING, [2], [b"a", b"b"])
    graph = helper.make_graph(nodes, "g", inputs, outputs, [words])
    opsets = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
    path = f"{sys.argv[1]}/{schema.name}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    run = subprocess.run([*sys.argv[2:], path], capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1) or (run.returncode == 1 and "error: " not in run.stderr):
        failures.append(f"{schema.name}: {run.returncode}: {run.stderr}")
sys.exit("\n".join(failures) or 0)
