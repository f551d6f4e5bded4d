"""Checks the rows of `sluice-bench training-models --paper --format=json` against SwapAdvisor's Table 1."""

import json
import sys

rows = json.load(open(sys.argv[1], encoding="utf-8"))
published = [row for row in rows if "paper" in row]
assert sorted(row["model"] for row in published) == [
    "brnn-4-8k", "inception-v4-4", "nasnet-25", "rnn-8-8k", "wresnet-152-10"], published
for row in published:
    off = row["memory_gb"] / row["paper"]["memory_gb"] - 1
    print(f"{row['model']}: {row['memory_gb']:.1f} GB, {off:+.0%} of the paper's; {row['seconds']:.1f} s")
    assert row["model"] == "nasnet-25" or abs(off) <= 0.15, row
    assert row["own_operators"] > 0 and 0 < row["peak_gb"] < row["memory_gb"], row
for name in ("wresnet-152-10", "inception-v4-4"):
    kinds = {row["options"]["batch_norm"] for row in rows if row["model"] == name}
    assert kinds == {False, True}, rows
