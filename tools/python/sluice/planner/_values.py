# Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the planner takes and what it answers."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Buffer:
    """Bytes that are needed in the half-open interval of time [lower, upper). Two buffers whose intervals overlap do not
    share an address. The offset is a multiple of `alignment`."""

    lower: int
    upper: int
    bytes: int
    alignment: int = 1


@dataclass(frozen=True)
class Packing:
    """Offsets of buffers in one arena, in the order in which they were given.

    `peak` is the size of the arena. No packing has a smaller one than `bound`: it is the greatest sum of bytes that are
    live at one time (`live`), or more where the search has proved more.
    """

    offsets: list[int]
    peak: int
    bound: int
    live: int
    evaluations: int
    stopped_by_clock: bool

    @property
    def is_optimal(self) -> bool:
        """Whether no packing has a smaller peak."""
        return self.peak == self.bound


@dataclass(frozen=True)
class Swap:
    """A copy of a tensor from one memory to another. It may begin when the commands `waits` of the plan have ended."""

    tensor: str
    source: str
    destination: str
    bytes: int
    waits: tuple[int, ...] = ()


@dataclass(frozen=True)
class StepPlan:
    """A plan for one step: an order, devices, addresses and swaps, with the simulated time and its lower bound.

    `text` is the file that docs/formats/plan.md describes.
    """

    makespan_ns: int
    lower_bound_ns: int
    ideal_ns: int
    solver: str
    evaluations: int
    text: str = field(repr=False)

    @functools.cached_property
    def json(self) -> dict[str, Any]:
        """The plan as Python's dicts and lists."""
        return json.loads(self.text)

    @property
    def placement(self) -> dict[str, str]:
        """The device of each operator."""
        return dict(self.json["placement"])

    @property
    def order(self) -> list[str]:
        """Operators in the order in which they are launched; one that is computed again is there again."""
        return [command["launch"] for command in self.json["commands"] if "launch" in command]

    @property
    def arenas(self) -> dict[str, int]:
        """Bytes of each memory's arena."""
        return dict(self.json["arenas"])

    @property
    def swaps(self) -> list[Swap]:
        """The copies between memories, in the order in which they are issued."""
        residencies = self.json["residencies"]
        swaps = []
        for command in self.json["commands"]:
            if "copy" in command:
                source, destination = residencies[command["reads"][0]], residencies[command["writes"][0]]
                swaps.append(Swap(source["tensor"], source["memory"], destination["memory"], source["bytes"],
                                  tuple(command.get("waits", ()))))
        return swaps

    def offsets(self, memory: str) -> list[tuple[str, int, int]]:
        """(tensor, offset, bytes) of each stay of a tensor in the memory's arena; "" for an operator's workspace."""
        return [(each.get("tensor", ""), each.get("offset", 0), each["bytes"]) for each in self.json["residencies"]
                if each["memory"] == memory and not each.get("home", False)]


@dataclass(frozen=True)
class Placement:
    """A device for each operator, with the simulated time, and a time below which no placement is."""

    devices: dict[str, str]
    makespan_ns: int
    bound_ns: int
    is_optimal: bool
    solver: str


@dataclass(frozen=True)
class Tiling:
    """The index of a strategy for each node, their cost, and a cost below which no choice is."""

    choice: list[int]
    cost: int
    bound: int
    is_optimal: bool
    solver: str
