#!/usr/bin/env python3
"""Ends commands in ways that users meet, and checks what they leave behind.

  ends.py --tools DIR [--samples N] [--seed N] [--command NAME ...] [--condition CONDITION ...]

Each command of commands.py runs under these conditions, SAMPLES times where there is something to draw:
  file-size   files may have at most a size between 0 and that of its largest file (ulimit -f)
  read-only   its output folder cannot be written; needs root, since the command then runs as nobody
  full        standard output is /dev/full
  memory      its address space is limited (RLIMIT_AS), to little more than what the program itself maps
  signal      SIGINT, SIGTERM or SIGHUP arrives at a random moment
  twice       two processes run it at once with one output folder
The checks are those of sweep.py. A run that a signal ends prints no error. After SIGINT a search uses its best plan so
far, so that the contents of files are compared only after other signals. The exit status is 1 if there is a finding.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import commands
import sweep

# An identity that permissions stop, unlike root.
NOBODY = 65534
MIB = 1 << 20
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# What a condition yields: how a run was set up, and what is wrong with its end.
Checked = tuple[str, "str | None", "sweep.Ended | None"]


def limited(kind: int, most: int) -> dict[str, object]:
    return {"preexec_fn": lambda: resource.setrlimit(kind, (most, most))}


class Conditions:
    def __init__(self, bench: sweep.Bench, samples: int, seed: int) -> None:
        self.bench, self.samples, self.seed = bench, samples, seed
        self.loading: dict[str, int] = {}

    def draw(self, command: commands.Command, condition: str) -> random.Random:
        return random.Random(f"{self.seed} {command.name} {condition}")

    def file_size(self, command: commands.Command, expected: sweep.Expected) -> list[Checked]:
        largest = max((len(data) for data in expected.files.values()), default=0)
        numbers = self.draw(command, "file-size")
        results: list[Checked] = []
        for size in {0, *(numbers.randint(0, largest) for _ in range(self.samples - 1))} if largest else ():
            ended = self.bench.run(command, **limited(resource.RLIMIT_FSIZE, size))
            results.append((f"{size} bytes", sweep.check(ended, expected), ended))
        return results

    def read_only(self, command: commands.Command, expected: sweep.Expected) -> list[Checked]:
        if os.getuid() != 0 or not expected.files:
            return []
        folder = self.bench.folder(command)
        os.chmod(folder / "out", 0o555)
        os.chown(folder / "tmp", NOBODY, NOBODY)
        ended = self.bench.end(self.bench.start(command, folder, {}, user=NOBODY, group=NOBODY, extra_groups=[]), folder)
        problem = sweep.check(ended, expected)
        return [("", problem or (None if ended.status == 1 else "it does not fail"), ended)]

    def full(self, command: commands.Command, expected: sweep.Expected) -> list[Checked]:
        with open("/dev/full", "wb") as full:
            ended = self.bench.run(command, stdout=full)
        if not expected.output:
            return [("", sweep.check(ended, expected), ended)]
        problem = sweep.check(ended, expected) if ended.status == 1 else f"it ends with status {ended.status}"
        return [("", problem, ended)]

    def mapped(self, tool: str) -> int:
        """The least address space in which a program starts, to 4 MiB."""
        if tool not in self.loading:
            low, high = 0, 4096 * MIB
            while high - low > 4 * MIB:
                middle = (low + high) // 2
                done = subprocess.run([self.bench.tools / tool, "--help"], check=False, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, **limited(resource.RLIMIT_AS, middle))
                low, high = (low, middle) if done.returncode == 0 else (middle, high)
            self.loading[tool] = high
        return self.loading[tool]

    def memory(self, command: commands.Command, expected: sweep.Expected) -> list[Checked]:
        least = self.mapped(command.arguments[0])
        numbers = self.draw(command, "memory")
        results: list[Checked] = []
        for _ in range(self.samples):
            # Most of these commands need less than 64 MiB beside what the program maps.
            limit = least + int(64 * MIB * numbers.random() ** 2)
            ended = self.bench.run(command, **limited(resource.RLIMIT_AS, limit))
            results.append((f"{limit} bytes", sweep.check(ended, expected), ended))
        return results

    def signal(self, command: commands.Command, expected: sweep.Expected) -> list[Checked]:
        began = time.monotonic()
        self.bench.run(command)
        took = time.monotonic() - began
        numbers = self.draw(command, "signal")
        results: list[Checked] = []
        for _ in range(self.samples):
            number, delay = numbers.choice(SIGNALS), took * numbers.random()
            folder = self.bench.folder(command)
            process = self.bench.start(command, folder, {})
            time.sleep(delay)
            process.send_signal(number)
            ended = self.bench.end(process, folder)
            results.append((f"{number.name} after {delay:.3f} s", self.check_signal(ended, expected, number), ended))
        return results

    def check_signal(self, ended: sweep.Ended, expected: sweep.Expected, number: signal.Signals) -> str | None:
        if number == signal.SIGINT:
            strange = [name for name in ended.files if name not in expected.files]
            if ended.temporaries or strange:
                return f"files are left: {', '.join(ended.temporaries + strange)}"
            if ended.status == 1:
                return sweep.check_error(ended.errors)
            return None if ended.status in (0, -number) else f"it ends with status {ended.status}"
        if ended.status != -number:
            return sweep.check(ended, expected)
        if ended.temporaries:
            return f"temporary files are left: {', '.join(ended.temporaries[:3])}"
        return next((problem for name, data in ended.files.items() if (problem := expected.check_file(name, data, False))), None)

    def twice(self, command: commands.Command, expected: sweep.Expected) -> list[Checked]:
        if not expected.files:
            return []
        folder = self.bench.folder(command)
        processes = [self.bench.start(command, folder, {}) for _ in range(2)]
        ends = [self.bench.end(process, folder) for process in processes]
        # The first may end while the second still writes: its files are those at the end of both.
        ends[0].files, ends[0].temporaries = ends[1].files, ends[1].temporaries
        problems = [sweep.check(ended, expected) or (None if ended.status == 0 else ended.errors) for ended in ends]
        return [(f"process {i}", problem, ended) for i, (problem, ended) in enumerate(zip(problems, ends, strict=True))]


def parse() -> argparse.Namespace:
    parser = sweep.make_parser(__doc__, (4, "runs of a command under a condition"), "limits and moments", "commands")
    parser.add_argument("--condition", nargs="+", default=[], help="names of conditions (all)")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    findings: list[str] = []
    with tempfile.TemporaryDirectory(prefix="sluice-ends-") as root:
        os.chmod(root, 0o755)
        bench = sweep.Bench(arguments.tools.resolve(), pathlib.Path(root))
        bench.prepare()
        runs = Conditions(bench, arguments.samples, arguments.seed)
        conditions: dict[str, Callable[[commands.Command, sweep.Expected], list[Checked]]] = {
            "file-size": runs.file_size, "read-only": runs.read_only, "full": runs.full, "memory": runs.memory,
            "signal": runs.signal, "twice": runs.twice}
        for name in arguments.condition:
            if name not in conditions:
                sys.exit(f"error: no condition is named '{name}', on the command line, give some of: {', '.join(conditions)}")
        counts = dict.fromkeys(arguments.condition or conditions, 0)

        def endure(command: commands.Command) -> None:
            expected = bench.expect(command)
            for condition in counts:
                for setting, problem, ended in conditions[condition](command, expected):
                    counts[condition] += 1
                    if problem:
                        printed = ended.errors.strip().splitlines()[-2:] if ended else []
                        findings.append(f"finding: {command.name}, {condition} {setting}: {problem} {printed}")
                        print(findings[-1], flush=True)

        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            list(pool.map(endure, sweep.chosen(arguments.command)))
    print(", ".join(f"{condition} {count}" for condition, count in counts.items()))
    print(f"{sum(counts.values())} runs, seed {arguments.seed}: {len(findings)} findings")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
