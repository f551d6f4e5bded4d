"""GGUF files of quantized decoders, so that llama.cpp computes with the weights of an ONNX model.

Products are of type Q4_0: blocks of 32 weights of 4 bits with a scale in half precision. Other tensors are in single
precision. The file has no tokenizer: its reader takes and gives tokens as numbers.
"""

from __future__ import annotations

import dataclasses
import math
import struct
from typing import IO, Callable, Mapping, Sequence, Union

import numpy

MAGIC = b"GGUF"
VERSION = 3
ALIGNMENT = 32  # Of the list's end and of each tensor.
BLOCK = 32
# Numbers of GGUF's types of metadata and of tensors.
UINT32, FLOAT32, STRING = 4, 6, 8
F32, Q4_0 = 0, 2


@dataclasses.dataclass(frozen=True)
class Tensor:
    """`shape`: from the outermost extent to the innermost. `data` makes the bytes when they are written."""

    name: str
    shape: Sequence[int]
    kind: int
    data: Callable[[], bytes]

    @property
    def bytes(self) -> int:
        count = math.prod(self.shape)
        return 4 * count if self.kind == F32 else count // BLOCK * (2 + BLOCK // 2)


def q4_0(weight: numpy.ndarray, scale: numpy.ndarray) -> bytes:
    """Packs MatMulNBits' weights [rows, blocks, 16], of which each byte has two neighbours, the first in the low bits.
    A byte of Q4_0 has an element of the block's first half in the low bits, and one of the second half in the others.
    """
    numbers = numpy.stack([weight & 15, weight >> 4], axis=-1).reshape(*weight.shape[:2], BLOCK)
    packed = numpy.empty((*weight.shape[:2], 2 + BLOCK // 2), numpy.uint8)
    packed[..., :2] = scale.astype("<f2")[..., None].view(numpy.uint8)
    packed[..., 2:] = numbers[..., :BLOCK // 2] | numbers[..., BLOCK // 2:] << 4
    return packed.tobytes()


def rotary_rows(rows: numpy.ndarray, heads: int) -> numpy.ndarray:
    """llama.cpp rotates neighbours; in the ONNX model the partners are half a head apart."""
    width = rows.shape[0] // heads
    return rows.reshape(heads, 2, width // 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def _pair(key: str, value: Union[int, float, str]) -> bytes:
    if isinstance(value, str):
        return _text(key) + struct.pack("<I", STRING) + _text(value)
    if isinstance(value, float):
        return _text(key) + struct.pack("<If", FLOAT32, value)
    return _text(key) + struct.pack("<II", UINT32, value)


def _padding(offset: int) -> bytes:
    return b"\0" * (-offset % ALIGNMENT)


def write(output: IO[bytes], metadata: Mapping[str, Union[int, float, str]], tensors: Sequence[Tensor]) -> None:
    """Metadata and the list of tensors come first, then the tensors one by one."""
    head = MAGIC + struct.pack("<IQQ", VERSION, len(tensors), len(metadata))
    head += b"".join(_pair(key, value) for key, value in metadata.items())
    offset = 0
    for tensor in tensors:
        # GGUF lists the innermost extent first.
        head += _text(tensor.name) + struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *reversed(tensor.shape))
        head += struct.pack("<IQ", tensor.kind, offset)
        offset += tensor.bytes + len(_padding(tensor.bytes))
    output.write(head + _padding(len(head)))
    for tensor in tensors:
        output.write(tensor.data() + _padding(tensor.bytes))
