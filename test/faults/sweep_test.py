#!/usr/bin/env python3
"""The checks of sweep.py find what they look for."""

from __future__ import annotations

import random
import unittest

import sweep

ERROR = "error: cannot write 'x', No space left on device, make room on its disk\n"


def ended(status: int | None = 0, output: bytes = b"time 5 ns", errors: str = "", files: dict[str, bytes] | None = None,
          temporaries: list[str] | None = None) -> sweep.Ended:
    return sweep.Ended(status, output, errors, files if files is not None else {"a": b"1", "b": b"at 3 us"},
                       temporaries or [], "report")


class ChecksTest(unittest.TestCase):
    def setUp(self) -> None:
        # The output and 'b' are measured: they differ between two runs.
        self.expected = sweep.Expected(ended(), ended(output=b"time 7 ns", files={"a": b"1", "b": b"at 40 ns"}))

    def check(self, run: sweep.Ended) -> str:
        return sweep.check(run, self.expected) or ""

    def test_survived(self) -> None:
        self.assertEqual(self.check(ended()), "")
        self.assertEqual(self.check(ended(output=b"time 123 us", files={"a": b"1", "b": b"at 9 us"})), "")

    def test_wrong_results(self) -> None:
        self.assertIn("output differs", self.check(ended(output=b"time")))
        self.assertIn("'a' differs", self.check(ended(files={"a": b"2", "b": b"at 3 us"})))
        self.assertIn("'b' differs", self.check(ended(files={"a": b"1", "b": b"at"})))
        self.assertIn("'b' is missing", self.check(ended(files={"a": b"1"})))

    def test_error(self) -> None:
        self.assertEqual(self.check(ended(1, b"", ERROR, {})), "")
        self.assertEqual(self.check(ended(1, b"", "file.mlir:1:2: " + ERROR, {"a": b"1"})), "")
        self.assertIn("0 errors", self.check(ended(1, b"", "", {})))
        self.assertIn("2 errors", self.check(ended(1, b"", ERROR * 2, {})))
        self.assertIn("bug", self.check(ended(1, b"", "error: internal: x, this is a bug of Sluice, report it", {})))
        self.assertIn("what to do", self.check(ended(1, b"", "error: cannot map 'x': no", {})))

    def test_left_behind(self) -> None:
        self.assertIn("'a' differs", self.check(ended(1, b"", ERROR, {"a": b""})))
        self.assertIn("'c' is left", self.check(ended(1, b"", ERROR, {"c": b""})))
        self.assertIn("temporary", self.check(ended(1, b"", ERROR, {}, ["sluice-1"])))
        self.assertIn("temporary", self.check(ended(temporaries=["sluice-1"])))

    def test_earlier_files(self) -> None:
        self.expected.earlier = {"a": b"0"}
        self.assertEqual(self.check(ended(1, b"", ERROR, {"a": b"0"})), "")
        self.assertIn("'a' differs", self.check(ended(1, b"", ERROR, {"a": b"2"})))
        self.assertIn("'a' differs", self.check(ended(files={"a": b"0", "b": b"at 3 us"})))

    def test_readers(self) -> None:
        self.expected.readers = {"b": lambda data: data.startswith(b"at")}
        self.assertEqual(self.check(ended(files={"a": b"1", "b": b"at other places"})), "")
        self.assertIn("'b' cannot be read", self.check(ended(files={"a": b"1", "b": b"a"})))
        self.assertIn("'b' cannot be read", self.check(ended(1, b"", ERROR, {"a": b"1", "b": b"a"})))

    def test_ends(self) -> None:
        for status, text in ((-11, "status -11"), (2, "status 2"), (134, "status 134"), (None, "seconds")):
            self.assertIn(text, self.check(ended(status)))


class SamplesTest(unittest.TestCase):
    def samples(self, kind: str, count: int, most: int) -> list[sweep.Fault]:
        return sweep.samples(kind, count, most, random.Random(1))

    def test_all(self) -> None:
        faults = self.samples("open", 3, 20)
        self.assertEqual({fault.number for fault in faults if not fault.lasting}, {1, 2, 3})
        self.assertEqual({fault.number for fault in faults if fault.lasting}, {2})
        self.assertEqual(self.samples("open", 0, 20), [])

    def test_some(self) -> None:
        faults = self.samples("memory", 100000, 20)
        self.assertEqual(len(faults), len(set(faults)))
        self.assertEqual(len(faults), 20)
        self.assertEqual(len({fault.number for fault in faults} & {1, 2, 3, 4, 99997, 99998, 99999, 100000}), 8)
        self.assertEqual(faults, self.samples("memory", 100000, 20))

    def test_short(self) -> None:
        self.assertFalse(any(fault.lasting for fault in self.samples("short-read", 100, 20)))
        self.assertEqual(len(self.samples("short-read", 100, 20)), 20)


if __name__ == "__main__":
    unittest.main()
