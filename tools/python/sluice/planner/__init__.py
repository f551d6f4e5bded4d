# Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sluice's planner for other compilers and frameworks: it knows no ONNX and no MLIR.

    from sluice import planner
    packing = planner.pack([planner.Buffer(0, 4, 4096), planner.Buffer(3, 9, 512)])
    packing.offsets, packing.peak, packing.is_optimal

`pack` gives buffers addresses in one arena. `plan` gives a graph of operators an order, addresses, swaps between memories
and devices; `place` gives devices only. `tile` gives nodes of a graph one strategy each. Each answer is checked by a
validator that shares no code with the solvers, and comes with a lower bound. Everything runs in the program
`sluice-solve`; the files that it reads and writes are those of docs/formats.
"""

from ._graph import Graph, accelerator, machine
from ._solve import Error, UsageError, check, pack, place, plan, tile
from ._values import Buffer, Packing, Placement, StepPlan, Swap, Tiling

__all__ = ["Buffer", "Error", "Graph", "Packing", "Placement", "StepPlan", "Swap", "Tiling", "UsageError", "accelerator",
           "check", "machine", "pack", "place", "plan", "tile"]

if Error.__module__ == __name__ + "._process":  # the first wheel, whose errors would be these, is not installed
    Error.__module__ = UsageError.__module__ = __name__
