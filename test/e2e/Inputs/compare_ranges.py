#!/usr/bin/env python3
"""Compares artifacts for ranges, run as grids, with the models compiled for each size on the CPU.

  compare_ranges.py SLUICE DIRECTORY MANIFEST [--only NAME ...] [--tolerance T] [--driver DIR]

MANIFEST is one such as scripts/gpu_ranges.json, DIRECTORY has its models. Grids run on the emulated accelerator alone;
with --driver, on a GPU that this directory's driver stands for, beside a CPU that runs loops. A model runs at each of its sizes on random inputs. An output
is equal where it differs by at most T of its greatest value, or agrees to a cosine of 0.995, as quantized models do.
Prints a line for each model; exits 1 if any failed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))


def call(words, environment=None):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=environment)
    return None if done.returncode == 0 else done.stderr.strip()[-300:]


def differs(ours, theirs, tolerance):
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"{ours.dtype}{ours.shape} instead of {theirs.dtype}{theirs.shape}"
    if ours.size == 0 or (ours == theirs).all():
        return None
    a, b = ours.astype(numpy.float64).ravel(), theirs.astype(numpy.float64).ravel()
    worst = abs(a - b).max() / max(abs(b).max(), 1e-30)
    cosine = a @ b / max(numpy.linalg.norm(a) * numpy.linalg.norm(b), 1e-30)
    return None if worst <= tolerance or cosine >= 0.995 else f"differs by {worst:.3g} of the greatest value"


def check(options, entry, out):
    folder = os.path.join(options.directory, entry["model"])
    model = os.path.join(folder, "model.onnx")
    fixed = [f"{tensor}={os.path.join(folder, 'test_data_set_0', file)}"
             for tensor, file in entry.get("fix", {}).items()]
    fix = [word for text in fixed for word in ("--fix", text)]
    inputs = [word for text in fixed + ["random:7"] for word in ("--input", text)]
    machine, environment = ["--machine", "emulated", "--device", "accel0", "--target", "cuda:emulated"], None
    if options.driver:
        environment = dict(os.environ, LD_LIBRARY_PATH=options.driver)
        machine = ["--machine", os.path.join(HERE, "gpu_beside_cpu.json"), "--device", "gpu0", "--target",
                   "cuda:sm_80,cuda:emulated"]
    ranges = [word for name, text in entry["ranges"].items() for word in ("--dim", f"{name}={text}")]
    wrong = call([options.sluice, "compile", model, *ranges, *fix, *machine, "--search-evals", 1, "-o", out / "model"])
    if wrong:
        return wrong
    for number, sizes in enumerate(entry["sizes"]):
        given = [word for name, size in sizes.items() for word in ("--dim", f"{name}={size}")]
        single = dict(entry["ranges"], **sizes)
        dims = [word for name, size in single.items() for word in ("--dim", f"{name}={size}")]
        ours, theirs = out / f"ours{number}", out / f"theirs{number}"
        wrong = call([options.sluice, "run", out / "model", *given, "--steps", 3, *inputs, "--output-dir", ours],
                     environment) or \
            call([options.sluice, "run", model, *dims, *fix, "--search-evals", 1, *inputs, "--output-dir", theirs])
        if wrong:
            return f"at {sizes}: {wrong}"
        names = sorted(path.name for path in theirs.glob("*.npy"))
        if not names or names != sorted(path.name for path in ours.glob("*.npy")):
            return f"at {sizes}: outputs are {names}"
        for name in names:
            wrong = differs(numpy.load(ours / name), numpy.load(theirs / name), options.tolerance)
            if wrong:
                return f"at {sizes}: output '{name}' {wrong}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sluice")
    parser.add_argument("directory")
    parser.add_argument("manifest")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--driver")
    options = parser.parse_args()
    with open(options.manifest, encoding="utf-8") as file:
        entries = [entry for entry in json.load(file)["models"] if not options.only or entry["model"] in options.only]
    failed = 0
    for entry in entries:
        with tempfile.TemporaryDirectory() as out:
            wrong = check(options, entry, Path(out))
        failed += wrong is not None
        print(f"{'FAIL' if wrong else 'pass'} {entry['model']}{': ' + wrong if wrong else ''}", flush=True)
    print(f"{len(entries)} models, {failed} failed")
    sys.exit(1 if failed or not entries else 0)


main()
