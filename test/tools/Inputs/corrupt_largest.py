"""Changes a byte of the largest file of a folder.

usage: corrupt_largest.py FOLDER
"""

import os
import sys

path = max((entry.path for entry in os.scandir(sys.argv[1])), key=os.path.getsize)
with open(path, "r+b") as file:
    file.seek(5000)
    byte = file.read(1)[0]
    file.seek(5000)
    file.write(bytes([byte ^ 1]))
