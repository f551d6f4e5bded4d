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
    kernels = lambda node: set(filter(None, entries(node, 9).get("sluice.kernel", "").split("; ")))
    kernels_of = {name: kernels(node) for node in nodes for name in strings(node, 2)}
    readers = {}
    for node in nodes:
        for name in strings(node, 1):
            readers.setdefault(name, []).append(kernels(node))
    placed = unplaced = 0
    for kind in (12, 13):
        for value in (value for field, value in fields(graph) if field == kind):
            name = strings(value, 1)[0]
            own, others = kernels_of.get(name, set()), readers.get(name, [])
            # A node may be a part of several kernels, which may read each other's results.
            leaves = kind == 12 or any(reader and not reader & own for reader in others)
            may_leave = leaves or len(own) > 1 or any(reader - own for reader in others)
            has_place = "sluice.memory" in entries(value, 4)
            if own and (leaves and not has_place or has_place and not may_leave):
                sys.exit(f"value '{name}' leaves its kernel: {leaves}, has a place: {has_place}")
            placed += has_place
            unplaced += not has_place
    print(f"{placed} values leave their kernels and have a place, {unplaced} do not")


if __name__ == "__main__":
    main()
