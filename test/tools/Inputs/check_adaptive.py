"""check_adaptive.py RUN DEVICE STEP WINDOW: a device that became slower at a step was found, within a window and a half."""

import json
import sys

run = json.load(open(sys.argv[1]))
device, step, window = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
replan = next(replan for replan in run["replans"] if replan["slowdowns"].get(device, 1) > 10)
assert step < replan["step"] <= step + 1.5 * window, replan
assert len(run["repeatNs"]) == 60
slowed, again = run["repeatNs"][step + 1], run["repeatNs"][replan["step"] + 2:]
assert min(again) < slowed / 2, (slowed, min(again))
