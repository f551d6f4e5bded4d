"""check_profile.py PROFILE MEASURED ANALYTIC: a plan made with a profile, or a tuning, has its times; one without has not."""

import json
import sys

profile, measured, analytic = (json.load(open(path)) for path in sys.argv[1:])
profile = profile.get("profile", profile)
times = {entry["signature"]: entry["medianNs"] for entry in profile["operators"]}
operators = measured["problem"]["graph"]["operators"]
found = 0
for operator, with_profile, without in zip(operators, measured["problem"]["costs"], analytic["problem"]["costs"]):
    if operator.get("signature") in times:
        assert times[operator["signature"]] in with_profile, operator
        found += with_profile != without
assert all(entry["samples"] >= 5 for entry in profile["operators"])
assert found > len(operators) / 2, found
