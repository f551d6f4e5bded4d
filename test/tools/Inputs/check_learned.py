"""check_learned.py PROFILE PLAN ROOFLINE: operators that the profile has not got have other times than the roofline's."""

import json
import sys

profile, plan, roofline = (json.load(open(path)) for path in sys.argv[1:])
measured = {entry["signature"] for entry in profile["operators"]}
problem = plan["problem"]
unseen = [i for i, op in enumerate(problem["graph"]["operators"]) if op.get("signature") not in measured]
assert len(unseen) > 10, len(unseen)
assert all(time > 0 for i in unseen for time in problem["costs"][i])
changed = sum(problem["costs"][i] != roofline["problem"]["costs"][i] for i in unseen)
assert changed > len(unseen) / 2, (changed, len(unseen))
