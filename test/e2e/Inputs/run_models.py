#!/usr/bin/env python3
"""Runs every model of a directory against its reference outputs, plain and under memory limits.

  run_models.py SLUICE DIRECTORY [--plain] [--memory PERCENT ...] [--machine NAME ...] [--target TARGETS]
                [--first-list] [--only NAME ...]

A model is a folder with model.onnx and test_data_set_0. `sluice run` compares every step with the reference, and fails
where a step copies other than the planned bytes. This script also checks that a limit is kept and that what was touched
is what was planned. One line a run; exits 1 if any failed.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time


def first_list(directory):
    """The models of the first table of the directory's README."""
    with open(os.path.join(directory, "README.md"), encoding="utf-8") as readme:
        section = re.search(r"^## First list.*?$(.*?)(^## |\Z)", readme.read(), re.MULTILINE | re.DOTALL)
    names = re.findall(r"^\| *(\w+) *\|", section.group(1), re.MULTILINE)
    return [name for name in names if name != "model"]


def check(result):
    """What is wrong with a run that says it passed; None: nothing."""
    if not result["passes"]:
        return "outputs differ"
    if (result["bytesIn"], result["bytesOut"]) != (result["plannedBytesIn"], result["plannedBytesOut"]):
        return "copied other than the planned bytes"
    for name, arena in result["arenas"].items():
        if arena["touchedBytes"] > arena["plannedBytes"]:
            return f"touched more of {name} than planned"
    return None


def run(sluice, folder, options, timeout):
    data = os.path.join(folder, "test_data_set_0")
    command = [sluice, "run", os.path.join(folder, "model.onnx"), "--expect", data, "--steps", "2", "--search-evals", "40",
               "--format=json"] + options
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return f"took more than {timeout} s"
    if done.returncode != 0:
        found = re.findall(r'"(ratio|cosine)": ([^,\n]*)', done.stdout)
        return f"exit {done.returncode}: {done.stderr.strip()[-300:]} " + ", ".join(f"{what} {value}" for what, value in found)
    return check(json.loads(done.stdout))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sluice")
    parser.add_argument("directory")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--memory", type=int, nargs="*", default=[])
    parser.add_argument("--machine", nargs="*", default=["emulated"])
    parser.add_argument("--target", default=None)
    parser.add_argument("--first-list", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--timeout", type=int, default=600)
    arguments = parser.parse_args()

    directory = arguments.directory
    names = first_list(directory) if arguments.first_list else sorted(
        name for name in os.listdir(directory) if os.path.exists(os.path.join(directory, name, "model.onnx")))
    names = [name for name in names if not arguments.only or name in arguments.only]
    settings = [[]] if arguments.plain else []
    settings += [["--machine", machine, "--memory", f"{percent}%"] for machine in arguments.machine
                 for percent in arguments.memory]
    if arguments.target:
        settings = [options + ["--target", arguments.target] for options in settings]
    failed = 0
    for name in names:
        for options in settings:
            begin = time.monotonic()
            wrong = run(arguments.sluice, os.path.join(directory, name), options, arguments.timeout)
            failed += wrong is not None
            print(f"{'FAIL' if wrong else 'pass'} {name} {' '.join(options) or 'plain'} {time.monotonic() - begin:.1f} s"
                  f"{': ' + wrong if wrong else ''}", flush=True)
    print(f"{len(names)} models, {len(names) * len(settings)} runs, {failed} failed")
    sys.exit(1 if failed or not names else 0)


if __name__ == "__main__":
    main()
