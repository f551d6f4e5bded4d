"""What the scripts that measure plans on emulated devices share: a model, its machine, profile, plans and runs."""

import argparse
import glob
import hashlib
import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def fail(what):
    sys.exit(f"error: {what}")


def count(text):
    """An option's value: a whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least 1")
    return int(text)


def list_of(kind):
    """An option's value: numbers above 0, between commas."""
    def parse(text):
        try:
            numbers = [kind(word) for word in text.split(",")]
        except ValueError:
            numbers = [0]
        if not all(0 < number < float("inf") for number in numbers):
            raise argparse.ArgumentTypeError(f"'{text}' has to be numbers above 0, separated by commas")
        return numbers
    return parse


def hash_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def keep_settings(folder, settings, option):
    """Makes the folder for the results of runs with these settings. Fails if it has results of other settings."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "settings.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
        others = [key for key in {**kept, **settings} if kept.get(key) != settings.get(key)]
        if others:
            fail(f"'{folder}' has results with other settings: {', '.join(sorted(others))}, option '{option}', give "
                 "another folder")
    elif os.listdir(folder):
        fail(f"'{folder}' has files that settings.json does not list, option '{option}', give an empty folder")
    else:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(settings, file)


def add_program_option(parser):
    parser.add_argument("--sluice", default=os.path.join(ROOT, "build/release/bin/sluice"), help="the program")


def require_program(options):
    if not shutil.which(options.sluice):
        fail(f"program '{options.sluice}' does not exist, build this program or give --sluice")


def add_machine_options(parser):
    """Of the machine that machine_of describes."""
    parser.add_argument("--speeds", default="0.5,0.25", help="of the accelerators, at most 1")
    parser.add_argument("--rate", type=float, default=2e9, help="bytes a second of each link")


def read_speeds(options):
    options.threads = 1
    try:
        options.speeds = [float(speed) for speed in options.speeds.split(",")]
    except ValueError:
        options.speeds = []
    if not options.speeds or min(options.speeds) <= 0 or max(options.speeds) > 1:
        fail("a speed is out of range, option '--speeds', give numbers above 0 and at most 1, separated by commas")


def machine_of(model, speeds, bytes_per_second):
    """The processor and accelerators that are slower, each of one thread, with links whose rate is enforced."""
    machine = json.loads(model.call("machine", f"emulated:{len(speeds)}", "--format=json"))
    machine["name"] = f"host and {len(speeds)} slower"
    for device in machine["devices"]:
        device.update({"computes": True, "threads": model.threads})
    for device, speed in zip(machine["devices"][1:], speeds):
        device["speed"] = speed
    for link in machine["links"]:
        link.update({"bytesPerSec": bytes_per_second, "duplexBytesPerSec": 1.6 * bytes_per_second, "throttle": True})
    return machine


class Model:
    """One model, given to `sluice` with the options `given`; what is made for it lies in `folder`."""

    def __init__(self, options, path, given, folder):
        self.path = os.path.join(path, "model.onnx") if os.path.isdir(path) else path
        self.name = os.path.basename(os.path.dirname(self.path)) or self.path
        self.sluice, self.given, self.folder, self.threads = options.sluice, given, folder, options.threads

    def call(self, *arguments, may_fail=False):
        result = subprocess.run([self.sluice, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                check=False)
        if result.returncode == 0:
            return result.stdout
        if may_fail:
            return None
        fail(f"'{' '.join(map(str, arguments))}' failed: {result.stderr.decode(errors='replace').strip()}")

    def file(self, name):
        return os.path.join(self.folder, name)

    def write_machine(self, machine):
        with open(self.file("machine.json"), "w", encoding="utf-8") as file:
            json.dump(machine, file)

    def target(self):
        return [*self.given, "--machine", self.file("machine.json")]

    def profile(self):
        self.call("profile", self.path, "-o", self.file("profile.json"), *self.target(), "--repeat", 30, "--threads",
                  self.threads)

    def plan(self, name, *options, may_fail=False):
        summary = self.call("plan", self.path, "-o", self.file(name), "--format=json", *self.target(), *options,
                            may_fail=may_fail)
        return summary and json.loads(summary)

    def compile(self, name, memory):
        out = self.file(name + ".compiled")
        self.call("compile", self.path, "-o", out, *self.target(), *memory, "--plan", self.file(name))
        return out

    @staticmethod
    def left(out):
        """What a run with this --output-dir has left, by file."""
        left = {}
        for path in glob.glob(out + "/**/*.npy", recursive=True):
            with open(path, "rb") as file:
                left[os.path.relpath(path, out)] = file.read()
        return left

    def run(self, artifact, repeat, steps):
        """Nanoseconds of a step, median and least, and the bytes of what it leaves. Fails where other bytes are copied
        than planned."""
        out = self.file("out")
        result = json.loads(self.call("run", artifact, "--format=json", "--output-dir", out, "--threads", self.threads,
                                      *(["--repeat", repeat] if repeat else ["--steps", steps])))
        copied = (result["bytesIn"], result["bytesOut"])
        planned = (result["plannedBytesIn"], result["plannedBytesOut"])
        if copied != planned:
            fail(f"{artifact}: the step copied {copied} bytes and the plan {planned}, compile the model again")
        return result.get("medianNs", result["stepNs"]), result.get("leastNs", result["stepNs"]), self.left(out)


def alike(left, wanted, name):
    if left != wanted:
        fail(f"the outputs with plan '{name}' differ from those of the reference run, report this as a bug of Sluice")
