"""check_adaptive.py RUN DEVICE FACTOR STEP WINDOW: a device that became FACTOR times slower after a step was found.

It was found within two windows, alone, and by about its factor; the new plan's steps are faster than the slowed ones.
"""

import json
import statistics
import sys

run = json.load(open(sys.argv[1]))
device, factor, step, window = sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
replan = next(replan for replan in run["replans"] if replan["step"] > step)
assert list(replan["slowdowns"]) == [device], replan
# Work is counted by the processor's clock of one thread, which other work on the same core may slow.
assert factor / 1.6 < replan["slowdowns"][device] < factor * 1.6, replan
assert replan["step"] <= step + 2 * window, replan
times = run["repeatNs"]
# The new session's first steps touch its pages.
slowed, again = times[step:replan["step"]], times[replan["step"] + 3:]
assert statistics.median(again) < 0.8 * statistics.median(slowed), (slowed, again)
