"""references.py OUTPUTS DIR: the .npy files that a run left (f32) as the output_*.pb of a data folder."""

import pathlib
import sys

import numpy


def varint(value):
    digits = bytearray()
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


outputs, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
folder.mkdir(parents=True)
for index, path in enumerate(sorted(outputs.glob("*.npy"))):
    array = numpy.load(path)
    # onnx.TensorProto: dims, data_type (1: f32), name, raw_data.
    proto = b"".join(b"\x08" + varint(extent) for extent in array.shape)
    proto += b"\x10\x01" + field(8, path.stem.encode()) + field(9, array.astype("<f4").tobytes())
    (folder / f"output_{index}.pb").write_bytes(proto)
