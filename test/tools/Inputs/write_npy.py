#!/usr/bin/env python3
"""Writes numbers as numpy's format: write_npy.py FILE TYPE SHAPE NUMBER..., a shape as 4 or 2x3."""

import math
import struct
import sys

path, element, shape = sys.argv[1], sys.argv[2], tuple(int(extent) for extent in sys.argv[3].split("x"))
code, pack = {"int64": ("<i8", "q"), "float32": ("<f4", "f")}[element]
header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {shape}, }}"
header += " " * (63 - (10 + len(header)) % 64) + "\n"
numbers = [float(text) if pack == "f" else int(text) for text in sys.argv[4:]]
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    file.write(struct.pack(f"<{math.prod(shape)}{pack}", *numbers))
