# Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Planning problems: graphs and machines, as docs/formats/problem.md and machine.md describe them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

Size = Union[int, str]


class Graph:
    """Operators and the tensors between them, for `plan` and `place`.

        graph = Graph()
        x, w = graph.input("x", 64), graph.parameter("w", 4096)
        (y,) = graph.operator("product", [x, w], {"y": 64}, times={"cpu": 900, "accel0": 100})
        graph.output(y)
    """

    def __init__(self, name: str = "graph"):
        self.name = name
        self.tensors: list[dict[str, Any]] = []
        self.operators: list[dict[str, Any]] = []
        self._times: list[Optional[Mapping[str, int]]] = []
        self._devices: list[Optional[str]] = []

    def _tensor(self, name: str, kind: str, size: int, **more: Any) -> int:
        self.tensors.append({"name": name, "kind": kind, "bytes": int(size), **more})
        return len(self.tensors) - 1

    def input(self, name: str, size: int) -> int:
        """A tensor that each step is given, of `size` bytes. Returns its index, as the other functions do."""
        return self._tensor(name, "input", size)

    def parameter(self, name: str, size: int) -> int:
        """A constant; its home is in the host's memory."""
        return self._tensor(name, "parameter", size)

    def state(self, name: str, size: int) -> int:
        """A tensor that lives from step to step; `operator(..., updates=...)` writes its new value."""
        return self._tensor(name, "state", size)

    def output(self, tensor: int) -> None:
        """The tensor has to be in the host's memory when a step ends."""
        self.tensors[tensor]["output"] = True

    def operator(self, name: str, inputs: Sequence[int], outputs: Mapping[str, int], *, kind: str = "operator",
                 times: Mapping[str, int] | None = None, flops: int = 0, bytes_moved: int = 0, workspace: int = 0,
                 in_place: Sequence[tuple[int, int]] = (), updates: Mapping[str, int] | None = None,
                 device: str | None = None, colocation: int | None = None) -> list[int]:
        """An operator that reads `inputs` and writes `outputs`, bytes by name; returns the indices of these.

        times: nanoseconds on each device; without them, they follow from `flops` and `bytes_moved`.
        workspace: bytes of scratch memory while it runs.
        in_place: pairs of positions of an input and an output that may have one address.
        updates: for an output that is the new value of a state, the index of the state.
        device: the device that it must run on. colocation: operators with the same number are placed together.
        """
        first = len(self.tensors)
        for output, size in outputs.items():
            state = (updates or {}).get(output)
            if state is None:
                self._tensor(output, "activation", size)
            else:
                self._tensor(output, "state", size, updates=state)
        made = list(range(first, len(self.tensors)))
        operator: dict[str, Any] = {"name": name, "kind": kind, "inputs": list(inputs), "outputs": made}
        for key, value in (("flops", flops), ("bytesMoved", bytes_moved), ("workspaceBytes", workspace),
                           ("inPlace", [list(pair) for pair in in_place])):
            if value:
                operator[key] = value
        if colocation is not None:
            operator["colocation"] = colocation
        self.operators.append(operator)
        self._times.append(times)
        self._devices.append(device)
        return made

    def problem(self, machine: Mapping[str, Any], capacities: Mapping[str, int] | None = None) -> dict[str, Any]:
        """The planning problem of this graph on a machine."""
        problem: dict[str, Any] = {
            "schema": 1,
            "graph": {"schema": 1, "name": self.name, "tensors": self.tensors, "operators": self.operators},
            "machine": dict(machine),
        }
        if any(times is not None for times in self._times):
            names = [device["name"] for device in machine["devices"]]
            problem["costs"] = [self._row(number, names, machine) for number in range(len(self.operators))]
        if capacities:
            problem["capacities"] = dict(capacities)
        if any(device is not None for device in self._devices):
            problem["placement"] = self._devices
        return problem

    def _row(self, number: int, names: Sequence[str], machine: Mapping[str, Any]) -> list[int]:
        times = self._times[number] or {}
        row = []
        for device, name in zip(machine["devices"], names):
            if name not in times and device.get("computes", True):
                raise ValueError(f"operator '{self.operators[number]['name']}' has no time on device '{name}', give "
                                 "times of all operators on all devices that compute, or none")
            row.append(max(1, int(times.get(name, 1))))
        return row


def accelerator(name: str = "accel0", capacity: Size | None = None, *, bytes_per_sec: Size = "16GB/s",
                latency: Size = "5us", flops_per_sec: float | None = None) -> dict[str, Any]:
    """An accelerator with a memory of its own and a link to the host's memory, for `machine`. `flops_per_sec` is for
    operators without times."""
    memory: dict[str, Any] = {"name": name}
    if capacity is not None:
        memory["capacity"] = capacity
    device: dict[str, Any] = {"name": name, "kind": "emulated", "memory": name}
    if flops_per_sec is not None:
        device["flopsPerSec"] = flops_per_sec
    return {"memory": memory, "device": device,
            "link": {"between": ["host", name], "bytesPerSec": bytes_per_sec, "latency": latency}}


def machine(*accelerators: Mapping[str, Any], host_computes: bool = False) -> dict[str, Any]:
    """A machine file: a host, whose processor "cpu" computes only where `host_computes`, and accelerators."""
    return {"schema": 1, "name": "machine",
            "memories": [{"name": "host"}, *(each["memory"] for each in accelerators)],
            "devices": [{"name": "cpu", "memory": "host", "computes": host_computes},
                        *(each["device"] for each in accelerators)],
            "links": [each["link"] for each in accelerators]}
