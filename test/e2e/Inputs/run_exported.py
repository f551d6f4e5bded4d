#!/usr/bin/env python3
"""Exports the models of a directory and compares what the exported ones compute with the reference outputs.

  run_exported.py SLUICE WORK_DIRECTORY DIRECTORY [--only NAME ...]

By `sluice run`, and by ONNX Runtime where Python can import it and onnx. One line a run; exits 1 if any failed.
"""

import argparse
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "onnx", "Inputs"))
import round_trip  # noqa: E402

try:
    import numpy
    import onnx.numpy_helper
    import onnxruntime
except ImportError:
    onnxruntime = None


def tensors(directory, prefix):
    """TensorProtos in their files' order."""
    result = []
    while os.path.exists(path := os.path.join(directory, f"{prefix}_{len(result)}.pb")):
        with open(path, "rb") as file:
            result.append(onnx.TensorProto.FromString(file.read()))
    return result


def compare_in_onnxruntime(model, data):
    """What is wrong by the tolerances of `sluice run --expect`; None: nothing."""
    graph = onnx.load(model, load_external_data=False).graph
    quantized = any(word in node.op_type for node in graph.node for word in ("Quantize", "QLinear", "Integer"))
    half = any(tensor.data_type in (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)
               for tensor in graph.initializer)
    allowed = 8e-2 if quantized else 1e-2 if half else 5e-4
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [port.name for port in session.get_inputs()]
    inputs = {tensor.name if tensor.name in names else names[i]: onnx.numpy_helper.to_array(tensor)
              for i, tensor in enumerate(tensors(data, "input"))}
    results = dict(zip((port.name for port in session.get_outputs()), session.run(None, inputs)))
    for i, tensor in enumerate(tensors(data, "output")):
        reference = onnx.numpy_helper.to_array(tensor)
        result = results.get(tensor.name, list(results.values())[i])
        scale = max(float(numpy.max(numpy.abs(reference), initial=0)), 1e-30)
        difference = float(numpy.max(numpy.abs(result.astype(float) - reference.astype(float)), initial=0)) / scale
        if result.shape != reference.shape or not difference < allowed:
            return f"output {i} differs by {difference}"
        a, b = result.astype(float).ravel(), reference.astype(float).ravel()
        if quantized and a @ b < 0.999 * (a @ a) ** 0.5 * (b @ b) ** 0.5:
            return f"output {i} points elsewhere"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sluice")
    parser.add_argument("work")
    parser.add_argument("directory")
    parser.add_argument("--only", nargs="*", default=[])
    arguments = parser.parse_args()
    os.makedirs(arguments.work, exist_ok=True)
    names = sorted(name for name in os.listdir(arguments.directory)
                   if os.path.exists(os.path.join(arguments.directory, name, "model.onnx")))
    names = [name for name in names if not arguments.only or name in arguments.only]
    failed = 0
    for name in names:
        model = os.path.join(arguments.directory, name, "model.onnx")
        data = os.path.join(arguments.directory, name, "test_data_set_0")
        exported = os.path.join(arguments.work, name + ".onnx")
        wrong = None
        try:
            options = round_trip.importing(arguments.sluice, model, data,
                                           os.path.join(arguments.work, name + ".mlir"))
            round_trip.call([arguments.sluice, "export", model, "-o", exported] + options)
            round_trip.call([arguments.sluice, "run", exported, "--expect", data, "--search-evals", "1"])
        except round_trip.Failure as failure:
            wrong = str(failure)
        print(f"{'FAIL' if wrong else 'pass'} {name} here{': ' + wrong if wrong else ''}", flush=True)
        failed += wrong is not None
        if wrong or not onnxruntime:
            continue
        wrong = compare_in_onnxruntime(exported, data)
        print(f"{'FAIL' if wrong else 'pass'} {name} in ONNX Runtime{': ' + wrong if wrong else ''}", flush=True)
        failed += wrong is not None
    if not onnxruntime:
        print("onnxruntime, onnx or numpy cannot be imported: not compared with it")
    print(f"{len(names)} models, {failed} failed")
    sys.exit(1 if failed or not names else 0)


if __name__ == "__main__":
    main()
