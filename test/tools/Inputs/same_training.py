"""same_training.py DIR RANKS ONE: training of RANKS ranks in step has the bits of one process that accumulates as many
gradients. DIR has ranks/ and one/, as --output-dir writes them, and ranks.json and one.json; ONE names states that
every rank has for itself, between commas."""

import json
import pathlib
import sys

import numpy

folder, ranks, own = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3].split(",")
states = 0
for path in sorted((folder / "one" / "states").glob("*.npy")):
    if path.stem in own:
        continue
    one, all_ = numpy.load(path), numpy.load(folder / "ranks" / "states" / path.name)
    if path.stem == "optimizer.step":
        if one != ranks * all_:
            sys.exit(f"optimizer.step: {one} and {all_}")
    else:
        if one.dtype != all_.dtype or one.tobytes() != all_.tobytes():
            sys.exit(f"{path.stem} differs")
        states += 1
losses = json.loads((folder / "one.json").read_text(encoding="utf-8"))["series"]["loss"]
records = json.loads((folder / "ranks.json").read_text(encoding="utf-8"))["ranks"]
for rank, record in enumerate(records):
    if record["loss"] != losses[rank::ranks]:
        sys.exit(f"losses of rank {rank} differ")
print(f"{states} states and {len(losses)} losses are the same")
