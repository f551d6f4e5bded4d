"""With N requests in a step, outputs are those of the inputs of N - 1 steps before, to the bit.

pipeline_requests.py DIR SLUICE MODEL: MODEL has one input of floats and one output.
"""

import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

STEPS = 6


def running_sum(path):
    """y = 3 s, where s, a state, is the sum of all x + 6. Zeros in place of x would add 6."""
    constants = {"one": 1.0, "five": 5.0, "three": 3.0}
    nodes = [helper.make_node("Add", ["x", "one"], ["u"]), helper.make_node("Exp", ["u"], ["grown"]),
             helper.make_node("Log", ["grown"], ["same"]), helper.make_node("Add", ["same", "five"], ["v"]),
             helper.make_node("Add", ["before", "v"], ["after"]), helper.make_node("Mul", ["after", "three"], ["y"])]
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4])
              for name in ("x", "before", "y", "after")}
    graph = helper.make_graph(nodes, "sum", [values["x"], values["before"]], [values["y"], values["after"]],
                              [helper.make_tensor(name, TensorProto.FLOAT, [], [value])
                               for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def main():
    folder, sluice, model = sys.argv[1:]
    own = os.path.join(folder, "sum.onnx")
    running_sum(own)
    for name, file, options in (("model", model, []), ("sum", own, ["--state", "before=after"])):
        shape = [dim.dim_value for dim in onnx.load(file).graph.input[0].type.tensor_type.shape.dim]
        data = np.random.default_rng(7).random([STEPS, *shape[1:]], dtype=np.float32)
        np.save(os.path.join(folder, f"{name}.npy"), data)
        outputs = {}
        for requests in (1, 2, 3):
            for machine in ("host", "emulated:2"):
                made = os.path.join(folder, f"{name}-{requests}-{machine.replace(':', '')}")
                subprocess.run([sluice, "compile", file, *options, "--pipeline-requests", str(requests), "--machine",
                                machine, "--search-evals", "20", "-o", made], check=True, stdout=subprocess.DEVNULL)
                # The first request's outputs, and the last one's that are known.
                for steps in (max(requests, 2), STEPS):
                    out = f"{made}-out"
                    subprocess.run([sluice, "run", made, "--input", os.path.join(folder, f"{name}.npy"), "--steps",
                                    str(steps), "--output-dir", out], check=True, stdout=subprocess.DEVNULL)
                    (file_name,) = [each for each in os.listdir(out) if each.endswith(".npy")]
                    outputs[requests, machine, steps] = np.load(os.path.join(out, file_name))
        if name == "sum":
            total = 3 * np.cumsum(data + 6, axis=0)
            assert np.allclose(outputs[1, "host", STEPS], total[STEPS - 1], rtol=1e-5), "the model"
        for (requests, machine, steps), found in outputs.items():
            made = os.path.join(folder, f"{name}-1-{machine.replace(':', '')}")
            out, count = f"{made}-one", steps - requests + 1
            np.save(f"{out}.npy", data[:count])
            subprocess.run([sluice, "run", made, "--input", f"{out}.npy", "--steps", str(count), "--output-dir", out],
                           check=True, stdout=subprocess.DEVNULL)
            (file_name,) = [each for each in os.listdir(out) if each.endswith(".npy")]
            same = np.array_equal(found, np.load(os.path.join(out, file_name)))
            print(name, requests, machine, steps, "same" if same else "differs")


if __name__ == "__main__":
    main()
