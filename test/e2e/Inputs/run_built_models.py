"""Builds small models with random weights and runs them; compares the unrolled LSTM with the recurrence in numpy.

  run_built_models.py SLUICE BUILD FOLDER
"""

import os
import subprocess
import sys

import numpy
import onnx
from onnx import numpy_helper

SLUICE, BUILD, FOLDER = sys.argv[1:]
TRANSFORMER = "--layers 2 --heads 2 --hidden 16 --sequence 8 --vocabulary 32"
MODELS = [
    "alexnet --size 64 --classes 10", "vgg-16 --size 32 --classes 10 --batch-norm", "resnet-50 --size 32",
    "inception-v4 --size 75 --no-batch-norm", "nasnet-1 --size 32 --filters 96 --stem 8",
    "rnn-2-8 --steps 3 --features 4 --classes 5", "brnn-2-8 --steps 3 --features 4 --classes 5", "mlp-4-16",
    "cnn-5-4", "mnist-softmax", f"bert-base {TRANSFORMER} --classes 3", f"gpt2 {TRANSFORMER}",
    f"llama-7b {TRANSFORMER} --feed-forward 24",
]


def build(name, arguments, batch):
    folder = os.path.join(FOLDER, name)
    subprocess.run([sys.executable, BUILD, *arguments, "--weights", "random", "--batch", str(batch), "-o", folder],
                   check=True, stdout=subprocess.DEVNULL)
    return os.path.join(folder, "model.onnx")


def run(model, inputs=()):
    """The model's outputs by name."""
    output = model + ".out"
    given = []
    for name, data in inputs:
        numpy.save(f"{model}.{name}.npy", data)
        given += ["--input", f"{name}={model}.{name}.npy"]
    subprocess.run([SLUICE, "run", model, "--search-evals", "1", "--output-dir", output, *given], check=True,
                   stdout=subprocess.DEVNULL)
    return {file: read(os.path.join(output, file)) for file in os.listdir(output)}


def read(path):
    if path.endswith(".npy"):
        return numpy.load(path)
    tensor = onnx.TensorProto()
    with open(path, "rb") as file:
        tensor.ParseFromString(file.read())
    return numpy_helper.to_array(tensor)


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def recurrence(x, weights, layers):
    """Logits of every step, from zero states."""
    steps = numpy.split(x, x.shape[1] // weights["l0/input_weight"].shape[1], axis=1)
    for layer in range(layers):
        inner, recurrent = weights[f"l{layer}/input_weight"], weights[f"l{layer}/state_weight"]
        h = c = numpy.zeros((x.shape[0], recurrent.shape[1]), numpy.float32)
        for time, step in enumerate(steps):
            allow, update, keep, show = numpy.split(step @ inner.T + h @ recurrent.T, 4, axis=1)
            c = sigmoid(keep) * c + sigmoid(allow) * numpy.tanh(update)
            h = sigmoid(show) * numpy.tanh(c)
            steps[time] = h
    return numpy.concatenate([step @ weights["classifier/weight"].T for step in steps])


def main():
    for line in MODELS:
        arguments = line.split()
        model = build(arguments[0], arguments, 100 if arguments[0] == "mnist-softmax" else 2)
        for name, data in run(model).items():
            assert numpy.isfinite(data).all(), f"{line}: '{name}' is not finite"
        print("ran", arguments[0], flush=True)

    model = os.path.join(FOLDER, "rnn-2-8", "model.onnx")
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(model).graph.initializer}
    x = numpy.random.default_rng(0).standard_normal((2, 12), dtype=numpy.float32)
    states = [(f"l{layer}_{part}", numpy.zeros((2, 8), numpy.float32)) for layer in range(2) for part in "hc"]
    (logits,) = run(model, [("x", x), *states]).values()
    numpy.testing.assert_allclose(logits, recurrence(x, weights, 2), rtol=1e-4, atol=1e-5)
    print("LSTM agrees")


main()
