#!/usr/bin/env python3
"""Checks that the outputs of the tutorial's program begin with the same class and score: same_scores.py FILE FILE..."""

import sys

scores = []
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        scores.append(file.readline().partition(", last step")[0])
if not scores[0].startswith("class ") or len(set(scores)) != 1:
    sys.exit(f"error: the scores differ, {scores}, see the files {', '.join(sys.argv[1:])}")
