#!/usr/bin/env python3
"""Runs tests of the Python packages by pytest: run_pytest.py --needs MODULE... -- FILE...

Exit status 77 and a line `skipped: <why>` where a module that the tests need is not installed.
"""

import argparse
import importlib.util
import sys

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--needs", nargs="+", metavar="MODULE", required=True)
parser.add_argument("files", nargs="+", metavar="FILE")
options = parser.parse_args()
missing = [name for name in options.needs if importlib.util.find_spec(name) is None]
if missing:
    print(f"skipped: Python lacks {', '.join(missing)}, install Debian's packages of scripts/packages.txt")
    sys.exit(77)

import pytest  # noqa: E402

sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *options.files]))
