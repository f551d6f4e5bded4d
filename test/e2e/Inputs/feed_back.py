#!/usr/bin/env python3
"""Generates tokens by one artifact without states, whose outputs it feeds back, and prints them.

  feed_back.py SLUICE ARTIFACT PROMPT COUNT CHUNK PAST=PRESENT...

PROMPT is a list such as 1,2,3; CHUNK the most tokens of a step. An input PAST is empty at first, along dimension 2.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy


def main():
    sluice, artifact, prompt, count, chunk, *pairs = sys.argv[1:]
    pairs = [pair.split("=") for pair in pairs]
    caches = {past: numpy.zeros((1, 2, 0, 8), numpy.float32) for past, _ in pairs}
    with tempfile.TemporaryDirectory() as folder:

        def step(tokens):
            length = len(tokens) + next(iter(caches.values())).shape[2]
            inputs = {"input_ids": numpy.array([tokens], numpy.int64), "attention_mask": numpy.ones((1, length), numpy.int64)}
            command = [sluice, "run", artifact, "--output-dir", folder]
            for name, value in {**inputs, **caches}.items():
                file = Path(folder) / f"{name}.in.npy"
                numpy.save(file, value)
                command += ["--input", f"{name}={file}"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
            for past, present in pairs:
                caches[past] = numpy.load(Path(folder) / f"{present}.npy")
            return int(numpy.argmax(numpy.load(Path(folder) / "logits.npy")[0, -1]))

        rest = [int(token) for token in prompt.split(",")]
        while rest:
            token = step(rest[: int(chunk)])
            rest = rest[int(chunk) :]
        tokens = [token]
        while len(tokens) < int(count):
            tokens.append(step([tokens[-1]]))
        print(",".join(map(str, tokens)))


main()
