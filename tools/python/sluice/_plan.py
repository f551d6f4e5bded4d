# Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans, and the pages that show them."""

from __future__ import annotations

import functools
import html
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._process import Error, find_program, run

_PACKAGE = Path(__file__).parent


def run_sluice(arguments: list[Any]) -> str:
    """Runs `sluice` with these arguments and returns what it prints."""
    return run(find_program("sluice", _PACKAGE), arguments)


@dataclass(frozen=True)
class MemoryUse:
    """What a plan uses of a memory, in bytes. `minimum` is the largest working set of an operator, `peak` what a plan
    without a limit uses, `limit` what the plan may use (None: no limit) and `planned` what it uses."""

    minimum: int
    peak: int
    limit: int | None
    planned: int


class Report:
    """A plan as one page of HTML."""

    def __init__(self, page: str):
        self.html = page

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        # In a frame of its own: the page has its own styles and scripts.
        return (f'<iframe srcdoc="{html.escape(self.html)}" style="width: 100%; height: 48rem; border: 0" '
                'title="The plan of a model"></iframe>')


class Plan:
    """A plan: where each operator runs, in what order, the address of each tensor and what is copied between memories.

    `text` is the plan file; docs/formats/plan.md describes it.
    """

    def __init__(self, text: str):
        self.text = text

    @functools.cached_property
    def json(self) -> dict[str, Any]:
        """The plan file as Python's dicts and lists."""
        return json.loads(self.text)

    @property
    def name(self) -> str:
        return self.json["problem"]["graph"].get("name", "")

    @property
    def makespan_ns(self) -> int:
        """The simulated time of a step, in nanoseconds."""
        return self.json["summary"]["makespanNs"]

    @property
    def lower_bound_ns(self) -> int:
        """No plan within these memories has a shorter simulated time."""
        return self.json["summary"]["lowerBoundNs"]

    @property
    def bytes_swapped(self) -> tuple[int, int]:
        """Bytes that a step copies into and out of devices' memories."""
        return self.json["summary"]["bytesSwappedIn"], self.json["summary"]["bytesSwappedOut"]

    @property
    def placement(self) -> dict[str, str]:
        """The device of each operator."""
        return dict(self.json["plan"]["placement"])

    @property
    def order(self) -> list[str]:
        """Operators in the order in which the plan launches them; one that is computed again is there again."""
        return [command["launch"] for command in self.json["plan"]["commands"] if "launch" in command]

    @property
    def memories(self) -> dict[str, MemoryUse]:
        arenas = dict(self.json["plan"]["arenas"])
        capacities = self.json["problem"].get("capacities", {})
        return {name: MemoryUse(of["minimumBytes"], of["peakBytes"],
                                capacities.get(name, of.get("capacityBytes")), arenas.get(name, 0))
                for name, of in self.json["summary"]["memories"].items()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plan file, which `compile(plan=...)` and the command line take."""
        Path(path).write_text(self.text, encoding="utf-8")

    def report(self) -> Report:
        """The plan as a page: graph, timeline and memory over time. A notebook shows it."""
        with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
            plan, page = Path(folder, "plan.json"), Path(folder, "report.html")
            self.save(plan)
            run_sluice(["report", plan, "-o", page])
            return Report(page.read_text(encoding="utf-8"))

    def __repr__(self) -> str:
        bytes_in, bytes_out = self.bytes_swapped
        lines = [f"{self.name}: {len(self.placement)} operators, {self.makespan_ns} ns simulated, lower bound "
                 f"{self.lower_bound_ns} ns, {bytes_in} bytes copied in and {bytes_out} out a step"]
        for name, use in self.memories.items():
            lines.append(f"{name}: {use.planned} bytes planned, minimum {use.minimum}, peak {use.peak}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{html.escape(name)}</td><td>{use.minimum}</td><td>{use.peak}</td><td>{use.planned}</td></tr>"
                       for name, use in self.memories.items())
        return (f"<p>{html.escape(repr(self).splitlines()[0])}</p><table><tr><th>memory</th><th>minimum bytes</th>"
                f"<th>peak bytes</th><th>planned bytes</th></tr>{rows}</table>")


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Reads a plan file, as `sluice plan -o` and `Plan.save` write it."""
    try:
        return Plan(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise Error(f"cannot open '{os.fspath(path)}', {error.strerror}, give a plan file") from None
