"""Writes arrays.h for bare.c: inputs and f32 references of a folder of input_0.npy, output_0.npy and so on.

The arrays are aligned to 8 bytes and to no more, as memory of an application may be.

usage: write_arrays.py FOLDER HEADER [STEPS [OUTPUTS]]
OUTPUTS is another folder of output_0.npy and so on, of the last of STEPS steps.
"""

import os
import sys

import numpy


def load(folder, kind):
    arrays = []
    while os.path.exists(path := os.path.join(folder, f"{kind}_{len(arrays)}.npy")):
        arrays.append(numpy.load(path))
    return arrays


def main():
    folder, header, steps, outputs = sys.argv[1:] + ["1", sys.argv[1]][len(sys.argv) - 3:]
    lines = [f"#define STEPS {steps}"]
    ports = {"input": load(folder, "input"), "reference": load(outputs, "output")}
    assert all(array.dtype == numpy.float32 for array in ports["reference"])
    ports["output"] = [numpy.zeros_like(array) for array in ports["reference"]]
    lines += [f"#define NUM_INPUTS {len(ports['input'])}", f"#define NUM_OUTPUTS {len(ports['output'])}"]
    for kind, arrays in ports.items():
        cases = []
        for number, array in enumerate(arrays):
            data = numpy.ascontiguousarray(array).tobytes()
            values = ", ".join(str(byte) for byte in bytes(8) + data)
            lines.append(f"static _Alignas(64) unsigned char {kind}_{number}[{8 + len(data)}] = {{ {values} }};")
            cases.append(f"number == {number} ? {kind}_{number} + 8 : ")
        lines.append(f"static void *{kind}_data(int number) {{ return {''.join(cases)}(void *)0; }}")
    lines.append(f"static const long output_bytes[] = {{ {', '.join(str(array.nbytes) for array in ports['output'])} }};")
    with open(header, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


main()
