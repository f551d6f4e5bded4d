#!/usr/bin/env python3
"""scripts/test_summary.py counts each outcome once and fails where it must."""

import contextlib
import importlib.util
import io
import json
import os
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "test_summary.py")
spec = importlib.util.spec_from_file_location("test_summary", SCRIPT)
test_summary = importlib.util.module_from_spec(spec)
spec.loader.exec_module(test_summary)

CTEST = """<testsuite>
<testcase name="a" status="run"/>
<testcase name="b" status="{b}"><failure message=""/></testcase>
<testcase name="c" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>
<testcase name="lit" status="{lit}"/>
</testsuite>"""


class SummaryTest(unittest.TestCase):
    def run_summary(self, ctest, lit):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("ctest.xml", "lit.json")]
            for path, text in zip(paths, (ctest, lit)):
                if text is not None:
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text)
            out = io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                status = test_summary.main(["test_summary.py", *paths])
            return status, out.getvalue().splitlines()[-1]

    @staticmethod
    def lit(*codes):
        return json.dumps({"tests": [{"name": f"t{i}", "code": code} for i, code in enumerate(codes)]})

    def test_counts_lit_tests_one_by_one(self):
        ctest = CTEST.format(b="fail", lit="run")
        self.assertEqual(self.run_summary(ctest, self.lit("PASS", "XFAIL", "UNSUPPORTED")),
                         (1, "3 passed, 1 failed, 2 skipped"))

    def test_all_passed(self):
        ctest = '<testsuite><testcase name="a" status="run"/><testcase name="lit" status="run"/></testsuite>'
        self.assertEqual(self.run_summary(ctest, self.lit("PASS")), (0, "2 passed, 0 failed, 0 skipped"))
        self.assertEqual(self.run_summary(ctest, self.lit("XPASS")), (1, "1 passed, 1 failed, 0 skipped"))

    def test_lit_without_results_fails(self):
        ctest = '<testsuite><testcase name="a" status="run"/><testcase name="lit" status="fail"/></testsuite>'
        self.assertEqual(self.run_summary(ctest, None), (1, "1 passed, 1 failed, 0 skipped"))
        self.assertEqual(self.run_summary(ctest, self.lit("PASS")), (1, "2 passed, 1 failed, 0 skipped"))

    def test_missing_program_is_a_failure(self):
        ctest = ('<testsuite><testcase name="a" status="notrun"><skipped message="Unable to find executable"/>'
                 "</testcase></testsuite>")
        self.assertEqual(self.run_summary(ctest, None), (1, "0 passed, 1 failed, 0 skipped"))

    def test_no_results_fail(self):
        self.assertEqual(self.run_summary(None, None), (1, "0 passed, 1 failed, 0 skipped"))


if __name__ == "__main__":
    unittest.main()
