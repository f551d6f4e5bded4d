"""Programs, their options and their errors."""

import pytest
from sluice.planner import Error, UsageError
from sluice.planner import _solve


def test_options_are_written_as_the_command_line_has_them():
    arguments = _solve.option_arguments({"search_evals": 3, "resume": True, "seed": None, "measured": False,
                                         "memory": {"a": "5%", "b": 7}, "input": ["-x", "y"]})
    assert arguments == ["--search-evals=3", "--resume", "--memory=a=5%", "--memory=b=7", "--input=-x", "--input=y"]


def test_an_error_has_the_text_of_the_command_line(tmp_path):
    with pytest.raises(Error) as raised:
        _solve.plan(tmp_path / "none.json")
    assert str(raised.value) == (f"cannot open '{tmp_path}/none.json', No such file or directory, check the path and its "
                                 "permissions")
    assert not isinstance(raised.value, UsageError)


def test_wrong_usage_is_a_value_error(tmp_path):
    with pytest.raises(ValueError, match="--solver"):
        _solve.plan(tmp_path / "none.json", solver="magic")


def test_a_program_that_is_not_there_is_named(tmp_path):
    with pytest.raises(Error, match=f"no program 'sluice-none' in '{tmp_path}/bin' or on .*set SLUICE_BUILD"):
        _solve.find_program("sluice-none", tmp_path)


def test_a_program_that_dies_is_a_bug(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "sluice-solve"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nkill -SEGV $$\n")
    program.chmod(0o755)
    monkeypatch.setenv("SLUICE_BUILD", str(tmp_path))
    with pytest.raises(Error, match="'sluice-solve' ended by signal 11, this is a bug of Sluice"):
        _solve.pack([_solve.Buffer(0, 1, 1)])


def test_warnings_become_warnings(tmp_path):
    program = tmp_path / "warns"
    program.write_text("#!/bin/sh\necho 'warning: the sea rises, here, move' >&2\necho done\n")
    program.chmod(0o755)
    with pytest.warns(UserWarning, match="the sea rises, here, move"):
        assert _solve.run(str(program), []) == "done\n"
