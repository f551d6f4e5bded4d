"""Runs an artifact at several values of inputs, and compares it with what the model computes that is compiled for each.

Usage: check_step.py SLUICE ARTIFACT MODEL OPTION... -- NAME=TYPE:NUMBER,... ... [-- NAME=TYPE:NUMBER,... ...]...
Values are as in step_values.py. OPTIONs are given to the compilation for a value. Other inputs are random, the same in both. Prints "NAME=NUMBER,... ...: SHAPE... equal" for each list of values.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import step_values


def run(sluice, folder, artifact, inputs, to):
    given = [word for name, path in inputs.items() for word in ("--input", f"{name}={path}")]
    subprocess.run([sluice, "run", artifact, *given, "--output-dir", folder / to], check=True,
                   stdout=subprocess.DEVNULL)
    return {path.name: np.load(path) for path in sorted((folder / to).glob("*.npy"))}


def check(folder, sluice, artifact, model, options, texts):
    inputs = step_values.write(folder, texts)
    fixed = [word for name, path in inputs.items() for word in ("--fix", f"{name}={path}")]
    subprocess.run([sluice, "compile", model, *options, *fixed, "-o", folder / "known"], check=True)
    found, wanted = run(sluice, folder, artifact, inputs, "found"), run(sluice, folder, folder / "known", inputs, "wanted")
    if found.keys() != wanted.keys():
        sys.exit(f"{texts}: outputs {list(found)}, not {list(wanted)}")
    for name, value in wanted.items():
        if found[name].shape != value.shape or found[name].dtype != value.dtype:
            sys.exit(f"{texts}: output '{name}' is {found[name].dtype} {found[name].shape}, not {value.dtype} {value.shape}")
        if not np.allclose(found[name].astype(float), value.astype(float), rtol=1e-4, atol=1e-5, equal_nan=True):
            sys.exit(f"{texts}: output '{name}' is {found[name]}, not {value}")
    shapes = ["x".join(map(str, value.shape)) for value in wanted.values()]
    print(f"{' '.join(texts)}: {' '.join(shapes)} equal", flush=True)


def main():
    sluice, artifact, model, *rest = sys.argv[1:]
    groups = [[]]
    for word in rest:
        if word == "--":
            groups.append([])
        else:
            groups[-1].append(word)
    for texts in groups[1:]:
        with tempfile.TemporaryDirectory() as folder:
            check(pathlib.Path(folder), sluice, artifact, model, groups[0], texts)


main()
