"""peak_memory.py COMMAND...: runs the command and prints its peak resident memory as JSON, {"bytes": N}."""

import json
import resource
import subprocess
import sys

done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=False)
print(json.dumps({"bytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024}))
sys.exit(done.returncode)
