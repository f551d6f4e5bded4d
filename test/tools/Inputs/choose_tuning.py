"""choose_tuning.py TUNING OUTPUT: gives kernels of a tuning choices of every kind, and the machine thresholds."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    tuning = json.load(file)
CHOICES = {
    "1x1x28x28xf32": {"rows": 5, "vectors": 1, "row_block": 56},
    "1x32x14x14xf32": {"algorithm": "winograd2", "row_block": 8},
    "1x72x7x7xf32": {"rows": 2, "vectors": 3, "row_block": 8, "depth_block": 32, "chunk_ns": 1 << 40},
    "1x64xf32": {"vectors": 1},
}
for kernel in tuning["kernels"]:
    kernel["tuning"] = CHOICES.pop(kernel["shape"].split(" ")[0])
assert not CHOICES
tuning["thresholds"] = [{"rate": "products", "state": "at", "ns": 12000}, {"rate": "scalars", "state": "unknown"},
                        {"rate": "vectors", "state": "never"}]
with open(sys.argv[2], "w", encoding="utf-8") as file:
    json.dump(tuning, file)
