#!/usr/bin/env python3
"""Runs one artifact at several sizes, beside the model compiled for each size.

  compare_sizes.py SLUICE MODEL ARTIFACT [--tolerance T] [--option=VALUE ...] SIZES...

SIZES are bindings such as batch=2,sequence=7. Options go to the compilations for one size. Prints a line for each SIZES,
and fails where an output differs in shape, type or by more than T of its greatest value.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy


def run(sluice, model, sizes, folder, options):
    dims = [word for size in sizes.split(",") for word in ("--dim", size)]
    command = [sluice, "run", model, *dims, *options, "--input", "random:7", "--output-dir", folder]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return {path.name: numpy.load(path) for path in sorted(Path(folder).glob("*.npy"))}


def difference(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        sys.exit(f"{a.dtype}{a.shape} instead of {b.dtype}{b.shape}")
    if a.size == 0 or (a == b).all():
        return 0.0
    a, b = a.astype(numpy.float64), b.astype(numpy.float64)
    return float(abs(a - b).max() / max(abs(b).max(), 1e-30))


def main():
    tolerance, options, words = 1e-5, [], []
    arguments = iter(sys.argv[1:])
    for argument in arguments:
        if argument == "--tolerance":
            tolerance = float(next(arguments))
        elif argument.startswith("--"):
            options += argument.split("=", 1)
        else:
            words.append(argument)
    sluice, model, artifact, *all_sizes = words
    for sizes in all_sizes:
        with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
            got = run(sluice, artifact, sizes, ours, [])
            expected = run(sluice, model, sizes, theirs, options + ["--search-evals", "1"])
        if not expected or got.keys() != expected.keys():
            sys.exit(f"{sizes}: outputs {sorted(got)} instead of {sorted(expected)}")
        worst = max(difference(got[name], expected[name]) for name in expected)
        shapes = " ".join("x".join(map(str, value.shape)) for value in got.values())
        if not worst <= tolerance:
            sys.exit(f"{sizes}: differs by {worst:.3g} of the greatest value")
        print(f"{sizes}: {shapes} equal")


main()
