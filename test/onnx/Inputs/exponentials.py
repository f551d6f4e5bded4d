"""exp of numbers over the whole range of single precision is within 1.5 ulp of f64's, for each target.

exponentials.py DIR SLUICE TARGET...
"""

import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

# Beyond these bounds f32 has no normal numbers. Near the upper one the power of two has no further step.
LEAST, MOST, NEARLY = -87.3, 88.72, 88.3


def main():
    folder, sluice, *targets = sys.argv[1:]
    special = [np.inf, -np.inf, np.nan, 0, -0.0, 100, -110]
    x = np.concatenate([np.linspace(-104, 89.5, 200001), special]).astype(np.float32)
    graph = helper.make_graph([helper.make_node("Exp", ["x"], ["y"])], "exponentials",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [len(x)])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [len(x)])])
    model, given = (os.path.join(folder, name) for name in ("exp.onnx", "x.npy"))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
    np.save(given, x)
    with np.errstate(over="ignore"):
        exact = np.exp(x.astype(np.float64))
    for target in targets:
        out = os.path.join(folder, target)
        subprocess.run([sluice, "run", model, "--target", f"cpu:{target}", "--search-evals", "2", "--input", f"x={given}",
                        "--output-dir", out], check=True, stdout=subprocess.DEVNULL)
        y = np.load(os.path.join(out, "y.npy"))

        def ulps(most):
            inside = (x > LEAST) & (x < most)
            return np.max(np.abs(y[inside] - exact[inside]) / np.spacing(exact[inside].astype(np.float32)))

        is_right = ulps(NEARLY) < 1.5 and ulps(MOST) < 8 and list(y[-6:-5]) == [0] and np.isnan(y[-5])
        is_right = is_right and y[-7] == np.inf and y[-4] == y[-3] == 1 and y[-2] == np.inf and y[-1] == 0
        print(target, "right" if is_right else f"wrong: {ulps(NEARLY)} and {ulps(MOST)} ulp, {y[-7:]}")


if __name__ == "__main__":
    main()
