# Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command `sluice-solve` of the wheel: it becomes the program."""

import os
import sys
from pathlib import Path

from ._process import Error, find_program


def main() -> None:
    try:
        program = find_program("sluice-solve", Path(__file__).parent)
    except Error as error:
        sys.exit(f"error: {error}")
    os.execv(program, [program, *sys.argv[1:]])
