#!/usr/bin/env python3
"""Sums up ctest's JUnit file and lit's JSON file: `N passed, N failed, N skipped`.

lit is one test of ctest; here each of its tests counts by itself.
Exit status 1 where a test failed, none ran, or lit was run and left no results.
"""

import json
import sys
import xml.etree.ElementTree as ElementTree

LIT_TEST = "lit"
LIT_PASSED = {"PASS", "FLAKYPASS", "XFAIL"}
LIT_SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def count_ctest(path):
    """Returns ({outcome: names}, lit's own outcome or None)."""
    outcomes = {"passed": [], "failed": [], "skipped": []}
    lit = None
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        status = case.get("status")
        if status == "run":
            outcome = "failed" if case.find("failure") is not None else "passed"
        elif status in ("notrun", "disabled"):
            # ctest writes `notrun` for a skipped test and for a missing program.
            skipped = case.find("skipped")
            reason = skipped.get("message", "") if skipped is not None else ""
            outcome = "skipped" if status == "disabled" or reason.startswith("SKIP_") else "failed"
        else:
            outcome = "failed"
        if case.get("name") == LIT_TEST:
            lit = outcome
        else:
            outcomes[outcome].append(case.get("name"))
    return outcomes, lit


def count_lit(path):
    outcomes = {"passed": [], "failed": [], "skipped": []}
    with open(path, encoding="utf-8") as file:
        for test in json.load(file)["tests"]:
            code = test["code"]
            outcome = "passed" if code in LIT_PASSED else "skipped" if code in LIT_SKIPPED else "failed"
            outcomes[outcome].append(test["name"])
    return outcomes


def main(argv):
    if len(argv) != 3:
        print("usage: test_summary.py CTEST_JUNIT LIT_JSON", file=sys.stderr)
        return 2
    try:
        outcomes, lit = count_ctest(argv[1])
    except (OSError, ElementTree.ParseError) as error:
        print(f"error: no test results, '{argv[1]}': {error}, see ctest's output above", file=sys.stderr)
        outcomes, lit = {"passed": [], "failed": ["ctest"], "skipped": []}, None
    if lit is not None:
        try:
            results = count_lit(argv[2])
        except (OSError, ValueError, KeyError) as error:
            print(f"error: lit left no results, '{argv[2]}': {error}, see its output above", file=sys.stderr)
            results = {"passed": [], "failed": [LIT_TEST], "skipped": []}
        # A lit that fails without a failing test (bad configuration) is a failure too.
        if lit == "failed" and not results["failed"]:
            results["failed"].append(LIT_TEST)
        for outcome, names in results.items():
            outcomes[outcome] += names
    for name in outcomes["failed"]:
        print(f"failed: {name}")
    passed, failed, skipped = (len(outcomes[key]) for key in ("passed", "failed", "skipped"))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
