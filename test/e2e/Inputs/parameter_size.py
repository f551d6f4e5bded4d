"""Fails unless a compiled model's parameter file has about the bytes of a file of weights.

  parameter_size.py COMPILED WEIGHTS
"""

import os
import sys

compiled, weights = sys.argv[1:]
found, given = os.path.getsize(os.path.join(compiled, "parameters.bin")), os.path.getsize(weights)
# Panels are filled up with zeros, tensors are aligned, and tables that are part of the model itself are parameters too.
if not 0.95 * given < found < 1.05 * given + 64 * 1024:
    sys.exit(f"{found} bytes of parameters for {given} bytes of weights")
