"""The node tests of the standard, by the standard's own runner, onnx.backend.test.BackendTest.

backend-skips.txt lists the tests that are left out, each with its reason: those whose results are random, and at most
one in a hundred of the others. The tests are those of the `onnx` that is installed. Debian's has them in the package libonnx-testdata, and newer ones make them when
they are imported.
"""

import functools
import re
from pathlib import Path

import numpy
import onnx
import pytest
import sluice.backend

if "object" not in vars(numpy):
    numpy.object = object  # the runner of onnx 1.12 asks for a name that numpy 1.24 has not

from onnx.backend.test import loader, runner  # noqa: E402

MOST_SKIPPED = 0.01
HERE = Path(__file__).parent
PACKAGED = Path("/usr/share/libonnx-testdata/data")
VERSION = tuple(map(int, onnx.__version__.split(".")[:2]))

# Debian's modules come without their data.
IS_PACKAGED = VERSION < (1, 13) and not (Path(runner.__file__).parent.parent / "data" / "node").exists()


def read_skips():
    """(pattern of a name, reason), for this version of onnx."""
    skips = []
    for line in (HERE / "backend-skips.txt").read_text(encoding="utf-8").splitlines():
        entry = re.fullmatch(r"(?P<name>\S+?)(?: (?P<sign>[<>]=?) (?P<major>\d+)\.(?P<minor>\d+))?: (?P<reason>.+)", line)
        if not entry:
            assert not line or line.startswith("#"), line
            continue
        limit = (int(entry["major"]), int(entry["minor"])) if entry["sign"] else None
        if limit is None or (VERSION < limit if entry["sign"] == "<" else VERSION >= limit):
            skips.append((re.compile(entry["name"].replace("*", r"\w*")), entry["reason"]))
    return skips


def collect():
    """The node tests on the CPU: (name, function)."""
    if IS_PACKAGED:
        runner.load_model_tests = functools.partial(loader.load_model_tests, str(PACKAGED))
    tests = runner.Runner(sluice.backend.SluiceBackend, __name__).test_cases["OnnxBackendNodeModelTest"]
    return [(name[:-len("_cpu")], tests(name)) for name in dir(tests) if name.startswith("test_") and name.endswith("_cpu")]


if IS_PACKAGED and not PACKAGED.exists():
    pytest.skip("the package libonnx-testdata has the tests of this onnx, it is not installed", allow_module_level=True)

TESTS = collect()
SKIPS = read_skips()


def reason_of(name):
    return next((reason for pattern, reason in SKIPS if pattern.fullmatch(name)), None)


@pytest.mark.parametrize("name, case", [
    pytest.param(name, case, id=name, marks=[pytest.mark.skip(reason=reason_of(name))] if reason_of(name) else [])
    for name, case in TESTS])
def test_node(name, case):
    getattr(case, name + "_cpu")()


def test_few_are_skipped():
    skipped = [name for name, _ in TESTS if reason_of(name) and not reason_of(name).startswith("random, ")]
    assert len(TESTS) > 500
    assert len(skipped) <= MOST_SKIPPED * len(TESTS), skipped
    for pattern, _ in SKIPS:
        assert any(pattern.fullmatch(name) for name, _ in TESTS), f"backend-skips.txt: no test is named {pattern.pattern}"
