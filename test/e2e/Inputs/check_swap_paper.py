"""check_swap_paper.py TRAINING...: the rows of sluice-bench swap's training steps, of which there are the paper's five."""

import json
import sys

rows = [row for path in sys.argv[1:] for row in json.load(open(path, encoding="utf-8"))["rows"]]
rivals = {row["model"]: row["rivals"] for row in rows}
assert sorted(rivals) == ["brnn-4-8k", "inception-v4-4", "nasnet-25", "rnn-8-8k", "wresnet-152-10"] and len(rows) == 5
for row in rows:
    assert row["passed"], row
    assert row["fraction"] >= row["paper_fraction"], row
    assert row["seconds_to_paper"] is not None, row
    assert row["bound_fraction"] >= row["fraction"] - 1e-9, row
    assert row["fraction"] >= row["rivals"]["odswap"], row
# 43 GB of weights and momenta do not fit beside activations; Inception's do.
assert rivals["wresnet-152-10"]["activations-only"] is None
assert rivals["inception-v4-4"]["activations-only"] > 0.5
