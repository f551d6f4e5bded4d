# Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C API of the runtime (`sluice/Runtime/sluice.h` and `abi.h`), declared for ctypes."""

from __future__ import annotations

import ctypes
import functools
from ctypes import POINTER, Structure, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Iterator

from ._process import Error, find_file

LIBRARY = "libsluice_runtime.so.0"
PORT_INPUT, PORT_OUTPUT = 0, 1
SYMBOL_FOUND, SYMBOL_STATE = 0xFFFFFFFF, 0xFFFFFFFE


class Options(Structure):
    _fields_ = [("size", c_size_t), ("threads", c_uint32), ("trace", c_uint32), ("verify", c_uint32),
                ("communicator", c_void_p), ("spill_directory", c_char_p), ("stop", c_void_p)]


class TensorDesc(Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("element_type", c_int32), ("rank", c_uint32),
                ("shape", POINTER(c_int64)), ("bytes", c_int64), ("fixed", c_void_p), ("cuts", c_void_p),
                ("num_cuts", c_uint32), ("range", c_void_p), ("cut_blocks", c_void_p)]


class SymbolDesc(Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("least", c_int64), ("most", c_int64), ("step", c_int64),
                ("input", c_uint32), ("dimension", c_uint32)]


class MemoryDesc(Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("arena_bytes", c_int64), ("capacity_bytes", c_int64)]


class Model(Structure):
    _fields_ = [("size", c_size_t), ("abi_major", c_uint32), ("abi_minor", c_uint32), ("name", c_char_p),
                ("compiler", c_char_p), ("cpu_features", c_char_p), ("parameter_hash", c_char_p),
                ("parameter_bytes", c_int64), ("state_bytes", c_int64),
                *[(f"num_{table}", c_uint32) for table in ("inputs", "outputs", "memories", "devices", "links",
                                                           "streams", "commands", "ops", "tensors")],
                *[(table, c_void_p) for table in ("inputs", "outputs", "memories", "devices", "links", "streams",
                                                  "op_names", "tensor_names")],
                ("planned_bytes_in", c_int64), ("planned_bytes_out", c_int64), ("init", c_void_p), ("step", c_void_p),
                ("num_states", c_uint32), ("states", c_void_p), ("state_offsets", c_void_p),
                ("state_initial", c_int64), ("num_ranks", c_uint32), ("planned_bytes_sent", c_void_p),
                ("num_symbols", c_uint32), ("symbols", c_void_p), ("extents", c_void_p), ("ranges", c_void_p),
                ("num_buckets", c_uint32), ("buckets", c_void_p), ("advance", c_void_p)]


class Stats(Structure):
    _fields_ = [("size", c_size_t), ("step_ns", c_int64), ("bytes_in", c_int64), ("bytes_out", c_int64),
                ("init_bytes_in", c_int64), ("arena_peak_bytes", POINTER(c_int64)), ("bytes_sent", c_int64),
                ("parameter_bytes", c_int64), ("device_exchange", c_char_p), ("planned_bytes_in", c_int64),
                ("planned_bytes_out", c_int64), ("planned_arena_bytes", POINTER(c_int64)), ("bounds", POINTER(c_int64))]


class Sampling(Structure):
    _fields_ = [("size", c_size_t), ("top_k", c_uint32), ("top_p", c_double), ("temperature", c_double),
                ("seed", c_uint64)]


def table(entry: type[Any], address: int | None, count: int) -> Iterator[Any]:
    """Entries of a table of the model. They lie as far apart as the first one's `size` says, which may be another
    version's; fields that an older entry lacks are zero."""
    if not address or not count:
        return
    stride = c_size_t.from_address(address).value
    for i in range(count):
        copy = entry()
        ctypes.memmove(ctypes.addressof(copy), address + i * stride, min(stride, ctypes.sizeof(entry)))
        yield copy


_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "sluice_open": (c_void_p, [c_char_p, POINTER(Options)]),
    "sluice_close": (None, [c_void_p]),
    "sluice_describe": (POINTER(Model), [c_void_p]),
    "sluice_run": (c_int32, [c_void_p, c_void_p, c_void_p]),
    "sluice_set_shapes": (c_int32, [c_void_p, c_void_p]),
    "sluice_get_shape": (c_int32, [c_void_p, c_uint32, c_uint32, c_void_p, POINTER(c_int64)]),
    "sluice_read_state": (c_int32, [c_void_p, c_uint32, c_void_p, c_int64]),
    "sluice_write_state": (c_int32, [c_void_p, c_uint32, c_void_p, c_int64]),
    "sluice_reset": (c_int32, [c_void_p]),
    "sluice_set_length": (c_int32, [c_void_p, c_uint32, c_int64]),
    "sluice_generator_open": (c_void_p, [c_void_p, c_void_p, POINTER(Sampling)]),
    "sluice_generator_feed": (c_int32, [c_void_p, c_void_p, c_size_t]),
    "sluice_generator_next": (c_int32, [c_void_p, POINTER(c_int64)]),
    "sluice_generator_close": (None, [c_void_p]),
    "sluice_get_stats": (None, [c_void_p, POINTER(Stats)]),
    "sluice_notes": (c_char_p, [c_void_p]),
    "sluice_last_error": (c_char_p, []),
}


@functools.lru_cache(maxsize=None)
def library() -> Any:
    """libsluice_runtime of the package, of the build that $SLUICE_BUILD names, or of the system."""
    path = find_file("lib", LIBRARY, Path(__file__).parent)
    try:
        loaded = ctypes.CDLL(str(path) if path else LIBRARY)
    except OSError as error:
        raise Error(f"cannot load '{path or LIBRARY}', {error}, install the package again or set SLUICE_BUILD to a "
                    "build directory") from None
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


def last_error() -> Error:
    """The error of this thread's last call that failed."""
    return Error(library().sluice_last_error().decode("utf-8", "replace"))
