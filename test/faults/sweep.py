#!/usr/bin/env python3
"""Runs commands in which one call of the system fails, and checks how they end.

  sweep.py --tools DIR --injector FILE [--samples N] [--seed N] [--command NAME ...] [--kind KIND ...] [--jobs N]
  sweep.py --tools DIR --injector FILE --repeat COMMAND:KIND:NUMBER[:lasting]

A command of commands.py runs once without a failure, which counts its calls of each kind. It then runs once for each
sampled number of a call, which fails. With `lasting`, all later calls of the kind fail too. Each run must either
 - exit with 0 and print and write what the command does without a failure, or
 - exit with 1, print one line `error: what, where, what to do` that blames no bug, and leave each of its files absent
   or whole.
In both cases nothing may stay in the folder for temporary files, no other file may be left, and the run may take at
most 30 seconds. A finding is printed with the command that repeats it. The exit status is 1 if there is any.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import functools
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable

import commands

MODELS = pathlib.Path(__file__).resolve().parents[1] / "models"
TIMEOUT_SEC = 30
# Of the calls of one kind, so many of the first and of the last are always among the samples.
ENDS = 4
# A unit changes with the size of a number before it.
MEASURED = re.compile(rb"[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?( *(ns|us|ms|s|B|KiB|MiB|GiB)\b)?")
ERROR = re.compile(r"(^|: )error: ")


@dataclasses.dataclass(frozen=True)
class Fault:
    kind: str
    number: int
    lasting: bool = False

    def __str__(self) -> str:
        return f"{self.kind}:{self.number}" + (":lasting" if self.lasting else "")


@dataclasses.dataclass
class Ended:
    """How a run ended; files are relative to {out}."""

    status: int | None
    output: bytes
    errors: str
    files: dict[str, bytes]
    temporaries: list[str]
    report: str


def masked(text: bytes) -> bytes:
    """Without numbers, and with one space between words: columns are aligned to numbers."""
    return re.sub(rb"[ -]+", b" ", MEASURED.sub(b"#", text))


class Expected:
    """What a command prints and writes without a failure.

    What differs between two such runs is measured; there, only what is left of it without numbers must be the same.
    A file with a reader must be one that the reader takes.
    """

    def __init__(self, first: Ended, second: Ended, earlier: dict[str, bytes] | None = None,
                 readers: dict[str, Callable[[bytes], bool]] | None = None) -> None:
        self.output = first.output
        self.files = first.files
        self.earlier = earlier or {}
        self.readers = readers or {}
        self.exact = {name for name, data in first.files.items() if second.files.get(name) == data}
        self.is_output_exact = first.output == second.output

    def check_file(self, name: str, data: bytes, is_done: bool = True) -> str | None:
        if name not in self.files:
            return f"'{name}' is left behind"
        if not is_done and data == self.earlier.get(name):
            return None
        if name in self.readers:
            return None if self.readers[name](data) else f"'{name}' cannot be read"
        wanted = self.files[name]
        if name in self.exact:
            return None if data == wanted else f"'{name}' differs"
        return None if masked(data) == masked(wanted) else f"'{name}' differs in more than numbers"

    def check_output(self, output: bytes) -> str | None:
        if output == self.output or (not self.is_output_exact and masked(output) == masked(self.output)):
            return None
        return "the output differs"


class Bench:
    """Folders and tools; runs a command in a fresh folder."""

    def __init__(self, tools: pathlib.Path, root: pathlib.Path) -> None:
        self.tools, self.root = tools, root
        self.fixtures = root / "fixtures"
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("SLUICE_")} | {"LC_ALL": "C"}

    def prepare(self) -> None:
        self.fixtures.mkdir()
        commands.write_sources(self.fixtures)
        for arguments in commands.PREPARE:
            command = self.filled(arguments, self.fixtures)
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.exit(f"error: a fixture cannot be made, by {shlex.join(command)}:\n{done.stderr}")

    def filled(self, arguments: list[str], out: pathlib.Path) -> list[str]:
        values = {"models": str(MODELS), "fixtures": str(self.fixtures), "out": str(out)}
        words = [re.sub(r"\{(models|fixtures|out)\}", lambda found: values[found[1]], word) for word in arguments]
        return [str(self.tools / words[0]), *words[1:]]

    def folder(self, command: commands.Command) -> pathlib.Path:
        """A fresh one with out and tmp, at the same path for each run of a thread: it may be in the outputs."""
        folder = self.root / f"run-{threading.get_ident()}"
        shutil.rmtree(folder, ignore_errors=True)
        for name in ("out", "tmp"):
            (folder / name).mkdir(parents=True)
        for name in command.copies:
            shutil.copy(self.fixtures / name, folder / "out" / name)
        return folder

    def start(self, command: commands.Command, folder: pathlib.Path, environment: dict[str, str],
              **how: object) -> subprocess.Popen[bytes]:
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
        return subprocess.Popen(self.filled(command.arguments, folder / "out"), cwd=folder,
                                env=self.environment | {"TMPDIR": str(folder / "tmp")} | environment,
                                start_new_session=True, **streams)

    def end(self, process: subprocess.Popen[bytes], folder: pathlib.Path) -> Ended:
        try:
            output, errors = process.communicate(timeout=TIMEOUT_SEC)
            status: int | None = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            status = None
        # Paths of the run would differ between threads.
        own = str(folder).encode()
        out, temporary, report = folder / "out", folder / "tmp", folder / "report"
        files = {str(path.relative_to(out)): path.read_bytes().replace(own, b"RUN")
                 for path in sorted(out.rglob("*")) if path.is_file()}
        return Ended(status, (output or b"").replace(own, b"RUN"), errors.decode(errors="replace"), files,
                     self.left(temporary),
                     report.read_text(errors="replace") if report.exists() else "")

    @staticmethod
    def left(temporary: pathlib.Path) -> list[str]:
        """What stays in the folder: a child that outlives the process has a moment to remove its files."""
        deadline = time.monotonic() + 2
        while True:
            # Unlike rglob, walk passes over folders that vanish.
            found = [str((pathlib.Path(at) / name).relative_to(temporary))
                     for at, folders, names in os.walk(temporary) for name in folders + names]
            if not found or time.monotonic() > deadline:
                return found
            time.sleep(0.05)

    def run(self, command: commands.Command, environment: dict[str, str] | None = None, **how: object) -> Ended:
        folder = self.folder(command)
        return self.end(self.start(command, folder, environment or {}, **how), folder)

    def expect(self, command: commands.Command, environment: dict[str, str] | None = None) -> Expected:
        runs = [self.run(command, environment) for _ in range(2)]
        for ended in runs:
            if ended.status != 0 or ended.temporaries:
                sys.exit(f"error: '{command.name}' fails without a fault, {ended.errors.strip()}")
        earlier = self.run(dataclasses.replace(command, arguments=[*command.earlier])).files if command.earlier else {}
        readers = {name: functools.partial(self.reads, name, arguments) for name, arguments in command.readers}
        return Expected(*runs, earlier, readers)

    def reads(self, name: str, arguments: list[str], data: bytes) -> bool:
        with tempfile.TemporaryDirectory(dir=self.root) as folder:
            (pathlib.Path(folder) / name).write_bytes(data)
            return subprocess.run(self.filled(arguments, pathlib.Path(folder)), env=self.environment, check=False,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def check_error(errors: str) -> str | None:
    """Of a run that exits with 1."""
    lines = [line for line in errors.splitlines() if ERROR.search(line)]
    if len(lines) != 1:
        return f"{len(lines)} errors are printed instead of one"
    if "internal" in lines[0] or "bug of Sluice" in lines[0]:
        return "the error blames a bug"
    if ", " not in lines[0]:
        return "the error does not say what to do"
    return None


def check(ended: Ended, expected: Expected) -> str | None:
    """What is wrong with a run, or nothing."""
    if ended.status is None:
        return f"it takes more than {TIMEOUT_SEC} seconds"
    if ended.status not in (0, 1):
        return f"it ends with status {ended.status}"
    if ended.temporaries:
        return f"temporary files are left: {', '.join(ended.temporaries[:3])}"
    problems = [expected.check_file(name, data, ended.status == 0) for name, data in ended.files.items()]
    if ended.status == 0:
        problems += [f"'{name}' is missing" for name in expected.files if name not in ended.files]
        problems.append(expected.check_output(ended.output))
    else:
        problems.append(check_error(ended.errors))
    return next((problem for problem in problems if problem), None)


def samples(kind: str, count: int, most: int, generator: random.Random) -> list[Fault]:
    """Numbers of calls: all, or the first and last ones and a random choice of the others."""
    numbers = range(1, count + 1)
    if count > most:
        ends = [*range(1, ENDS + 1), *range(count - ENDS + 1, count + 1)][:most]
        rest = range(ENDS + 1, count - ENDS + 1)
        numbers = sorted({*ends, *generator.sample(rest, min(len(rest), max(most - len(ends), 0)))})
    # A call that is cut short is no lasting condition.
    lasting = [] if kind.startswith("short") else [Fault(kind, number, True) for number in numbers if number % 2 == 0]
    return [Fault(kind, number) for number in numbers if not lasting or number % 2 == 1 or count <= most] + lasting


class Sweep:
    def __init__(self, bench: Bench, arguments: argparse.Namespace) -> None:
        self.bench, self.arguments = bench, arguments
        self.preload = {"LD_PRELOAD": str(arguments.injector.resolve())}
        self.lock = threading.Lock()
        self.findings = 0
        self.ends: collections.Counter[str] = collections.Counter()
        self.by_kind: collections.Counter[str] = collections.Counter()

    def count(self, command: commands.Command) -> tuple[Expected, dict[str, int]]:
        """The numbers of its calls too, by kind."""
        counts = self.bench.root / f"counts-{command.name}"
        expected = self.bench.expect(command, self.preload | {"SLUICE_FAULT_COUNTS": str(counts)})
        lines = [line.split() for line in counts.read_text().splitlines()]
        return expected, {kind: int(count) for kind, count in lines}

    def run(self, command: commands.Command, fault: Fault) -> Ended:
        folder = self.bench.folder(command)
        environment = self.preload | {
            "SLUICE_FAULT_KIND": fault.kind, "SLUICE_FAULT_AT": str(fault.number),
            "SLUICE_FAULT_LASTING": str(int(fault.lasting)), "SLUICE_FAULT_REPORT": str(folder / "report")}
        return self.bench.end(self.bench.start(command, folder, environment), folder)

    def inject(self, command: commands.Command, fault: Fault, expected: Expected) -> str:
        """Runs one fault; returns 'survived', 'error', 'unreached' or 'finding'."""
        ended = self.run(command, fault)
        if ended.status is None:  # The machine may have been busy: a hang happens again.
            ended = self.run(command, fault)
        problem = check(ended, expected)
        result = "finding" if problem else "survived" if ended.status == 0 else "error"
        if not ended.report:
            result = "unreached"
        with self.lock:
            self.ends[result] += 1
            if result != "unreached":
                self.by_kind[fault.kind] += 1
            if result == "finding":
                self.findings += 1
                self.describe(command, fault, problem or "", ended)
            elif self.arguments.repeat:
                print(f"{result}: status {ended.status}\n{ended.errors}\n{ended.report}")
        return result

    def describe(self, command: commands.Command, fault: Fault, problem: str, ended: Ended) -> None:
        print(f"finding: {command.name}: {problem}\n  repeat: {self.repeat(command, fault)}")
        for line in ended.errors.strip().splitlines()[-3:]:
            print(f"  printed: {line[:300]}")
        if self.arguments.stacks or self.arguments.repeat:
            for line in ended.report.splitlines():
                print(f"    {line}")
        sys.stdout.flush()

    def repeat(self, command: commands.Command, fault: Fault) -> str:
        return shlex.join([sys.argv[0], "--tools", str(self.bench.tools), "--injector", str(self.arguments.injector),
                           "--repeat", f"{command.name}:{fault}"])

    def sweep(self, command: commands.Command, pool: concurrent.futures.Executor) -> None:
        expected, counts = self.count(command)
        generator = random.Random(f"{self.arguments.seed} {command.name}")
        faults = [fault for kind, count in counts.items() if not self.arguments.kind or kind in self.arguments.kind
                  for fault in samples(kind, count, self.arguments.samples, generator)]
        results = collections.Counter(pool.map(lambda fault: self.inject(command, fault, expected), faults))
        print(f"{command.name:20} {len(faults) - results['unreached']:6} {results['survived']:9} {results['error']:7} "
              f"{results['finding']:9}", flush=True)


def chosen(names: list[str]) -> list[commands.Command]:
    known = {command.name: command for command in commands.COMMANDS}
    for name in names:
        if name not in known:
            sys.exit(f"error: no command is named '{name}', on the command line, give some of: {', '.join(known)}")
    return [known[name] for name in names or known]


def make_parser(description: str, samples: tuple[int, str], seed: str, jobs: str) -> argparse.ArgumentParser:
    """The options that sweep.py and ends.py share, with the default of --samples and what theirs mean."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, required=True, help="folder of sluice and the other tools")
    parser.add_argument("--samples", type=int, default=samples[0], help=f"{samples[1]}, at most ({samples[0]})")
    parser.add_argument("--seed", type=int, default=0, help=f"seed of {seed} (0)")
    parser.add_argument("--command", nargs="+", default=[], help="names of commands (all)")
    parser.add_argument("--jobs", type=int, default=2, help=f"{jobs} at once (2)")
    return parser


def parse() -> argparse.Namespace:
    parser = make_parser(__doc__, (20, "calls of a kind that fail in a command"), "the choice of calls", "runs")
    parser.add_argument("--injector", type=pathlib.Path, required=True, help="the library FaultInjector.so")
    parser.add_argument("--kind", nargs="+", default=[], help="kinds of calls (all)")
    parser.add_argument("--stacks", action="store_true", help="print the stack of the call that failed")
    parser.add_argument("--repeat", metavar="COMMAND:KIND:NUMBER", help="run one fault and print how it ends")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    with tempfile.TemporaryDirectory(prefix="sluice-faults-") as root:
        bench = Bench(arguments.tools.resolve(), pathlib.Path(root))
        bench.prepare()
        sweep = Sweep(bench, arguments)
        if arguments.repeat:
            name, kind, number, *lasting = arguments.repeat.split(":")
            [command] = chosen([name])
            sweep.inject(command, Fault(kind, int(number), bool(lasting)), sweep.count(command)[0])
            return int(sweep.findings > 0)
        print(f"{'command':20} {'faults':>6} {'survived':>9} {'errors':>7} {'findings':>9}")
        selected = chosen(arguments.command)
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for command in selected:
                sweep.sweep(command, pool)
        print("by kind: " + ", ".join(f"{kind} {count}" for kind, count in sorted(sweep.by_kind.items())))
        total = sum(sweep.by_kind.values())
        print(f"{len(selected)} commands, {total} faults, seed {arguments.seed}: {sweep.ends['survived']} survived, "
              f"{sweep.ends['error']} errors, {sweep.ends['finding']} findings, {sweep.ends['unreached']} not reached")
        return int(sweep.findings > 0)


if __name__ == "__main__":
    sys.exit(main())
