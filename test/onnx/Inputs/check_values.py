"""Runs an artifact with inputs that NumPy expressions give, and compares its outputs with those of other expressions.

Usage: check_values.py SLUICE ARTIFACT INPUT=EXPRESSION... -- OUTPUT=EXPRESSION...
Expressions see numpy as np and the tensors before them by their names; a list is a tensor of int64. Prints
"OUTPUT: SHAPE equal" for each output. A step that fails is an error with what the step said.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np


def evaluated(texts, names):
    values = {}
    for text in texts:
        name, expression = text.split("=", 1)
        value = eval(expression, {"np": np, **names, **values})
        values[name] = np.asarray(value, np.int64) if isinstance(value, (list, int)) else np.asarray(value)
    return values


def main():
    sluice, artifact = sys.argv[1:3]
    separator = sys.argv.index("--")
    inputs = evaluated(sys.argv[3:separator], {})
    with tempfile.TemporaryDirectory() as folder:
        given = []
        for name, value in inputs.items():
            path = pathlib.Path(folder, name + ".npy")
            np.save(path, value)
            given += ["--input", f"{name}={path}"]
        run = subprocess.run([sluice, "run", artifact, *given, "--output-dir", folder + "/out"], text=True,
                             capture_output=True)
        if run.returncode != 0:
            sys.exit(run.stderr)
        for name, value in evaluated(sys.argv[separator + 1 :], inputs).items():
            found = np.load(f"{folder}/out/{name}.npy")
            if found.shape != value.shape or not np.allclose(found, value, rtol=1e-5, atol=1e-6):
                sys.exit(f"output '{name}' is {found}, not {value}")
            print(f"{name}: {'x'.join(map(str, found.shape)) or 'scalar'} equal")


main()
