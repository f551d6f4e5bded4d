"""interrupt_tune.py COUNT TMPDIR COMMAND...: runs a tuning and passes its exit status on.

Sends the first Ctrl-C when the tuning compiles its third trial, and each further one of COUNT when it compiles another.
A trial's tuning lies in a directory of TMPDIR, and is written anew for each trial.
"""

import glob
import os
import signal
import subprocess
import sys
import time

count, folder, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
process = subprocess.Popen(command)
deadline = time.monotonic() + 120
written = set()
for trials in range(3, 3 + count):
    while time.monotonic() < deadline and len(written) < trials and process.poll() is None:
        for path in glob.glob(os.path.join(folder, "*", "trial.json")):
            try:
                written.add(os.stat(path).st_mtime_ns)
            except FileNotFoundError:
                pass  # Replaced meanwhile.
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
sys.exit(process.wait(timeout=120))
