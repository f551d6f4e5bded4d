#!/usr/bin/env python3
"""Compiles every model of a directory for GPUs and checks the code without one.

  gpu_code.py SLUICE DIRECTORY [--ranges FILE] [--machine NAME] [--architectures N ...] [--only NAME ...] [--matmul-precision P]
              [--gpu-libraries on] [--timeout S] [--assemble]

A model is a folder with model.onnx and test_data_set_0. It is run, which fails after it is compiled where there is no
GPU's driver. With --ranges, models are those of a manifest such as scripts/gpu_ranges.json, compiled for their ranges:
some functions must take extents or have a number of blocks that depends on them. Models that need a CPU for their loops
are compiled for gpu_beside_cpu.json. Each architecture's PTX names it as its `.target`, declares no function that it does not define, and has every function that the program
launches. With --assemble, ptxas assembles the PTX of each architecture that it knows, of which there must be one. One
line a model; exits 1 if any failed.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time


def find_ptxas():
    return shutil.which("ptxas") or next(
        (path for path in [os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "ptxas")]
         if os.path.exists(path)), None)


def known_architectures(ptxas):
    text = subprocess.run([ptxas, "--help"], capture_output=True, text=True, check=True).stdout
    return {int(number) for number in re.findall(r"'sm_(\d+)'", text)}


def check_text(text, architecture, launched):
    targets = re.findall(r"^\.target\s+(\w+)", text, re.MULTILINE)
    if targets != [f"sm_{architecture}"]:
        return f"targets are {targets}"
    missing = re.findall(r"\.extern\s+\.func[^;]*?(\w+)\s*(?:\(|;)", text) + re.findall(r"\b__nv_\w+", text)
    if missing:
        return f"unresolved: {sorted(set(missing))}"
    entries = set(re.findall(r"\.entry\s+(\w+)", text))
    if launched - entries:
        return f"launched and not there: {sorted(launched - entries)[:3]}"
    return None


def assemble(ptxas, path, architecture):
    """What is wrong, functions, and those of them that spill registers."""
    done = subprocess.run([ptxas, "-v", f"-arch=sm_{architecture}", path, "-o", path + ".cubin"], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        return done.stderr.strip()[-300:], 0, 0
    spills = re.findall(r"(\d+) bytes spill stores", done.stderr)
    return None, len(re.findall(r"Used \d+ registers", done.stderr)), sum(bytes != "0" for bytes in spills)


def check(arguments, name, ranged, ptxas, assembled):
    """What is wrong, and figures; `ranged` is the model's entry in a manifest, or None."""
    with tempfile.TemporaryDirectory() as out:
        targets = ",".join(f"cuda:sm_{number}" for number in arguments.architectures)
        folder = os.path.join(arguments.directory, name)

        begin = time.monotonic()
        # Running gives sizes and values that a model leaves open, and stops where the GPU is wanted.
        command, machine = ["run", "--expect", os.path.join(folder, "test_data_set_0")], ["--machine", arguments.machine]
        if ranged:
            command = ["compile", "-o", os.path.join(out, "model")]
            if ranged.get("cpu"):
                machine = ["--machine", os.path.join(os.path.dirname(__file__), "gpu_beside_cpu.json"), "--device",
                           "gpu0"]
            for dimension, text in ranged["ranges"].items():
                command += ["--dim", f"{dimension}={text}"]
            for tensor, file in ranged.get("fix", {}).items():
                command += ["--fix", f"{tensor}={os.path.join(folder, 'test_data_set_0', file)}"]
        done = subprocess.run(
            [arguments.sluice, *command, os.path.join(folder, "model.onnx"), *machine, "--target",
             "cpu:x86-64-v3," + targets, "--matmul-precision", arguments.matmul_precision, "--gpu-libraries",
             arguments.gpu_libraries, "--search-evals", "1", "--dump-phases", os.path.join(out, "phases")],
            capture_output=True, text=True, timeout=arguments.timeout, check=False)
        took = time.monotonic() - begin
        if done.returncode != 0 and "no CUDA driver" not in done.stderr:
            return f"exit {done.returncode}: {done.stderr.strip()[-300:]}", ""
        with open(os.path.join(out, "phases", "7-exec.mlir"), encoding="utf-8", errors="replace") as file:
            device = file.read().partition("gpu.module")[2]
        launched = set(re.findall(r"gpu\.func @(\w+_grid\d+)\(", device))
        figures = [f"{len(launched)} functions", f"{took:.1f} s"]
        if ranged:
            functions = re.findall(r"gpu\.func @\w+\(([^)]*)\) kernel attributes \{([^}]*)\}", device)
            taking = sum("i64" in parameters or "known_grid_size" not in about for parameters, about in functions)
            if taking == 0:
                return "no function depends on extents", ""
            figures.append(f"{taking} depend on extents")
        for number in arguments.architectures:
            path = os.path.join(out, "phases", f"8-codegen.sm_{number}.ptx")
            with open(path, encoding="utf-8") as file:
                wrong = check_text(file.read(), number, launched)
            if wrong:
                return f"sm_{number}: {wrong}", ""
            if number in assembled:
                wrong, functions, spilling = assemble(ptxas, path, number)
                if wrong or functions != len(launched):
                    return f"sm_{number}: {wrong or f'{functions} of {len(launched)} functions assembled'}", ""
                figures.append(f"sm_{number} assembles, {spilling} spill")
        return None, ", ".join(figures)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sluice")
    parser.add_argument("directory")
    parser.add_argument("--machine", default="v100-16gb")
    parser.add_argument("--ranges")
    parser.add_argument("--architectures", type=int, nargs="*", default=[70, 80, 90])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--matmul-precision", default="f32")
    parser.add_argument("--gpu-libraries", default="auto")
    parser.add_argument("--assemble", action="store_true")
    parser.add_argument("--timeout", type=int, default=600)
    arguments = parser.parse_args()

    ptxas, assembled = None, set()
    if arguments.assemble:
        ptxas = find_ptxas() or sys.exit("error: no ptxas, option '--assemble', install CUDA's or set CUDA_HOME")
        assembled = known_architectures(ptxas) & set(arguments.architectures)
        if not assembled:
            sys.exit(f"error: '{ptxas}' knows none of {arguments.architectures}, give others with '--architectures'")
        print(f"assembled with ptxas: {sorted(assembled)}")
    names = sorted(name for name in os.listdir(arguments.directory)
                   if os.path.exists(os.path.join(arguments.directory, name, "model.onnx")))
    ranged = {}
    if arguments.ranges:
        with open(arguments.ranges, encoding="utf-8") as file:
            ranged = {entry["model"]: entry for entry in json.load(file)["models"]}
        names = sorted(ranged)
    names = [name for name in names if not arguments.only or name in arguments.only]
    failed = 0
    for name in names:
        wrong, figures = check(arguments, name, ranged.get(name), ptxas, assembled)
        failed += wrong is not None
        print(f"{'FAIL' if wrong else 'pass'} {name}: {wrong or figures}", flush=True)
    print(f"{len(names)} models, {failed} failed")
    sys.exit(1 if failed or not names else 0)


if __name__ == "__main__":
    main()
