"""Converts all numbers of half precision to single precision, and back all numbers that round to them or lie between.

half_conversions.py DIR SLUICE TARGET=RUNNER...: an empty RUNNER stands for `sluice run`.
"""

import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper


def write_model(path, source, target, count):
    graph = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=target)], "convert",
                              [helper.make_tensor_value_info("x", source, [count])],
                              [helper.make_tensor_value_info("y", target, [count])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def singles(halves):
    """Numbers that are halves, those in the middle of two, their neighbours, and those without a half."""
    finite = halves[np.isfinite(halves)].astype(np.float32)
    wide = np.concatenate([finite, np.float32([65536, -65536])])
    wide.sort()
    between = (wide[1:] + wide[:-1]) / np.float32(2)
    all_ = np.concatenate([wide, between])
    far = np.float32([np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-30, 3e38, -3e38, 2 ** -25, 2 ** -26])
    return np.concatenate([all_, np.nextafter(all_, np.float32(np.inf)), np.nextafter(all_, np.float32(-np.inf)), far])


def same(found, expected):
    bits = {2: np.uint16, 4: np.uint32}[expected.itemsize]
    return np.all((found.view(bits) == expected.view(bits)) | (np.isnan(found) & np.isnan(expected)))


def main():
    folder, sluice, *targets = sys.argv[1:]
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        wide = singles(halves)
        cases = {"widen": (TensorProto.FLOAT16, TensorProto.FLOAT, halves, halves.astype(np.float32)),
                 "round": (TensorProto.FLOAT, TensorProto.FLOAT16, wide, wide.astype(np.float16))}
    for name, (source, to, given, expected) in cases.items():
        model = os.path.join(folder, f"{name}.onnx")
        write_model(model, source, to, len(given))
        np.save(os.path.join(folder, f"{name}.npy"), given)
        for entry in targets:
            target, runner = entry.split("=", 1)
            made, out = (os.path.join(folder, f"{name}-{target}{end}") for end in ("", "-out"))
            subprocess.run([sluice, "compile", model, "--target", f"cpu:{target}", "--search-evals", "2", "-o", made],
                           check=True, stdout=subprocess.DEVNULL)
            run = runner.split() or [sluice, "run"]
            subprocess.run([*run, made, "--input", f"x={folder}/{name}.npy", "--output-dir", out], check=True,
                           stdout=subprocess.DEVNULL)
            print(f"{name} {target}", "same" if same(np.load(os.path.join(out, "y.npy")), expected) else "differ")


if __name__ == "__main__":
    main()
