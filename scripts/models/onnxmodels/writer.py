"""A model while it is built: nodes, shapes and parameters, then one ONNX file.

Every value knows its shape, so that a builder says only what its layers are. A
dimension is an int, or a name where it is bound later (`--dim batch=8`).
"""

from __future__ import annotations

import dataclasses
import math
import os
import pathlib
from typing import IO, Any, Callable, Sequence, Union

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 8
Dim = Union[int, str]
Shape = tuple[Dim, ...]

# Weights up to this many bytes are written into the model itself.
INLINE_BYTES = 1 << 20
# External tensors begin at multiples of this, so that they can be mapped.
EXTERNAL_ALIGNMENT = 64
# What a model too large for one protobuf message would need.
MESSAGE_LIMIT = 2**31 - 1


class ModelError(Exception):
    """A model that cannot be built as asked: a message for the user."""


@dataclasses.dataclass(frozen=True)
class Value:
    """A tensor of the graph."""

    name: str
    shape: Shape

    @property
    def channels(self) -> int:
        """The second dimension: channels of an image, features of a row."""
        return static(self.shape[1])


@dataclasses.dataclass(frozen=True)
class Parameter:
    """An initializer whose data is drawn when the file is written."""

    name: str
    shape: tuple[int, ...]
    spread: float  # Standard deviation around `mean`; 0: all are `mean`.
    mean: float
    trainable: bool
    packed: int = 0  # Weights in each byte of a tensor of bytes; 0: the tensor is of floats.
    is_half: bool = False  # The floats are drawn so that half precision holds them exactly.

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.count if self.packed else 4 * self.count

    @property
    def element(self) -> int:
        return TensorProto.UINT8 if self.packed else TensorProto.FLOAT

    def draw(self, seed: Sequence[int]) -> numpy.ndarray:
        """The data, the same for the same seed."""
        if self.packed:
            return self._draw_packed(numpy.random.default_rng(seed))
        if self.spread == 0:
            return numpy.full(self.shape, self.mean, dtype=numpy.float32)
        data = numpy.random.default_rng(seed).standard_normal(self.shape, dtype=numpy.float32)
        data = data * numpy.float32(self.spread) + numpy.float32(self.mean)
        return data.astype(numpy.float16).astype(numpy.float32) if self.is_half else data

    def _draw_packed(self, random: numpy.random.Generator) -> numpy.ndarray:
        """Numbers from 1 up: less half of the range, as many are negative as positive."""
        bits = 8 // self.packed
        data = numpy.zeros(self.shape, numpy.uint8)
        for place in range(self.packed):
            data |= random.integers(1, 2 ** bits, self.shape, dtype=numpy.uint8) << (bits * place)
        return data


# A parameter's data, by its name.
Drawn = Callable[[str], numpy.ndarray]


def static(dim: Dim) -> int:
    """A dimension that a builder computes with."""
    if isinstance(dim, str):
        raise ModelError(f"dimension '{dim}' must be a number here, give this dimension a value")
    return dim


class ModelWriter:
    """Collects a graph. Names of nodes and values come from `scope` and are unique."""

    def __init__(self, name: str, batch: Dim = "batch") -> None:
        self.name = name
        self.batch = batch
        self.parameters: list[Parameter] = []
        self._prefix: list[str] = []
        self._taken: dict[str, int] = {}
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._domains = {""}
        # Files with the same drawn weights that are written beside the model: suffixes, and what writes a file.
        self.companions: dict[str, Callable[[IO[bytes], Drawn], None]] = {}
        # Texts that are written beside the model, by the names of their files.
        self.texts: dict[str, str] = {}

    # Graph

    def scope(self, name: str) -> "Scope":
        """`with writer.scope("layer1"):` prefixes the names made inside."""
        return Scope(self._prefix, name)

    def input(self, name: str, shape: Shape, element: int = TensorProto.FLOAT) -> Value:
        self._inputs.append(helper.make_tensor_value_info(name, element, shape))
        return Value(name, shape)

    def output(self, value: Value, name: str) -> None:
        """Makes `value` an output called `name`."""
        self.rename(value, Value(name, value.shape))
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape))

    def rename(self, value: Value, to: Value) -> None:
        """Nodes make and read `to` in the place of `value`."""
        for node in self._nodes:
            for names in (node.input, node.output):
                names[:] = [to.name if each == value.name else each for each in names]

    def parameter(self, name: str, shape: Sequence[int], spread: float = 0.0, mean: float = 0.0,
                  trainable: bool = True, is_half: bool = False) -> Value:
        """A weight in 32-bit floating point, normally distributed when it is drawn."""
        return self._add(Parameter(self._unique(name), tuple(shape), spread, mean, trainable, is_half=is_half))

    def quantized(self, name: str, shape: Sequence[int], bits: int) -> Value:
        """Bytes of quantized weights with `bits` bits each: when they are drawn, all numbers but 0 are equally likely."""
        return self._add(Parameter(self._unique(name), tuple(shape), 0.0, 0.0, True, packed=8 // bits))

    def _add(self, made: Parameter) -> Value:
        self.parameters.append(made)
        return Value(made.name, made.shape)

    def constant(self, name: str, data: Any, element: Any = numpy.float32) -> Value:
        """Data the graph computes with; always inside the file."""
        array = numpy.asarray(data, dtype=element)
        full = self._unique(name)
        self._constants.append(numpy_helper.from_array(array, full))
        return Value(full, array.shape)

    def node(self, op: str, inputs: Sequence[Value], shape: Shape, name: str = "", **attributes: Any) -> Value:
        """One operator with one output."""
        return self.nodes(op, inputs, [shape], name, **attributes)[0]

    def nodes(self, op: str, inputs: Sequence[Value], shapes: Sequence[Shape], name: str = "",
              **attributes: Any) -> list[Value]:
        """One operator with an output for each of `shapes`."""
        full = self._unique(name or op.lower())
        names = [full] if len(shapes) == 1 else [f"{full}:{index}" for index in range(len(shapes))]
        self._domains.add(attributes.get("domain", ""))
        self._nodes.append(helper.make_node(op, [value.name for value in inputs], names, full, **attributes))
        return [Value(made, tuple(shape)) for made, shape in zip(names, shapes)]

    def named_nodes(self, op: str, inputs: Sequence[Value], outputs: Sequence[Value], name: str,
                    **attributes: Any) -> None:
        """One operator whose outputs have names already; an output without a name is left out."""
        full = self._unique(name)
        self._domains.add(attributes.get("domain", ""))
        self._nodes.append(helper.make_node(op, [value.name for value in inputs], [value.name for value in outputs], full,
                                            **attributes))

    def declare_output(self, name: str, shape: Shape) -> Value:
        """An output of the model, which a node of `named_nodes` makes."""
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return Value(name, shape)

    @property
    def trainable_count(self) -> int:
        """Weights of all trainable parameters."""
        return sum(parameter.count * max(parameter.packed, 1) for parameter in self.parameters if parameter.trainable)

    def _unique(self, name: str) -> str:
        full = made = "/".join([*self._prefix, name])
        while made in self._taken:
            self._taken[full] += 1
            made = f"{full}_{self._taken[full]}"
        self._taken[made] = 0
        return made

    # File

    def model(self, weights: str = "none", seed: int = 0, data_file: str = "model.data") -> onnx.ModelProto:
        """The model; parameters lie in `data_file`, or inside where `weights` is 'random' and they are few."""
        bytes_total = sum(parameter.bytes for parameter in self.parameters)
        inside = weights == "random" and bytes_total <= INLINE_BYTES
        tensors = []
        offset = 0
        for index, parameter in enumerate(self.parameters):
            if inside:
                tensors.append(numpy_helper.from_array(parameter.draw([seed, index]), parameter.name))
                continue
            tensors.append(_external(parameter, data_file, offset))
            offset = _aligned(offset + parameter.bytes)
        opsets = [helper.make_opsetid(domain, 1 if domain else OPSET) for domain in sorted(self._domains)]
        graph = helper.make_graph(self._nodes, self.name, self._inputs, self._outputs, tensors + self._constants)
        model = helper.make_model(graph, producer_name="sluice-models",
                                  opset_imports=opsets, ir_version=IR_VERSION)
        if model.ByteSize() > MESSAGE_LIMIT:
            raise ModelError(f"model '{self.name}' exceeds 2 GiB even without weights, make the model smaller")
        return model

    def write(self, file: pathlib.Path, weights: str = "none", seed: int = 0) -> None:
        """Writes `file`, `FILE.data` beside it where the weights are drawn and do not fit inside, and the companions."""
        if self.companions and weights != "random":
            raise ModelError(f"'FILE{next(iter(self.companions))}' needs weights, give --weights random")
        data_file = file.with_suffix(".data")
        model = self.model(weights, seed, data_file.name)
        file.parent.mkdir(parents=True, exist_ok=True)
        if weights == "random" and any(tensor.HasField("data_location") for tensor in model.graph.initializer):
            with _Replacing(data_file) as output:
                for index, parameter in enumerate(self.parameters):
                    output.write(b"\0" * (_aligned(output.tell()) - output.tell()))
                    data = parameter.draw([seed, index])
                    output.write((data if parameter.packed else data.astype("<f4")).tobytes())
        numbers = {parameter.name: index for index, parameter in enumerate(self.parameters)}
        for suffix, write in self.companions.items():
            with _Replacing(file.with_suffix(suffix)) as output:
                write(output, lambda name: self.parameters[numbers[name]].draw([seed, numbers[name]]))
        for name, text in self.texts.items():
            with _Replacing(file.with_name(name)) as output:
                output.write(text.replace("{model}", file.name).encode())
        with _Replacing(file) as output:
            output.write(model.SerializeToString())


class Scope:
    """A prefix of names, for the time of a `with` statement."""

    def __init__(self, prefix: list[str], name: str) -> None:
        self._stack = prefix
        self._name = name

    def __enter__(self) -> None:
        self._stack.append(self._name)

    def __exit__(self, *_: object) -> None:
        self._stack.pop()


class _Replacing:
    """A file written beside its place and renamed when it is whole."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._beside = path.with_name(f".{path.name}.{os.getpid()}")

    def __enter__(self) -> Any:
        self._file = open(self._beside, "wb")
        return self._file

    def __exit__(self, failure: object, *_: object) -> None:
        self._file.close()
        if failure is None:
            os.replace(self._beside, self._path)
        else:
            os.unlink(self._beside)


def _aligned(offset: int) -> int:
    return -(-offset // EXTERNAL_ALIGNMENT) * EXTERNAL_ALIGNMENT


def _external(parameter: Parameter, data_file: str, offset: int) -> onnx.TensorProto:
    tensor = TensorProto(name=parameter.name, dims=parameter.shape, data_type=parameter.element,
                         data_location=TensorProto.EXTERNAL)
    for key, value in (("location", data_file), ("offset", offset), ("length", parameter.bytes)):
        tensor.external_data.add(key=key, value=str(value))
    return tensor
