# Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled models that are open, and their steps on numpy's arrays."""

from __future__ import annotations

import ctypes
import os
import shutil
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from ctypes import POINTER, c_int64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import _library
from ._library import Model, SymbolDesc, TensorDesc, last_error, table
from ._plan import Plan, Report, read_plan
from ._process import Error
from ._strings import read_strings, write_strings
from ._types import ELEMENT_TYPES, STRING, ElementType


@dataclass(frozen=True)
class Symbol:
    """An integer that may differ from step to step: `least`, `least` + `step` and so on to `most`."""

    name: str
    least: int
    most: int
    step: int


@dataclass(frozen=True)
class Port:
    """An input, an output or a state of a compiled model.

    `shape` has the greatest extents where they may differ from step to step. `value` is set for an input that the model
    was compiled for: a step with another value fails.
    """

    name: str
    type: str
    dtype: np.dtype
    shape: tuple[int, ...]
    value: np.ndarray | None = None


@dataclass(frozen=True)
class Stats:
    """What the last step did: wall-clock nanoseconds, bytes copied into and out of devices' memories, and, by name of a
    memory, the highest address that the step used in the memory's arena."""

    step_ns: int
    bytes_in: int
    bytes_out: int
    arena_bytes: dict[str, int]


def _shape_text(shape: Sequence[int]) -> str:
    return "[" + "x".join(map(str, shape)) + "]"


def _quoted(names: Sequence[str], last: str = "or") -> str:
    quoted = [f"'{name}'" for name in names]
    return f" {last} ".join([", ".join(quoted[:-1])] * (len(quoted) > 1) + quoted[-1:]) or "none"


def _address(array: np.ndarray) -> int:
    """The address of the first element."""
    try:
        # A third of the time of array.ctypes.data; for arrays that are contiguous, writable and not empty.
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):
        return array.ctypes.data


class _OpenPort:
    """A port with what a step needs of it."""

    __slots__ = ("dtype", "element", "fixed", "index", "is_string", "name", "rank", "shape")

    def __init__(self, index: int, desc: TensorDesc):
        self.index = index
        self.name: str = desc.name.decode("utf-8", "surrogateescape")
        if desc.element_type not in ELEMENT_TYPES:
            raise Error(f"'{self.name}' has element type {desc.element_type}, which this version does not know, "
                        "install a newer version of the package")
        self.element: ElementType = ELEMENT_TYPES[desc.element_type]
        self.dtype = self.element.dtype
        self.is_string = desc.element_type == STRING
        self.rank: int = desc.rank
        self.shape = tuple(desc.shape[: desc.rank])
        self.fixed: np.ndarray | None = None
        if desc.fixed and not self.is_string:
            copy = (ctypes.c_char * desc.bytes).from_address(desc.fixed)
            self.fixed = np.frombuffer(bytes(copy), self.dtype).reshape(self.shape)

    def describe(self) -> Port:
        return Port(self.name, self.element.name, self.dtype, self.shape, self.fixed)

    def array_of(self, value: Any, shape: tuple[int, ...]) -> np.ndarray:
        """The value as an array that the runtime can read; a copy where it is not aligned, contiguous or an array."""
        if isinstance(value, np.ndarray) or isinstance(value, np.generic):
            array = np.asarray(value)
            if self.is_string and array.dtype.kind in "USO":
                return array
            if array.dtype == self.dtype:
                pass
            elif self.element.bits is not None and array.dtype == self.element.bits:
                array = array.view(self.dtype)
            elif array.dtype.kind == "V" and array.dtype.name == self.element.name:
                array = array.astype(self.dtype)  # ml_dtypes' integers of 4 and 2 bits
            else:
                raise Error(f"input '{self.name}' needs {self.element.name} {_shape_text(shape)} and the array is "
                            f"{array.dtype} {_shape_text(array.shape)}, convert the array")
        else:
            array = np.asarray(value, dtype=self.dtype)
        # ascontiguousarray makes an array of one dimension of one without any.
        return array if array.flags.carray or (array.flags.c_contiguous and array.flags.aligned) else array.copy("C")


class Session:
    """A compiled model that is open: its arenas are allocated and what stays on devices is loaded.

    A session runs one step at a time; calls from several threads wait for each other. It closes when it is no longer
    used, or at the end of a `with` block.
    """

    def __init__(self, artifact: str | os.PathLike[str], *, threads: int = 0, spill: str | os.PathLike[str] | None = None,
                 verify: bool = False, _owned: bool = False):
        """Opens the directory `artifact` that `sluice.build` or `sluice compile` wrote.

        threads: of each device; 0 for one a core. Results do not depend on it.
        spill: a directory for files without names that hold swapped tensors and states, so that the system can write
            them out.
        verify: compare a large parameter file with its hash, too.
        """
        self._path = Path(artifact)
        self._library = _library.library()
        self._lock = threading.Lock()
        self._generates = False
        self._stop = ctypes.c_uint8(0)
        self._spill = os.fsencode(spill) if spill is not None else None
        options = _library.Options(size=ctypes.sizeof(_library.Options), threads=threads, verify=verify,
                                   spill_directory=self._spill, stop=ctypes.addressof(self._stop))
        handle = self._library.sluice_open(os.fsencode(self._path), ctypes.byref(options))
        if not handle:
            raise last_error()
        self._handle = handle
        self._finalizer = weakref.finalize(self, _close, self._library, handle, self._path if _owned else None,
                                           self._stop, self._spill)
        model: Model = self._library.sluice_describe(handle).contents
        self._model = model
        self._inputs = [_OpenPort(i, desc) for i, desc in
                        enumerate(table(TensorDesc, model.inputs, model.num_inputs))]
        self._outputs = [_OpenPort(i, desc) for i, desc in
                         enumerate(table(TensorDesc, model.outputs, model.num_outputs))]
        self._states = [_OpenPort(i, desc) for i, desc in
                        enumerate(table(TensorDesc, model.states, model.num_states))]
        symbols = list(table(SymbolDesc, model.symbols, model.num_symbols))
        self._symbols = [Symbol(s.name.decode("utf-8", "surrogateescape"), s.least, s.most, s.step) for s in symbols]
        self._finds = any(s.input == _library.SYMBOL_FOUND for s in symbols)
        self._grows = any(s.input == _library.SYMBOL_STATE for s in symbols)
        self._cuts = _Cuts(self._outputs)
        self._input_names = {port.name: port.index for port in self._inputs}
        self._addresses_in = (c_void_p * max(len(self._inputs), 1))()
        self._addresses_out = (c_void_p * max(len(self._outputs), 1))()
        self._in, self._out = ctypes.addressof(self._addresses_in), ctypes.addressof(self._addresses_out)
        self._run = self._library.sluice_run
        self._read_shapes()

    # What the model is

    @property
    def path(self) -> Path:
        """The directory of the compiled model."""
        return self._path

    @property
    def name(self) -> str:
        return self._model.name.decode("utf-8", "surrogateescape")

    @property
    def inputs(self) -> list[Port]:
        return [port.describe() for port in self._inputs]

    @property
    def outputs(self) -> list[Port]:
        return [port.describe() for port in self._outputs if port.index not in self._cuts.hidden]

    @property
    def states(self) -> list[Port]:
        """What a step leaves for the next one, such as weights in training and caches."""
        return [port.describe() for port in self._states]

    @property
    def symbols(self) -> list[Symbol]:
        return list(self._symbols)

    def plan(self) -> Plan:
        """The plan that the model was compiled with."""
        return read_plan(self._path / "plan.json")

    def report(self) -> Report:
        """The plan as a page: graph, timeline and memory over time. A notebook shows it."""
        return self.plan().report()

    # Steps

    def run(self, inputs: Mapping[str, Any], outputs: Mapping[str, np.ndarray] | None = None) -> dict[str, np.ndarray]:
        """Runs one step and returns the outputs by name.

        Arrays are read where they are if they are aligned and contiguous, and copied otherwise. Where the model has
        symbols, the shapes of the inputs choose their values. Elements of an input "x" that is a sequence are named
        "x[0]", "x[1]" and so on, or given as a list.

        outputs: arrays to write, by name; outputs without one get a new array. The results are these arrays. Only
            outputs whose shape the shapes of the inputs determine can be written to given arrays.
        """
        with self._lock:
            return self._step(inputs, outputs)

    def _step(self, inputs: Mapping[str, Any], given: Mapping[str, np.ndarray] | None) -> dict[str, np.ndarray]:
        if self._handle is None or self._generates:
            raise Error("the session is closed, open the model again" if self._handle is None else
                        "the session generates text, end the generation first")
        values: list[np.ndarray] = []
        texts: list[Any] = []  # must live as long as the step
        shapes, addresses = self._input_shapes, self._addresses_in
        used, changed = 0, False
        for port in self._inputs:
            index = port.index
            value = inputs.get(port.name)
            if value is None:
                value = self._missing(port, inputs)
            else:
                used += 1
            if type(value) is not np.ndarray or value.dtype is not port.dtype or not value.flags.carray:
                value = port.array_of(value, shapes[index])
            if value.shape != shapes[index]:
                changed = True
            values.append(value)
            if port.is_string:
                texts.append(write_strings(value))
                addresses[index] = _address(texts[-1][0])
            else:
                addresses[index] = _address(value)
        if used != len(inputs):
            self._check_names(inputs)
        if changed:
            self._set_shapes([value.shape for value in values])
        results = self._make_outputs(given)
        if self._run(self._handle, self._in, self._out):
            raise last_error()
        if self._cuts.is_plain and not self._finds and not self._grows:
            return results
        return self._finish(results)

    def _missing(self, port: _OpenPort, inputs: Mapping[str, Any]) -> Any:
        """An input that is not given by its own name."""
        if port.name.endswith("]"):
            sequence, _, number = port.name[:-1].rpartition("[")
            if isinstance(inputs.get(sequence), (list, tuple)) and int(number) < len(inputs[sequence]):
                return inputs[sequence][int(number)]
        if port.fixed is not None:
            return port.fixed
        raise Error(f"input '{port.name}' has no data, give an array for each of "
                    f"{_quoted([each.name for each in self._inputs], 'and')}")

    def _check_names(self, inputs: Mapping[str, Any]) -> None:
        elements = {name.rpartition("[")[0] for name in self._input_names if name.endswith("]")}
        for name, value in inputs.items():
            if name in self._input_names or (isinstance(value, (list, tuple)) and (name in elements or not value)):
                continue
            raise Error(f"the model has no input '{name}', use {_quoted(list(self._input_names))}")

    def _set_shapes(self, shapes: Sequence[tuple[int, ...]]) -> None:
        for port, shape in zip(self._inputs, shapes):
            if len(shape) != port.rank:
                raise Error(f"input '{port.name}' needs {port.element.name} {_shape_text(self._input_shapes[port.index])}"
                            f" and the array has shape {_shape_text(shape)}, give an array of {port.rank} dimensions")
        extents = [(c_int64 * max(len(shape), 1))(*shape) for shape in shapes]
        pointers = (POINTER(c_int64) * max(len(extents), 1))(*(ctypes.cast(each, POINTER(c_int64)) for each in extents))
        if self._library.sluice_set_shapes(self._handle, pointers):
            raise last_error()
        self._read_shapes()

    def _shape_of(self, direction: int, port: _OpenPort) -> tuple[int, ...]:
        extents = (c_int64 * max(port.rank, 1))()
        if self._library.sluice_get_shape(self._handle, direction, port.index, extents, None):
            raise last_error()
        return tuple(extents[: port.rank])

    def _read_shapes(self) -> None:
        self._input_shapes = [self._shape_of(_library.PORT_INPUT, port) for port in self._inputs]
        # A step may find more than the one before it, up to the bounds.
        self._output_shapes = [port.shape if self._finds or self._grows else
                               self._shape_of(_library.PORT_OUTPUT, port) for port in self._outputs]

    def _make_outputs(self, given: Mapping[str, np.ndarray] | None) -> dict[str, Any]:
        results: dict[str, Any] = {}
        addresses, shapes = self._addresses_out, self._output_shapes
        for port in self._outputs:
            array = given.get(port.name) if given else None
            if array is not None:
                self._check_output(port, array)
            elif port.is_string:
                array = np.zeros((*shapes[port.index], 2), np.uint64)
            else:
                array = np.empty(shapes[port.index], port.dtype)
            results[port.name] = array
            addresses[port.index] = _address(array)
        if given:
            for name in given:
                if name not in results:
                    raise Error(f"the model has no output '{name}', use {_quoted(list(results))}")
        return results

    def _check_output(self, port: _OpenPort, array: np.ndarray) -> None:
        shape = self._output_shapes[port.index]
        if port.is_string or self._finds or self._grows or not self._cuts.is_plain:
            raise Error(f"output '{port.name}' holds text, or its shape is known only after the step, take the "
                        "returned result instead of giving an array")
        if array.dtype != port.dtype or array.shape != shape or not array.flags.carray:
            raise Error(f"output '{port.name}' is {port.element.name} {_shape_text(shape)} and the array is {array.dtype} "
                        f"{_shape_text(array.shape)}, give a contiguous and writable one of this type and shape")

    def _finish(self, results: dict[str, Any]) -> dict[str, np.ndarray]:
        """Text as objects, and outputs of the shapes that the step found."""
        for port in self._outputs:
            array = results[port.name]
            if self._finds or self._grows:
                shape = self._shape_of(_library.PORT_OUTPUT, port)
                if shape != port.shape:
                    tail = (2,) if port.is_string else ()
                    count = int(np.prod(shape, dtype=np.int64)) * (2 if port.is_string else 1)
                    part = array.reshape(-1)[:count].reshape(shape + tail)
                    # A small part does not keep the memory of the bound.
                    array = part.copy() if 2 * count < array.size else part
            results[port.name] = read_strings(array) if port.is_string else array
        if self._grows:
            self._input_shapes = [self._shape_of(_library.PORT_INPUT, port) for port in self._inputs]
        return self._cuts.apply(results)

    def stop(self) -> None:
        """Ends a step that runs in another thread: its loops end before their next iteration, and the step fails."""
        self._stop.value = 1

    def resume(self) -> None:
        """Lets steps run again after `stop`."""
        self._stop.value = 0

    # States

    def _state(self, name: str) -> _OpenPort:
        for port in self._states:
            if port.name == name:
                return port
        raise Error(f"the model has no state '{name}', use {_quoted([port.name for port in self._states])}")

    def read_state(self, name: str) -> np.ndarray:
        """A copy of a state."""
        port = self._state(name)
        array = np.empty(port.shape, port.dtype)
        with self._lock:
            if self._library.sluice_read_state(self._handle, port.index, _address(array), array.nbytes):
                raise last_error()
        return array

    def write_state(self, name: str, value: Any) -> None:
        """Gives a state another value of its shape."""
        port = self._state(name)
        array = port.array_of(value, port.shape)
        if array.shape != port.shape:
            raise Error(f"state '{name}' has shape {_shape_text(port.shape)} and the array {_shape_text(array.shape)}, give "
                        "an array of the shape of the state")
        with self._lock:
            if self._library.sluice_write_state(self._handle, port.index, _address(array), array.nbytes):
                raise last_error()

    def reset(self) -> None:
        """Gives all states their first contents."""
        with self._lock:
            if self._library.sluice_reset(self._handle):
                raise last_error()
            self._read_shapes()

    def set_length(self, name: str, length: int) -> None:
        """Gives all states whose length is symbol `name` this number of positions. The contents of positions below both
        the old and the new length stay. Positions that are added have no contents until `write_state` gives them some."""
        names = [symbol.name for symbol in self._symbols]
        if name not in names:
            raise Error(f"the model has no symbol '{name}', use {_quoted(names)}")
        with self._lock:
            if self._library.sluice_set_length(self._handle, names.index(name), length):
                raise last_error()
            self._read_shapes()

    def generate(self, tokens: Sequence[int], *, inputs: Mapping[str, Any] | None = None, top_k: int | None = None,
                 top_p: float = 1.0, temperature: float = 1.0, seed: int = 0) -> Iterator[int]:
        """The tokens that follow `tokens`, one after the other, from a model that gives the logits of the next token and
        keeps what came before in its states (`states=` of `compile`). The states are reset first.

        Without `top_k` the token with the greatest logit is chosen; with it, one of the `top_k` most likely tokens (0:
        of all) by its probability.
        """
        with self._lock:
            arrays = [(port.index, port.array_of(inputs[port.name], port.shape)) for port in self._inputs
                      if inputs and port.name in inputs]
            pointers = (c_void_p * max(len(self._inputs), 1))()
            for index, array in arrays:
                pointers[index] = _address(array)
            sampling = _library.Sampling(ctypes.sizeof(_library.Sampling), 1 if top_k is None else top_k, top_p,
                                         temperature, seed)
            generator = self._library.sluice_generator_open(self._handle, pointers, ctypes.byref(sampling))
            if not generator:
                raise last_error()
            self._generates = True
        try:
            prompt = np.asarray(list(tokens), np.int64)
            if self._library.sluice_generator_feed(generator, _address(prompt), prompt.size):
                raise last_error()
            token = c_int64()
            while True:
                if self._library.sluice_generator_next(generator, ctypes.byref(token)):
                    raise last_error()
                yield token.value
        finally:
            with self._lock:
                self._library.sluice_generator_close(generator)
                self._generates = False
                self._read_shapes()

    # The last step

    def stats(self) -> Stats:
        """What the last step did."""
        stats = _library.Stats(size=ctypes.sizeof(_library.Stats))
        with self._lock:
            self._library.sluice_get_stats(self._handle, ctypes.byref(stats))
            memories = table(_library.MemoryDesc, self._model.memories, self._model.num_memories)
            arenas = {memory.name.decode(): stats.arena_peak_bytes[i] for i, memory in enumerate(memories)}
        return Stats(stats.step_ns, stats.bytes_in, stats.bytes_out, arenas)

    def notes(self) -> list[str]:
        """What did not go as fast as it might have, and why."""
        with self._lock:
            return self._library.sluice_notes(self._handle).decode("utf-8", "replace").splitlines()

    def close(self) -> None:
        """Frees the arenas. The session cannot run any more."""
        with self._lock:
            self._handle = None
            self._finalizer()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        def ports(each: list[Port]) -> str:
            return ", ".join(f"{port.name}: {port.type}{_shape_text(port.shape)}" for port in each)

        return f"<sluice.Session '{self.name}', ({ports(self.inputs)}) -> ({ports(self.outputs)})>"


def _close(library: Any, handle: int, owned: Path | None, *_kept: object) -> None:
    library.sluice_close(handle)
    if owned is not None:
        shutil.rmtree(owned, ignore_errors=True)


class _Cuts:
    """Outputs that say what there is of other outputs: "x:extent0" how much of dimension 0 of "x" holds data,
    "x:length" how many of the elements "x[0]", "x[1]", ... of a sequence there are, "x:present" whether the optional
    "x" has a value."""

    def __init__(self, outputs: Sequence[_OpenPort]):
        names = {port.name: port for port in outputs}
        self.extents: list[tuple[str, str, int]] = []
        self.lengths: list[tuple[str, list[str]]] = []
        self.presences: list[tuple[str, list[str]]] = []
        self.hidden: set[int] = set()
        has_text = False
        for port in outputs:
            has_text = has_text or port.is_string
            name, _, what = port.name.rpartition(":")
            elements: list[str] = []
            while f"{name}[{len(elements)}]" in names:
                elements.append(f"{name}[{len(elements)}]")
            if what == "length" and port.element.name == "int64" and int(np.prod(port.shape)) == 1:
                self.lengths.append((port.name, elements))
            elif what == "present" and port.element.name == "bool" and int(np.prod(port.shape)) == 1:
                self.presences.append((port.name, elements + ([name] if name in names else [])))
            elif what[:6] == "extent" and what[6:].isdigit() and name in names and int(what[6:]) < names[name].rank:
                self.extents.append((port.name, name, int(what[6:])))
            else:
                continue
            self.hidden.add(port.index)
        self.is_plain = not self.hidden and not has_text

    def apply(self, results: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        dropped: set[str] = set()
        for name, elements in self.lengths:
            dropped.update([name, *elements[int(results[name].reshape(-1)[0]):]])
        for name, elements in self.presences:
            dropped.update([name] if results[name].reshape(-1)[0] else [name, *elements])
        for name, of, dimension in self.extents:
            count = int(results[name].reshape(-1)[0])
            results[of] = results[of][(slice(None),) * dimension + (slice(count),)]
            dropped.add(name)
        return {name: array for name, array in results.items() if name not in dropped}
