"""What the scripts that measure plans on emulated devices share: a model, its machine, profile, plans and runs."""

import glob
import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def fail(what):
    sys.exit(f"error: {what}")


def add_program_option(parser):
    parser.add_argument("--sluice", default=os.path.join(ROOT, "build/release/bin/sluice"), help="the program")


def require_program(options):
    if not shutil.which(options.sluice):
        fail(f"no program '{options.sluice}', build it or give --sluice")


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

    def run(self, artifact, repeat, steps):
        """Nanoseconds of a step, median and least, and the bytes of what it leaves. Fails where other bytes are copied
        than planned."""
        out = self.file("out")
        result = json.loads(self.call("run", artifact, "--format=json", "--output-dir", out, "--threads", self.threads,
                                      *(["--repeat", repeat] if repeat else ["--steps", steps])))
        copied = (result["bytesIn"], result["bytesOut"])
        if copied != (result["plannedBytesIn"], result["plannedBytesOut"]):
            fail(f"{artifact}: {copied} bytes copied, not as planned")
        left = {}
        for path in glob.glob(out + "/**/*.npy", recursive=True):
            with open(path, "rb") as file:
                left[os.path.relpath(path, out)] = file.read()
        return result.get("medianNs", result["stepNs"]), result.get("leastNs", result["stepNs"]), left


def alike(left, wanted, name):
    if left != wanted:
        fail(f"plan '{name}' leaves other bytes than the run it is compared with")
