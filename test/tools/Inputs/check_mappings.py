"""check_mappings.py RUN.json COUNT: of so many mappings that were run the one that measured least is kept, and times are a
step's."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    run = json.load(file)
mappings = run["mappings"]
if len(mappings) != int(sys.argv[2]):
    sys.exit(f"{len(mappings)} mappings")
kept = [mapping for mapping in mappings if mapping["kept"]]
if len(kept) != 1 or kept[0]["measuredNs"] != min(mapping["measuredNs"] for mapping in mappings):
    sys.exit(f"not the fastest: {mappings}")
if any(mapping["measuredNs"] < 1000 or mapping["simulatedNs"] < 1 for mapping in mappings):
    sys.exit(f"no times: {mappings}")
if [m["simulatedNs"] for m in mappings] == [m["measuredNs"] for m in mappings]:
    sys.exit("simulated, not measured")
print(f"{len(mappings)} mappings, the fastest is kept")
