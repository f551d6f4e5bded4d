"""Checks that stages.json has the fastest of the candidates that it lists."""

import json
import sys

with open(sys.argv[1]) as file:
    stages = json.load(file)
able = [each for each in stages["weighed"] if "problem" not in each]
best = min(able, key=lambda each: each["stepNs"])
assert stages["stages"] == best["stages"] and stages["groupRanks"] == best["groupRanks"], stages["weighed"]
assert [each["stages"] for each in stages["weighed"]] == [1, 2, 4]
assert all(each["stages"] * each["groupRanks"] == len(stages["ranks"]) == 4 for each in stages["weighed"])
