"""Checks the figures 6.4a, 6.9 and 6.14a of `sluice-bench barriers --format json`."""

import json
import sys

figures = {figure["figure"]: figure["rows"] for figure in json.load(open(sys.argv[1]))["figures"]}
assert list(figures) == ["6.4a", "6.9", "6.14a"]

# Stragglers slow bulk steps more than asynchronous ones, and samples lie between.
stragglers = figures["6.4a"]
assert [row["x"] for row in stragglers] == [0, 5, 10, 15, 20, 25, 30]
for row in stragglers[1:]:
    assert row["bsp"] < row["pbsp:10"] < row["asp"] < 1, row
    assert row["ssp:4"] < row["pssp:4,10"] < row["asp"], row

# Shares of all updates; nearly none is beyond the bins.
for barrier in ("asp", "pbsp:20", "bsp"):
    assert 0.98 < sum(row[barrier] for row in figures["6.9"]) <= 1.000001, barrier

# Asynchronous workers drift apart, stale ones do not; what a run does not reach is absent.
sequence = figures["6.14a"]
assert sequence[-1]["asp"] > 2 * sequence[0]["asp"] and sequence[-1]["asp"] > 2 * sequence[6]["ssp:4"]
assert "pbsp:5" not in sequence[-1] and "pbsp:5" in sequence[0]
