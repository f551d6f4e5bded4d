#!/usr/bin/env python3
"""Imports models, exports them and imports them again: the program must be the same, and so must a second export.

  round_trip.py SLUICE WORK_DIRECTORY MODEL... [--directory DIRECTORY]

A model is a file, or a folder with model.onnx and test_data_set_0, whose inputs' shapes bind symbolic dimensions. One
that cannot be imported without an input's value gets those of its inputs that are integers or bools. Exported files pass ONNX's own checker, shape inference
included, where it is installed and knows their opset. One line a model; exits 1 if any failed.
"""

import argparse
import json
import os
import re
import subprocess
import sys

try:
    import onnx
except ImportError:
    onnx = None


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def name_and_shape(path):
    """Of a TensorProto: fields 8 and 1."""
    with open(path, "rb") as file:
        data = file.read()
    name, shape, at = "", [], 0
    while at < len(data):
        key, at = varint(data, at)
        field, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
            if field == 1:
                shape.append(value)
        elif kind == 2:
            length, at = varint(data, at)
            chunk = data[at:at + length]
            at += length
            if field == 8:
                name = chunk.decode()
            elif field == 1:
                inner = 0
                while inner < len(chunk):
                    value, inner = varint(chunk, inner)
                    shape.append(value)
        else:
            at += 8 if kind == 1 else 4
    return name, shape


def values(sluice, model, data):
    """--fix options: inputs whose values shapes may depend on."""
    info = json.loads(subprocess.run([sluice, "info", model, "--format=json"], capture_output=True, check=True).stdout)
    paths = [os.path.join(data, f"input_{index}.pb") for index in range(len(info["inputs"]))]
    return [f"--fix={port['name']}={path}" for port, path in zip(info["inputs"], paths)
            if os.path.exists(path) and (port["type"] == "bool" or "int" in port["type"])]


def bindings(sluice, model, data):
    """--dim options: the model's symbols, with the sizes of its data."""
    info = json.loads(subprocess.run([sluice, "info", model, "--format=json"], capture_output=True, check=True).stdout)
    found = {}
    for index, port in enumerate(info["inputs"]):
        path = os.path.join(data, f"input_{index}.pb")
        if os.path.exists(path):
            name, shape = name_and_shape(path)
            found[name or port["name"]] = shape
    sizes = {}
    for port in info["inputs"]:
        for declared, size in zip(port.get("shape", []), found.get(port["name"], [])):
            if isinstance(declared, str):
                sizes[declared] = size
    return [f"--dim={name}={size}" for name, size in sizes.items()]


class Failure(Exception):
    pass


def call(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"exit {done.returncode} of {' '.join(command[:2])}: {done.stderr.strip()[-500:]}")


def program(path):
    """The IR without names of resources, whose data the second export compares, and values that inputs are fixed to."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        text = re.sub(r"dense_resource<[^>]*>", "dense_resource<>", file.read())
    return re.sub(r"dataflow\.fixed = dense[^:]*: tensor<[^>]*>, ", "", text)


def check(path):
    """ONNX's own opinion of a file."""
    if onnx is None:
        return "not checked"
    model = onnx.load(path)
    if model.opset_import[0].version > onnx.defs.onnx_opset_version():
        return f"not checked, its opset is {model.opset_import[0].version}"
    try:
        onnx.checker.check_model(path, full_check=True)
    except Exception as error:
        raise Failure(f"onnx.checker: {error}") from error
    return "checked"


def importing(sluice, model, data, output):
    """Imports a model into `output`; the options that took."""
    options = bindings(sluice, model, data)
    command = [sluice, "compile", model, "--compile-to", "import", "-o", output]
    try:
        call(command + options)
    except Failure as failure:
        if not any(why in str(failure) for why in ("not known before the model runs", "known only when the model runs",
                                                   "extents that change between steps")):
            raise
        options += values(sluice, model, data)
        call(command + options)
    return options


def round_trip(sluice, work, model):
    base = os.path.join(work, "round-trip")
    file, options = model, []
    if os.path.isdir(model):
        file = os.path.join(model, "model.onnx")
        options = importing(sluice, file, os.path.join(model, "test_data_set_0"), base + ".0.mlir")
    else:
        call([sluice, "compile", file, "--compile-to", "import", "-o", base + ".0.mlir"])
    call([sluice, "export", file, "-o", base + ".1.onnx"] + options)
    call([sluice, "compile", base + ".1.onnx", "--compile-to", "import", "-o", base + ".1.mlir"])
    call([sluice, "export", base + ".1.onnx", "-o", base + ".2.onnx"])
    if program(base + ".0.mlir") != program(base + ".1.mlir"):
        raise Failure("the program has changed")
    with open(base + ".1.onnx", "rb") as first, open(base + ".2.onnx", "rb") as second:
        if first.read() != second.read():
            raise Failure("the second export differs from the first")
    return check(base + ".1.onnx")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sluice")
    parser.add_argument("work")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--directory")
    arguments = parser.parse_args()
    models = list(arguments.models)
    if arguments.directory:
        models += sorted(os.path.join(arguments.directory, name) for name in os.listdir(arguments.directory)
                         if name.endswith(".onnxtxt") or
                         os.path.exists(os.path.join(arguments.directory, name, "model.onnx")))
    os.makedirs(arguments.work, exist_ok=True)
    failed = 0
    for model in models:
        try:
            outcome = "pass " + os.path.basename(model) + ", "
            outcome += round_trip(arguments.sluice, arguments.work, model)
        except Failure as failure:
            failed += 1
            outcome = f"FAIL {os.path.basename(model)}: {failure}"
        print(outcome, flush=True)
    print(f"{len(models)} models, {failed} failed")
    sys.exit(1 if failed or not models else 0)


if __name__ == "__main__":
    main()
