# Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of strings: in C an address and a number of bytes for each element, in numpy an array of objects."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np


def write_strings(array: np.ndarray) -> tuple[np.ndarray, bytes]:
    """The elements as the runtime reads them, and the text that they point into."""
    texts = [each if isinstance(each, bytes) else str(each).encode("utf-8", "surrogateescape")
             for each in array.reshape(-1).tolist()]
    text = b"".join(texts)
    # The address of the bytes of an object of Python; they do not move.
    start = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value or 0
    sizes = np.fromiter(map(len, texts), np.uint64, len(texts))
    elements = np.zeros((max(len(texts), 1), 2), np.uint64)
    elements[: len(texts), 0] = start + np.cumsum(sizes) - sizes
    elements[: len(texts), 1] = sizes
    return elements, text


def read_strings(elements: np.ndarray) -> np.ndarray:
    """Texts as objects; they are copied, since the session's text ends with its next step."""
    shape = elements.shape[:-1]
    texts: Any = np.empty(int(np.prod(shape, dtype=np.int64)), object)
    for i, (address, size) in enumerate(elements.reshape(-1, 2).tolist()):
        texts[i] = ctypes.string_at(address, size).decode("utf-8", "surrogateescape") if size else ""
    return texts.reshape(shape)
