#!/usr/bin/env python3
"""Checks an exported model's values: those have a place that another kernel reads or that are outputs, and no others."""

import sys

from metadata import fields


def strings(message, wanted):
    return [value.decode() for field, value in fields(message) if field == wanted]


def entries(message, wanted):
    return dict((pair[1].decode(), pair[2].decode()) for pair in
                (dict(fields(value)) for field, value in fields(message) if field == wanted))


def main():
    with open(sys.argv[1], "rb") as file:
        graph = next(value for field, value in fields(file.read()) if field == 7)
    nodes = [value for field, value in fields(graph) if field == 1]
    kernel_of = {name: entries(node, 9).get("sluice.kernel") for node in nodes for name in strings(node, 2)}
    readers = {}
    for node in nodes:
        for name in strings(node, 1):
            readers.setdefault(name, set()).add(entries(node, 9).get("sluice.kernel"))
    placed = unplaced = 0
    for kind in (12, 13):
        for value in (value for field, value in fields(graph) if field == kind):
            name = strings(value, 1)[0]
            leaves = kind == 12 or bool(readers.get(name, set()) - {kernel_of.get(name), None})
            has_place = "sluice.memory" in entries(value, 4)
            if kernel_of.get(name) is not None and leaves != has_place:
                sys.exit(f"value '{name}' leaves its kernel: {leaves}, has a place: {has_place}")
            placed += has_place
            unplaced += not has_place
    print(f"{placed} values leave their kernels and have a place, {unplaced} do not")


if __name__ == "__main__":
    main()
