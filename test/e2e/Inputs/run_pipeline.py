"""Training steps as pipelines of stages, also with stages that are tiled, and as one program.

  run_pipeline.py SLUICE MPIRUN FOLDER MODEL...     MPIRUN: a command, or "none"

MODEL is mlp, cnn (with running statistics and dropout) or tied (a transformer's embedding that is also its last
layer), or the path of an ONNX model with int64 inputs, whose loss is softmax-cross-entropy.

A pipeline of M microbatches does in a step what one program does in M steps with accumulate=M. The losses of all steps
and the weights after them have the same bits, except where several stages read a weight and add up its gradient in
another order, or stages are tiled.
"""

import json
import os
import subprocess
import sys

import numpy
import onnx
from onnx import TensorProto

from small_models import save

SLUICE, MPIRUN, FOLDER = sys.argv[1:4]
STEPS, BATCH, CLASSES = 4, 4, 5
random = numpy.random.default_rng(11)


def uniform(*shape):
    return (random.uniform(-1, 1, shape) * numpy.sqrt(3 / shape[-1])).astype(numpy.float32)


def perceptron():
    sizes = [8, 24, 16, 24, 16, CLASSES]
    weights, nodes, last = {}, [], "x"
    for i, (fan, out) in enumerate(zip(sizes, sizes[1:])):
        weights |= {f"W{i}": uniform(fan, out), f"b{i}": uniform(out)}
        nodes += [("Gemm", f"{last} W{i} b{i}", f"h{i}", {}), ("Tanh", f"h{i}", f"t{i}", {})]
        last = f"t{i}"
    nodes[-1] = ("Identity", f"h{len(sizes) - 2}", "y", {})
    return save(FOLDER, "mlp", nodes, weights, [BATCH, 8], TensorProto.FLOAT, [BATCH, CLASSES]), "float", [8], []


def convolutional():
    weights, nodes, last = {"half": numpy.float32(0.5), "yes": numpy.array(True)}, [], "x"
    for i, (fan, out) in enumerate([(2, 6), (6, 6), (6, 4)]):
        weights |= {f"C{i}": uniform(out, fan, 3, 3), f"s{i}": numpy.ones(out, numpy.float32),
                    f"B{i}": uniform(out), f"m{i}": numpy.zeros(out, numpy.float32),
                    f"v{i}": numpy.ones(out, numpy.float32)}
        nodes += [("Conv", f"{last} C{i}", f"a{i}", {"pads": [1, 1, 1, 1]}),
                  ("BatchNormalization", f"a{i} s{i} B{i} m{i} v{i}", f"n{i}", {}), ("Relu", f"n{i}", f"r{i}", {}),
                  ("Dropout", f"r{i} half yes", f"d{i}", {})]
        last = f"d{i}"
    weights |= {"W": uniform(4 * 36, CLASSES), "b": uniform(CLASSES)}
    nodes += [("Flatten", last, "g", {}), ("Gemm", "g W b", "y", {})]
    return save(FOLDER, "cnn", nodes, weights, [BATCH, 2, 6, 6], TensorProto.FLOAT, [BATCH, CLASSES]), "float", [2, 6, 6], []


def tied():
    weights = {"E": uniform(CLASSES, 8), "W0": uniform(8, 8), "W1": uniform(8, 8), "W2": uniform(8, 8)}
    nodes, last = [("Gather", "E x", "e", {})], "e"
    for i in range(3):
        nodes += [("MatMul", f"{last} W{i}", f"h{i}", {}), ("Tanh", f"h{i}", f"t{i}", {}),
                  ("Add", f"{last} t{i}", f"a{i}", {})]
        last = f"a{i}"
    nodes += [("Transpose", "E", "T", {"perm": [1, 0]}), ("MatMul", f"{last} T", "y", {})]
    return save(FOLDER, "tied", nodes, weights, [BATCH, 6], TensorProto.INT64, [BATCH, 6, CLASSES]), "int", [6], [6]


def given(path):
    model = onnx.load(path, load_external_data=False)
    dims = [[d.dim_value for d in port.type.tensor_type.shape.dim] for port in (model.graph.input[0], model.graph.output[0])]
    return path, "given", dims[0], dims[1]


def command(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}\nended with {done.returncode}: {done.stderr}")
    return done.stdout


def states(folder):
    folder = os.path.join(folder, "states")
    return {name: numpy.load(os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if name.endswith(".npy")}


def compare(what, ones, others, exact):
    scale = max(float(numpy.abs(ones).max()), 1e-6)
    difference = float(numpy.abs(numpy.asarray(ones, numpy.float64) - others).max()) / scale
    if not (difference == 0 if exact else difference < 2e-5):
        sys.exit(f"{what} differ by {difference} of their scale: {ones} and {others}")


def train(name, microbatches, variants, exact=True, optimizer="adam,lr=0.01"):
    path, kind, shape, labelled = {"mlp": perceptron, "cnn": convolutional, "tied": tied}.get(name, lambda: given(name))()
    batch, classes, label = BATCH, CLASSES, [BATCH, *labelled]
    if kind == "given":
        batch, classes, shape, label = shape[0], labelled[-1], shape[1:], labelled[:-1]
    rows = batch * microbatches * STEPS
    x = random.integers(0, classes, [rows, *shape]) if kind != "float" else random.uniform(-1, 1, [rows, *shape])
    port = "x" if kind != "given" else onnx.load(path, load_external_data=False).graph.input[0].name
    files = {port: os.path.join(FOLDER, "x.npy"), "labels": os.path.join(FOLDER, "labels.npy")}
    numpy.save(files[port], x.astype(numpy.float32 if kind == "float" else numpy.int64))
    numpy.save(files["labels"], random.integers(0, classes, [label[0] * microbatches * STEPS, *label[1:]]).astype(numpy.int64))
    data = [text for key, file in files.items() for text in ("--input", f"{key}={file}")]
    options = ["--optimizer", optimizer, "--search-evals", "30", "--threads", "1"]

    def run(directory, steps, *how):
        out = os.path.join(FOLDER, "out")
        said = json.loads(command(*how, SLUICE, "run", directory, *data, "--steps", str(steps), "--output-dir", out,
                                  "--format", "json", "--threads", "1"))
        return said["series"]["loss"], states(out), said

    whole = os.path.join(FOLDER, "whole")
    command(SLUICE, "compile", path, "--train", f"loss=softmax-cross-entropy,accumulate={microbatches}", *options, "-o",
            whole)
    losses, weights, _ = run(whole, STEPS * microbatches)
    losses = numpy.mean(numpy.reshape(losses, [STEPS, microbatches]), axis=1)
    for pipeline, machine, *devices in variants:
        parts = os.path.join(FOLDER, "parts")
        command(SLUICE, "compile", path, "--train", "loss=softmax-cross-entropy", *options, "--machine", machine,
                "--pipeline", f"{pipeline},microbatches={microbatches}", "-o", parts,
                *([f"--devices={devices[0]}", f"--solver=tile={devices[1]}"] if devices else []))
        isExact = exact and not devices
        ranks = devices[0] if devices else int(
            dict(text.split("=") for text in pipeline.split(",")).get("ranks", pipeline.split(",")[0][7:]))
        runs = [[]] + ([[MPIRUN, "-n", str(ranks)]] if MPIRUN != "none" else [])
        for how in runs:
            mine, own, said = run(parts, STEPS, *how)
            compare(f"{name}, {pipeline}: losses", losses, mine, False)
            for key, value in weights.items():
                if key.endswith(".gradient.npy") or key == "optimizer.step.npy":
                    continue
                compare(f"{name}, {pipeline}: {key}", value, own[key], isExact)
        print(f"{os.path.basename(name)}, {pipeline}{f' on {ranks}' if devices else ''}: "
              f"{'equal' if isExact else 'close'}, {len(runs)} runs")


for model in sys.argv[4:]:
    all_ = [("stages=2", "host"), ("stages=4,schedule=gpipe", "host"), ("stages=3", "emulated"),
            ("stages=4,ranks=2,schedule=interleaved", "host"), ("stages=2", "emulated:4", 4, "best"),
            ("stages=2", "host", 4, "data-parallel"), ("stages=1", "host", 2, "best"),
            ("stages=4,ranks=2,schedule=interleaved", "host", 4, "model-parallel"), ("stages=best", "emulated:4", 4, "best")]
    if os.path.exists(model):
        all_ = [("stages=4", "host"), ("stages=1", "host", 4, "best"), ("stages=2", "host", 4, "best")]
    train(model, 4, all_, exact=model in ("mlp", "cnn"), optimizer="adam,lr=0.01" if model in ("mlp", "tied") else "momentum,lr=0.05")
