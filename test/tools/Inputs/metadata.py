#!/usr/bin/env python3
"""Prints the metadata of an ONNX file's nodes, and of its values behind their names.

Fields 9 of NodeProto and 4 of ValueInfoProto, which older schemas do not have.
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


def main():
    with open(sys.argv[1], "rb") as file:
        model = file.read()
    for graph in (value for field, value in fields(model) if field == 7):
        for kind, part in fields(graph):
            # Nodes; outputs and other values, whose first field is their name.
            where = {1: 9, 12: 4, 13: 4}.get(kind)
            name = "" if kind == 1 else "value " + dict(fields(part))[1].decode() + " " if where else ""
            for entry in (value for field, value in fields(part) if field == where) if where else ():
                pair = dict(fields(entry))
                print(name + pair[1].decode(), "=", pair[2].decode())


if __name__ == "__main__":
    main()
