#!/usr/bin/env python3
"""Kills ranks of training runs at random moments, and checks how the runs end and what they leave.

  kills.py --tools DIR [--count N] [--seed N] [--form FORM ...] [--verbose]

Three ranks, started by mpirun, train a small model and keep their states fifteen times. One of them gets SIGKILL at a
random moment between its start and the end of an undisturbed run. The forms are
  barrier  ranks exchange gradients under bsp, and the run fails
  split    one step is split over the ranks, and the run fails
  barrier-elastic, split-elastic  the same with --elastic, and the run goes on
A run that fails must name the rank that was killed, unless MPI had not begun, and leave no process. The states it leaves must be absent or whole
(each file has the digest that states.json says), and a run that begins with them must end with the states of the
undisturbed run, bit for bit. A run that goes on must end with these states and losses itself. The exit status is 1 if
there is a finding, and 77 without mpirun.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

RANKS, STEPS, EVERY = 3, {"barrier": 300, "split": 600}, {"barrier": 20, "split": 40}
TIMEOUT_SEC = 120
MPIRUN = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "mpirun"
MODEL = """<ir_version: 7, opset_import: ["" : 13]>
classifier (float[9, 6] x) => (float[9, 2] y)
<float[6, 4] w = {0.5, -0.25, 0.75, 1, -1, 0.125, 0.25, -0.5, 0.5, -0.75, 0.3, 0.2, 0.1, -0.6, 0.4, 0.9, -0.2, 0.15, 0.35,
  -0.45, 0.7, 0.6, -0.8, 0.05}, float[4] b = {0.5, -0.5, 0.25, 0.1},
 float[4, 2] v = {0.5, -0.25, 0.75, 1, -1, 0.125, 0.3, 0.2}, float[2] c = {0.5, -0.5}>
{
  h = Gemm (x, w, b)
  r = Tanh (h)
  y = Gemm (r, v, c)
}
"""
# A step is as long as a small model's, so that ranks are killed while they compute, wait and write.
TIMING = {"barrier": ["--barrier", "bsp", "--step-time", "3ms"], "split": []}
COMPILE = {"barrier": ["--train", "loss=softmax-cross-entropy,accumulate=ranks", "--optimizer", "momentum"],
           "split": ["--train", "loss=softmax-cross-entropy", "--optimizer", "adam", "--devices", str(RANKS), "--solver",
                     "tile=data-parallel"]}


def write_npy(path: pathlib.Path, code: str, shape: tuple[int, ...], data: bytes) -> None:
    header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def write_data(folder: pathlib.Path) -> None:
    """Seven batches of two classes that a plane divides."""
    numbers = random.Random(0)
    rows = [[numbers.gauss(0, 1) for _ in range(6)] for _ in range(63)]
    write_npy(folder / "x.npy", "<f4", (63, 6), b"".join(struct.pack("<6f", *row) for row in rows))
    write_npy(folder / "labels.npy", "<i8", (63,), struct.pack("<63q", *(int(sum(row) > 0) for row in rows)))


def ranks_below(pid: int) -> dict[int, int]:
    """Processes of sluice below a process that mpirun started, by their ranks."""
    children = collections.defaultdict(list)
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                text = pathlib.Path(f"/proc/{entry}/stat").read_text(errors="replace")
            except OSError:
                continue
            if (fields := text.rsplit(")", 1)[1].split())[0] != "Z":
                children[int(fields[1])].append(int(entry))
    found, below = {}, [pid]
    while below:
        process = below.pop()
        below += children[process]
        try:
            environment = pathlib.Path(f"/proc/{process}/environ").read_bytes()
            # Between fork and exec a rank has mpirun's program.
            program = os.path.basename(os.readlink(f"/proc/{process}/exe"))
        except OSError:
            continue
        if program == "sluice" and (rank := re.search(rb"(?:^|\0)OMPI_COMM_WORLD_RANK=(\d+)\0", environment)):
            found[int(rank[1])] = process
    return found


def is_left(pid: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def states_of(folder: pathlib.Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "states").glob("*.npy"))}


def check_whole(states: pathlib.Path, every: int) -> str | None:
    """What is wrong with a folder of states."""
    try:
        listed = json.loads((states / "states.json").read_text())
        files = {state["file"]: state["digest"] for state in listed["states"]}
        if listed["steps"] % every or sorted(files) != sorted(path.name for path in states.glob("*.npy")):
            return f"step {listed['steps']} or other files than {sorted(files)}"
        wrong = [name for name, digest in files.items() if hashlib.sha256((states / name).read_bytes()).hexdigest() != digest]
        return f"{wrong} differ from states.json" if wrong else None
    except (OSError, ValueError, KeyError) as error:
        return str(error)


def ends(process: subprocess.Popen) -> bool:
    """Whether the process ends in time. Naps are counted, not the clock, because the whole machine may be suspended."""
    for _ in range(10 * TIMEOUT_SEC):
        if process.poll() is not None:
            return True
        time.sleep(0.1)
    return False


class Kills:
    def __init__(self, tools: pathlib.Path, root: pathlib.Path) -> None:
        self.sluice, self.root = str(tools / "sluice"), root
        (root / "model.onnxtxt").write_text(MODEL)
        write_data(root)
        self.references = {}
        self.killed = 0
        for form, options in COMPILE.items():
            self.must([self.sluice, "compile", str(root / "model.onnxtxt"), "--search-evals", "1", *options, "-o",
                       str(root / form)])
            began = time.monotonic()
            losses = self.losses(self.must(self.run_command(form, root / f"{form}-reference", ranks=True)))
            self.references[form] = (time.monotonic() - began, states_of(root / f"{form}-reference"), losses)

    @staticmethod
    def losses(output: str) -> list[list[float]]:
        """Those of each rank, or of all together."""
        document = json.loads(output)
        return [rank["loss"] for rank in document["ranks"]] if "barrier" in document else [document["series"]["loss"]]

    @staticmethod
    def must(command: list[str]) -> str:
        # Files: a run that waits for the reader of a full pipe would not end.
        with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as failed:
            process = subprocess.Popen(command, stdout=printed, stderr=failed)
            if not ends(process):
                process.kill()
            printed.seek(0)
            failed.seek(0)
            if process.wait() != 0:
                sys.exit(f"error: a run without a fault fails, {' '.join(command)}:\n{failed.read()}")
            return printed.read()

    def run_command(self, form: str, out: pathlib.Path, *more: str, ranks: bool = False) -> list[str]:
        start = [str(MPIRUN), "-n", str(RANKS)] if ranks else []
        return [*start, self.sluice, "run", str(self.root / form), "--input", f"x={self.root}/x.npy", "--input",
                f"labels={self.root}/labels.npy", "--steps", str(STEPS[form]), *TIMING[form], "--format", "json",
                "--output-dir", str(out), "--keep-every", str(EVERY[form]), *more]

    def kill(self, form: str, is_elastic: bool, rank: int, share: float) -> tuple[str, str | None]:
        """One run; `share` is the moment. Returns what happened, and what is wrong."""
        took, states, losses = self.references[form]
        out = self.root / "out"
        shutil.rmtree(out, ignore_errors=True)
        elastic = ["--elastic", "--launcher", str(MPIRUN)] + (["--devices", str(RANKS)] if form == "barrier" else [])
        # Files: a run that waits for the reader of a full pipe would not end.
        streams = [self.root / "output.txt", self.root / "errors.txt"]
        with streams[0].open("w") as printed, streams[1].open("w") as failed:
            process = subprocess.Popen(self.run_command(form, out, *(elastic if is_elastic else []), ranks=not is_elastic),
                                       stdout=printed, stderr=failed)
        time.sleep(took * share)
        victims: dict[int, int] = {}
        while process.poll() is None and rank not in victims:
            victims = ranks_below(process.pid)
        if rank in victims:
            os.kill(victims[rank], signal.SIGKILL)
            self.killed += 1
        if not ends(process):
            for pid in [process.pid, *ranks_below(process.pid).values()]:
                os.kill(pid, signal.SIGKILL)
            return "hangs", "the run hangs"
        output, errors = (stream.read_text() for stream in streams)
        deadline = time.monotonic() + 10
        while any(map(is_left, victims.values())) and time.monotonic() < deadline:
            time.sleep(0.05)
        if any(map(is_left, victims.values())):
            return "left", "processes are left"
        kept = out / "states"
        if kept.exists() and (problem := check_whole(kept, EVERY[form])):
            return "states", f"the states are not whole: {problem}"
        if process.returncode == 0:
            what = "went on" if "a rank was lost" in errors else "ended before"
            if states_of(out) != states:
                return what, "the states are not those of the undisturbed run"
            if output and [a[-len(b):] for a, b in zip(losses, self.losses(output))] != self.losses(output):
                return what, "the losses are not those of the undisturbed run"
            return what, None if what == "ended before" or is_elastic else "a lost rank goes unnoticed"
        if is_elastic:
            return "failed", f"the run does not go on, status {process.returncode}: {errors[-1000:]}"
        if not re.search(rf"rank {rank} .*exited on signal 9", errors, re.DOTALL):
            # Open MPI names no process that dies before it has begun MPI, and ends the others.
            if not kept.exists() and "Primary job  terminated normally, but 1 process returned" in errors:
                return "failed before MPI began", None
            return "failed", f"the error does not name rank {rank}: {errors[-1000:]}"
        return self.go_on(form, out, kept)

    def go_on(self, form: str, out: pathlib.Path, kept: pathlib.Path) -> tuple[str, str | None]:
        """After a run that failed."""
        if not kept.exists():
            return "failed without states", None
        steps = json.loads((kept / "states.json").read_text())["steps"]
        if steps < STEPS[form]:
            self.must(self.run_command(form, out, "--from-states", str(kept), ranks=True))
        left = [path.name for path in out.iterdir() if path.name not in ("states", "loss.npy")]
        if states_of(out) != self.references[form][1] or left:
            return "failed and continued", f"other states than those of the undisturbed run, or files are left: {left}"
        return "failed and continued" if steps < STEPS[form] else "failed after the last step", None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, required=True, help="folder of sluice and the other tools")
    parser.add_argument("--count", type=int, default=50, help="ranks to kill (50)")
    parser.add_argument("--seed", type=int, default=0, help="seed of ranks and moments (0)")
    forms = [f"{form}{suffix}" for form in COMPILE for suffix in ("", "-elastic")]
    parser.add_argument("--form", nargs="+", choices=forms, default=forms, help="forms of runs, in turn (all)")
    parser.add_argument("--verbose", action="store_true", help="print each run")
    arguments = parser.parse_args()
    if not shutil.which("mpirun"):
        print("skipped: no mpirun")
        return 77
    numbers = random.Random(arguments.seed)
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    findings = 0
    with tempfile.TemporaryDirectory(prefix="sluice-kills-") as root:
        kills = Kills(arguments.tools.resolve(), pathlib.Path(root))
        for number in range(arguments.count):
            form = arguments.form[number % len(arguments.form)]
            rank, share = numbers.randrange(RANKS), numbers.random()
            what, problem = kills.kill(form.removesuffix("-elastic"), form.endswith("-elastic"), rank, share)
            counts[form, what] += 1
            if problem or arguments.verbose:
                print(f"{'finding: ' if problem else ''}run {number}, {form}, rank {rank} at {share:.3f} of the run: {what}"
                      f"{', ' + problem if problem else ''}", flush=True)
            findings += bool(problem)
    for (form, what), count in sorted(counts.items()):
        print(f"{form:16} {what:28} {count}")
    # Ranks that are not found are not killed, and all runs would be in order.
    if kills.killed < arguments.count / 2:
        print(f"finding: only {kills.killed} ranks were killed")
        findings += 1
    print(f"{arguments.count} runs, seed {arguments.seed}: {kills.killed} ranks killed, {findings} findings")
    return int(findings > 0)


if __name__ == "__main__":
    sys.exit(main())
