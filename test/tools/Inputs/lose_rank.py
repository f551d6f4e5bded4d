"""lose_rank.py COMMAND...: starts ranks with mpirun, kills one of them once all run, and prints what becomes of the
others. Fails where they go on."""

import os
import signal
import subprocess
import sys
import time


def children(pid):
    """The processes that run `sluice` somewhere below a process."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                name, rest = file.read().rsplit(")", 1)
        except OSError:
            continue
        if int(rest.split()[1]) == pid:
            found += [int(entry)] if name.endswith("(sluice") else children(int(entry))
    return found


process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
deadline = time.monotonic() + 60
ranks = []
while time.monotonic() < deadline and len(ranks) < 4:
    time.sleep(0.1)
    ranks = children(process.pid)
if len(ranks) < 4:
    process.kill()
    sys.exit("the ranks did not start")
time.sleep(2)
os.kill(ranks[2], signal.SIGKILL)
try:
    output, _ = process.communicate(timeout=60)
except subprocess.TimeoutExpired:
    process.kill()
    sys.exit("the other ranks hang")
print(output)
print("status", "zero" if process.returncode == 0 else "not zero")


def is_left(rank):
    try:
        with open(f"/proc/{rank}/stat", encoding="utf-8") as file:
            return " Z " not in file.read()
    except OSError:
        return False


# mpirun may end before what it has killed.
deadline = time.monotonic() + 10
while any(map(is_left, ranks)) and time.monotonic() < deadline:
    time.sleep(0.1)
print("left", sum(map(is_left, ranks)))
