"""check_links.py PROFILE PLAN: a throttled link is about what its machine says, and the plan was made with what was measured."""

import json
import sys

profile, plan = (json.load(open(path)) for path in sys.argv[1:])
link, = profile["links"]
assert link["between"] == ["host", "accel0"] and link["samples"] == 3 * 10 and link["spread"] >= 0
# The throttle sleeps, so that a busy machine can only be slower.
assert 2e6 * 0.8 < link["latencyNs"] < 2e6 * 20, link
assert 0 < link["eventLatencyNs"] < 2e6, link
assert 2e8 * 0.5 < link["bytesPerSec"] < 2e8 * 1.05, link
assert 3e8 * 0.5 < link["duplexBytesPerSec"] < 3e8 * 1.1, link
used, = plan["problem"]["machine"]["links"]
assert used["bytesPerSec"] == link["bytesPerSec"] and used["throttle"], used
assert used["eventLatency"] == f"{link['eventLatencyNs']}ns", used
