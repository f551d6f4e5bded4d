import json
import sys

rows = json.load(open(sys.argv[1]))["rows"]
assert len(rows) == 2 * (1 + 3 * 3) * 3
for row in rows:
    if row["sharing"] == "parts" and row["bytes"] < 896:
        assert "needs 896 B" in row["reason"] and "p99_seconds" not in row
        continue
    assert row["warm_seconds"] <= row["cold_seconds"]
    if row["sharing"] in ("alone", "parts"):
        assert row["warm_seconds"] == row["cold_seconds"]
    else:
        # Parameters are loaded before the model runs.
        assert row["sharing"] != "turns" or row["cold_seconds"] > row["warm_seconds"]
    if row["load"] >= 1:
        assert "p99_seconds" not in row
        continue
    assert row["p99_seconds"] >= row["mean_seconds"] >= row["warm_seconds"]
    # Near an overload, runs of any length differ.
    assert row["load"] > 0.8 or abs(row["mean_seconds"] / row["expected_mean_seconds"] - 1) < 0.1, row
# One model has nobody to share with.
one = {row["sharing"]: row["p99_seconds"] for row in rows if row["models"] == 1 and row["clients_per_second"] == 1e5}
assert one["alone"] == one["parts"] == one["turns"] == one["turns, prefetching"]
# Turns cost the more, the more models there are.
turns = [row["p99_seconds"] for row in rows
         if row["sharing"] == "turns" and row["clients_per_second"] == 1e5 and row["memory_bytes"] == 1 << 20]
assert turns[0] < turns[1] < turns[2], turns
# Where everything fits, parts are as good as being alone.
for row in rows:
    if row["sharing"] == "parts" and row["memory_bytes"] == 1 << 20 and row["load"] < 1:
        assert row["ratio"] == 1
assert any("p99_seconds" not in row for row in rows if row["clients_per_second"] == 9e6)
