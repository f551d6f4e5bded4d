#!/usr/bin/env python3
"""Checks JSON documents by a Python expression, or prints its value; lit tests call it `%json`.

  check_json.py [--print] EXPRESSION [NAME=]FILE...

FILE `-` is standard input. The documents have the names given, or `it` where none is. Exits 1 where the expression is
false.
"""

import json
import sys


def read(path):
    if path == "-":
        return json.load(sys.stdin)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main(arguments):
    prints = arguments[:1] == ["--print"]
    expression, *files = arguments[prints:]
    documents = {}
    for given in files:
        name, equals, path = given.partition("=")
        documents[name if equals else "it"] = read(path if equals else given)
    value = eval(expression, documents)  # Comprehensions see globals alone.
    if prints:
        print(value)
    elif not value:
        sys.exit(f"check_json: false: {expression}")


main(sys.argv[1:])
