"""A perceptron, a convolutional network and a transformer on several devices, inference and training, as on one.

  run_partitioned.py SLUICE MPIRUN FOLDER [--all|--uneven] [NAME...]     MPIRUN: a command, or "none"

NAME is mlp, cnn, transformer (all three without a name) or fused, a block of GPT-2 with queries, keys and values in one
matrix, whose heads are split.

Ranks are threads with the host's processor or an emulated accelerator each and, with MPIRUN, processes. Outputs, losses
of 20 steps and weights after them are within 1e-4 of their scale; what is sent is what the plan says. Processes also run
with parameter files of which all is lost but their own shares.

Four devices, which divide the models' extents; with --uneven three, which leave a remainder of all of them.
Compiling takes nearly all of the time. So, without --all, accelerators train each model in one way and infer in the other.
"""

import glob
import json
import os
import shutil
import subprocess
import sys

import numpy
from onnx import TensorProto

from small_models import save

SLUICE, MPIRUN, FOLDER = sys.argv[1:4]
ALL, UNEVEN = sys.argv[4:5] == ["--all"], sys.argv[4:5] == ["--uneven"]
ONLY = sys.argv[5 if ALL or UNEVEN else 4:]
if not set(ONLY) <= {"mlp", "cnn", "transformer", "fused"}:
    sys.exit(__doc__)
STEPS, TOLERANCE = 20, 1e-4
# Every model ends with so many scores: a label beyond them is an error.
DEVICES, BATCH, CLASSES, SIDES = (3, 10, 7, (7, 10)) if UNEVEN else (4, 16, 8, (8, 8))
# Kept rules of the data: the same in each run.
random = numpy.random.default_rng(5)


def uniform(*shape, fan):
    return (random.uniform(-1, 1, shape) * numpy.sqrt(3 / fan)).astype(numpy.float32)


def perceptron():
    features, hidden = (10, 61) if UNEVEN else (24, 64)
    weights = {"W1": uniform(features, hidden, fan=24), "b1": uniform(hidden, fan=300),
               "W2": uniform(hidden, CLASSES, fan=64), "b2": uniform(CLASSES, fan=300)}
    nodes = [("Gemm", "x W1 b1", "h", {}), ("Relu", "h", "r", {}), ("Gemm", "r W2 b2", "y", {})]
    x = random.uniform(-1, 1, (BATCH, features)).astype(numpy.float32)
    return save(FOLDER, "mlp", nodes, weights, [BATCH, features], TensorProto.FLOAT, [BATCH, CLASSES]), x, (BATCH,), "sgd,lr=0.1"


def convolutional():
    channels, last = (7, 11) if UNEVEN else (8, 12)
    # Windows that move by two are split if they leave no row out.
    pool = {"kernel_shape": [3, 3], "strides": [1, 1], "pads": [1, 1, 1, 1]} if UNEVEN else \
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 0, 0]}
    pixels = SIDES[0] * SIDES[1] // (1 if UNEVEN else 4)
    weights = {"C1": uniform(channels, 2, 3, 3, fan=18), "s1": numpy.ones(channels, numpy.float32),
               "B1": uniform(channels, fan=300), "m1": numpy.zeros(channels, numpy.float32),
               "v1": numpy.ones(channels, numpy.float32), "C2": uniform(last, channels, 3, 3, fan=72),
               "W": uniform(last * pixels, CLASSES, fan=192), "b": uniform(CLASSES, fan=300)}
    pads = {"pads": [1, 1, 1, 1]}
    nodes = [("Conv", "x C1", "a", pads), ("BatchNormalization", "a s1 B1 m1 v1", "n", {}), ("Relu", "n", "r", {}),
             ("MaxPool", "r", "p", pool),
             ("Conv", "p C2", "d", pads), ("Relu", "d", "e", {}), ("Flatten", "e", "g", {}),
             ("Gemm", "g W b", "y", {})]
    x = random.uniform(-1, 1, (BATCH, 2, *SIDES)).astype(numpy.float32)
    path = save(FOLDER, "cnn", nodes, weights, [BATCH, 2, *SIDES], TensorProto.FLOAT, [BATCH, CLASSES])
    return path, x, (BATCH,), "momentum,lr=0.02"


def transformer():
    """One block of four heads, or five, behind an embedding."""
    words, length, width, heads = (31, 7, 20, 5) if UNEVEN else (32, 8, 16, 4)
    weights = {"E": uniform(words, width, fan=3), "g": numpy.ones(width, numpy.float32), "h": uniform(width, fan=300),
               "Wq": uniform(width, width, fan=width), "Wk": uniform(width, width, fan=width),
               "Wv": uniform(width, width, fan=width), "Wo": uniform(width, width, fan=width),
               "U": uniform(width, 4 * width, fan=width), "D": uniform(4 * width, width, fan=4 * width),
               "L": uniform(width, CLASSES, fan=width), "heads": numpy.array([0, 0, heads, 4]),
               "whole": numpy.array([0, 0, width]), "scale": numpy.float32(0.5)}
    nodes = [("Gather", "E x", "e", {}), ("LayerNormalization", "e g h", "n", {})]
    for name in "qkv":
        nodes += [("MatMul", f"n W{name}", f"{name}0", {}), ("Reshape", f"{name}0 heads", f"{name}1", {}),
                  ("Transpose", f"{name}1", name, {"perm": [0, 2, 3, 1] if name == "k" else [0, 2, 1, 3]})]
    nodes += [("MatMul", "q k", "s0", {}), ("Mul", "s0 scale", "s1", {}), ("Softmax", "s1", "s", {}),
              ("MatMul", "s v", "o0", {}), ("Transpose", "o0", "o1", {"perm": [0, 2, 1, 3]}),
              ("Reshape", "o1 whole", "o2", {}), ("MatMul", "o2 Wo", "o3", {}), ("Add", "e o3", "r", {}),
              ("MatMul", "r U", "u", {}), ("Tanh", "u", "t", {}), ("MatMul", "t D", "d", {}), ("Add", "r d", "z", {}),
              ("MatMul", "z L", "y", {})]
    x = random.integers(0, words, (BATCH, length))
    path = save(FOLDER, "transformer", nodes, weights, [BATCH, length], TensorProto.INT64, [BATCH, length, CLASSES])
    return path, x, (BATCH, length), "adam,lr=0.01"


def fused():
    """The attention of GPT-2, training in strides of the fused weights."""
    words, length, width, heads = 32, 8, 16, 4
    weights = {"E": uniform(words, width, fan=3), "W": uniform(width, 3 * width, fan=width),
               "b": uniform(3 * width, fan=300), "Wo": uniform(width, width, fan=width),
               "L": uniform(width, CLASSES, fan=width), "heads": numpy.array([0, 0, heads, 4]),
               "whole": numpy.array([0, 0, width]), "parts": numpy.array([width] * 3), "scale": numpy.float32(0.5)}
    nodes = [("Gather", "E x", "e", {}), ("MatMul", "e W", "a0", {}), ("Add", "a0 b", "a", {}),
             ("Split", "a parts", "q0 k0 v0", {"axis": 2})]
    for name in "qkv":
        nodes += [("Reshape", f"{name}0 heads", f"{name}1", {}),
                  ("Transpose", f"{name}1", name, {"perm": [0, 2, 3, 1] if name == "k" else [0, 2, 1, 3]})]
    nodes += [("MatMul", "q k", "s0", {}), ("Mul", "s0 scale", "s1", {}), ("Softmax", "s1", "s", {}),
              ("MatMul", "s v", "o0", {}), ("Transpose", "o0", "o1", {"perm": [0, 2, 1, 3]}),
              ("Reshape", "o1 whole", "o2", {}), ("MatMul", "o2 Wo", "o3", {}), ("Add", "e o3", "r", {}),
              ("MatMul", "r L", "y", {})]
    x = random.integers(0, words, (BATCH, length))
    path = save(FOLDER, "fused", nodes, weights, [BATCH, length], TensorProto.INT64, [BATCH, length, CLASSES])
    return path, x, (BATCH, length), "momentum,lr=0.02"


def call(*arguments):
    result = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode:
        sys.exit(f"{' '.join(arguments)}\n{result.stdout}{result.stderr}")
    return result.stdout


def run(inputs, *commands):
    """Outputs and states by file, and what the run says; several commands are one run's processes."""
    out = os.path.join(FOLDER, "out")
    shutil.rmtree(out, ignore_errors=True)
    line = []
    for command in commands:
        line += [*([":"] if line else []), *command, "--format", "json", "--output-dir", out, *inputs]
    said = json.loads(call(*line))
    files = {path[len(out):]: numpy.load(path) for path in glob.glob(out + "/**/*.npy", recursive=True)}
    return files, numpy.array(said.get("series", {}).get("loss", [])), said


def differ(a, b):
    return float(numpy.abs(a.astype("f8") - b).max(initial=0)) / max(float(numpy.abs(a).max(initial=0)), 1e-30)


def check(name, how, alone, ranks, sends):
    files, losses, _ = alone
    others, curve, said = ranks
    if files.keys() != others.keys() or losses.shape != curve.shape:
        sys.exit(f"{name} on {how}: {sorted(files)} and {sorted(others)}, {losses.shape} and {curve.shape}")
    worst = max(differ(value, others[file]) for file, value in files.items())
    if losses.size:
        worst = max(worst, float(numpy.abs(losses - curve).max() / numpy.abs(losses).max()))
    if not worst <= TOLERANCE:
        sys.exit(f"{name} on {how}: differs by {worst} of the scale")
    sent = [rank["bytesSent"] for rank in said["ranks"]]
    planned = [rank["plannedBytesSent"] for rank in said["ranks"]]
    if sent != planned or (sends and not any(sent)):
        sys.exit(f"{name} on {how}: sent {sent} bytes, planned {planned}")
    print(f"{name} on {how}: {len(files)} tensors and {losses.size} losses agree within {worst:.0e}, {sent[0]} bytes sent")


def shares(compiled, rank):
    """A copy with this rank's pieces of the parameter file alone, and how many bytes they and the file have."""
    copy = f"{compiled}.{rank}"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(compiled, copy)
    with open(os.path.join(copy, "manifest.json"), encoding="utf-8") as file:
        sections = json.load(file)["sections"]
    own = begin = 0
    with open(os.path.join(copy, "parameters.bin"), "r+b") as file:
        for section in sections:
            for piece in range(max(section["pieces"]) + 1):
                if piece != section["pieces"][rank]:
                    file.seek(begin)
                    file.write(b"\xff" * section["bytes"])
                begin += section["bytes"]
            own += section["bytes"]
        if file.seek(0, os.SEEK_END) != begin:
            sys.exit(f"{compiled}: parameters end elsewhere than their sections, at {begin}")
    return copy, own, begin


quick = ["--search-evals", "2"]
for name, (model, x, label_shape, optimizer) in (("mlp", perceptron()), ("cnn", convolutional()),
                                                 ("transformer", transformer()), ("fused", fused())):
    if name not in (ONLY or ["mlp", "cnn", "transformer"]):
        continue
    x_file, labels_file = os.path.join(FOLDER, name + ".x.npy"), os.path.join(FOLDER, name + ".labels.npy")
    numpy.save(x_file, x)
    numpy.save(labels_file, random.integers(0, CLASSES, label_shape))
    inputs = ["--input", f"x={x_file}"]
    training = ["--train", "loss=softmax-cross-entropy", "--optimizer", optimizer]
    for task, given, steps, options in (("inference", inputs, ["--steps", "1"], []),
                                        ("training", [*inputs, "--input", f"labels={labels_file}"],
                                         ["--steps", str(STEPS)], training)):
        alone = run(given, [SLUICE, "run", model, *quick, *steps, *options])
        # Each computing all of it may be best: what is to be sent is then asked for.
        ways = [("host", "best"), (f"emulated:{DEVICES}", "data-parallel"), (f"emulated:{DEVICES}", "model-parallel")]
        if not ALL:
            cut = (name == "transformer") == (task == "training")
            ways = [ways[2 if cut else 1], *(ways[:1] if task == "inference" else [])]
        for machine, solver in ways:
            command = [SLUICE, "run", model, *quick, *steps, *options, "--devices", str(DEVICES), "--machine", machine,
                       "--solver", f"tile={solver}"]
            check(f"{name} {task}", f"'{machine}', {solver}", alone, run(given, command), solver != "best")
        compiled = os.path.join(FOLDER, f"{name}-{task}")
        call(SLUICE, "compile", model, *quick, *options, "--devices", str(DEVICES), "--solver", "tile=model-parallel", "-o",
             compiled)
        command = [SLUICE, "run", compiled, *steps]
        check(f"{name} {task}", "'host', model-parallel", alone, run(given, command), True)
        if MPIRUN == "none":
            continue
        check(f"{name} {task}", f"{DEVICES} processes", alone, run(given, [*MPIRUN.split(), "-n", str(DEVICES), *command]),
              True)
        parts = [shares(compiled, rank) for rank in range(DEVICES)]
        commands = [["-n", "1", SLUICE, "run", copy, *steps] for copy, _, _ in parts]
        ranks = run(given, [*MPIRUN.split(), *commands[0]], *commands[1:])
        check(f"{name} {task}", "own shares", alone, ranks, True)
        read = ranks[2]["ranks"][0]["parameterBytes"]
        if read != parts[0][1] or not read < parts[0][2]:
            sys.exit(f"{name} {task}: a rank reads {read} bytes, its share is {parts[0][1]} of {parts[0][2]}")
        print(f"{name} {task}: a rank reads {read} bytes of {parts[0][2]}")
