#!/usr/bin/env python3
"""Prints the metadata of an ONNX file, of its nodes, and of its values and weights behind their names.

Fields 14 of ModelProto, 9 of NodeProto, 4 of ValueInfoProto and 16 of TensorProto, some of which older schemas do not have.
"""

import sys


def fields(data):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 2:
            length = varint()
            yield key >> 3, data[at:at + length]
            at += length
        else:
            width = 8 if key & 7 == 1 else 4
            yield key >> 3, data[at:at + width]
            at += width


def show(name, entry):
    pair = dict(fields(entry))
    print(name + pair[1].decode(), "=", pair[2].decode())


def main():
    with open(sys.argv[1], "rb") as file:
        model = file.read()
    # Nodes; weights; inputs, outputs and other values. Per kind: its metadata, its name and what it is called.
    kinds = {1: (9, None, ""), 5: (16, 8, "weight"), 11: (4, 1, "input"), 12: (4, 1, "value"), 13: (4, 1, "value")}
    for kind, part in fields(model):
        if kind == 14:
            show("model ", part)
    for graph in (value for field, value in fields(model) if field == 7):
        for kind, part in fields(graph):
            where, named, what = kinds.get(kind, (None, None, None))
            if where is None:
                continue
            name = f"{what} {dict(fields(part))[named].decode()} " if named else ""
            for entry in (value for field, value in fields(part) if field == where):
                show(name, entry)


if __name__ == "__main__":
    main()
