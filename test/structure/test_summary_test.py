#!/usr/bin/env python3
"""scripts/test_summary.py counts each outcome once, lists what did not run and fails where it must."""

import contextlib
import importlib.util
import io
import json
import os
import tempfile
import unittest
from unittest import mock

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "test_summary.py")
spec = importlib.util.spec_from_file_location("test_summary", SCRIPT)
test_summary = importlib.util.module_from_spec(spec)
spec.loader.exec_module(test_summary)

PASSED = '<testcase name="a" status="run"/>'
FAILED = '<testcase name="b" status="fail"><failure message=""/><system-out>skipped: not really</system-out></testcase>'
SKIPPED = ('<testcase name="c" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>'
           "<system-out>Filters: c\nskipped: no GPU here\n</system-out></testcase>")
LIT_PASSED, LIT_FAILED = '<testcase name="lit" status="run"/>', '<testcase name="lit" status="fail"/>'


class SummaryTest(unittest.TestCase):
    def run_summary(self, cases, lit, more=(), more_of_lit=()):
        """Status and lines for these cases of ctest and codes of lit, and more tests that there are."""
        with tempfile.TemporaryDirectory() as build:
            if cases is not None:
                with open(os.path.join(build, "ctest.xml"), "w", encoding="utf-8") as file:
                    file.write(f"<testsuite>{''.join(cases)}</testsuite>")
            if lit is not None:
                os.mkdir(os.path.join(build, "test"))
                with open(os.path.join(build, "test", "lit.json"), "w", encoding="utf-8") as file:
                    tests = [{"name": f"S :: t{i}", "code": code, "output": "Test requires\nshared"} for i, code in enumerate(lit)]
                    json.dump({"tests": tests}, file)
            listed = [{"name": name, "properties": [{"name": "LABELS", "value": ["slow"]}]} for name in more]
            listed.append({"name": "lit", "command": ["lit", build]})
            out = io.StringIO()
            with contextlib.redirect_stdout(out), \
                    mock.patch.object(test_summary, "list_ctest", lambda _: listed), \
                    mock.patch.object(test_summary, "list_lit", lambda _: list(more_of_lit)):
                status = test_summary.main(["test_summary.py", build])
            return status, out.getvalue().splitlines()

    def check(self, status, last, *arguments, **more):
        found = self.run_summary(*arguments, **more)
        self.assertEqual((found[0], found[1][-1]), (status, last), found[1])
        return found[1][:-1]

    def test_counts_lit_tests_one_by_one(self):
        lines = self.check(1, "3 passed, 1 failed, 2 skipped", [PASSED, FAILED, SKIPPED, LIT_PASSED],
                           ["PASS", "XFAIL", "UNSUPPORTED"])
        self.assertEqual(lines, ["skipped: S :: t2: Test requires shared", "skipped: c: no GPU here", "failed: b"])

    def test_all_passed(self):
        self.assertEqual(self.check(0, "2 passed, 0 failed, 0 skipped", [PASSED, LIT_PASSED], ["PASS"]), [])
        self.check(1, "1 passed, 1 failed, 0 skipped", [PASSED, LIT_PASSED], ["XPASS"])

    def test_a_second_try_is_a_failure(self):
        lines = self.check(1, "1 passed, 1 failed, 0 skipped", [PASSED, LIT_PASSED], ["FLAKYPASS"])
        self.assertEqual(lines, ["failed: S :: t0: passed only at a later try"])

    def test_what_a_run_leaves_out_is_listed(self):
        lines = self.check(0, "2 passed, 0 failed, 2 skipped", [PASSED, LIT_PASSED], ["PASS"], more=["a", "d"],
                           more_of_lit=["S :: t0", "S :: e2e/t"])
        self.assertEqual(lines, ["excluded: S :: e2e/t: this run's filter of lit leaves it out",
                                 "excluded: d: this run's choice of ctest's tests leaves it out, its labels are slow"])
        lines = self.check(0, "1 passed, 0 failed, 1 skipped", [PASSED], None)
        self.assertEqual(lines, ["excluded: lit: this run's choice of ctest's tests leaves it out"])
        lines = self.check(0, "1 passed, 0 failed, 2 skipped", [PASSED, '<testcase name="d" status="disabled"/>'], None)
        self.assertIn("excluded: d: it is disabled in CMake", lines)

    def test_lit_without_results_fails(self):
        self.check(1, "1 passed, 1 failed, 0 skipped", [PASSED, LIT_FAILED], None)
        self.check(1, "2 passed, 1 failed, 0 skipped", [PASSED, LIT_FAILED], ["PASS"])

    def test_missing_program_is_a_failure(self):
        missing = '<testcase name="a" status="notrun"><skipped message="Unable to find executable"/></testcase>'
        self.check(1, "0 passed, 1 failed, 1 skipped", [missing], None)

    def test_no_results_fail(self):
        status, lines = self.run_summary(None, None)
        self.assertEqual(status, 1)
        self.assertIn("1 failed", lines[-1])


if __name__ == "__main__":
    unittest.main()
