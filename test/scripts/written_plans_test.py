#!/usr/bin/env python3
"""Checks every plan file below a folder with scripts/verify_plan and with `sluice-solve check`, which must agree.

  written_plans_test.py SCRIPTS SLUICE-SOLVE FOLDER

The folder is that in which lit's tests ran: it has the plans that they made, those of their compiled models, and those
that they damaged. Exits 1 where the two programs disagree, and 77 where there are no plans.
"""

import json
import os
import subprocess
import sys
import time

INPUTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools", "Inputs")
sys.path.insert(0, INPUTS)

from compare_verifiers import load_verify

BATCH = 100


def plan_files(folder):
    """Paths of files that have the members of a plan file, whatever those contain."""
    for at, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            path = os.path.join(at, name)
            # Opening a named pipe, which tests leave, would wait for ever.
            if not name.endswith(".json") or os.path.islink(path) or not os.path.isfile(path):
                continue
            try:
                with open(path, encoding="utf-8") as file:
                    value = json.load(file)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict) and value.keys() >= {"problem", "plan", "summary"}:
                yield path


def check(solve, paths):
    """What `sluice-solve check` says of each path; empty: it is valid."""
    found = []
    for first in range(0, len(paths), BATCH):
        done = subprocess.run([solve, "check", "--format=json", *paths[first:first + BATCH]], capture_output=True, text=True,
                              check=False)
        if done.returncode not in (0, 1):
            sys.exit(f"error: sluice-solve check ended with {done.returncode}: {done.stderr}")
        found += [entry.get("error", "") for entry in json.loads(done.stdout)]
    return found


def main():
    scripts, solve, folder = sys.argv[1:]
    verify_plan = load_verify(scripts)
    paths = list(plan_files(folder))
    if not paths:
        print("skipped: no plans, run the test 'lit' first")
        return 77
    valid = proven = refused = disagree = 0
    begin = time.process_time()
    for path, error in zip(paths, check(solve, paths)):
        try:
            broken, line = verify_plan.verify(verify_plan.read(path), path)
        except verify_plan.Broken as one:
            broken, line = {one.args[0]: (one.args[1], 1)}, None
        if bool(broken) != bool(error):
            disagree += 1
            print(f"error: {path}: check says '{error or 'valid'}', verify_plan {broken or 'valid'}", file=sys.stderr)
        elif broken:
            refused += 1
        else:
            valid += 1
            proven += "without a certificate" not in line
    print(f"{len(paths)} plan files: both accept {valid}, of which {proven} prove their bound, and refuse {refused} damaged ones; "
          f"{disagree} disagreements; {time.process_time() - begin:.0f} s")
    return 1 if disagree else 0


if __name__ == "__main__":
    sys.exit(main())
