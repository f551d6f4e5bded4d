# Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A backend of ONNX: `sluice.backend.prepare(model).run(inputs)`, as onnx.backend.base describes it.

A model is compiled for the shapes that its inputs declare. Where they declare none, it is compiled at the first run with
inputs of other shapes; where shapes of results depend on inputs' values that have no bound, it is compiled for bounds of
the values given, or for these values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep

from ._compile import compile as compile_model
from ._process import Error
from ._session import Session
from ._types import ELEMENT_TYPES

# The greatest inputs whose values are taken to decide shapes, as `sluice run` does.
_MOST_INTEGERS, _MOST_NUMBERS = 1024, 64
_BFLOAT16 = 16


def _kind(value_type: onnx.TypeProto) -> str:
    """'tensor', 'sequence' or 'optional'."""
    kind = value_type.WhichOneof("value") or "tensor_type"
    return kind[: -len("_type")]


def _element_type(value_type: onnx.TypeProto) -> int:
    """ONNX's number of the elements' type."""
    kind = _kind(value_type)
    if kind in ("sequence", "optional"):
        return _element_type(getattr(value_type, kind + "_type").elem_type)
    return value_type.tensor_type.elem_type


def _standard_dtype(number: int) -> np.dtype:
    """The type of the arrays that onnx.numpy_helper makes of a tensor."""
    if hasattr(helper, "tensor_dtype_to_np_dtype"):
        return np.dtype(helper.tensor_dtype_to_np_dtype(number))
    return np.dtype(onnx.mapping.TENSOR_TYPE_TO_NP_TYPE[number])  # type: ignore[attr-defined]


def _from_standard(array: Any, number: int) -> np.ndarray:
    """An array of numpy_helper as one that a session takes."""
    array = np.asarray(array)
    element = ELEMENT_TYPES[number]
    if array.dtype == element.dtype or array.dtype.kind in "USO":
        return array
    if number == _BFLOAT16 and array.dtype == np.float32:
        # numpy_helper widened it: the upper half of a float32 is the number.
        return (array.view(np.uint32) >> 16).astype(np.uint16).view(element.dtype)
    if array.dtype.itemsize == 1 and element.bits is not None:
        return array.view(element.dtype)
    return array.astype(element.dtype) if array.dtype.name == element.name else array


def _to_standard(array: np.ndarray, number: int) -> np.ndarray:
    wanted = _standard_dtype(number)
    if array.dtype == wanted or array.dtype == object:
        return array
    if number == _BFLOAT16 and wanted == np.float32:
        return array.view(np.uint16)  # onnx before 1.13 has no type for it; its tests expect the bits
    if ELEMENT_TYPES[number].bits is not None and wanted.itemsize == array.dtype.itemsize:
        return array.view(wanted)
    return array.astype(wanted)


def _may_decide_shapes(array: np.ndarray) -> bool:
    if array.dtype.kind in "iub":
        return array.size <= _MOST_INTEGERS
    return array.dtype.kind == "f" and array.ndim <= 1 and array.size <= _MOST_NUMBERS


def _bounds_of(array: np.ndarray) -> tuple[int, int]:
    """Bounds that other values than these meet, too."""
    values = array.reshape(-1).tolist()
    return min([0, *values]), max([8, *(2 * value for value in values)])


class SluiceBackendRep(BackendRep):
    """A model that is ready to run."""

    def __init__(self, model: onnx.ModelProto, options: Mapping[str, Any]):
        self._model = model
        self._options = dict(options)
        initialized = {tensor.name for tensor in model.graph.initializer}
        self._inputs = [value for value in model.graph.input if value.name not in initialized]
        self._sessions: dict[Any, Session] = {}
        shapes = [self._declared_shape(value) for value in self._inputs]
        if all(shape is not None for shape in shapes):
            try:
                self._sessions[self._key(shapes)] = self._compile({}, {})
            except Error:
                # Its text comes from the first run, which may know more.
                pass

    @staticmethod
    def _declared_shape(value: onnx.ValueInfoProto) -> tuple[int, ...] | None:
        """None where an extent is unknown, or the input is no tensor."""
        if _kind(value.type) != "tensor" or not value.type.tensor_type.HasField("shape"):
            return None
        dims = value.type.tensor_type.shape.dim
        return tuple(dim.dim_value for dim in dims) if all(dim.HasField("dim_value") for dim in dims) else None

    @staticmethod
    def _key(shapes: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(tuple(shape) if isinstance(shape, list) else shape for shape in shapes)

    def _compile(self, shapes: Mapping[str, Any], values: Mapping[str, np.ndarray]) -> Session:
        options = dict(self._options)
        options["shapes"] = {**shapes, **options.get("shapes", {})}
        try:
            return compile_model(self._model, **options)
        except Error as error:
            general = error
        deciding = {name: array for name, array in values.items() if _may_decide_shapes(array)}
        bounds = {name: _bounds_of(array) for name, array in deciding.items() if array.dtype.name in ("int64", "int32")}
        for more in ({"bounds": bounds}, {"fixed": deciding}):
            if not all(more.values()):
                continue
            try:
                return compile_model(self._model, **{**options, **more})
            except Error:
                continue
        raise general

    def _flatten(self, inputs: Any) -> tuple[list[Any], dict[str, np.ndarray]]:
        """The shape of each input, a list for a sequence, and the arrays by the names that a session has."""
        if not isinstance(inputs, Mapping):
            if isinstance(inputs, np.ndarray):
                inputs = [inputs]
            if len(inputs) > len(self._inputs):
                raise Error(f"{len(inputs)} inputs are given and the model has {len(self._inputs)}, give at most "
                            f"{len(self._inputs)}")
            inputs = {value.name: each for value, each in zip(self._inputs, inputs)}
        shapes: list[Any] = []
        arrays: dict[str, np.ndarray] = {}
        for value in self._inputs:
            given, number = inputs.get(value.name), _element_type(value.type)
            if given is None and _kind(value.type) == "tensor":
                raise Error(f"input '{value.name}' has no data, give an array")
            if given is None or isinstance(given, (list, tuple)) and _kind(value.type) != "tensor":
                elements = [_from_standard(each, number) for each in given or []]
                arrays.update({f"{value.name}[{i}]": each for i, each in enumerate(elements)})
                shapes.append([each.shape for each in elements])
            else:  # an optional that holds a tensor is one
                arrays[value.name] = _from_standard(given, number)
                shapes.append(np.shape(given))
        return shapes, arrays

    def _output(self, value: onnx.ValueInfoProto, results: Mapping[str, np.ndarray]) -> Any:
        number = _element_type(value.type)
        if value.name in results:
            return _to_standard(results[value.name], number)
        elements: list[np.ndarray] = []
        while f"{value.name}[{len(elements)}]" in results:
            elements.append(_to_standard(results[f"{value.name}[{len(elements)}]"], number))
        return None if not elements and _kind(value.type) == "optional" else elements

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Runs the model on a list of arrays in the order of its inputs, or on arrays by name. Results are in the order
        of its outputs; a sequence is a list of arrays."""
        shapes, arrays = self._flatten(inputs)
        key = self._key(shapes)
        if key not in self._sessions:
            by_name = {value.name: shape for value, shape in zip(self._inputs, shapes)}
            self._sessions[key] = self._compile(by_name, arrays)
        session = self._sessions[key]
        names = {port.name for port in session.inputs}
        # An input that nothing uses, or that the model was compiled for, may be gone.
        results = session.run({name: array for name, array in arrays.items() if name in names})
        return tuple(self._output(value, results) for value in self._model.graph.output)


class SluiceBackend(Backend):
    """Sluice as a backend of ONNX. Keyword arguments are the options of `sluice.compile`: machine, memory, dims, ..."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> SluiceBackendRep:
        """Compiles the model; raises Error where it cannot be compiled."""
        super().prepare(model, device, **kwargs)
        cls._check_device(device)
        # One plan suffices where nothing limits memory.
        limits = {"memory", "machine", "plan", "search_time", "search_evals"}
        return SluiceBackendRep(model, kwargs if limits & kwargs.keys() else {**kwargs, "search_evals": 1})

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU",
                 outputs_info: Sequence[tuple[np.dtype, Sequence[int]]] | None = None, **kwargs: Any) -> tuple[Any, ...]:
        """Runs one node; `opset_version` is that of the default domain, the newest without it."""
        opset = kwargs.pop("opset_version", None) or onnx.defs.onnx_opset_version()
        cls._check_device(device)
        names = [name for name in node.input if name]
        arrays = [np.asarray(inputs[name] if isinstance(inputs, Mapping) else each)
                  for name, each in zip(names, names if isinstance(inputs, Mapping) else inputs)]
        number_of = getattr(helper, "np_dtype_to_tensor_dtype", None)
        if number_of is None:  # onnx before 1.13
            number_of = onnx.mapping.NP_TYPE_TO_TENSOR_TYPE.__getitem__  # type: ignore[attr-defined]
        values = [helper.make_tensor_value_info(name, number_of(array.dtype), array.shape)
                  for name, array in zip(names, arrays)]
        results = [name for name in node.output if name]
        outputs = [helper.make_empty_tensor_value_info(name) for name in results]
        if outputs_info is not None:
            outputs = [helper.make_tensor_value_info(name, number_of(np.dtype(dtype)), shape)
                       for name, (dtype, shape) in zip(results, outputs_info)]
        graph = helper.make_graph([node], node.op_type or "node", values, outputs)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, opset)])
        if outputs_info is None:
            model = onnx.shape_inference.infer_shapes(model)
        return cls.run_model(model, arrays, device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Devices are those of Sluice's machines: ask for them by the option `machine`, on ONNX's device "CPU"."""
        return device.split(":")[0] == "CPU"

    @classmethod
    def _check_device(cls, device: str) -> None:
        if not cls.supports_device(device):
            raise Error(f"this backend does not support device '{device}', give 'CPU' and choose other devices by "
                        "the option machine")


prepare = SluiceBackend.prepare
run_model = SluiceBackend.run_model
run_node = SluiceBackend.run_node
supports_device = SluiceBackend.supports_device
