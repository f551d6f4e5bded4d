"""compare_outputs.py REFERENCE DIR [TOLERANCE]: the .npy files of both, below them too, are the same: names, shapes,
types, and values within TOLERANCE (1e-5) of the reference's greatest."""

import pathlib
import sys

import numpy

reference, other = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
tolerance = float(sys.argv[3]) if len(sys.argv) > 3 else 1e-5
names = sorted(str(path.relative_to(reference)) for path in reference.rglob("*.npy"))
found = sorted(str(path.relative_to(other)) for path in other.rglob("*.npy"))
if not names or names != found:
    sys.exit(f"files differ: {names} and {found}")
for name in names:
    a, b = numpy.load(reference / name), numpy.load(other / name)
    if a.shape != b.shape or a.dtype != b.dtype:
        sys.exit(f"{name}: {a.dtype} {a.shape} and {b.dtype} {b.shape}")
    scale = max(float(numpy.abs(a).max(initial=0)), 1e-30)
    worst = float(numpy.abs(a.astype("f8") - b.astype("f8")).max(initial=0)) / scale
    if not worst <= tolerance:
        sys.exit(f"{name}: differs by {worst} of the scale")
print(f"{len(names)} files agree")
