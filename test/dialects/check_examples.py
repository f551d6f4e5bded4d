#!/usr/bin/env python3
"""Checks that each operator of a dialect's reference page has an example, which a test of the dialect parses.

  check_examples.py PAGE TEST...

The names of values and white space do not count.
"""

import re
import sys

FENCED = re.compile(r"^```mlir\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def normalized(text):
    return " ".join(re.sub(r"%[\w:#]+", "%", re.sub(r"//.*", "", text)).split())


def main(page, tests):
    parsed = ""
    for path in (path for path in tests if "-invalid" not in path):
        with open(path, encoding="utf-8") as file:
            parsed += normalized(file.read()) + " "
    with open(page, encoding="utf-8") as file:
        _, *sections = re.split(r"^### `", file.read().partition("\n## Operations\n")[2], flags=re.MULTILINE)
    wrong = []
    for section in sections:
        name = section.partition("`")[0]
        if not re.fullmatch(r"\w+\.\w+", name):
            continue
        examples = FENCED.findall(section)
        if not examples:
            wrong.append(f"error: operation '{name}' has no example, write an example in the description of the "
                         "operation")
        for example in examples:
            # An example may leave lines out.
            lines = example.splitlines() if "..." in example else [example]
            if not all(normalized(line) in parsed for line in lines if "..." not in line):
                wrong.append(f"error: no test parses the example of operation '{name}', add the example to a test of "
                             "the dialect")
    print("\n".join(wrong + [f"{len(sections)} operators, {len(wrong)} violations"]))
    return 1 if wrong else 0


sys.exit(main(sys.argv[1], sys.argv[2:]))
