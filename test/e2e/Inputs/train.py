"""Trains a perceptron and a small convolutional network with sluice and in plain numpy, on data that can be learnt.

  train.py SLUICE FOLDER

From the same weights and batches: the loss curves agree and the trained weights classify held-out data as well as the
reference's. A machine with half the memory, a slow link behind which operators
run again, a second accelerator and another number of threads change no bit of the curve or of a state,
and copy what their plans say.
"""

import glob
import json
import os
import shutil
import subprocess
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.dont_write_bytecode = True

from reference_training import BatchNorm, Conv, Dense, Flatten, MaxPool, Relu, accuracy, train  # noqa: E402

SLUICE, FOLDER = sys.argv[1:]
BATCH, CLASSES = 32, 5
# Of the loss at its first step. The reference computes in double precision: single precision's roundings grow over steps.
TOLERANCE = 1e-4
random = numpy.random.default_rng(7)


def uniform(*shape, fan):
    return (random.uniform(-1, 1, shape) * numpy.sqrt(3 / fan)).astype(numpy.float32)


def save(name, nodes, weights, shape):
    path = os.path.join(FOLDER, name + ".onnx")
    graph = helper.make_graph(
        [helper.make_node(kind, inputs.split(), [output], name=output, **attributes)
         for kind, inputs, output, attributes in nodes], name,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [BATCH, *shape])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [BATCH, CLASSES])],
        [numpy_helper.from_array(value, key) for key, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7), path)
    return path


class Task:
    """A model as ONNX and as the reference's layers, and data."""

    def __init__(self, name, nodes, weights, layers, x, labels):
        self.name, self.weights, self.layers = name, weights, layers
        self.model = save(name, nodes, weights, x.shape[1:])
        self.held = x[-640:], labels[-640:]
        x, labels = x[:-640], labels[:-640]
        self.batches = [(x[i:i + BATCH], labels[i:i + BATCH]) for i in range(0, len(x), BATCH)]
        self.inputs = []
        for key, value in (("x", x), ("labels", labels)):
            path = os.path.join(FOLDER, f"{name}.{key}.npy")
            numpy.save(path, value)
            self.inputs += ["--input", f"{key}={path}"]

    def trained(self):
        """Weights without what only the importer reads."""
        return {name: value for name, value in self.weights.items() if name != "ratio"}


def perceptron():
    weights = {"W1": uniform(20, 32, fan=20), "b1": uniform(32, fan=300), "W2": uniform(32, CLASSES, fan=32),
               "b2": numpy.zeros(CLASSES, numpy.float32)}
    nodes = [("Gemm", "x W1 b1", "h", {}), ("Relu", "h", "r", {}), ("Gemm", "r W2 b2", "y", {})]
    x = random.uniform(-1, 1, (40 * BATCH + 640, 20)).astype(numpy.float32)
    labels = (x @ random.uniform(-1, 1, (20, CLASSES))).argmax(1)
    return Task("mlp", nodes, weights, [Dense("W1", "b1"), Relu(), Dense("W2", "b2")], x, labels)


def convolutional():
    weights = {"C1": uniform(8, 1, 3, 3, fan=9), "s1": numpy.ones(8, numpy.float32), "B1": uniform(8, fan=300),
               "m1": numpy.zeros(8, numpy.float32), "v1": numpy.ones(8, numpy.float32),
               "C2": uniform(12, 8, 3, 3, fan=72), "c2": uniform(12, fan=300), "ratio": numpy.float32(0),
               "W": uniform(12 * 25, CLASSES, fan=300), "b": numpy.zeros(CLASSES, numpy.float32)}
    pads = {"pads": [1, 1, 1, 1]}
    nodes = [("Conv", "x C1", "a", pads), ("BatchNormalization", "a s1 B1 m1 v1", "n", {}), ("Relu", "n", "r", {}),
             ("MaxPool", "r", "p", {"kernel_shape": [2, 2], "strides": [2, 2]}), ("Conv", "p C2 c2", "d", pads),
             ("Relu", "d", "e", {}), ("Dropout", "e ratio", "f", {}), ("Flatten", "f", "g", {}),
             ("Gemm", "g W b", "y", {})]
    layers = [Conv("C1"), BatchNorm("s1", "B1", "m1", "v1"), Relu(), MaxPool(), Conv("C2", "c2"), Relu(), Flatten(),
              Dense("W", "b")]
    labels = random.integers(0, CLASSES, 20 * BATCH + 640)
    patterns = random.uniform(-1, 1, (CLASSES, 1, 10, 10))
    x = (patterns[labels] + 1.7 * random.uniform(-1, 1, (len(labels), 1, 10, 10))).astype(numpy.float32)
    return Task("cnn", nodes, weights, layers, x, labels)


def deep():
    """Many activations of a size and few weights, so that computing again pays."""
    weights, nodes, layers, last = {}, [], [], "x"
    for i in range(7):
        weights[f"C{i}"], weights[f"c{i}"] = uniform(6, 6 if i else 1, 3, 3, fan=27 if i else 4), uniform(6, fan=300)
        nodes += [("Conv", f"{last} C{i} c{i}", f"a{i}", {"pads": [1, 1, 1, 1]}), ("Relu", f"a{i}", f"r{i}", {})]
        layers += [Conv(f"C{i}", f"c{i}"), Relu()]
        last = f"r{i}"
    weights["W"], weights["b"] = uniform(600, CLASSES, fan=600), uniform(CLASSES, fan=300)
    nodes += [("Flatten", last, "g", {}), ("Gemm", "g W b", "y", {})]
    labels = random.integers(0, CLASSES, 20 * BATCH + 640)
    patterns = random.uniform(-1, 1, (CLASSES, 1, 10, 10))
    x = (patterns[labels] + 1.0 * random.uniform(-1, 1, (len(labels), 1, 10, 10))).astype(numpy.float32)
    return Task("deep", nodes, weights, [*layers, Flatten(), Dense("W", "b")], x, labels)


def call(*arguments):
    return subprocess.run([SLUICE, *arguments], check=True, stdout=subprocess.PIPE).stdout


def planning(*machine):
    """Arguments that make the same plan each time."""
    return [*([] if "--search-evals" in machine else ["--search-evals", "8"]), *machine]


def slow_link():
    """An emulated accelerator behind a link so slow that computing again beats copying."""
    machine = json.loads(call("machine", "emulated", "--format=json"))
    machine["links"][0].update(bytesPerSec=2e7, duplexBytesPerSec=3e7)
    path = os.path.join(FOLDER, "slow.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(machine, file)
    return path


def run(task, target, *options):
    """The loss of each step, the states after the last, and the whole result; of a model or an artifact."""
    out = os.path.join(FOLDER, "out")
    shutil.rmtree(out, ignore_errors=True)
    result = json.loads(call("run", target, "--format", "json", "--output-dir", out, *task.inputs, *options))
    states = {os.path.basename(path)[:-4]: numpy.load(path) for path in glob.glob(out + "/states/*.npy")}
    return numpy.array(result["series"]["loss"]), states, result


def worst(losses, reference):
    return numpy.abs(losses - reference).max() / reference[0]


def check_training(task, optimizer, steps):
    losses, after = train(task.layers, task.trained(), task.batches, steps, optimizer)
    wanted = accuracy(task.layers, after, *task.held)
    assert wanted >= 0.9 and losses[-1] < 0.4 * losses[0], (task.name, "is not learnable", wanted, losses[-1])
    training = ["--train", "loss=softmax-cross-entropy", "--optimizer", optimizer]
    first = None
    for name, machine in (("host", []), ("emulated", ["--machine", "emulated"]),
                          ("half of accel0", ["--machine", "emulated", "--memory", "accel0=50%"]),
                          ("slow link", ["--machine", slow_link(), "--memory", "accel0=30%", "--search-evals", "40"]),
                          ("two accelerators", ["--machine", "emulated:2", "--memory", "50%", "--solver",
                                                "place=round-robin"])):
        artifact = os.path.join(FOLDER, f"{task.name}.compiled")
        call("compile", task.model, "-o", artifact, *training, *planning(*machine))
        with open(os.path.join(artifact, "plan.json"), encoding="utf-8") as file:
            again = json.load(file)["summary"]["computedAgain"]
        if name == "slow link":
            computed_again = again
        for threads in "12":
            got, states, result = run(task, artifact, "--steps", str(steps), "--threads", threads)
            copied, planned = (result["bytesIn"], result["bytesOut"]), (result["plannedBytesIn"],
                                                                        result["plannedBytesOut"])
            assert copied == planned, (task.name, name, copied, planned)
            if first is None:
                first = got, states
                continue
            assert numpy.array_equal(got, first[0]), f"{task.name}: the losses differ on {name}, {threads} threads"
            assert states.keys() == first[1].keys()
            for key, value in states.items():
                assert value.tobytes() == first[1][key].tobytes(), f"{task.name}: '{key}' differs on {name}, {threads}"
        if "%" in "".join(machine):
            assert sum(planned) > 0, f"{task.name}: nothing is copied on {name}"
    assert computed_again > 0 or task.name != "deep", "no operator is computed again behind a slow link"
    got, states = first
    assert set(task.trained()) <= set(states)
    assert worst(got, losses) <= TOLERANCE, f"{task.name}: the curves differ by {worst(got, losses):.3g}"
    reached = accuracy(task.layers, {name: states[name] for name in task.trained()}, *task.held)
    # One of the 640 may lie on the border between two classes.
    assert reached >= wanted - 1 / 640, (task.name, reached, wanted)
    print(f"{task.name}: loss {got[0]:.4f} to {got[-1]:.4f}, curves agree to {worst(got, losses):.1g}, accuracy "
          f"{reached:.3f} of {wanted:.3f}, {len(states)} states alike in 10 runs, {sum(copied)} bytes copied, {computed_again} operators computed again")


def check_optimizer(task, optimizer, *, train_options="", accumulate=1):
    losses, after = train(task.layers, task.trained(), task.batches, 8, optimizer, accumulate)
    got, states, _ = run(task, task.model, "--train", "loss=softmax-cross-entropy" + train_options, "--optimizer",
                         optimizer, "--steps", "8", *planning())
    assert worst(got, losses) <= 1e-5, (optimizer, worst(got, losses))
    for name, value in after.items():
        difference = numpy.abs(states[name] - value).max()
        assert difference <= 1e-4, (optimizer, name, difference)
    print(f"{optimizer}{train_options}: agrees")


mlp = perceptron()
check_training(mlp, "adam,lr=0.01", 120)
check_training(convolutional(), "momentum,lr=0.02", 60)
check_training(deep(), "adam,lr=0.003", 60)
check_optimizer(mlp, "sgd,lr=0.5,weight-decay=0.1")
check_optimizer(mlp, "momentum,lr=0.1,momentum=0.8,nesterov=true,weight-decay=0.01")
check_optimizer(mlp, "adam,lr=0.01,beta1=0.8,beta2=0.99,epsilon=1e-6,weight-decay=0.1")
check_optimizer(mlp, "adamw,lr=0.01,weight-decay=0.1")
check_optimizer(mlp, "sgd,lr=0.5", train_options=",accumulate=4", accumulate=4)
check_optimizer(mlp, "adam,lr=0.01", train_options=",accumulate=2", accumulate=2)
