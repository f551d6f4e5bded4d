#!/usr/bin/env python3
"""Prints a text with words replaced by the values of Python expressions; lit tests call it `%fill`.

  fill.py FILE WORD=EXPRESSION...

Tests make models from it that are too long to write down.
"""

import sys


def main(path, *arguments):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for argument in arguments:
        word, _, expression = argument.partition("=")
        if word not in text:
            sys.exit(f"fill: '{path}' has no '{word}'")
        text = text.replace(word, str(eval(expression)))
    print(text)


main(*sys.argv[1:])
