"""Compares constants of a freestanding object's header with the sizes of its data, as llvm-nm prints them.

usage: compare_sizes.py HEADER SIZES
"""

import re
import sys

with open(sys.argv[1], encoding="ascii") as file:
    header = file.read()
with open(sys.argv[2], encoding="ascii") as file:
    sizes = {words[-1]: int(words[1]) for words in map(str.split, file) if len(words) == 4}
for constant, symbol in (("PEAK_BYTES", "sluice.memory"), ("WEIGHTS_BYTES", "sluice_model_parameters")):
    value = int(re.search(rf"_{constant} (\d+)$", header, re.MULTILINE)[1])
    print(constant, value, sizes[symbol], "equal" if value == sizes[symbol] else "differ")
