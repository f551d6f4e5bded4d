# Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling and planning models by the program `sluice`."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Union

import numpy as np

from ._plan import Plan, read_plan, run_sluice
from ._process import UsageError, option_arguments
from ._session import Session

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    class Proto(Protocol):
        """An `onnx.ModelProto`, or another message that serializes to one."""

        def SerializeToString(self) -> bytes: ...

    PathLike = Union[str, os.PathLike[str]]
    Model = Union[PathLike, bytes, Proto]
    Size = Union[int, str, range, tuple[int, int], tuple[int, int, int], list[int]]
    Shape = Sequence[int]

    class PlanOptions(TypedDict, total=False):
        """Options that plans and code depend on. Each option of `sluice compile --help` can be given by its name with
        underscores, such as `conv_algorithm="winograd"`; these have forms of their own or are frequent."""

        machine: Union[PathLike, Mapping[str, Any]]  # a preset, a machine file, or its JSON
        device: str
        memory: Union[str, int, Mapping[str, Union[str, int]]]  # "60%", {"accel0": 1 << 20}
        dims: Mapping[str, Size]  # {"batch": 8, "sequence": range(1, 513)}
        shapes: Mapping[str, Union[Shape, Sequence[Shape]]]  # of inputs that declare none; a list: of a sequence
        fixed: Mapping[str, Any]  # values of inputs
        bounds: Mapping[str, Union[int, tuple[int, int]]]
        states: Mapping[str, str]  # {"past_key_values.*": "present.*"}
        plan: Union[Plan, PathLike]
        profile: PathLike
        tuning: PathLike
        target: str
        search_time: str
        search_evals: int
        seed: int
        threads: int
        devices: int
        split_operators: bool


def _range_text(least: int, most: int, step: int) -> str:
    return f"{least}..{most}" + (f":{step}" if step != 1 else "")


def _size_text(size: Any) -> str:
    """A size, a range or a list of buckets, as `--dim` has them."""
    if isinstance(size, range):
        if len(size) == 0 or size.step < 1:
            raise UsageError(f"the range {size} is empty, write the smaller size first")
        return _range_text(size[0], size[-1], size.step)
    if isinstance(size, tuple):
        if len(size) not in (2, 3):
            raise UsageError(f"{size} is not a range, give (least, most) or (least, most, step)")
        return _range_text(size[0], size[1], size[2] if len(size) == 3 else 1)
    if isinstance(size, list):
        return ",".join(map(str, size))
    return str(size)


def _extents_text(shape: Any) -> str:
    return "x".join(str(int(extent)) for extent in shape) or "scalar"


def _shape_text(shape: Any) -> str:
    """A shape as `--shape` has it; a list of shapes is a sequence of tensors, None an optional without a value."""
    if shape is None:
        return "[]"
    if isinstance(shape, list) and all(isinstance(each, (tuple, list)) for each in shape):
        return "[" + ",".join(map(_extents_text, shape)) + "]"
    return _extents_text(shape)


def _bound_text(bound: Any) -> str:
    return f"{bound[0]}..{bound[1]}" if isinstance(bound, tuple) else str(bound)


def _write_fixed(values: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """The values as files, by the inputs' names."""
    files = {}
    for number, (name, value) in enumerate(values.items()):
        if isinstance(value, (str, os.PathLike)):
            files[name] = os.fspath(value)
            continue
        path = folder / f"fixed{number}.npy"
        np.save(path, np.asarray(value), allow_pickle=False)
        files[name] = str(path)
    return files


def _arguments(options: Mapping[str, Any], folder: Path) -> list[str]:
    """The options of a command line; what has to be a file is written to `folder`."""
    left = dict(options)
    given: dict[str, Any] = {}
    machine = left.pop("machine", None)
    if isinstance(machine, Mapping):
        given["machine"] = folder / "machine.json"
        given["machine"].write_text(json.dumps(machine), encoding="utf-8")
    else:
        given["machine"] = machine
    given["dim"] = {name: _size_text(size) for name, size in (left.pop("dims", None) or {}).items()}
    given["shape"] = {name: _shape_text(shape) for name, shape in (left.pop("shapes", None) or {}).items()}
    given["bound"] = {name: _bound_text(bound) for name, bound in (left.pop("bounds", None) or {}).items()}
    given["state"] = left.pop("states", None)
    given["fix"] = _write_fixed(left.pop("fixed", None) or {}, folder)
    plan = left.pop("plan", None)
    if isinstance(plan, Plan):
        given["plan"] = folder / "given-plan.json"
        plan.save(given["plan"])
    else:
        given["plan"] = plan
    return option_arguments({**given, **left})


@contextmanager
def _model_file(model: Model, folder: Path) -> Iterator[str]:
    """The path of a model; one that is in memory is written to `folder`."""
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        yield os.path.join(".", path) if path.startswith("-") else path  # not an option
        return
    content = model if isinstance(model, (bytes, bytearray, memoryview)) else model.SerializeToString()
    # The compiled model is called as the file.
    name = getattr(getattr(model, "graph", None), "name", "") or "graph"
    file = folder / (re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:100] + ".onnx")
    file.write_bytes(content)
    yield str(file)


def build(model: Model, output: PathLike, **options: Unpack[PlanOptions]) -> Path:
    """Compiles a model into the directory `output`, which `load`, applications in C and `sluice run` open.

    model: the path of an ONNX file or of a pipeline of models (.json), an `onnx.ModelProto`, or the bytes of one.
    options: see `compile`.
    """
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder, _model_file(model, Path(folder)) as path:
        run_sluice(["compile", path, "-o", output, *_arguments(options, Path(folder))])
    return Path(output)


def compile(model: Model, *, output: PathLike | None = None, spill: PathLike | None = None,
            **options: Unpack[PlanOptions]) -> Session:
    """Compiles a model for a machine and a memory budget, and opens it.

    model: the path of an ONNX file or of a pipeline of models (.json), an `onnx.ModelProto`, or the bytes of one.
    output: keep the compiled model in this directory; without it, it is removed when the session closes.
    spill: see `Session`.
    machine: a preset such as "emulated", a machine file or its JSON as a dict.
    memory: a limit for accelerators' memories, such as "60%" or a number of bytes, or one for each: {"accel0": "60%"}.
    dims: sizes of symbolic dimensions. {"sequence": range(1, 513)} compiles for all sizes from 1 to 512, the tuple
        (1, 512) too, (32, 320, 32) in steps of 32, and a list such as [16, 64, 512] makes a plan for each of these sizes
        and those below.
    shapes: of inputs that declare no shape; for a sequence a list with the shape of each element.
    fixed: values of inputs to compile for. bounds: what tensors that say extents are at most, or (least, most).
    states: pairs of inputs and outputs that the session keeps, such as {"past.*": "present.*"}.
    plan: a plan to follow instead of searching.
    Any other option of `sluice compile` by its name with underscores: search_evals=100, split_operators=True.

    Raises Error, whose text is that of the command line, where the model cannot be compiled.
    """
    if output is not None:
        return Session(build(model, output, **options), threads=options.get("threads", 0), spill=spill)
    folder = tempfile.mkdtemp(prefix="sluice-")
    try:
        return Session(build(model, folder, **options), threads=options.get("threads", 0), spill=spill, _owned=True)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def plan(model: Model, **options: Unpack[PlanOptions]) -> Plan:
    """Plans a model without compiling it; the options are those of `compile`."""
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder, _model_file(model, Path(folder)) as path:
        result = Path(folder, "plan.json")
        run_sluice(["plan", path, "-o", result, *_arguments(options, Path(folder))])
        return read_plan(result)


def load(artifact: PathLike, *, threads: int = 0, spill: PathLike | None = None, verify: bool = False) -> Session:
    """Opens the directory of a compiled model; see `Session`."""
    return Session(artifact, threads=threads, spill=spill, verify=verify)
