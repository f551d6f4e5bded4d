# Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sluice compiles ONNX models for machines with little memory, and runs them.

    import sluice
    session = sluice.compile("model.onnx", machine="emulated", memory={"accel0": "20%"}, dims={"batch": 1})
    outputs = session.run({"x": x})

`compile` plans, compiles and opens a model; `load` opens one that is compiled; `plan` plans only; `sluice.backend` is a
backend of ONNX; `sluice.planner` (the wheel sluice-planner) has the planner for other compilers.
"""

from ._compile import build, compile, load, plan
from ._plan import MemoryUse, Plan, Report, read_plan
from ._process import Error, UsageError
from ._session import Port, Session, Stats, Symbol

__all__ = ["Error", "MemoryUse", "Plan", "Port", "Report", "Session", "Stats", "Symbol", "UsageError", "build", "compile",
           "load", "plan", "read_plan"]

Error.__module__ = UsageError.__module__ = __name__
