"""check_inference.py PLAN (SUMMARY SLOWDOWN)...: each summary's plan is within its slowdown in the least memory tried that is."""

import json
import sys

plan, *rest = sys.argv[1:]
before = None
for path, slowdown in zip(rest[::2], map(float, rest[1::2])):
    summary = json.load(open(path))
    memory = summary["memories"]["accel0"]
    allowed = slowdown * summary["idealNs"]
    assert summary["makespanNs"] <= allowed
    assert memory["minimumBytes"] <= memory["capacityBytes"] == memory["arenaBytes"]
    sizes = [budget["capacityBytes"]["accel0"] for budget in summary["budgets"]]
    assert sizes == sorted(sizes) and 2 <= len(sizes) <= 8
    for size, budget in zip(sizes, summary["budgets"]):
        if "makespanNs" in budget:
            assert budget["lowerBoundNs"] <= budget["makespanNs"]
            if budget["makespanNs"] <= allowed:
                assert size >= memory["capacityBytes"]
    assert before is None or memory["capacityBytes"] <= before
    before = memory["capacityBytes"]
# Streaming all parameters costs time, and this much is allowed.
assert before == memory["minimumBytes"], memory
assert json.load(open(plan))["summary"]["memories"]["accel0"]["capacityBytes"] < memory["peakBytes"]
