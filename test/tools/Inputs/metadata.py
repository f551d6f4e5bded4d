#!/usr/bin/env python3
"""Prints the metadata of an ONNX file's nodes: field 9 of NodeProto, which older schemas do not have."""

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
        for node in (value for field, value in fields(graph) if field == 1):
            for entry in (value for field, value in fields(node) if field == 9):
                pair = dict(fields(entry))
                print(pair[1].decode(), "=", pair[2].decode())


if __name__ == "__main__":
    main()
