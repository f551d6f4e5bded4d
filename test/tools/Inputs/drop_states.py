"""Removes the states of each rank from a stages.json."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    stages = json.load(file)
for rank in stages["ranks"]:
    rank["states"] = []
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump(stages, file)
