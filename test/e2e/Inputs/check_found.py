"""Runs an artifact whose extents follow from the data, and compares its outputs with NumPy's.

Usage: check_found.py SLUICE ARTIFACT kept|maxima|detector|limited|refined|computed|counted|masked SIZE... [-- OPTION...]
Prints "SIZE: SHAPE... equal" for each size, an extent of an input or a number of elements.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np


def kept(rows, random):
    """Rows with a positive element, times weights; their mean; how many they are."""
    x = random.standard_normal((rows, 4)).astype(np.float32) - 1
    w = random.standard_normal((4, 3)).astype(np.float32)
    held = x[x.max(axis=1) > 0]
    return {"x": x, "w": w}, {"y": held @ w, "c": np.array([len(held)])}


def masked(rows, random):
    """Sums of the columns of rows that constants choose, beside rows that the data chooses."""
    x = random.standard_normal((rows, 4)).astype(np.float32)
    few, many = np.arange(17) % 5 == 2, np.arange(100) % 7 < 3
    a, b = (random.standard_normal(n).astype(np.float32) for n in (17, 100))
    return {"x": x, "a": a, "b": b}, {"y": x[x[:, 0] > 0], "p": np.array(a[few].sum()), "q": np.array(b[many].sum())}


def maxima(count, random):
    """The products of all pairs of different numbers, and ones as many as they are."""
    x = random.integers(0, max(count // 2, 1), count)
    unique = np.unique(x).astype(np.float32)
    return {"x": x}, {"y": np.outer(unique, unique), "z": np.arange(1.0, len(unique) + 1)}


def detector(boxes, random):
    """Boxes that overlap no better one, less the greatest of each column."""
    low = random.random((1, boxes, 2))
    corners = np.concatenate([low, low + 0.05 + 0.3 * random.random((1, boxes, 2))], 2).astype(np.float32)
    scores = random.random((1, 1, boxes)).astype(np.float32)
    chosen = []
    for i in np.argsort(-scores[0, 0], kind="stable"):
        if scores[0, 0, i] > 0.3 and len(chosen) < 4 and all(overlap(corners[0, i], corners[0, k]) <= 0.4 for k in chosen):
            chosen.append(i)
    found = corners[0, chosen]
    return {"boxes": corners, "scores": scores}, {"y": found - found.max(axis=0, keepdims=True, initial=-np.inf)}


def limited(most, random):
    """At most so many boxes, which hardly overlap."""
    low = 3 * np.arange(12.0).reshape(1, 12, 1) + random.random((1, 12, 2))
    corners = np.concatenate([low, low + 2], 2).astype(np.float32)
    scores = random.random((1, 1, 12)).astype(np.float32)
    order = [i for i in np.argsort(-scores[0, 0], kind="stable") if scores[0, 0, i] > 0.5][:most]
    given = {"most": np.array(most), "overlap": np.float32(0.7), "least": np.array([0.5], np.float32)}
    return {"boxes": corners, "scores": scores, **given}, {"y": np.array([[0, 0, i] for i in order]).reshape(-1, 3)}


def refined(count, random):
    """A number that the elements above it move, as long as a step says, and how many there were."""
    x = random.standard_normal(count).astype(np.float32) + 3
    trips, last, found = int(random.integers(1, 40)), 1.0, []
    for _ in range(trips):
        held = x[x > last]
        powers = np.exp(held - last)
        found.append(len(held))
        last += (powers * held).sum() / max(powers.sum(), 1e-30) / max(len(held), 1)
    return {"trips": np.array(trips), "x": x, "start": np.float32(1)}, {"last": np.array(last), "sums": np.array(found)}


def computed(count, random):
    """Shapes, a part and a selection of as many rows as a mask has."""
    mask = np.zeros(10, bool)
    mask[random.permutation(10)[:count]] = True
    v, x = random.random((1, 4)).astype(np.float32), random.random((10, 3)).astype(np.float32)
    z = np.full((count, 4), 0.5) * v
    powers = np.exp(x[:count])
    best = -np.sort(x.sum(axis=1))[::-1][:count]
    wanted = {"z": z, "m": z.sum(axis=0), "part": powers / powers.sum(axis=1, keepdims=True), "best": best}
    return {"mask": mask, "v": v, "x": x}, wanted


def counted(count, random):
    return {"n": np.array(count)}, {"y": np.cumsum(np.arange(0.0, count, 2))}


def overlap(a, b):
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    shared = np.prod(np.maximum(sides, 0))
    return shared / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - shared)


def main():
    sluice, artifact, kind = sys.argv[1:4]
    options = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else []
    for size in sys.argv[4 : len(sys.argv) - len(options) - (1 if options else 0)]:
        inputs, wanted = globals()[kind](int(size), np.random.default_rng(int(size)))
        with tempfile.TemporaryDirectory() as folder:
            given = []
            for name, value in inputs.items():
                path = pathlib.Path(folder, name + ".npy")
                np.save(path, value)
                given += ["--input", f"{name}={path}"]
            subprocess.run([sluice, "run", artifact, *given, *options, "--output-dir", folder + "/out"], check=True,
                           stdout=subprocess.DEVNULL)
            shapes = []
            for name, value in wanted.items():
                found = np.load(f"{folder}/out/{name}.npy")
                shapes.append("x".join(map(str, found.shape)) or "scalar")
                if found.shape != value.shape or not np.allclose(found, value, rtol=1e-5, atol=1e-6):
                    sys.exit(f"{size}: output '{name}' is {found}, not {value}")
        print(f"{size}: {' '.join(shapes)} equal")


main()
