# Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The solvers, in the program `sluice-solve`."""

from __future__ import annotations

import csv
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Union

try:  # where the wheel of the compiler is installed too, its exceptions are these
    from sluice._process import Error, UsageError, find_program, option_arguments, run
except ImportError:
    from ._process import Error, UsageError, find_program, option_arguments, run  # type: ignore[assignment]

from ._values import Buffer, Packing, Placement, StepPlan, Tiling

Problem = Union[Mapping[str, Any], str, "os.PathLike[str]"]


def _solve(arguments: list[Any], options: Mapping[str, Any]) -> Any:
    """Runs `sluice-solve` and returns the JSON that it prints. It is in `bin` beside this package or the one above."""
    here = Path(__file__).parent
    package = here if (here / "bin").exists() else here.parent
    text = run(find_program("sluice-solve", package), [*arguments, *option_arguments(options), "--format=json"])
    return json.loads(text)


def _problem_file(problem: Problem, folder: str) -> Path:
    if not isinstance(problem, Mapping):
        return Path(problem)
    path = Path(folder, "problem.json")
    path.write_text(json.dumps(problem), encoding="utf-8")
    return path


def pack(buffers: Iterable[Buffer], *, capacity: int | None = None, solver: str = "search", time: str | None = None,
         evaluations: int | None = None, seed: int = 1) -> Packing:
    """Gives buffers offsets in one arena, with the least peak.

    capacity: stop at the first packing within so many bytes; Error where none is found.
    solver: "search", or a baseline: "best-fit", "owl".
    time: a limit of the search such as "2s". evaluations: a limit that gives the same result on every machine.
    Without both, the search ends when it has proved its answer, or after 8 seconds (60 with a capacity).
    """
    given = list(buffers)
    if not given:
        return Packing([], 0, 0, 0, 0, False)
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        problem, solved = Path(folder, "buffers.csv"), Path(folder, "solved.csv")
        with problem.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "lower", "upper", "size", "alignment"])
            writer.writerows([i, each.lower, each.upper, each.bytes, each.alignment] for i, each in enumerate(given))
        result = _solve(["memory", problem, "-o", solved],
                        {"capacity": capacity, "solver": solver, "time": time, "evals": evaluations, "seed": seed})
        with solved.open(newline="", encoding="utf-8") as file:
            offsets = {int(row["id"]): int(row["offset"]) for row in csv.DictReader(file)}
    return Packing([offsets[i] for i in range(len(given))], result["objective"], result["bound"], result["live"],
                   result["evaluations"], result["stoppedByClock"])


def plan(problem: Problem, *, memory: Union[str, int, Mapping[str, Union[str, int]], None] = None,
         solver: str | None = None, time: str | None = None, evaluations: int | None = None, seed: int = 1,
         threads: int = 0) -> StepPlan:
    """Plans a step of a problem: an order, addresses and swaps, and devices for operators that have none.

    problem: `Graph.problem(...)`, or the path of a problem file (`sluice plan --dump-problem`).
    memory: limits, such as "60%" (from the minimum, 0%, to the peak, 100%), or bytes; of all memories of accelerators, or
        by name.
    evaluations: plans to make: the same plan on every machine and number of threads. time: a limit by the clock, 5
        seconds without both.
    """
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        output = Path(folder, "plan.json")
        result = _solve(["swap", _problem_file(problem, folder), "-o", output],
                        {"memory": memory, "solver": solver, "time": time, "evals": evaluations, "seed": seed,
                         "threads": threads})
        return StepPlan(result["objective"], result["bound"], result["ideal"], result["solver"], result["evaluations"],
                        output.read_text(encoding="utf-8"))


def place(problem: Problem, *, solver: str | None = None, limited: bool = False, time: str | None = None,
          evaluations: int | None = None, seed: int = 1, threads: int = 0) -> Placement:
    """Gives each operator of a problem a device.

    limited: keep within the memories' capacities without swapping.
    """
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        output = Path(folder, "placed.json")
        result = _solve(["placement", _problem_file(problem, folder), "-o", output],
                        {"solver": solver, "limited": limited, "time": time, "evals": evaluations, "seed": seed,
                         "threads": threads})
        placed = json.loads(output.read_text(encoding="utf-8"))
    names = [operator["name"] for operator in placed["graph"]["operators"]]
    return Placement(dict(zip(names, placed["placement"])), result["objective"], result["bound"], result["optimal"],
                     result["solver"])


def tile(instance: Problem, *, solver: str | None = None, time: str | None = None, evaluations: int | None = None,
         seed: int = 1, threads: int = 0) -> Tiling:
    """Chooses a strategy for each node, for the least cost within the memory (docs/formats/tiling.md)."""
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        result = _solve(["tiling", _problem_file(instance, folder)],
                        {"solver": solver, "time": time, "evals": evaluations, "seed": seed, "threads": threads})
    return Tiling(result["choice"], result["objective"], result["bound"], result["optimal"], result["solver"])


def check(problem: Problem, plan: Union[StepPlan, str], memory: Any = None) -> int:
    """Validates a plan against its problem and returns its simulated time in nanoseconds; raises Error with the rule
    that the plan breaks."""
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        path = Path(folder, "plan.json")
        path.write_text(plan if isinstance(plan, str) else plan.text, encoding="utf-8")
        result = _solve(["swap", _problem_file(problem, folder), "--validate"], {"plan": path, "memory": memory})
    return result["objective"]
