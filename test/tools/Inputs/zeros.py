"""Whether models give the bytes of a file for inputs of zeros: zeros.py SLUICE DIRECTORY... FILE"""

import json
import os
import subprocess
import sys
import tempfile

import numpy

TYPES = {"f32": "float32", "i64": "int64", "i32": "int32"}
sluice, *directories, file = sys.argv[1:]
found = b""
with tempfile.TemporaryDirectory() as folder:
    for directory in directories:
        manifest = json.load(open(os.path.join(directory, "manifest.json")))
        command = [sluice, "run", directory, "--output-dir", folder]
        for i, port in enumerate(manifest["inputs"]):
            path = os.path.join(folder, f"zero_{i}.npy")
            numpy.save(path, numpy.zeros(port["shape"], TYPES.get(port["type"].replace("si", "i"), "float32")))
            command += ["--input", f"{port['name']}={path}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for port in manifest["outputs"]:
            found += numpy.load(os.path.join(folder, port["name"] + ".npy")).tobytes()
expected = open(file, "rb").read()
print("same bytes" if found == expected and found else f"{len(found)} and {len(expected)} bytes differ")
