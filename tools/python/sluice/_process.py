# Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the programs that come with the package, and turns their errors into exceptions.

The two wheels, `sluice` and `sluice-planner`, each have a copy of this file, because each works without the other.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import warnings
from pathlib import Path
from typing import Any, Iterable, Mapping, Sequence

BUILD_VARIABLE = "SLUICE_BUILD"


class Error(Exception):
    """An error that the programs or the runtime of Sluice report, with their text: what is wrong, where, what to do."""


class UsageError(Error, ValueError):
    """An option that does not exist, or whose value has the wrong form. The programs end with exit code 2 for it."""


def find_file(folder: str, name: str, package: Path) -> Path | None:
    """`name` in `folder` ("bin" or "lib") of a wheel, or of the build that $SLUICE_BUILD names."""
    build = os.environ.get(BUILD_VARIABLE)
    roots = [Path(build)] if build else []
    for root in [*roots, package]:
        path = root / folder / name
        if path.exists():
            return path
    return None


def find_program(name: str, package: Path) -> str:
    """A program of the package, of the build that $SLUICE_BUILD names, or of the search path."""
    path = find_file("bin", name, package)
    found = str(path) if path else shutil.which(name)
    if not found:
        raise Error(f"no program '{name}' in '{package / 'bin'}' or on the search path, install the package again or "
                    f"set {BUILD_VARIABLE} to a build directory")
    return found


def _message(line: str) -> str:
    return line[len("error: "):] if line.startswith("error: ") else line


def _failure(program: str, code: int, stderr: str) -> Error:
    lines = [line for line in stderr.splitlines() if line.strip()]
    if code < 0:
        return Error(f"'{os.path.basename(program)}' ended by signal {-code}, this is a bug of Sluice, please report it")
    # An error may have several lines, as one that lists nodes has.
    first = next((i for i, line in enumerate(lines) if line.startswith("error: ")), 0)
    text = _message("\n".join(lines[first:])) or f"'{os.path.basename(program)}' ended with exit code {code}"
    return UsageError(text) if code == 2 else Error(text)


def run(program: str, arguments: Iterable[str | os.PathLike[str]]) -> str:
    """Runs a program and returns what it prints. Raises Error with the text of its error; warnings become warnings."""
    command: Sequence[str] = [program, *(os.fspath(each) for each in arguments)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, errors="replace")
    try:
        stdout, stderr = process.communicate()
    except BaseException:  # Ctrl-C: a notebook sends it to this process alone
        process.terminate()
        process.communicate()
        raise
    if process.returncode != 0:
        raise _failure(program, process.returncode, stderr)
    for line in stderr.splitlines():
        if line.startswith("warning: "):
            warnings.warn(line[len("warning: "):], stacklevel=3)
    return stdout


def option_arguments(options: Mapping[str, Any]) -> list[str]:
    """Options of a command line by the names of Python: `search_evals=100` is `--search-evals 100`.

    True is an option without a value, None and False leave the option out, a list repeats it, and a mapping repeats it
    with NAME=VALUE.
    """
    arguments: list[str] = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            arguments.append(option)
            continue
        if isinstance(value, Mapping):
            value = [f"{key}={each}" for key, each in value.items()]
        elif isinstance(value, (str, bytes)) or not isinstance(value, (list, tuple)):
            value = [value]
        for each in value:
            # In one word, so that a value may begin with a dash.
            arguments.append(f"{option}={os.fspath(each) if isinstance(each, os.PathLike) else each}")
    return arguments
