"""Compares a training step's loss and gradients with recorded ones of a reference framework.

  check_gradients.py SLUICE DATA FOLDER

DATA holds what scripts/record-gradients wrote. One step of `sgd,lr=1` takes the gradient from each weight, so that
the gradient is the old weight less the new one. Tolerance: 1e-4 of a gradient's greatest value, f32.
"""

import glob
import json
import os
import subprocess
import sys

import numpy
import onnx
from onnx import numpy_helper

SLUICE, DATA, FOLDER = sys.argv[1:]
TOLERANCE = 1e-4


def step(model, loss, inputs, folder, *options):
    """The loss of one step, and the states after it."""
    given = []
    for name, tensor in inputs.items():
        path = os.path.join(folder, name + ".npy")
        numpy.save(path, tensor)
        given += ["--input", f"{name}={path}"]
    out = os.path.join(folder, "out")
    command = [SLUICE, "run", model, "--train", "loss=" + loss, "--optimizer", "sgd,lr=1", "--search-evals", "1",
               "--output-dir", out, "--format", "json", *given, *options]
    result = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    states = {os.path.basename(path)[:-4]: numpy.load(path) for path in glob.glob(out + "/states/*.npy")}
    return result["series"]["loss"][0], states


def check(path):
    name = os.path.basename(path)[:-4]
    folder = os.path.join(FOLDER, name)
    os.makedirs(folder)
    data = numpy.load(path)
    inputs = {key[6:]: data[key] for key in data.files if key.startswith("input:")}
    loss = "mse" if "target" in inputs else "softmax-cross-entropy"
    model = path[:-4] + ".onnx"
    value, states = step(model, loss, inputs, folder)
    assert abs(value - data["loss"]) <= TOLERANCE * abs(data["loss"]), (name, value, data["loss"])
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(model).graph.initializer}
    worst, gradients = 0, [key for key in data.files if key.startswith("gradient:")]
    for key in gradients:
        weight, want = key[9:], data[key]
        got = weights[weight].astype(numpy.float64) - states[weight]
        scale = numpy.abs(want).max()
        assert scale > 1e-4, f"{name}: the gradient by {weight} is recorded as {scale}, which tests nothing"
        difference = numpy.abs(got - want).max() / scale
        assert difference <= TOLERANCE, f"{name}: the gradient by {weight} differs by {difference:.3g} of {scale:.3g}"
        worst = max(worst, difference)
    print(f"{name}: loss {value:.6f}, {len(gradients)} gradients agree, to {worst:.1g} at worst")


for recorded in sorted(glob.glob(DATA + "/*.npz")):
    check(recorded)
