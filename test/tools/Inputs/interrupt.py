"""interrupt.py PHASES COMMAND...: runs a command, sends one Ctrl-C when PHASES has files, waits, and passes its status on.

Phases are dumped while the command compiles, so it hears signals by then and has yet to finish its search.
"""

import os
import signal
import subprocess
import sys
import time

phases, command = sys.argv[1], sys.argv[2:]
process = subprocess.Popen(command)
deadline = time.monotonic() + 60
while time.monotonic() < deadline and not (os.path.isdir(phases) and len(os.listdir(phases)) >= 3):
    time.sleep(0.02)
time.sleep(0.3)
process.send_signal(signal.SIGINT)
sys.exit(process.wait(timeout=120))
