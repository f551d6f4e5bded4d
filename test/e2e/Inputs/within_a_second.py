#!/usr/bin/env python3
"""Runs a command and fails unless it succeeds within a second of processor time."""

import resource
import subprocess
import sys

subprocess.run(sys.argv[1:], check=True)
seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
if seconds >= 1:
    sys.exit(f"error: '{' '.join(sys.argv[1:])}' took {seconds:.2f} s of processor time, 1 s is allowed")
