"""check_swap_inference.py FUSED UNFUSED: sluice-bench swap's rows of ResNet-152's inference, with fused kernels and without."""

import json
import sys

fused, unfused = (json.load(open(path, encoding="utf-8"))["rows"] for path in sys.argv[1:])

assert {row["batch"] for row in fused} == {16, 64} and len(fused) == 16
for row in fused:
    assert row["passed"], row
    if row["paper_seconds"] is not None:
        assert row["slowdown"] < 1.01, row
        assert row["seconds"] >= row["bound_seconds"], row

assert {row["batch"] for row in unfused} == {1, 16, 32, 64}
for row in unfused:
    if row["megabytes"] == 1024:
        assert 0.85 < row["seconds"] / row["paper_seconds"] < 1.15, row
