#!/usr/bin/env python3
"""Sums up a build folder's test results: `N passed, N failed, N skipped`.

  scripts/test_summary.py BUILD

Reads ctest's JUnit file (BUILD/ctest.xml) and lit's JSON file (BUILD/test/lit.json). lit is one test of ctest; here
each of its tests counts by itself. Every test that failed or did not run is printed by name with the reason before the
last line: skipped tests lack something, excluded ones were left out of the run; both count as skipped. A test that
passed only when it was tried again counts as failed.
Exit status 1 where a test failed, none ran, or lit was run and left no results.
"""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

LIT_TEST = "lit"
LIT_PASSED = {"PASS", "XFAIL"}
LIT_SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}
LIT_FAILURES = {"FLAKYPASS": "passed only at a later try", "XPASS": "passed and is expected to fail"}


class Outcomes:
    def __init__(self):
        self.passed = []
        self.failed = {}  # Names to reasons, which may be empty, as in the following two.
        self.skipped = {}
        self.excluded = {}

    def names(self):
        return {*self.passed, *self.failed, *self.skipped, *self.excluded}


def skip_reason(case):
    """The line `skipped: <why>` that the test printed, or what ctest says."""
    output = case.findtext("system-out") or ""
    found = re.search(r"^skipped: (.*)$", output, re.MULTILINE)
    return found.group(1).strip() if found else case.find("skipped").get("message", "")


def read_ctest(path, outcomes):
    """Adds ctest's tests other than lit; returns whether lit ran and whether it passed."""
    ran = passed = False
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name, status = case.get("name"), case.get("status")
        skipped = case.find("skipped")
        # ctest writes `notrun` for a skipped test and for a missing program.
        is_skipped = status == "notrun" and skipped is not None and skipped.get("message", "").startswith("SKIP_")
        is_passed = status == "run" and case.find("failure") is None
        if name == LIT_TEST:
            ran, passed = True, is_passed
        elif is_passed:
            outcomes.passed.append(name)
        elif is_skipped:
            outcomes.skipped[name] = skip_reason(case)
        elif status == "disabled":
            outcomes.excluded[name] = "it is disabled in CMake"
        else:
            outcomes.failed[name] = ""
    return ran, passed


def read_lit(path, outcomes):
    with open(path, encoding="utf-8") as file:
        for test in json.load(file)["tests"]:
            name, code = test["name"], test["code"]
            if code in LIT_PASSED:
                outcomes.passed.append(name)
            elif code in LIT_SKIPPED:
                outcomes.skipped[name] = " ".join(test.get("output", "").split())
            else:
                outcomes.failed[name] = LIT_FAILURES.get(code, "")


def list_ctest(build):
    """Every test that ctest knows of a build folder, as its JSON has it."""
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True,
                            check=True)
    return json.loads(listed.stdout)["tests"]


def list_lit(command):
    """The names of every test that this call of lit has to choose from."""
    suites = [argument for argument in command[1:] if os.path.isdir(argument)]
    listed = subprocess.run([command[0], "--show-tests", *suites], capture_output=True, text=True, check=True)
    return re.findall(r"^  (\S+ :: .+)$", listed.stdout, re.MULTILINE)


def add_excluded(build, outcomes, lit_ran):
    known = outcomes.names()
    for test in list_ctest(build):
        if test["name"] == LIT_TEST:
            if lit_ran:
                outcomes.excluded.update({name: "this run's filter of lit leaves it out"
                                          for name in list_lit(test["command"]) if name not in known})
                continue
            known.discard(LIT_TEST)
        if test["name"] not in known:
            labels = [label for entry in test.get("properties", []) if entry["name"] == "LABELS" for label in entry["value"]]
            label = f", its labels are {', '.join(labels)}" if labels else ""
            outcomes.excluded[test["name"]] = f"this run's choice of ctest's tests leaves it out{label}"


def main(argv):
    if len(argv) != 2:
        print("usage: test_summary.py BUILD", file=sys.stderr)
        return 2
    build = argv[1]
    ctest_xml, lit_json = os.path.join(build, "ctest.xml"), os.path.join(build, "test", "lit.json")
    outcomes = Outcomes()
    lit_ran = lit_passed = False
    try:
        lit_ran, lit_passed = read_ctest(ctest_xml, outcomes)
    except (OSError, ElementTree.ParseError) as error:
        outcomes.failed["ctest"] = f"no test results, '{ctest_xml}': {error}, see ctest's output above"
    if lit_ran:
        failed_before = len(outcomes.failed)
        try:
            read_lit(lit_json, outcomes)
            # A lit that fails without a failing test (bad configuration) is a failure too.
            if not lit_passed and len(outcomes.failed) == failed_before:
                outcomes.failed[LIT_TEST] = "see its output above"
        except (OSError, ValueError, KeyError) as error:
            outcomes.failed[LIT_TEST] = f"it left no results, '{lit_json}': {error}, see its output above"
    try:
        add_excluded(build, outcomes, lit_ran)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        outcomes.failed["list of tests"] = f"what the run left out is unknown: {error}"
    for kind in ("excluded", "skipped", "failed"):
        for name, reason in sorted(getattr(outcomes, kind).items()):
            print(f"{kind}: {name}" + (f": {reason}" if reason else ""))
    skipped = len(outcomes.skipped) + len(outcomes.excluded)
    print(f"{len(outcomes.passed)} passed, {len(outcomes.failed)} failed, {skipped} skipped")
    return 0 if outcomes.passed and not outcomes.failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
