"""folded_offsets.py FILE: fails unless most loads of vectors in disassembled WebAssembly have offsets."""

import re
import sys

offsets = [int(offset) for offset in re.findall(r"v128\.load\S*\s+(\d+)", open(sys.argv[1], encoding="ascii").read())]
print(f"{sum(offset > 0 for offset in offsets)} of {len(offsets)} loads have offsets")
sys.exit(not offsets or sum(offset > 0 for offset in offsets) < len(offsets) / 2)
