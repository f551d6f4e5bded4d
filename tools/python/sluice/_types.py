# Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types of models, by their numbers in ONNX's TensorProto.DataType, and numpy's types for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

try:
    import ml_dtypes
except ImportError:  # numbers that numpy has no type for are then seen as their bits
    ml_dtypes = None  # type: ignore[assignment]

STRING = 8


@dataclass(frozen=True)
class ElementType:
    """An element type: its name in messages, numpy's type of its arrays, and the integer type of their bits."""

    name: str
    dtype: np.dtype
    bits: np.dtype | None = None  # set where numpy itself has no type


def _numpy_type(name: str, dtype: str) -> ElementType:
    return ElementType(name, np.dtype(dtype))


def _bits_type(name: str, ml_name: str, bits: str) -> ElementType:
    own = getattr(ml_dtypes, ml_name, None) if ml_dtypes else None
    return ElementType(name, np.dtype(own or bits), np.dtype(bits))


# Integers of fewer than 8 bits take a byte for each element, as an int8 or uint8 of the same value.
ELEMENT_TYPES = {
    1: _numpy_type("float32", "float32"),
    2: _numpy_type("uint8", "uint8"),
    3: _numpy_type("int8", "int8"),
    4: _numpy_type("uint16", "uint16"),
    5: _numpy_type("int16", "int16"),
    6: _numpy_type("int32", "int32"),
    7: _numpy_type("int64", "int64"),
    STRING: _numpy_type("string", "object"),
    9: _numpy_type("bool", "bool"),
    10: _numpy_type("float16", "float16"),
    11: _numpy_type("float64", "float64"),
    12: _numpy_type("uint32", "uint32"),
    13: _numpy_type("uint64", "uint64"),
    16: _bits_type("bfloat16", "bfloat16", "uint16"),
    17: _bits_type("float8e4m3fn", "float8_e4m3fn", "uint8"),
    18: _bits_type("float8e4m3fnuz", "float8_e4m3fnuz", "uint8"),
    19: _bits_type("float8e5m2", "float8_e5m2", "uint8"),
    20: _bits_type("float8e5m2fnuz", "float8_e5m2fnuz", "uint8"),
    21: _numpy_type("uint4", "uint8"),
    22: _numpy_type("int4", "int8"),
    23: _bits_type("float4e2m1", "float4_e2m1fn", "uint8"),
    24: _bits_type("float8e8m0", "float8_e8m0fnu", "uint8"),
    25: _numpy_type("uint2", "uint8"),
    26: _numpy_type("int2", "int8"),
}
