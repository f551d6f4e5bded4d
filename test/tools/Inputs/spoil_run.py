"""spoil_run.py HOW FILE...: changes a folder that `sluice run --keep` wrote, as the test says."""

import json
import sys


def flip_last_byte(tensor):
    with open(tensor, "r+b") as file:
        file.seek(-1, 2)
        byte = file.read(1)[0]
        file.seek(-1, 2)
        file.write(bytes([byte ^ 0x40]))


def zero_weights(run, parameters):
    """The first weight that the folder computes."""
    with open(run, encoding="utf-8") as file:
        weight = json.load(file)["weights"][0]
    with open(parameters, "r+b") as file:
        file.seek(weight["offset"])
        file.write(bytes(weight["bytes"]))


def set_offsets(run, offset_of):
    with open(run, encoding="utf-8") as file:
        text = json.load(file)
    for weight in text["weights"]:
        weight["offset"] = offset_of(weight["offset"])
    with open(run, "w", encoding="utf-8") as file:
        json.dump(text, file)


how, *files = sys.argv[1:]
{"last-byte": flip_last_byte,
 "zero-weights": zero_weights,
 "offset-outside": lambda run: set_offsets(run, lambda offset: int(f"9{offset}")),
 "offset-overflow": lambda run: set_offsets(run, lambda offset: 2**64 - 2**30)}[how](*files)
