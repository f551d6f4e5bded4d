"""Values of inputs as text: NAME=TYPE:NUMBER,... of one of NumPy's types; a number without a comma is a scalar.

Usage: step_values.py DIRECTORY NAME=TYPE:NUMBER,... ...
Writes each as DIRECTORY/NAME.npy.
"""

import pathlib
import sys

import numpy as np


def write(directory, texts):
    """The files by name."""
    files = {}
    for text in texts:
        name, _, value = text.partition("=")
        kind, _, numbers = value.partition(":")
        values = np.array([np.dtype(kind).type(float(number)) for number in numbers.split(",") if number], kind)
        files[name] = pathlib.Path(directory, f"{name}.npy")
        np.save(files[name], values if "," in numbers else values.reshape(()))
    return files


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2:])
