#!/usr/bin/env python3
"""Writes a list of numbers as numpy's format: write_npy.py FILE TYPE COUNT NUMBER..."""

import struct
import sys

path, element, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
code, pack = {"int64": ("<i8", "q"), "float32": ("<f4", "f")}[element]
header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': ({count},), }}"
header += " " * (63 - (10 + len(header)) % 64) + "\n"
numbers = [float(text) if pack == "f" else int(text) for text in sys.argv[4:]]
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    file.write(struct.pack(f"<{count}{pack}", *numbers))
