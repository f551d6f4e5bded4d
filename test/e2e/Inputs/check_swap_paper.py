"""Checks sluice-bench swap's rows: training steps, then ResNet-152's inference, fused and not."""

import json
import sys

training, inference, unfused = (json.load(open(path, encoding="utf-8"))["rows"] for path in sys.argv[1:])

fractions = {}
for row in training:
    assert row["passed"], row
    assert row["fraction"] >= row["paper_fraction"], row
    assert row["seconds_to_paper"] is not None, row
    assert row["bound_fraction"] >= row["fraction"] - 1e-9, row
    fractions[row["model"]] = row["rivals"]
# 43 GB of weights and momenta do not fit beside activations; Inception's do.
assert fractions["wresnet-152-10"]["activations-only"] is None
assert fractions["inception-v4-4"]["activations-only"] > 0.5

assert {row["batch"] for row in inference} == {16, 64} and len(inference) == 16
for row in inference:
    assert row["passed"], row
    if row["paper_seconds"] is not None:
        assert row["slowdown"] < 1.01, row
        assert row["seconds"] >= row["bound_seconds"], row

assert {row["batch"] for row in unfused} == {1, 16, 32, 64}
for row in unfused:
    if row["megabytes"] == 1024:
        assert 0.85 < row["seconds"] / row["paper_seconds"] < 1.15, row
